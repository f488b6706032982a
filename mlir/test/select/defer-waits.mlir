// Waits for launches without a stream move to the first operation that could observe their effects.
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-defer-waits)' | FileCheck %s
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-defer-waits)' | kdl-mlir translate \
// RUN:   | FileCheck %s --check-prefix=LLVM

module attributes {gpu.container_module} {
  // CHECK: llvm.func @kdl_mlir_wait()
  gpu.binary @kernels <#kdl.runtime_select> [#gpu.object<#kdl.host, bin = "x">]
  gpu.binary @others [#gpu.object<#nvvm.target, bin = "x">]

  // After the loop, not in it.
  // CHECK-LABEL: llvm.func @loop(
  // CHECK: ^bb1
  // CHECK: gpu.launch_func @kernels::@none {{.*}}kdl.deferred
  // CHECK-NOT: call
  // CHECK: llvm.cond_br
  // CHECK: ^bb2:
  // CHECK-NEXT: llvm.call @kdl_mlir_wait()
  // CHECK-NEXT: llvm.return
  // LLVM-LABEL: define void @loop(
  // LLVM: call void @kdl_mlir_wait()
  // LLVM-NEXT: ret void
  // LLVM: kdl.launched:
  // LLVM-NOT: kdl_mlir_wait
  // LLVM-LABEL: define void @loop_that_looks(
  llvm.func @loop(%n: i64) {
    %c0 = llvm.mlir.constant(0 : i64) : i64
    %c1 = llvm.mlir.constant(1 : i64) : i64
    llvm.br ^head(%c0 : i64)
  ^head(%i: i64):
    gpu.launch_func @kernels::@none blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) : i64
    %next = llvm.add %i, %c1 : i64
    %more = llvm.icmp "slt" %next, %n : i64
    llvm.cond_br %more, ^head(%next : i64), ^done
  ^done:
    llvm.return
  }

  // A load in the loop observes each kernel; the first iteration waits for earlier launches.
  // CHECK-LABEL: llvm.func @loop_that_looks(
  // CHECK: gpu.launch_func
  // CHECK-NOT: call
  // CHECK: ^bb1
  // CHECK: llvm.call @kdl_mlir_wait()
  // CHECK-NEXT: llvm.load
  // CHECK: gpu.launch_func
  // CHECK-NOT: call
  // CHECK: llvm.cond_br
  // CHECK: ^bb2:
  // CHECK-NEXT: llvm.call @kdl_mlir_wait()
  // CHECK-NEXT: llvm.return
  llvm.func @loop_that_looks(%x: !llvm.ptr) {
    %c1 = llvm.mlir.constant(1 : i64) : i64
    gpu.launch_func @kernels::@none blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) : i64
    llvm.br ^head
  ^head:
    %more = llvm.load %x : !llvm.ptr -> i1
    gpu.launch_func @kernels::@none blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) : i64
    llvm.cond_br %more, ^head, ^done
  ^done:
    llvm.return
  }

  // One of two branches launches: after the join, a launch may be pending.
  // CHECK-LABEL: llvm.func @branch(
  // CHECK-NOT: llvm.call
  // CHECK: gpu.launch_func
  // CHECK: ^bb2:
  // CHECK-NEXT: llvm.call @kdl_mlir_wait()
  // CHECK-NEXT: llvm.call @look()
  // CHECK-NEXT: llvm.return
  llvm.func @look()
  llvm.func @branch(%launches: i1) {
    %c1 = llvm.mlir.constant(1 : i64) : i64
    llvm.cond_br %launches, ^launch, ^end
  ^launch:
    gpu.launch_func @kernels::@none blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) : i64
    llvm.br ^end
  ^end:
    llvm.call @look() : () -> ()
    llvm.return
  }

  // Launches of another kind do not use the queue.
  // CHECK-LABEL: llvm.func @others_too(
  // CHECK: gpu.launch_func @kernels::@none
  // CHECK-NEXT: llvm.call @kdl_mlir_wait()
  // CHECK-NEXT: gpu.launch_func <
  // CHECK-NOT: deferred
  // CHECK: gpu.launch_func @kernels::@none {{.*}}kdl.deferred
  // CHECK-NEXT: llvm.call @kdl_mlir_wait()
  // CHECK-NEXT: gpu.launch_func @others::@none
  // CHECK-NOT: call
  // CHECK: llvm.return
  llvm.func @others_too(%stream: !llvm.ptr) {
    %c1 = llvm.mlir.constant(1 : i64) : i64
    gpu.launch_func @kernels::@none blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) : i64
    gpu.launch_func <%stream : !llvm.ptr> @kernels::@none blocks in (%c1, %c1, %c1)
      threads in (%c1, %c1, %c1) : i64
    gpu.launch_func @kernels::@none blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) : i64
    gpu.launch_func @others::@none blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) : i64
    llvm.return
  }
}
