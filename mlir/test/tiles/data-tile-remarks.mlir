// Operations that are not contractions of two matrices stay unchanged, and those of types without a microkernel become vector code. A contraction
// gets a remark with the reason.
// REQUIRES: ukernels
// RUN: mlir-opt %s -split-input-file -verify-diagnostics --pass-pipeline='builtin.module(kdl-data-tile{target=host:x86-64-v4})' | FileCheck %s
// RUN: not mlir-opt %s -split-input-file --pass-pipeline='builtin.module(kdl-data-tile{target=host:x86-64-v4 no-silent-fallback=true})' 2>&1 | FileCheck %s --check-prefix=ERROR
// ERROR: error: linalg.matmul has no microkernel: found f64 and f64 to f64

// CHECK-LABEL: func.func @type
// CHECK: linalg.mmt4d {kdl.mma_layout = #kdl.mma_layout<intrinsics_m = 8, intrinsics_n = 1, vector_bytes = 64>} ins({{.*}} : tensor<1x8x8x1xf64>, tensor<1x8x16x1xf64>)
func.func @type(%a: tensor<8x8xf64>, %b: tensor<8x8xf64>, %c: tensor<8x8xf64>) -> tensor<8x8xf64> {
  // expected-remark@+1 {{has no microkernel, and becomes vector code: found f64 and f64 to f64, expected bf16, f16 or f32 to f32, or i8 to i32}}
  %r = linalg.matmul ins(%a, %b : tensor<8x8xf64>, tensor<8x8xf64>) outs(%c : tensor<8x8xf64>) -> tensor<8x8xf64>
  return %r : tensor<8x8xf64>
}

// -----

// Each sum is rounded to bf16.
// CHECK-LABEL: func.func @narrow_sums
// CHECK: linalg.mmt4d {kdl.mma_layout = #kdl.mma_layout<intrinsics_m = 8, intrinsics_n = 1, vector_bytes = 64>} ins({{.*}} : tensor<1x8x8x1xbf16>, tensor<1x8x16x1xbf16>)
func.func @narrow_sums(%a: tensor<8x8xbf16>, %b: tensor<8x8xbf16>, %c: tensor<8x8xbf16>) -> tensor<8x8xbf16> {
  // expected-remark@+1 {{has no microkernel, and becomes vector code: found bf16 and bf16 to bf16, expected bf16, f16 or f32 to f32, or i8 to i32}}
  %r = linalg.matmul ins(%a, %b : tensor<8x8xbf16>, tensor<8x8xbf16>) outs(%c : tensor<8x8xbf16>) -> tensor<8x8xbf16>
  return %r : tensor<8x8xbf16>
}

// -----

