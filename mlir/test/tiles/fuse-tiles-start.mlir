// Two products that start from the same zeros: each fills its own tiles, and none is copied.
// REQUIRES: ukernels
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-data-tile{target=host:x86-64-v4},cse,kdl-fuse-tiles{target=host:x86-64-v4},canonicalize,cse)' | FileCheck %s
// CHECK-LABEL: func.func @same_start(
// CHECK-NOT: linalg.fill
// CHECK: scf.forall
// CHECK: linalg.fill {{.*}} -> tensor<1x1x14x32xf32>
// CHECK: linalg.mmt4d
// CHECK: scf.forall
// CHECK: linalg.fill {{.*}} -> tensor<1x1x14x32xf32>
// CHECK: linalg.mmt4d
func.func @same_start(%a: tensor<512x128xf32>, %b: tensor<128x64xf32>, %c: tensor<128x64xf32>) -> (tensor<512x64xf32>, tensor<512x64xf32>) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<512x64xf32>
  %filled = linalg.fill ins(%zero : f32) outs(%empty : tensor<512x64xf32>) -> tensor<512x64xf32>
  %r = linalg.matmul ins(%a, %b : tensor<512x128xf32>, tensor<128x64xf32>) outs(%filled : tensor<512x64xf32>) -> tensor<512x64xf32>
  %s = linalg.matmul ins(%a, %c : tensor<512x128xf32>, tensor<128x64xf32>) outs(%filled : tensor<512x64xf32>) -> tensor<512x64xf32>
  return %r, %s : tensor<512x64xf32>, tensor<512x64xf32>
}
