// kdl-data-tile with leave-plain: which products stay for kdl-lower-contractions, and which are tiled nevertheless.
// REQUIRES: ukernels
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-data-tile{leave-plain=true target=host:x86-64-v4+avx512_bf16+avx512_vnni})' -split-input-file 2>&1 | FileCheck %s
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-data-tile{leave-plain=true target=host:x86-64-v4+avx512_bf16+avx512_vnni+amx_tile+amx_bf16+amx_int8})' -split-input-file 2>&1 | FileCheck %s

// CHECK-LABEL: func.func @left(
// CHECK-NOT: linalg.pack
// CHECK-COUNT-3: linalg.matmul ins
// CHECK-LABEL: func.func @few_rows(
// CHECK-NOT: linalg.pack
// CHECK: linalg.matmul ins
// CHECK: linalg.generic
func.func @left(%a: tensor<100x64xf32>, %b: tensor<64x80xf32>, %c: tensor<100x80xf32>, %x: tensor<64x32xbf16>, %y: tensor<32x48xbf16>,
                %z: tensor<64x48xf32>, %i: tensor<64x32xi8>, %j: tensor<32x48xi8>, %k: tensor<64x48xi32>)
    -> (tensor<100x80xf32>, tensor<64x48xf32>, tensor<64x48xi32>) {
  %0 = linalg.matmul ins(%a, %b : tensor<100x64xf32>, tensor<64x80xf32>) outs(%c : tensor<100x80xf32>) -> tensor<100x80xf32>
  %1 = linalg.matmul ins(%x, %y : tensor<64x32xbf16>, tensor<32x48xbf16>) outs(%z : tensor<64x48xf32>) -> tensor<64x48xf32>
  %2 = linalg.matmul ins(%i, %j : tensor<64x32xi8>, tensor<32x48xi8>) outs(%k : tensor<64x48xi32>) -> tensor<64x48xi32>
  return %0, %1, %2 : tensor<100x80xf32>, tensor<64x48xf32>, tensor<64x48xi32>
}
func.func @few_rows(%a: tensor<32x64xf32>, %b: tensor<64x80xf32>, %c: tensor<32x80xf32>) -> tensor<32x80xf32> {
  %0 = linalg.matmul ins(%a, %b : tensor<32x64xf32>, tensor<64x80xf32>) outs(%c : tensor<32x80xf32>) -> tensor<32x80xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%0 : tensor<32x80xf32>) outs(%c : tensor<32x80xf32>) {
  ^bb0(%x: f32, %y: f32):
    %2 = arith.negf %x : f32
    linalg.yield %2 : f32
  } -> tensor<32x80xf32>
  return %1 : tensor<32x80xf32>
}

// -----

// An elementwise operation that would be fused; an operand that can be packed at compile time, or before a loop.
// CHECK-LABEL: func.func @neighbour(
// CHECK: linalg.mmt4d
// CHECK-LABEL: func.func @constant(
// CHECK: linalg.mmt4d
// CHECK-LABEL: func.func @loop(
// CHECK: linalg.mmt4d
// CHECK-LABEL: func.func @dynamic(
// CHECK-NOT: linalg.mmt4d
// CHECK-LABEL: func.func @dynamic_neighbour(
// CHECK: linalg.mmt4d
// CHECK-LABEL: func.func @varies(
// CHECK-NOT: linalg.mmt4d
// CHECK: return
func.func @neighbour(%a: tensor<64x64xf32>, %b: tensor<64x80xf32>, %c: tensor<64x80xf32>) -> tensor<64x80xf32> {
  %0 = linalg.matmul ins(%a, %b : tensor<64x64xf32>, tensor<64x80xf32>) outs(%c : tensor<64x80xf32>) -> tensor<64x80xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%0 : tensor<64x80xf32>) outs(%c : tensor<64x80xf32>) {
  ^bb0(%x: f32, %y: f32):
    %2 = arith.negf %x : f32
    linalg.yield %2 : f32
  } -> tensor<64x80xf32>
  return %1 : tensor<64x80xf32>
}
func.func @constant(%a: tensor<4x2xf32>, %c: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %b = arith.constant dense<2.0> : tensor<2x16xf32>
  %0 = linalg.matmul ins(%a, %b : tensor<4x2xf32>, tensor<2x16xf32>) outs(%c : tensor<4x16xf32>) -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}
