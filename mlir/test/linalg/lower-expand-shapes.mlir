// An expand_shape with two dynamic sizes in a group becomes a cast with the sizes it names; others stay.
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-lower-expand-shapes)' | FileCheck %s
// CHECK-LABEL: func.func @two(
// CHECK: memref.reinterpret_cast %{{.*}} to offset: [0], sizes: [%{{.*}}, %{{.*}}, 4], strides: [%{{.*}}, 4, 1] : memref<?xf32> to memref<?x?x4xf32>
// CHECK-LABEL: func.func @one(
// CHECK: memref.expand_shape
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-lower-linalg{target=host})' -o %t.mlir
// RUN: kdl-mlir run %t.mlir --entry-point-result=void --shared-libs=%llvm_lib/libmlir_runner_utils.so,%llvm_lib/libmlir_c_runner_utils.so | FileCheck %s --check-prefix=NUMBERS
// NUMBERS: sizes = [2, 3, 4] strides = [12, 4, 1]
// NUMBERS-NEXT: {{\[\[\[}}0, {{ *}}1, {{ *}}2, {{ *}}3]
// NUMBERS-NEXT: [4, {{ *}}5, {{ *}}6, {{ *}}7]
// NUMBERS-NEXT: [8, {{ *}}9, {{ *}}10, {{ *}}11]
// NUMBERS-NEXT: [12, {{ *}}13, {{ *}}14, {{ *}}15]
func.func private @printMemrefF32(tensor<*xf32>)

func.func @two(%m: memref<?xf32>, %a: index, %b: index) -> memref<?x?x4xf32> {
  %r = memref.expand_shape %m [[0, 1, 2]] output_shape [%a, %b, 4] : memref<?xf32> into memref<?x?x4xf32>
  return %r : memref<?x?x4xf32>
}

func.func @one(%m: memref<?xf32>, %a: index) -> memref<?x4xf32> {
  %r = memref.expand_shape %m [[0, 1]] output_shape [%a, 4] : memref<?xf32> into memref<?x4xf32>
  return %r : memref<?x4xf32>
}

func.func private @split(%t: tensor<?xf32>, %a: index, %b: index) {
  %r = tensor.expand_shape %t [[0, 1, 2]] output_shape [%a, %b, 4] : tensor<?xf32> into tensor<?x?x4xf32>
  %u = tensor.cast %r : tensor<?x?x4xf32> to tensor<*xf32>
  call @printMemrefF32(%u) : (tensor<*xf32>) -> ()
  return
}

func.func @main() {
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %t = tensor.generate {
  ^bb0(%i: index):
    %0 = arith.index_cast %i : index to i32
    %1 = arith.sitofp %0 : i32 to f32
    tensor.yield %1 : f32
  } : tensor<24xf32>
  %any = tensor.cast %t : tensor<24xf32> to tensor<?xf32>
  call @split(%any, %c2, %c3) : (tensor<?xf32>, index, index) -> ()
  return
}
