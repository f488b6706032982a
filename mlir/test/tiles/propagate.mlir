// A product takes the result of another one in tiles, through elementwise operations: nothing is unpacked and packed between them.
// REQUIRES: ukernels
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-data-tile{target=host:x86-64-v4+avx512_bf16+avx512_vnni},canonicalize,cse)' -split-input-file | FileCheck %s

// A result tile, 14 x 32, is 32 steps of 14 rows.
// CHECK-LABEL: func.func @f32(
// CHECK-SAME: %[[BIAS:[^:]*]]: tensor<64xf32>
// CHECK: %[[SUM:.*]] = linalg.mmt4d {{.*}}ins({{.*}}) outs({{.*}} : tensor<8x2x13x32xf32>)
// CHECK-NOT: linalg.unpack
// CHECK: %[[WIDE:.*]] = tensor.expand_shape %[[BIAS]] {{\[\[}}0, 1]] output_shape [2, 32]
// CHECK: %[[Y:.*]] = linalg.generic {{.*}} ins(%[[SUM]], %[[WIDE]] : tensor<8x2x13x32xf32>, tensor<2x32xf32>)
// CHECK: %[[LEFT:.*]] = tensor.expand_shape %[[Y]] {{.*}} output_shape [8, 2, 13, 32, 1]
// CHECK: linalg.generic {{.*}} ins(%[[LEFT]], {{.*}} : tensor<8x2x13x32x1xf32>, tensor<2x2x32x32x1xf32>)
// CHECK: linalg.unpack
// The loops of the first one omit the unpack, those of the second one the pack.
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-data-tile{target=host:x86-64-v4+avx512_bf16+avx512_vnni},canonicalize,cse,kdl-fuse-tiles{target=host:x86-64-v4+avx512_bf16+avx512_vnni},canonicalize,cse)' -split-input-file | FileCheck %s --check-prefix=FUSED
// FUSED-LABEL: func.func @f32(
// FUSED: scf.forall {{.*}} -> (tensor<8x2x13x32xf32>)
// FUSED: linalg.mmt4d
// FUSED-NOT: linalg.unpack
// FUSED: linalg.generic {{.*}} ins({{.*}} : tensor<1x1x13x32xf32>, tensor<1x32xf32>)
// FUSED: scf.forall {{.*}} -> (tensor<100x64xf32>)
// FUSED-NOT: linalg.pack
// FUSED: linalg.generic {{.*}} ins({{.*}} : tensor<1x2x13x32x1xf32>, tensor<1x2x32x32x1xf32>)
// FUSED: linalg.unpack
// FUSED-LABEL: func.func @bf16(
// The microkernel takes them in this form.
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-lower-linalg{target=host:x86-64-v4+avx512_bf16+avx512_vnni})' -split-input-file -o %t.mlir
// RUN: FileCheck %s --check-prefix=CALLS --input-file=%t.mlir
// CALLS-LABEL: llvm.func @f32(
// CALLS: %[[LOT:.*]] = llvm.mlir.constant(32 : i32) : i32
// CALLS: llvm.call @kdl_uk_mma_f32_f32({{.*}}, %[[LOT]])
#all = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#column = affine_map<(i, j) -> (j)>
func.func @f32(%bias: tensor<64xf32>, %x: tensor<100x24xf32>, %a: tensor<24x64xf32>, %b: tensor<64x64xf32>, %c: tensor<100x64xf32>) -> tensor<100x64xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<100x64xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<100x64xf32>) -> tensor<100x64xf32>
  %s = linalg.matmul ins(%x, %a : tensor<100x24xf32>, tensor<24x64xf32>) outs(%z : tensor<100x64xf32>) -> tensor<100x64xf32>
  %y = linalg.generic {indexing_maps = [#all, #column, #all], iterator_types = ["parallel", "parallel"]} ins(%s, %bias : tensor<100x64xf32>, tensor<64xf32>) outs(%e : tensor<100x64xf32>) {
  ^bb0(%0: f32, %1: f32, %2: f32):
    %3 = arith.addf %0, %1 : f32
    linalg.yield %3 : f32
  } -> tensor<100x64xf32>
  %t = linalg.matmul ins(%y, %b : tensor<100x64xf32>, tensor<64x64xf32>) outs(%z : tensor<100x64xf32>) -> tensor<100x64xf32>
  return %t : tensor<100x64xf32>
}

// -----