func.func @loop(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>, %c: tensor<64x64xf32>, %n: index) -> tensor<64x64xf32> {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %r = scf.for %i = %0 to %n step %1 iter_args(%x = %a) -> tensor<64x64xf32> {
    %y = linalg.matmul ins(%x, %b : tensor<64x64xf32>, tensor<64x64xf32>) outs(%c : tensor<64x64xf32>) -> tensor<64x64xf32>
    scf.yield %y : tensor<64x64xf32>
  }
  return %r : tensor<64x64xf32>
}
func.func @dynamic(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>, %c: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %0 = linalg.matmul ins(%a, %b : tensor<?x?xf32>, tensor<?x?xf32>) outs(%c : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}
func.func @dynamic_neighbour(%a: tensor<?x64xf32>, %b: tensor<64x80xf32>, %c: tensor<?x80xf32>) -> tensor<?x80xf32> {
  %0 = linalg.matmul ins(%a, %b : tensor<?x64xf32>, tensor<64x80xf32>) outs(%c : tensor<?x80xf32>) -> tensor<?x80xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%0 : tensor<?x80xf32>) outs(%c : tensor<?x80xf32>) {
  ^bb0(%x: f32, %y: f32):
    %2 = arith.negf %x : f32
    linalg.yield %2 : f32
  } -> tensor<?x80xf32>
  return %1 : tensor<?x80xf32>
}
func.func @varies(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>, %c: tensor<64x64xf32>, %n: index) -> tensor<64x64xf32> {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %r = scf.for %i = %0 to %n step %1 iter_args(%x = %b) -> tensor<64x64xf32> {
    %y = linalg.matmul ins(%a, %x : tensor<64x64xf32>, tensor<64x64xf32>) outs(%c : tensor<64x64xf32>) -> tensor<64x64xf32>
    scf.yield %y : tensor<64x64xf32>
  }
  return %r : tensor<64x64xf32>
}

// -----