// Operands are extended, not truncated.
// CHECK-LABEL: func.func @truncated
// CHECK: linalg.matmul
func.func @truncated(%a: tensor<8x8xf64>, %b: tensor<8x8xf64>, %c: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // expected-remark@+1 {{stays linalg.matmul: found f64 and f64 to f32, expected bf16, f16 or f32 to f32, or i8 to i32}}
  %r = linalg.matmul ins(%a, %b : tensor<8x8xf64>, tensor<8x8xf64>) outs(%c : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// -----

// CHECK-LABEL: func.func @dot
// CHECK: linalg.dot
func.func @dot(%a: tensor<8xf32>, %b: tensor<8xf32>, %c: tensor<f32>) -> tensor<f32> {
  // expected-remark@+1 {{stays linalg.dot: found more or fewer than one dimension of rows, columns and K}}
  %r = linalg.dot ins(%a, %b : tensor<8xf32>, tensor<8xf32>) outs(%c : tensor<f32>) -> tensor<f32>
  return %r : tensor<f32>
}

// -----

// CHECK-LABEL: func.func @broadcast
// CHECK: linalg.matmul
func.func @broadcast(%a: tensor<8xf32>, %b: tensor<8x16xf32>, %c: tensor<4x16xf32>) -> tensor<4x16xf32> {
  // expected-remark@+1 {{stays linalg.matmul: found an operand that is repeated along a dimension of the result, expected a broadcast before it}}
  %r = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      ins(%a, %b : tensor<8xf32>, tensor<8x16xf32>) outs(%c : tensor<4x16xf32>) -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// Memrefs, other reductions, convolutions and mmt4d itself stay without a remark.
// CHECK-LABEL: func.func @others
// CHECK-NOT: linalg.pack
// CHECK: linalg.matmul
// CHECK: arith.maximumf
// CHECK: linalg.conv_1d
// CHECK: linalg.mmt4d
func.func @others(%m: memref<8x8xf32>, %a: tensor<8x8xf32>, %v: tensor<8xf32>, %w: tensor<3xf32>, %o: tensor<6xf32>,
                  %p: tensor<1x8x4x1xf32>, %q: tensor<1x8x16x1xf32>, %s: tensor<1x1x4x16xf32>)
    -> (tensor<8x8xf32>, tensor<6xf32>, tensor<1x1x4x16xf32>) {
  linalg.matmul ins(%m, %m : memref<8x8xf32>, memref<8x8xf32>) outs(%m : memref<8x8xf32>)
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %a : tensor<8x8xf32>, tensor<8x8xf32>) outs(%a : tensor<8x8xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.addf %x, %y : f32
    %1 = arith.maximumf %0, %z : f32
    linalg.yield %1 : f32
  } -> tensor<8x8xf32>
  %c = linalg.conv_1d ins(%v, %w : tensor<8xf32>, tensor<3xf32>) outs(%o : tensor<6xf32>) -> tensor<6xf32>
  %t = linalg.mmt4d ins(%p, %q : tensor<1x8x4x1xf32>, tensor<1x8x16x1xf32>) outs(%s : tensor<1x1x4x16xf32>) -> tensor<1x1x4x16xf32>
  return %r, %c, %t : tensor<8x8xf32>, tensor<6xf32>, tensor<1x1x4x16xf32>
}

// -----

// Nothing to compute.
// CHECK-LABEL: func.func @empty
// CHECK-NOT: linalg.pack
// CHECK: linalg.matmul
func.func @empty(%a: tensor<3x0xf32>, %b: tensor<0x5xf32>, %c: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %r = linalg.matmul ins(%a, %b : tensor<3x0xf32>, tensor<0x5xf32>) outs(%c : tensor<3x5xf32>) -> tensor<3x5xf32>
  return %r : tensor<3x5xf32>
}

// -----

// Operands that are not tensors.
// CHECK-LABEL: func.func @scalar
// CHECK-NOT: linalg.pack
// CHECK: linalg.generic
func.func @scalar(%a: tensor<8xf32>, %b: f32) -> tensor<8xf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%a, %b : tensor<8xf32>, f32) outs(%a : tensor<8xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.mulf %x, %y : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// Types that LLVM's vectors do not have as they lie in memory.
// CHECK-LABEL: func.func @odd_types
// CHECK-COUNT-3: linalg.matmul
func.func @odd_types(%a: tensor<20x40xf80>, %b: tensor<40x5xf80>, %c: tensor<20x5xf80>, %d: tensor<20x40xi24>, %e: tensor<40x5xi24>, %f: tensor<20x5xi24>,
                     %g: tensor<20x40xf8E4M3FN>, %h: tensor<40x5xf8E4M3FN>, %i: tensor<20x5xf32>) -> (tensor<20x5xf80>, tensor<20x5xi24>, tensor<20x5xf32>) {
  // expected-remark@+1 {{stays linalg.matmul: found f80 and f80 to f80}}
  %0 = linalg.matmul ins(%a, %b : tensor<20x40xf80>, tensor<40x5xf80>) outs(%c : tensor<20x5xf80>) -> tensor<20x5xf80>
  // expected-remark@+1 {{stays linalg.matmul: found i24 and i24 to i24}}
  %1 = linalg.matmul ins(%d, %e : tensor<20x40xi24>, tensor<40x5xi24>) outs(%f : tensor<20x5xi24>) -> tensor<20x5xi24>
  // expected-remark@+1 {{stays linalg.matmul: found f8E4M3FN and f8E4M3FN to f32}}
  %2 = linalg.matmul ins(%g, %h : tensor<20x40xf8E4M3FN>, tensor<40x5xf8E4M3FN>) outs(%i : tensor<20x5xf32>) -> tensor<20x5xf32>
  return %0, %1, %2 : tensor<20x5xf80>, tensor<20x5xi24>, tensor<20x5xf32>
}

// -----

// Another operation has the name of the microkernel.
llvm.func @kdl_uk_mma_f32_f32()
// CHECK-LABEL: func.func @clash
func.func @clash(%a: tensor<8x8xf32>, %b: tensor<8x8xf32>, %c: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // expected-remark@+1 {{stays linalg.matmul: found a symbol kdl_uk_mma_f32_f32 that is no func.func}}
  %r = linalg.matmul ins(%a, %b : tensor<8x8xf32>, tensor<8x8xf32>) outs(%c : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// -----

// expected-error@+1 {{kdl.ukernel_provider: not-there.offload: cannot open: No such file or directory}}
module attributes {kdl.ukernel_provider = #kdl.ukernel_library<"not-there.offload">} {}