// 32 columns of bf16 are 16 steps of 2. Named operations are elementwise, too; a column and a matrix are packed into tiles.
// CHECK-LABEL: func.func @bf16(
// CHECK: %[[SUM:.*]] = linalg.mmt4d
// CHECK-NOT: linalg.unpack
// CHECK-DAG: linalg.pack %{{.*}} padding_value({{.*}}) inner_dims_pos = [0, 1] inner_tiles = [13, 32] {{.*}} -> tensor<8x1x13x32xf32>
// CHECK-DAG: linalg.pack %{{.*}} padding_value({{.*}}) inner_dims_pos = [0] inner_tiles = [13] {{.*}} -> tensor<8x13xf32>
// CHECK: tensor.expand_shape {{.*}} output_shape [8, 1, 13, 16, 2]
// CHECK: linalg.unpack
#all = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func @bf16(%r: tensor<100xf32>, %more: tensor<100x32xf32>, %x: tensor<100x24xbf16>, %a: tensor<24x32xbf16>, %b: tensor<32x64xbf16>, %c: tensor<100x32xf32>, %d: tensor<100x64xf32>) -> tensor<100x64xf32> {
  %e = tensor.empty() : tensor<100x32xf32>
  %f = tensor.empty() : tensor<100x32xbf16>
  %s = linalg.matmul ins(%x, %a : tensor<100x24xbf16>, tensor<24x32xbf16>) outs(%c : tensor<100x32xf32>) -> tensor<100x32xf32>
  %u = linalg.map { arith.addf } ins(%s, %more : tensor<100x32xf32>, tensor<100x32xf32>) outs(%e : tensor<100x32xf32>)
  %y = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]} ins(%u, %r : tensor<100x32xf32>, tensor<100xf32>) outs(%f : tensor<100x32xbf16>) {
  ^bb0(%0: f32, %1: f32, %2: bf16):
    %3 = arith.divf %0, %1 : f32
    %4 = arith.truncf %3 : f32 to bf16
    linalg.yield %4 : bf16
  } -> tensor<100x32xbf16>
  %t = linalg.matmul ins(%y, %b : tensor<100x32xbf16>, tensor<32x64xbf16>) outs(%d : tensor<100x64xf32>) -> tensor<100x64xf32>
  return %t : tensor<100x64xf32>
}

// -----

