// Contractions become pack, mmt4d and unpack, in the tiles of the target's microkernels.
// REQUIRES: ukernels
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-data-tile{target=host:x86-64-v4+avx512_bf16+avx512_vnni})' -split-input-file | FileCheck %s
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-data-tile{target=host:x86-64-v3})' -split-input-file | FileCheck %s --check-prefix=AVX2
// AVX2: linalg.mmt4d {{.*}}ins({{.*}} : tensor<17x64x6x1xf32>, tensor<5x64x16x1xf32>)

// 100 rows are 8 tiles of 13; 80 columns are 5 panels of 16, without padding. The accumulators are initialised with zeros.
// CHECK-LABEL: func.func @matmul(
// CHECK: linalg.pack %arg0 padding_value({{.*}}) outer_dims_perm = [0, 1] inner_dims_pos = [0, 1] inner_tiles = [13, 1] into {{.*}} : tensor<100x64xf32> -> tensor<8x64x13x1xf32>
// CHECK: linalg.pack %arg1 outer_dims_perm = [1, 0] inner_dims_pos = [1, 0] inner_tiles = [16, 1] into {{.*}} : tensor<64x80xf32> -> tensor<5x64x16x1xf32>
// CHECK: linalg.fill {{.*}} tensor<8x5x13x16xf32>
// CHECK: %[[SUM:.*]] = linalg.mmt4d
// CHECK: linalg.unpack %[[SUM]] outer_dims_perm = [0, 1] inner_dims_pos = [0, 1] inner_tiles = [13, 16] into %arg2
func.func @matmul(%a: tensor<100x64xf32>, %b: tensor<64x80xf32>, %c: tensor<100x80xf32>) -> tensor<100x80xf32> {
  %zero = arith.constant 0.0 : f32
  %filled = linalg.fill ins(%zero : f32) outs(%c : tensor<100x80xf32>) -> tensor<100x80xf32>
  %r = linalg.matmul ins(%a, %b : tensor<100x64xf32>, tensor<64x80xf32>) outs(%filled : tensor<100x80xf32>) -> tensor<100x80xf32>
  return %r : tensor<100x80xf32>
}

// -----

// A constant is packed at compile time, padded, and its columns are summed.
// CHECK-LABEL: func.func @constant(
// CHECK-DAG: arith.constant dense<{{\[\[\[\[}}1, 3, 5, 0], [2, 4, 6, 0], [0, 0, 0, 0]{{.*}}> : tensor<1x1x16x4xi8>
// CHECK-DAG: arith.constant dense<{{\[\[}}9, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]]> : tensor<1x16xi32>
// CHECK-DAG: linalg.generic {{.*}} ins(%arg0 : tensor<4x3xi8>)
// CHECK: return
func.func @constant(%a: tensor<4x3xi8>, %c: tensor<4x16xi32>) -> tensor<4x16xi32> {
  %zero = arith.constant 0 : i32
  %filled = linalg.fill ins(%zero : i32) outs(%c : tensor<4x16xi32>) -> tensor<4x16xi32>
  %b = arith.constant dense<[[1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], [3, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], [5, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]]> : tensor<3x16xi8>
  %r = linalg.matmul ins(%a, %b : tensor<4x3xi8>, tensor<3x16xi8>) outs(%filled : tensor<4x16xi32>) -> tensor<4x16xi32>
  return %r : tensor<4x16xi32>
}

// -----

