// A function without tensors keeps its memory management; in one with tensors, explicit allocations and deallocations stay.
// REQUIRES: ukernels
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-lower-linalg{target=host})' -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir
// CHECK-LABEL: llvm.func @make(
// CHECK: llvm.call @malloc
// CHECK-NOT: llvm.call @free
// CHECK-NOT: llvm.call @malloc
// The product of dynamic sizes has two buffers.
// CHECK-LABEL: llvm.func @by_hand(
// CHECK-COUNT-2: llvm.call @malloc
// CHECK-NOT: llvm.call @malloc
// CHECK-COUNT-3: llvm.call @free
// CHECK-NOT: llvm.call @free
// CHECK-LABEL: llvm.func @mixed(
// CHECK-COUNT-3: llvm.call @malloc
// CHECK-NOT: llvm.call @malloc
// CHECK-COUNT-3: llvm.call @free
// CHECK-NOT: llvm.call @free
// CHECK-LABEL: llvm.func @main(
// RUN: env MALLOC_PERTURB_=85 kdl-mlir run %t.mlir --entry-point-result=void \
// RUN:   --shared-libs=%llvm_lib/libmlir_runner_utils.so,%llvm_lib/libmlir_c_runner_utils.so | FileCheck %s --check-prefix=NUMBERS
// NUMBERS: sizes = [2, 3]
// NUMBERS-NEXT: {{\[\[}}20, {{ *}}20, {{ *}}20],
// NUMBERS: sizes = [600, 600]
// NUMBERS-NEXT: {{\[\[}}1200, {{ *}}1200,

func.func private @printMemrefF32(memref<*xf32>)

func.func @make(%rows: index, %columns: index, %value: f32) -> memref<?x?xf32> {
  %m = memref.alloc(%rows, %columns) : memref<?x?xf32>
  linalg.fill ins(%value : f32) outs(%m : memref<?x?xf32>)
  return %m : memref<?x?xf32>
}

func.func @by_hand(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %c: memref<?x?xf32>) {
  linalg.matmul ins(%a, %b : memref<?x?xf32>, memref<?x?xf32>) outs(%c : memref<?x?xf32>)
  memref.dealloc %a : memref<?x?xf32>
  return
}

// 600 x 600 is too large for the stack.
func.func @mixed(%a: tensor<600x2xf32>, %b: tensor<2x600xf32>) {
  %zero = arith.constant 0.0 : f32
  %m = memref.alloc() : memref<600x600xf32>
  %any = memref.cast %m : memref<600x600xf32> to memref<*xf32>
  %empty = tensor.empty() : tensor<600x600xf32>
  %filled = linalg.fill ins(%zero : f32) outs(%empty : tensor<600x600xf32>) -> tensor<600x600xf32>
  %sum = linalg.matmul ins(%a, %b : tensor<600x2xf32>, tensor<2x600xf32>) outs(%filled : tensor<600x600xf32>) -> tensor<600x600xf32>
  bufferization.materialize_in_destination %sum in writable %m : (tensor<600x600xf32>, memref<600x600xf32>) -> ()
  call @printMemrefF32(%any) : (memref<*xf32>) -> ()
  memref.dealloc %m : memref<600x600xf32>
  return
}

func.func @main() {
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c5 = arith.constant 5 : index
  %zero = arith.constant 0.0 : f32
  %two = arith.constant 2.0 : f32
  %a = call @make(%c2, %c5, %two) : (index, index, f32) -> memref<?x?xf32>
  %b = call @make(%c5, %c3, %two) : (index, index, f32) -> memref<?x?xf32>
  %c = call @make(%c2, %c3, %zero) : (index, index, f32) -> memref<?x?xf32>
  call @by_hand(%a, %b, %c) : (memref<?x?xf32>, memref<?x?xf32>, memref<?x?xf32>) -> ()
  %any = memref.cast %c : memref<?x?xf32> to memref<*xf32>
  call @printMemrefF32(%any) : (memref<*xf32>) -> ()
  memref.dealloc %b : memref<?x?xf32>
  memref.dealloc %c : memref<?x?xf32>
  call @tensors() : () -> ()
  return
}

func.func private @tensors() {
  %x = arith.constant dense<20.0> : tensor<600x2xf32>
  %y = arith.constant dense<30.0> : tensor<2x600xf32>
  call @mixed(%x, %y) : (tensor<600x2xf32>, tensor<2x600xf32>) -> ()
  return
}
