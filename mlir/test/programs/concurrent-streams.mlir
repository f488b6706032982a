// Streams of the CPU run side by side: two kernels that wait for each other end, events order the work of streams, and copies come
// after the launches of their stream. By launches through slots, and by MLIR's own launches.
// REQUIRES: ld.lld
// RUN: mlir-opt %s --pass-pipeline='builtin.module(gpu-kernel-outlining,kdl-lower-to-binary{targets=host})' -o %t.mlir
// RUN: kdl-mlir run %t.mlir --entry-point-result=void --shared-libs=%lib/libkdl_mlir_runtime.so \
// RUN:   --shared-libs=%llvm_lib/libmlir_runner_utils.so,%llvm_lib/libmlir_c_runner_utils.so | FileCheck %s
// RUN: mlir-opt %s --pass-pipeline='builtin.module(gpu-kernel-outlining,kdl-attach-targets{targets=host},kdl-compile-targets,gpu-module-to-binary,kdl-pack-objects,convert-scf-to-cf,gpu-to-llvm,convert-to-llvm,reconcile-unrealized-casts)' -o %t.mlir
// RUN: mlir-runner %t.mlir --entry-point-result=void --shared-libs=%lib/libkdl_mlir_runtime.so \
// RUN:   --shared-libs=%llvm_lib/libmlir_runner_utils.so,%llvm_lib/libmlir_c_runner_utils.so | FileCheck %s

func.func private @printMemrefI32(memref<*xi32>)

// CHECK: sizes = [3]
// CHECK-NEXT: [2, 40, 41]
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0 : i32
  %counter = gpu.alloc host_shared (%c3) : memref<?xi32>
  %result = memref.alloc(%c3) : memref<?xi32>
  scf.for %i = %c0 to %c3 step %c1 {
    memref.store %zero, %counter[%i] : memref<?xi32>
  }
  %s0 = gpu.wait async
  %s1 = gpu.wait async
  // Each adds one and waits until both have.
  %a = gpu.launch async [%s0] blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
                              threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    %i = arith.constant 0 : index
    %none = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %two = arith.constant 2 : i32
    %old = memref.atomic_rmw addi %one, %counter[%i] : (i32, memref<?xi32>) -> i32
    scf.while : () -> () {
      %now = memref.atomic_rmw addi %none, %counter[%i] : (i32, memref<?xi32>) -> i32
      %less = arith.cmpi slt, %now, %two : i32
      scf.condition(%less)
    } do {
      scf.yield
    }
    gpu.terminator
  }
  %b = gpu.launch async [%s1] blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
                              threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    %i = arith.constant 0 : index
    %j = arith.constant 1 : index
    %none = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %two = arith.constant 2 : i32
    %forty = arith.constant 40 : i32
    %old = memref.atomic_rmw addi %one, %counter[%i] : (i32, memref<?xi32>) -> i32
    scf.while : () -> () {
      %now = memref.atomic_rmw addi %none, %counter[%i] : (i32, memref<?xi32>) -> i32
      %less = arith.cmpi slt, %now, %two : i32
      scf.condition(%less)
    } do {
      scf.yield
    }
    memref.store %forty, %counter[%j] : memref<?xi32>
    gpu.terminator
  }
  // Behind both, by an event.
  %both = gpu.wait async [%a, %b]
  %c = gpu.launch async [%both] blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
                                threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    %j = arith.constant 1 : index
    %k = arith.constant 2 : index
    %one = arith.constant 1 : i32
    %value = memref.load %counter[%j] : memref<?xi32>
    %next = arith.addi %value, %one : i32
    memref.store %next, %counter[%k] : memref<?xi32>
    gpu.terminator
  }
  %d = gpu.memcpy async [%c] %result, %counter : memref<?xi32>, memref<?xi32>
  gpu.wait [%d]
  %shown = memref.cast %result : memref<?xi32> to memref<*xi32>
  call @printMemrefI32(%shown) : (memref<*xi32>) -> ()
  return
}