// A constant that is transposed first, as PyTorch's weights are, is packed too. One without a product is transposed.
// CHECK-LABEL: func.func @transposed(
// CHECK-DAG: arith.constant dense<{{\[\[\[\[}}1, 3, 5, 0], [2, 4, 6, 0], [0, 0, 0, 0]{{.*}}> : tensor<1x1x16x4xi8>
// CHECK-DAG: arith.constant dense<{{\[\[\[}}1.0{{[^]]*}}, 2.0{{[^]]*}}], [3.0{{[^]]*}}, 4.0{{[^]]*}}], [5.0{{[^]]*}}, 6.0{{[^]]*}}]]]> : tensor<1x3x2xf32>
// CHECK-NOT: linalg.transpose
// CHECK: return
func.func @transposed(%a: tensor<4x3xi8>, %c: tensor<4x16xi32>, %d: tensor<3x16xi8>, %e: tensor<1x3x2xf32>) -> (tensor<4x16xi32>, tensor<1x3x2xf32>) {
  %zero = arith.constant 0 : i32
  %filled = linalg.fill ins(%zero : i32) outs(%c : tensor<4x16xi32>) -> tensor<4x16xi32>
  %b = arith.constant dense<[[1, 3, 5], [2, 4, 6], [0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0]]> : tensor<16x3xi8>
  %t = linalg.transpose ins(%b : tensor<16x3xi8>) outs(%d : tensor<3x16xi8>) permutation = [1, 0]
  %r = linalg.matmul ins(%a, %t : tensor<4x3xi8>, tensor<3x16xi8>) outs(%filled : tensor<4x16xi32>) -> tensor<4x16xi32>
  %f = arith.constant dense<[[[1.0], [3.0], [5.0]], [[2.0], [4.0], [6.0]]]> : tensor<2x3x1xf32>
  %g = linalg.transpose ins(%f : tensor<2x3x1xf32>) outs(%e : tensor<1x3x2xf32>) permutation = [2, 1, 0]
  return %r, %g : tensor<4x16xi32>, tensor<1x3x2xf32>
}

// -----

// One column is a row of the transposed product.
// CHECK-LABEL: func.func @vector(
// CHECK: linalg.mmt4d {{.*}}ins({{.*}} : tensor<1x32x1x2xbf16>, tensor<4x32x32x2xbf16>)
func.func @vector(%a: tensor<100x64xbf16>, %b: tensor<64xbf16>, %c: tensor<100xf32>) -> tensor<100xf32> {
  %r = linalg.matvec ins(%a, %b : tensor<100x64xbf16>, tensor<64xbf16>) outs(%c : tensor<100xf32>) -> tensor<100xf32>
  return %r : tensor<100xf32>
}

// -----

// Dynamic sizes are padded; tiles are the largest.
// CHECK-LABEL: func.func @dynamic(
// CHECK: linalg.batch_mmt4d {{.*}}ins({{.*}} : tensor<?x?x?x14x2xbf16>, tensor<?x?x?x32x2xbf16>)
func.func @dynamic(%a: tensor<?x?x?xbf16>, %b: tensor<?x?x?xbf16>, %c: tensor<?x?x?xf32>) -> tensor<?x?x?xf32> {
  %r = linalg.batch_matmul ins(%a, %b : tensor<?x?x?xbf16>, tensor<?x?x?xbf16>) outs(%c : tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
  return %r : tensor<?x?x?xf32>
}

// -----

// The pack of a loop-invariant operand is hoisted.
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-data-tile{target=host:x86-64-v4},func.func(loop-invariant-code-motion))' -split-input-file | FileCheck %s --check-prefix=HOISTED
// HOISTED-LABEL: func.func @loop(
// HOISTED: linalg.pack %arg1
// HOISTED: scf.for
// HOISTED: linalg.pack
// HOISTED: linalg.mmt4d
func.func @loop(%a: tensor<16x16xf32>, %b: tensor<16x16xf32>, %n: index) -> tensor<16x16xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a) -> tensor<16x16xf32> {
    %empty = tensor.empty() : tensor<16x16xf32>
    %filled = linalg.fill ins(%zero : f32) outs(%empty : tensor<16x16xf32>) -> tensor<16x16xf32>
    %y = linalg.matmul ins(%x, %b : tensor<16x16xf32>, tensor<16x16xf32>) outs(%filled : tensor<16x16xf32>) -> tensor<16x16xf32>
    scf.yield %y : tensor<16x16xf32>
  }
  return %r : tensor<16x16xf32>
}