// Cases that need the unpacked matrix: columns that are not full panels; a result with other uses; a transposed result, or a right
// operand; reductions in between; an operation that uses its indices.
// CHECK-LABEL: func.func @panels(
// CHECK: linalg.unpack
// CHECK: linalg.pack
// CHECK: linalg.mmt4d
// CHECK-LABEL: func.func @others(
// CHECK: linalg.unpack
// CHECK: linalg.mmt4d
// CHECK-LABEL: func.func @transposed(
// CHECK: linalg.unpack
// CHECK: linalg.mmt4d
// CHECK-LABEL: func.func @right(
// CHECK: linalg.unpack
// CHECK: linalg.mmt4d
// CHECK-LABEL: func.func @index(
// CHECK: linalg.unpack
// CHECK: linalg.mmt4d
// Rows that are divided differently: 6 of f32, 4 of bf16 with AVX2. AMX tiles.
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-data-tile{target=host:x86-64-v3},canonicalize,cse)' -split-input-file | FileCheck %s --check-prefix=AVX2
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-data-tile{target=host:x86-64-v4+avx512_bf16+amx_tile+amx_bf16},canonicalize,cse)' -split-input-file | FileCheck %s --check-prefix=AMX
// AVX2-LABEL: func.func @rows(
// AVX2: linalg.unpack
// AVX2: linalg.mmt4d
// AMX-LABEL: func.func @bf16(
// AMX: linalg.unpack
// AMX: linalg.mmt4d
func.func @panels(%x: tensor<100x24xf32>, %a: tensor<24x70xf32>, %b: tensor<70x64xf32>, %c: tensor<100x70xf32>, %d: tensor<100x64xf32>) -> tensor<100x64xf32> {
  %s = linalg.matmul ins(%x, %a : tensor<100x24xf32>, tensor<24x70xf32>) outs(%c : tensor<100x70xf32>) -> tensor<100x70xf32>
  %t = linalg.matmul ins(%s, %b : tensor<100x70xf32>, tensor<70x64xf32>) outs(%d : tensor<100x64xf32>) -> tensor<100x64xf32>
  return %t : tensor<100x64xf32>
}
func.func @others(%x: tensor<64x24xf32>, %a: tensor<24x64xf32>, %b: tensor<64x64xf32>, %c: tensor<64x64xf32>, %d: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %s = linalg.matmul ins(%x, %a : tensor<64x24xf32>, tensor<24x64xf32>) outs(%c : tensor<64x64xf32>) -> tensor<64x64xf32>
  %t = linalg.matmul ins(%s, %b : tensor<64x64xf32>, tensor<64x64xf32>) outs(%d : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %s, %t : tensor<64x64xf32>, tensor<64x64xf32>
}
func.func @transposed(%x: tensor<64x24xf32>, %a: tensor<24x64xf32>, %b: tensor<64x64xf32>, %c: tensor<64x64xf32>, %d: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %s = linalg.matmul ins(%x, %a : tensor<64x24xf32>, tensor<24x64xf32>) outs(%c : tensor<64x64xf32>) -> tensor<64x64xf32>
  %t = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
       ins(%s, %b : tensor<64x64xf32>, tensor<64x64xf32>) outs(%d : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %t : tensor<64x64xf32>
}
func.func @right(%x: tensor<64x24xf32>, %a: tensor<24x64xf32>, %b: tensor<64x64xf32>, %c: tensor<64x64xf32>, %d: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %s = linalg.matmul ins(%x, %a : tensor<64x24xf32>, tensor<24x64xf32>) outs(%c : tensor<64x64xf32>) -> tensor<64x64xf32>
  %t = linalg.matmul ins(%b, %s : tensor<64x64xf32>, tensor<64x64xf32>) outs(%d : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %t : tensor<64x64xf32>
}
func.func @index(%x: tensor<64x24xf32>, %a: tensor<24x64xf32>, %b: tensor<64x64xf32>, %c: tensor<64x64xf32>, %d: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %zero = arith.constant 0.0 : f32
  %s = linalg.matmul ins(%x, %a : tensor<64x24xf32>, tensor<24x64xf32>) outs(%c : tensor<64x64xf32>) -> tensor<64x64xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%s : tensor<64x64xf32>) outs(%c : tensor<64x64xf32>) {
  ^bb0(%0: f32, %1: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %above = arith.cmpi slt, %i, %j : index
    %2 = arith.select %above, %zero, %0 : f32
    linalg.yield %2 : f32
  } -> tensor<64x64xf32>
  %t = linalg.matmul ins(%y, %b : tensor<64x64xf32>, tensor<64x64xf32>) outs(%d : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %t : tensor<64x64xf32>
}

// -----

func.func @rows(%x: tensor<100x24xbf16>, %a: tensor<24x32xbf16>, %b: tensor<32x64xf32>, %c: tensor<100x32xf32>, %d: tensor<100x64xf32>) -> tensor<100x64xf32> {
  %s = linalg.matmul ins(%x, %a : tensor<100x24xbf16>, tensor<24x32xbf16>) outs(%c : tensor<100x32xf32>) -> tensor<100x32xf32>
  %t = linalg.matmul ins(%s, %b : tensor<100x32xf32>, tensor<32x64xf32>) outs(%d : tensor<100x64xf32>) -> tensor<100x64xf32>
  return %t : tensor<100x64xf32>
}

// -----

// The number of rows is not known, and a later operation asks for it.
// CHECK-LABEL: func.func @dynamic_rows(
// CHECK: tensor.expand_shape {{.*}} tensor<?x2x14x32xf32> into tensor<?x2x14x32x1xf32>
// FUSED-LABEL: func.func @dynamic_rows(
func.func @dynamic_rows(%x: tensor<?x32xf32>, %a: tensor<32x64xf32>, %b: tensor<64x64xf32>) -> (tensor<?x64xf32>, index) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c0 : tensor<?x32xf32>
  %e = tensor.empty(%n) : tensor<?x64xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<?x64xf32>) -> tensor<?x64xf32>
  %s = linalg.matmul ins(%x, %a : tensor<?x32xf32>, tensor<32x64xf32>) outs(%z : tensor<?x64xf32>) -> tensor<?x64xf32>
  %rows = tensor.dim %s, %c0 : tensor<?x64xf32>
  %f = tensor.empty(%rows) : tensor<?x64xf32>
  %y = linalg.fill ins(%zero : f32) outs(%f : tensor<?x64xf32>) -> tensor<?x64xf32>
  %r = linalg.matmul ins(%s, %b : tensor<?x64xf32>, tensor<64x64xf32>) outs(%y : tensor<?x64xf32>) -> tensor<?x64xf32>
  return %r, %rows : tensor<?x64xf32>, index
}
