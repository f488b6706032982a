// The loops over tiles pack the left operand block by block, and apply bias and activation to a tile
// before it is stored.
// REQUIRES: ukernels
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-data-tile{target=host:x86-64-v4},kdl-fuse-tiles{target=host:x86-64-v4},canonicalize,cse)' -split-input-file | FileCheck %s

// CHECK-LABEL: func.func @bias_relu(
// CHECK: linalg.pack %arg1
// CHECK-NOT: linalg.pack
// CHECK: scf.forall (%{{.*}}) in (13) shared_outs(%[[OUT:.*]] = %{{.*}}) -> (tensor<512x256xf32>)
// CHECK: %[[LEFT:.*]] = linalg.pack
// CHECK: scf.for
// CHECK: scf.for
// CHECK: linalg.fill {{.*}} tensor<1x1x14x32xf32>
// CHECK: %[[SUM:.*]] = linalg.mmt4d {{.*}}ins({{.*}} : tensor<1x128x14x1xf32>, tensor<1x128x32x1xf32>)
// CHECK: %[[TILE:.*]] = linalg.unpack %[[SUM]]
// CHECK: linalg.generic {{.*}} ins(%[[TILE]],
// CHECK: arith.addf
// CHECK: arith.maximumf
// CHECK: tensor.insert_slice
// CHECK: tensor.parallel_insert_slice
// CHECK: return
#all = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>
func.func @bias_relu(%a: tensor<512x128xf32>, %b: tensor<128x256xf32>, %bias: tensor<256xf32>) -> tensor<512x256xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<512x256xf32>
  %filled = linalg.fill ins(%zero : f32) outs(%empty : tensor<512x256xf32>) -> tensor<512x256xf32>
  %r = linalg.matmul ins(%a, %b : tensor<512x128xf32>, tensor<128x256xf32>) outs(%filled : tensor<512x256xf32>) -> tensor<512x256xf32>
  %s = linalg.generic {indexing_maps = [#all, #column, #all], iterator_types = ["parallel", "parallel"]}
      ins(%r, %bias : tensor<512x256xf32>, tensor<256xf32>) outs(%empty : tensor<512x256xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.addf %x, %y : f32
    linalg.yield %0 : f32
  } -> tensor<512x256xf32>
  %t = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<512x256xf32>) outs(%empty : tensor<512x256xf32>) {
  ^bb0(%x: f32, %z: f32):
    %0 = arith.maximumf %x, %zero : f32
    linalg.yield %0 : f32
  } -> tensor<512x256xf32>
  return %t : tensor<512x256xf32>
}

// -----

// Few rows: blocks of columns, the left operand is packed once, and the right one panel by panel.
// CHECK-LABEL: func.func @few_rows(
// CHECK: linalg.pack %arg0
// CHECK-NOT: linalg.pack %arg1
// CHECK: scf.forall (%{{.*}}) in (16)
// CHECK: linalg.pack
// CHECK: linalg.mmt4d {{.*}}ins({{.*}} : tensor<1x128x4x1xf32>, tensor<1x128x32x1xf32>)
func.func @few_rows(%a: tensor<4x128xf32>, %b: tensor<128x1024xf32>, %c: tensor<4x1024xf32>) -> tensor<4x1024xf32> {
  %r = linalg.matmul ins(%a, %b : tensor<4x128xf32>, tensor<128x1024xf32>) outs(%c : tensor<4x1024xf32>) -> tensor<4x1024xf32>
  return %r : tensor<4x1024xf32>
}

// -----

// A result with two uses, and a sum over it, are not fused; an mmt4d that is not unpacked stays.
// CHECK-LABEL: func.func @outside(
// CHECK: linalg.mmt4d {{.*}} tensor<1x1x4x16xf32>
// CHECK: scf.forall
// CHECK: linalg.mmt4d
// CHECK: tensor.parallel_insert_slice
// CHECK: linalg.generic
// CHECK: arith.mulf
// CHECK: linalg.reduce
func.func @outside(%a: tensor<64x64xf32>, %c: tensor<64x64xf32>, %d: tensor<64xf32>, %p: tensor<1x8x4x1xf32>, %q: tensor<1x8x16x1xf32>, %s: tensor<1x1x4x16xf32>)
    -> (tensor<64x64xf32>, tensor<64xf32>, tensor<1x1x4x16xf32>) {
  %m = linalg.mmt4d ins(%p, %q : tensor<1x8x4x1xf32>, tensor<1x8x16x1xf32>) outs(%s : tensor<1x1x4x16xf32>) -> tensor<1x1x4x16xf32>
  %r = linalg.matmul ins(%a, %a : tensor<64x64xf32>, tensor<64x64xf32>) outs(%c : tensor<64x64xf32>) -> tensor<64x64xf32>
  %t = linalg.map { arith.mulf } ins(%r, %a : tensor<64x64xf32>, tensor<64x64xf32>) outs(%c : tensor<64x64xf32>)
  %sums = linalg.reduce ins(%r : tensor<64x64xf32>) outs(%d : tensor<64xf32>) dimensions = [1] (%x: f32, %y: f32) {
    %0 = arith.addf %x, %y : f32
    linalg.yield %0 : f32
  }
  return %t, %sums, %m : tensor<64x64xf32>, tensor<64xf32>, tensor<1x1x4x16xf32>
}

// -----

// An iteration of the loop over a batch has one element of static size.
// CHECK-LABEL: func.func @batch(
// CHECK: scf.forall {{.*}} in (12, {{.*}}) shared_outs
// CHECK-NOT: tensor<?x
// CHECK: linalg.batch_mmt4d {{.*}}ins({{.*}} : tensor<1x1x64x13x1xf32>, tensor<1x1x64x32x1xf32>)
// CHECK: tensor.parallel_insert_slice
func.func @batch(%a: tensor<12x130x64xf32>, %b: tensor<12x64x128xf32>, %c: tensor<12x130x128xf32>) -> tensor<12x130x128xf32> {
  %r = linalg.batch_matmul ins(%a, %b : tensor<12x130x64xf32>, tensor<12x64x128xf32>) outs(%c : tensor<12x130x128xf32>) -> tensor<12x130x128xf32>
  return %r : tensor<12x130x128xf32>
}

// -----

// Sizes of a fused operation are those of its destination.
// CHECK-LABEL: func.func @sizes(
// CHECK-SAME: %{{.*}}: tensor<?x?xf32>, %{{.*}}: tensor<?x?xf32>, %[[C:.*]]: tensor<?x?xf32>)
// CHECK-DAG: %[[M:.*]] = tensor.dim %[[C]], %c0
// CHECK-DAG: %[[N:.*]] = tensor.dim %[[C]], %c1
// CHECK: tensor.empty(%[[M]], %[[N]]) : tensor<?x?xf32>
// CHECK: scf.forall
func.func @sizes(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>, %c: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %p = linalg.matmul ins(%a, %b : tensor<?x?xf32>, tensor<?x?xf32>) outs(%c : tensor<?x?xf32>) -> tensor<?x?xf32>
  %m = tensor.dim %p, %c0 : tensor<?x?xf32>
  %n = tensor.dim %p, %c1 : tensor<?x?xf32>
  %e = tensor.empty(%m, %n) : tensor<?x?xf32>
  %r = linalg.map { arith.addf } ins(%p, %p : tensor<?x?xf32>, tensor<?x?xf32>) outs(%e : tensor<?x?xf32>)
  return %r : tensor<?x?xf32>
}
