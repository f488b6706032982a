// The outermost loops over tiles become functions that libkdl's threads call; inner loops, and loops on tensors, do not.
// REQUIRES: ukernels
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-outline-parallel)' | FileCheck %s
// CHECK: func.func private @scale_part(%[[I:.*]]: index, %{{.*}}: memref<?x8xf32>, %{{.*}}: index
// CHECK: arith.remui %[[I]]
// CHECK: arith.divui %[[I]]
// CHECK: scf.forall
// CHECK: func.func private @scale_part_all(index, {{.*}}) attributes {kdl.parallel_body = @scale_part}
// CHECK: func.func @scale(
// CHECK-NOT: scf.forall
// CHECK: call @scale_part_all(
// CHECK: func.func @tensors(
// CHECK: scf.forall

// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-lower-linalg{target=host threads=true})' -o %t.mlir
// RUN: FileCheck %s --check-prefix=CALLS --input-file=%t.mlir
// CALLS-DAG: llvm.func @kdl_mlir_parallel(i64, !llvm.ptr, !llvm.ptr)
// CALLS-DAG: llvm.func internal @scale_part_all_one(%{{.*}}: !llvm.ptr, %{{.*}}: i64)
// CALLS: llvm.call @kdl_mlir_parallel(
// RUN: env KDL_HOST_THREADS=3 kdl-mlir run %t.mlir --entry-point-result=void \
// RUN:   --shared-libs=%lib/libkdl_mlir_runtime.so,%llvm_lib/libmlir_runner_utils.so,%llvm_lib/libmlir_c_runner_utils.so \
// RUN:   | FileCheck %s --check-prefix=NUMBERS
// RUN: env KDL_HOST_THREADS=1 kdl-mlir run %t.mlir --entry-point-result=void \
// RUN:   --shared-libs=%lib/libkdl_mlir_runtime.so,%llvm_lib/libmlir_runner_utils.so,%llvm_lib/libmlir_c_runner_utils.so \
// RUN:   | FileCheck %s --check-prefix=NUMBERS
// NUMBERS: sizes = [6, 8]
// NUMBERS-NEXT: {{\[\[}}6, {{ *}}6, {{ *}}6,
// NUMBERS-COUNT-5: [6, {{ *}}6, {{ *}}6,
// NUMBERS: sizes = [200, 64]
// NUMBERS-NEXT: {{\[\[}}96, {{ *}}96,
// NUMBERS-COUNT-199: [96, {{ *}}96,

func.func private @printMemrefF32(tensor<*xf32>)

func.func @scale(%m: memref<?x8xf32>, %rows: index) {
  %three = arith.constant 3.0 : f32
  scf.forall (%i, %j) in (%rows, 4) {
    scf.forall (%k) in (2) {
      %c2 = arith.constant 2 : index
      %0 = arith.muli %j, %c2 : index
      %1 = arith.addi %0, %k : index
      %2 = memref.load %m[%i, %1] : memref<?x8xf32>
      %3 = arith.mulf %2, %three : f32
      memref.store %3, %m[%i, %1] : memref<?x8xf32>
    }
  }
  return
}

func.func @tensors(%a: tensor<4xf32>) -> tensor<4xf32> {
  %r = scf.forall (%i) in (4) shared_outs(%o = %a) -> (tensor<4xf32>) {
    %s = tensor.extract_slice %a[%i] [1] [1] : tensor<4xf32> to tensor<1xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %s into %o[%i] [1] [1] : tensor<1xf32> into tensor<4xf32>
    }
  }
  return %r : tensor<4xf32>
}

func.func private @product(%a: tensor<200x48xf32>, %b: tensor<48x64xf32>) -> tensor<200x64xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<200x64xf32>
  %filled = linalg.fill ins(%zero : f32) outs(%empty : tensor<200x64xf32>) -> tensor<200x64xf32>
  %r = linalg.matmul ins(%a, %b : tensor<200x48xf32>, tensor<48x64xf32>) outs(%filled : tensor<200x64xf32>) -> tensor<200x64xf32>
  return %r : tensor<200x64xf32>
}

func.func @main() {
  %c6 = arith.constant 6 : index
  %two = arith.constant 2.0 : f32
  %m = memref.alloc(%c6) : memref<?x8xf32>
  linalg.fill ins(%two : f32) outs(%m : memref<?x8xf32>)
  call @scale(%m, %c6) : (memref<?x8xf32>, index) -> ()
  %t = bufferization.to_tensor %m restrict : memref<?x8xf32> to tensor<?x8xf32>
  %any = tensor.cast %t : tensor<?x8xf32> to tensor<*xf32>
  call @printMemrefF32(%any) : (tensor<*xf32>) -> ()
  %a = arith.constant dense<1.0> : tensor<200x48xf32>
  %b = arith.constant dense<2.0> : tensor<48x64xf32>
  %c = call @product(%a, %b) : (tensor<200x48xf32>, tensor<48x64xf32>) -> tensor<200x64xf32>
  %u = tensor.cast %c : tensor<200x64xf32> to tensor<*xf32>
  call @printMemrefF32(%u) : (tensor<*xf32>) -> ()
  return
}
