// Each operation that accumulates into a filled tensor gets its own fill; one that only reads it does not, and the last one keeps the original.
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-clone-fills)' | FileCheck %s
// CHECK-LABEL: func.func @sums(
// CHECK: %[[A:.*]] = linalg.fill
// CHECK: linalg.reduce { arith.addf } ins(%arg0 {{.*}}) outs(%[[A]]
// CHECK: %[[B:.*]] = linalg.fill
// CHECK: linalg.reduce { arith.addf } ins(%arg1 {{.*}}) outs(%[[B]]
// CHECK-NOT: linalg.fill
// CHECK: return
func.func @sums(%a: tensor<8x4xf32>, %b: tensor<8x4xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8xf32>
  %filled = linalg.fill ins(%zero : f32) outs(%empty : tensor<8xf32>) -> tensor<8xf32>
  %0 = linalg.reduce { arith.addf } ins(%a : tensor<8x4xf32>) outs(%filled : tensor<8xf32>) dimensions = [1]
  %1 = linalg.reduce { arith.addf } ins(%b : tensor<8x4xf32>) outs(%filled : tensor<8xf32>) dimensions = [1]
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}

// CHECK-LABEL: func.func @read(
// CHECK-COUNT-1: linalg.fill
// CHECK-NOT: linalg.fill
// CHECK: return
func.func @read(%a: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8xf32>
  %filled = linalg.fill ins(%zero : f32) outs(%empty : tensor<8xf32>) -> tensor<8xf32>
  %0 = linalg.map { arith.addf } ins(%a, %filled : tensor<8xf32>, tensor<8xf32>) outs(%empty : tensor<8xf32>)
  %1 = linalg.map { arith.subf } ins(%a, %filled : tensor<8xf32>, tensor<8xf32>) outs(%empty : tensor<8xf32>)
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}
