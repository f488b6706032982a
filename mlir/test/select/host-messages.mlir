// printf and assertions in kernels on a CPU.
// REQUIRES: ld.lld
// RUN: mlir-opt %s --pass-pipeline='builtin.module(gpu-kernel-outlining,kdl-lower-to-binary{targets=host})' -o %t.mlir
// RUN: kdl-mlir run %t.mlir -e prints --entry-point-result=void --shared-libs=%lib/libkdl_mlir_runtime.so | FileCheck %s
// RUN: not kdl-mlir run %t.mlir -e asserts --entry-point-result=void --shared-libs=%lib/libkdl_mlir_runtime.so 2>&1 | FileCheck %s --check-prefix=ASSERT
// The same without optimization.
// RUN: mlir-opt %s --pass-pipeline='builtin.module(gpu-kernel-outlining,kdl-lower-to-binary{targets=host O=0})' -o %t.mlir
// RUN: kdl-mlir run %t.mlir -e prints --entry-point-result=void --shared-libs=%lib/libkdl_mlir_runtime.so | FileCheck %s
// RUN: not kdl-mlir run %t.mlir -e asserts --entry-point-result=void --shared-libs=%lib/libkdl_mlir_runtime.so 2>&1 | FileCheck %s --check-prefix=ASSERT

// Arguments have the types that C would pass.
// CHECK-DAG: item 0: -3 1 0.500000 2.250000 100%
// CHECK-DAG: item 1: -3 1 0.500000 2.250000 100%
func.func @prints() {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c2, %sy = %c1, %sz = %c1) {
    %byte = arith.constant -3 : i8
    %bit = arith.constant true
    %half = arith.constant 0.5 : f16
    %double = arith.constant 2.25 : f64
    gpu.printf "item %lld: %d %d %f %f 100%%\n", %tx, %byte, %bit, %half, %double : index, i8, i1, f16, f64
    gpu.terminator
  }
  return
}

// An item whose assertion fails ends; the others go on, also behind a barrier and in a loop. The launch fails.
// ASSERT-DAG: some.mlir:7: check: block: [0,0,0], thread: [1,0,0] Assertion `less than 100%` failed.
// ASSERT-DAG: some.mlir:7: check: block: [1,0,0], thread: [1,0,0] Assertion `less than 100%` failed.
// ASSERT-DAG: group 0 item 0 goes on
// ASSERT-DAG: group 1 item 0 goes on
// ASSERT-DAG: kdl_mlir: launch of @asserts_kernel::@asserts_kernel: {{.*}}some.mlir:7: check: Assertion `less than 100%` failed.
// ASSERT-NOT: item 1 goes on
func.func @asserts() {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c2, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c2, %sy = %c1, %sz = %c1) {
    %c0 = arith.constant 0 : index
    %step = arith.constant 1 : index
    %end = arith.constant 3 : index
    scf.for %i = %c0 to %end step %step {
      %first = arith.cmpi eq, %tx, %c0 : index
      %last = arith.cmpi slt, %i, %step : index
      %holds = arith.ori %first, %last : i1
      cf.assert %holds, "less than 100%" loc("check"("some.mlir":7:3))
    }
    gpu.barrier
    gpu.printf "group %lld item %lld goes on\n", %bx, %tx : index, index
    gpu.terminator
  }
  return
}
