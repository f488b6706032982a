// Arithmetic on types that LLVM lacks is an error where it stands; copies are not. With no-silent-fallback each contraction and
// convolution that would become plain loops is one, too; pooling and empty products are not.
// REQUIRES: ukernels
// RUN: mlir-opt %s -split-input-file -verify-diagnostics --pass-pipeline='builtin.module(kdl-lower-linalg{target=host no-silent-fallback=true})' -o %t.mlir
// RUN: sed '/^\/\/ BEGIN/,/^\/\/ END/!d' %s > %t.silent.mlir
// RUN: mlir-opt %t.silent.mlir --pass-pipeline='builtin.module(kdl-lower-linalg{target=host})' -o %t.llvm.mlir
// RUN: kdl-mlir translate %t.llvm.mlir -o %t.ll
// RUN: not mlir-opt %s -split-input-file --pass-pipeline='builtin.module(kdl-lower-linalg{target=host})' -o %t.mlir 2>&1 | FileCheck %s
// The body of a named operation has no place of its own.
// CHECK: refuse-unsupported.mlir:[[#@LINE + 4]]:8: error: linalg.matmul: arith.extf: found 'f8E4M3FN', expected f16

func.func @f8(%a: tensor<5x7xf8E4M3FN>, %b: tensor<7x9xf8E4M3FN>, %c: tensor<5x9xf32>) -> tensor<5x9xf32> {
  // expected-error@+1 {{linalg.matmul has no microkernel: found f8E4M3FN and f8E4M3FN to f32}}
  %0 = linalg.matmul ins(%a, %b : tensor<5x7xf8E4M3FN>, tensor<7x9xf8E4M3FN>) outs(%c : tensor<5x9xf32>) -> tensor<5x9xf32>
  return %0 : tensor<5x9xf32>
}

// -----

func.func @extend(%a: tensor<5xf8E5M2>) -> tensor<5xf32> {
  %e = tensor.empty() : tensor<5xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%a : tensor<5xf8E5M2>) outs(%e : tensor<5xf32>) {
  ^bb0(%x: f8E5M2, %y: f32):
    // expected-error@+1 {{arith.extf: found 'f8E5M2', expected f16, bf16, f32, f64 or integers}}
    %1 = arith.extf %x : f8E5M2 to f32
    linalg.yield %1 : f32
  } -> tensor<5xf32>
  return %0 : tensor<5xf32>
}

// -----

// BEGIN
func.func @copy(%a: tensor<5xf8E5M2>, %b: tensor<5xf8E5M2>) -> tensor<5xf8E5M2> {
  %0 = linalg.copy ins(%a : tensor<5xf8E5M2>) outs(%b : tensor<5xf8E5M2>) -> tensor<5xf8E5M2>
  return %0 : tensor<5xf8E5M2>
}
func.func @pooling(%a: tensor<1x8x8x4xf32>, %w: tensor<2x2xf32>, %b: tensor<1x7x7x4xf32>) -> tensor<1x7x7x4xf32> {
  %0 = linalg.pooling_nhwc_max ins(%a, %w : tensor<1x8x8x4xf32>, tensor<2x2xf32>) outs(%b : tensor<1x7x7x4xf32>) -> tensor<1x7x7x4xf32>
  return %0 : tensor<1x7x7x4xf32>
}
func.func @empty(%a: tensor<0x7xf64>, %b: tensor<7x9xf64>, %c: tensor<0x9xf64>) -> tensor<0x9xf64> {
  %0 = linalg.matmul ins(%a, %b : tensor<0x7xf64>, tensor<7x9xf64>) outs(%c : tensor<0x9xf64>) -> tensor<0x9xf64>
  return %0 : tensor<0x9xf64>
}
// END

// -----

func.func @convolution(%a: tensor<8x8xf32>, %w: tensor<3x3xf32>, %b: tensor<6x6xf32>) -> tensor<6x6xf32> {
  // expected-error@+1 {{linalg.generic has no microkernel: found a convolution, expected a product of matrices}}
  %0 = linalg.conv_2d ins(%a, %w : tensor<8x8xf32>, tensor<3x3xf32>) outs(%b : tensor<6x6xf32>) -> tensor<6x6xf32>
  return %0 : tensor<6x6xf32>
}

// -----

func.func @on_memrefs(%a: memref<5x7xf64>, %b: memref<7x9xf64>, %c: memref<5x9xf64>) {
  // expected-remark@+2 {{stays linalg.matmul}}
  // expected-error@+1 {{linalg.matmul has no microkernel: found other elements}}
  linalg.matmul ins(%a, %b : memref<5x7xf64>, memref<7x9xf64>) outs(%c : memref<5x9xf64>)
  return
}
