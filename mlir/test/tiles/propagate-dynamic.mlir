// Two products of a number of rows that is not known, from tile to tile: the last tile is partial.
// REQUIRES: ukernels
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-lower-linalg{target=host no-silent-fallback=true})' | kdl-mlir run --entry-point-result=void --shared-libs=%llvm_lib/libmlir_runner_utils.so,%llvm_lib/libmlir_c_runner_utils.so | FileCheck %s
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-lower-linalg{target=host threads=true leave-plain=false no-silent-fallback=true})' | kdl-mlir run --entry-point-result=void --shared-libs=%lib/libkdl_mlir_runtime.so,%llvm_lib/libmlir_runner_utils.so,%llvm_lib/libmlir_c_runner_utils.so | FileCheck %s
// CHECK: sizes = [37, 64]
// CHECK-COUNT-2368: 4096
func.func private @printMemrefF32(tensor<*xf32>)
func.func private @network(%x: tensor<?x32xf32>) -> tensor<?x64xf32> {
  %a = arith.constant dense<1.0> : tensor<32x64xf32>
  %b = arith.constant dense<2.0> : tensor<64x64xf32>
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
  return %r : tensor<?x64xf32>
}
func.func @main() {
  %x = arith.constant dense<1.0> : tensor<37x32xf32>
  %some = tensor.cast %x : tensor<37x32xf32> to tensor<?x32xf32>
  %y = call @network(%some) : (tensor<?x32xf32>) -> tensor<?x64xf32>
  %any = tensor.cast %y : tensor<?x64xf32> to tensor<*xf32>
  call @printMemrefF32(%any) : (tensor<*xf32>) -> ()
  return
}