// Batches stay too, unless their elements are so small that calls cost more than packing, or have few columns. With several dimensions all stay.
// CHECK-LABEL: func.func @batch(
// CHECK-NOT: linalg.pack
// CHECK: linalg.batch_matmul
// CHECK-LABEL: func.func @batch_neighbour(
// CHECK: linalg.batch_mmt4d
// CHECK-LABEL: func.func @batch_constant(
// CHECK: linalg.batch_mmt4d
// CHECK-LABEL: func.func @batch_small(
// CHECK: linalg.batch_mmt4d
// CHECK-LABEL: func.func @batch_few_columns(
// CHECK: linalg.batch_mmt4d
// CHECK-LABEL: func.func @batch_dynamic(
// CHECK-NOT: linalg.pack
// CHECK: linalg.batch_matmul
// CHECK-LABEL: func.func @several_dimensions(
// CHECK-NOT: kdl.stays
// CHECK: linalg.contract
// CHECK-NOT: kdl.stays
// CHECK: return
func.func @batch(%a: tensor<4x64x32xf32>, %b: tensor<4x32x64xf32>, %c: tensor<4x64x64xf32>) -> tensor<4x64x64xf32> {
  %0 = linalg.batch_matmul ins(%a, %b : tensor<4x64x32xf32>, tensor<4x32x64xf32>) outs(%c : tensor<4x64x64xf32>) -> tensor<4x64x64xf32>
  return %0 : tensor<4x64x64xf32>
}
func.func @batch_neighbour(%a: tensor<4x64x32xf32>, %b: tensor<4x32x64xf32>, %c: tensor<4x64x64xf32>) -> tensor<4x64x64xf32> {
  %0 = linalg.batch_matmul ins(%a, %b : tensor<4x64x32xf32>, tensor<4x32x64xf32>) outs(%c : tensor<4x64x64xf32>) -> tensor<4x64x64xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, j, k)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%0 : tensor<4x64x64xf32>) outs(%c : tensor<4x64x64xf32>) {
  ^bb0(%x: f32, %y: f32):
    %2 = arith.negf %x : f32
    linalg.yield %2 : f32
  } -> tensor<4x64x64xf32>
  return %1 : tensor<4x64x64xf32>
}
func.func @batch_constant(%a: tensor<4x64x32xf32>, %c: tensor<4x64x64xf32>) -> tensor<4x64x64xf32> {
  %b = arith.constant dense<2.0> : tensor<4x32x64xf32>
  %0 = linalg.batch_matmul ins(%a, %b : tensor<4x64x32xf32>, tensor<4x32x64xf32>) outs(%c : tensor<4x64x64xf32>) -> tensor<4x64x64xf32>
  return %0 : tensor<4x64x64xf32>
}
func.func @batch_small(%a: tensor<100x16x32xf32>, %b: tensor<100x32x31xf32>, %c: tensor<100x16x31xf32>) -> tensor<100x16x31xf32> {
  %0 = linalg.batch_matmul ins(%a, %b : tensor<100x16x32xf32>, tensor<100x32x31xf32>) outs(%c : tensor<100x16x31xf32>) -> tensor<100x16x31xf32>
  return %0 : tensor<100x16x31xf32>
}
func.func @batch_few_columns(%a: tensor<4x512x512xf32>, %b: tensor<4x512x8xf32>, %c: tensor<4x512x8xf32>) -> tensor<4x512x8xf32> {
  %0 = linalg.batch_matmul ins(%a, %b : tensor<4x512x512xf32>, tensor<4x512x8xf32>) outs(%c : tensor<4x512x8xf32>) -> tensor<4x512x8xf32>
  return %0 : tensor<4x512x8xf32>
}
func.func @batch_dynamic(%a: tensor<?x?x?xf32>, %b: tensor<?x?x?xf32>, %c: tensor<?x?x?xf32>) -> tensor<?x?x?xf32> {
  %0 = linalg.batch_matmul ins(%a, %b : tensor<?x?x?xf32>, tensor<?x?x?xf32>) outs(%c : tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
  return %0 : tensor<?x?x?xf32>
}
func.func @several_dimensions(%a: tensor<3x2x4x8xf32>, %c: tensor<2x3x4x16xf32>) -> tensor<2x3x4x16xf32> {
  %b = arith.constant dense<2.0> : tensor<2x3x8x16xf32>
  %0 = linalg.contract indexing_maps = [affine_map<(x, y, m, n, k) -> (y, x, m, k)>, affine_map<(x, y, m, n, k) -> (x, y, k, n)>, affine_map<(x, y, m, n, k) -> (x, y, m, n)>]
      ins(%a, %b : tensor<3x2x4x8xf32>, tensor<2x3x8x16xf32>) outs(%c : tensor<2x3x4x16xf32>) -> tensor<2x3x4x16xf32>
  return %0 : tensor<2x3x4x16xf32>
}

// -----

// With AMX, the matmul library is faster from 96 rows on, even if it packs a constant at each call.
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-data-tile{leave-plain=true target=host:x86-64-v4+avx512_bf16+avx512_vnni+amx_tile+amx_bf16+amx_int8})' -split-input-file 2>&1 | FileCheck %s --check-prefix=AMX
// CHECK-LABEL: func.func @rows_64(
// AMX-LABEL: func.func @rows_64(
// AMX: kdl.mma_layout = #kdl.mma_layout<ukernel = "kdl_uk_mma_f32_bf16", intrinsics_m = 32, intrinsics_n = 2, intrinsics_k = 16, values = 2>
// CHECK-LABEL: func.func @rows_96(
// AMX-LABEL: func.func @rows_96(
// AMX-NOT: linalg.pack
// AMX: linalg.matmul ins
func.func @rows_64(%a: tensor<64x64xbf16>, %c: tensor<64x96xf32>) -> tensor<64x96xf32> {
  %b = arith.constant dense<2.0> : tensor<64x96xbf16>
  %0 = linalg.matmul ins(%a, %b : tensor<64x64xbf16>, tensor<64x96xbf16>) outs(%c : tensor<64x96xf32>) -> tensor<64x96xf32>
  return %0 : tensor<64x96xf32>
}
func.func @rows_96(%a: tensor<96x64xbf16>, %c: tensor<96x96xf32>) -> tensor<96x96xf32> {
  %b = arith.constant dense<2.0> : tensor<64x96xbf16>
  %0 = linalg.matmul ins(%a, %b : tensor<96x64xbf16>, tensor<64x96xbf16>) outs(%c : tensor<96x96xf32>) -> tensor<96x96xf32>
  return %0 : tensor<96x96xf32>
}
