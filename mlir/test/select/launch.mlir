// A launch in LLVM IR: loads the handle from its slot and its entry, and calls that.
// RUN: kdl-mlir translate %s | FileCheck %s

module attributes {gpu.container_module} {
  gpu.binary @kernels <#kdl.runtime_select<policy = capability, fallback = host>> [
    #gpu.object<#kdl.host, bin = "x">]

  // CHECK: @kernels_kdl_library = internal global {{.*}} { i32 1, i32 2, i32 1, i32 0, ptr @kernels_kdl_name, ptr @kernels_kdl_data, i64 [[SIZE:[0-9]+]], ptr null }
  // CHECK: @kernels_kdl_name = private unnamed_addr constant [9 x i8] c"@kernels\00"
  // CHECK: @kernels_kdl_data = internal constant [[[SIZE]] x i8] c"\10\FF\10\AD{{.*}}", section ".kdl.offloading", align 8
  // CHECK: @llvm.global_ctors = {{.*}} { i32 123, ptr @kernels_kdl_register, ptr null }
  // CHECK: @llvm.global_dtors = {{.*}} { i32 123, ptr @kernels_kdl_unregister, ptr null }

  // A slot initially points to its stub, whose entry binds.
  // CHECK: @kernels_kdl_slot_axpy = internal global { ptr, ptr } { ptr @kernels_kdl_stub_axpy, ptr null }
  // CHECK: @kernels_kdl_stub_axpy = internal constant {{.*}} { ptr @kdl_mlir_bind, ptr null, ptr null }, ptr @kernels_kdl_slot_axpy, ptr @kernels_kdl_library, ptr @kernels_kdl_slot_axpy_name }

  // A constant shape is a constant.
  // CHECK: @kernels_kdl_desc = private unnamed_addr constant {{.*}} { i64 56, [3 x i32] [i32 4, i32 1, i32 1], [3 x i32] [i32 64, i32 1, i32 1], i32 0, i32 0, [3 x i32] zeroinitializer, i32 0 }

  // CHECK-LABEL: define void @sync(float %0, ptr %1)
  // CHECK:         %kdl.args = alloca
  // CHECK-NOT:     call
  // CHECK:         store float %0, ptr %[[ARG0:.*]], align 4
  // CHECK:         store ptr %[[ARG0]], ptr
  // CHECK:         store ptr %1, ptr %[[ARG1:.*]], align 8
  // CHECK:         store ptr %[[ARG1]], ptr
  // CHECK:         store i64 2, ptr
  // CHECK:         %[[HANDLE:.*]] = load atomic ptr, ptr @kernels_kdl_slot_axpy acquire, align 8
  // CHECK-NEXT:    %[[ENTRY:.*]] = load atomic ptr, ptr %[[HANDLE]] acquire, align 8
  // CHECK-NEXT:    %[[QUEUE:.*]] = load atomic ptr, ptr getelementptr inbounds nuw (i8, ptr @kernels_kdl_slot_axpy, i64 8) monotonic
  // CHECK-NEXT:    %[[STATUS:.*]] = call i32 %[[ENTRY]](ptr %[[HANDLE]], ptr @kernels_kdl_desc, ptr %kdl.args, ptr %[[QUEUE]])
  // CHECK-NEXT:    %[[BAD:.*]] = icmp ne i32 %[[STATUS]], 0
  // CHECK-NEXT:    br i1 %[[BAD]], label %kdl.failed, label %kdl.launched
  // CHECK:       kdl.failed:
  // CHECK-NEXT:    call void @kdl_mlir_launch_failed(ptr @kernels_kdl_stub_axpy, ptr @kernels_kdl_desc)
  // CHECK:       kdl.launched:
  // CHECK-NEXT:    call void @kdl_mlir_wait()
  // CHECK-NEXT:    ret void
  llvm.func @sync(%a: f32, %x: !llvm.ptr) {
    %c1 = llvm.mlir.constant(1 : i64) : i64
    %c4 = llvm.mlir.constant(4 : i64) : i64
    %c64 = llvm.mlir.constant(64 : i64) : i64
    gpu.launch_func @kernels::@axpy blocks in (%c4, %c1, %c1) threads in (%c64, %c1, %c1) : i64
      args(%a : f32, %x : !llvm.ptr)
    llvm.return
  }

  // With a stream: its queue, and no wait.
  // CHECK-LABEL: define void @async(ptr %0)
  // CHECK:         %[[QUEUE:.*]] = load ptr, ptr %0, align 8
  // CHECK-NEXT:    call i32 %{{.*}}(ptr %{{.*}}, ptr @{{.*}}, ptr %kdl.args, ptr %[[QUEUE]])
  // CHECK-NOT:     kdl_mlir_wait
  // CHECK:         ret void
  llvm.func @async(%stream: !llvm.ptr) {
    %c1 = llvm.mlir.constant(1 : i64) : i64
    gpu.launch_func <%stream : !llvm.ptr> @kernels::@none blocks in (%c1, %c1, %c1)
      threads in (%c1, %c1, %c1) : i64
    llvm.return
  }

  // Dynamic sizes; none is truncated to 32 bits.
  // CHECK-LABEL: define void @shape(i64 %0, i32 %1)
  // CHECK:         %kdl.desc = alloca
  // CHECK:         %[[MIN:.*]] = call i64 @llvm.umin.i64(i64 %0, i64 4294967295)
  // CHECK:         %[[X:.*]] = trunc i64 %[[MIN]] to i32
  // CHECK:         store i64 56, ptr %kdl.desc
  // CHECK:         %[[GRID:.*]] = getelementptr inbounds i8, ptr %kdl.desc, i64 8
  // CHECK-NEXT:    store i32 %[[X]], ptr %[[GRID]]
  // CHECK:         %[[SHARED:.*]] = getelementptr inbounds i8, ptr %kdl.desc, i64 32
  // CHECK-NEXT:    store i32 %1, ptr %[[SHARED]]
  // CHECK:         %[[CLUSTER:.*]] = getelementptr inbounds i8, ptr %kdl.desc, i64 40
  // CHECK-NEXT:    store i32 2, ptr %[[CLUSTER]]
  llvm.func @shape(%n: i64, %shared: i32) {
    %c1 = llvm.mlir.constant(1 : i64) : i64
    %c2 = llvm.mlir.constant(2 : i64) : i64
    gpu.launch_func @kernels::@none clusters in (%c2, %c1, %c1) blocks in (%n, %c1, %c1)
      threads in (%c1, %c1, %c1) : i64 dynamic_shared_memory_size %shared
    llvm.return
  }

  // The last of consecutive launches waits for all; an operation in between that could observe
  // them waits before.
  // CHECK-LABEL: define float @row(
  // CHECK:         call i32 %
  // CHECK-NOT:     kdl_mlir_wait
  // CHECK:         call i32 %
  // CHECK:         call void @kdl_mlir_wait()
  // CHECK:         load float
  // CHECK:         call i32 %
  // CHECK:         call void @kdl_mlir_wait()
  // CHECK:         ret float
  llvm.func @row(%x: !llvm.ptr) -> f32 {
    %c1 = llvm.mlir.constant(1 : i64) : i64
    gpu.launch_func @kernels::@none blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) : i64
    %c2 = llvm.mlir.constant(2 : i64) : i64
    gpu.launch_func @kernels::@none blocks in (%c2, %c1, %c1) threads in (%c1, %c1, %c1) : i64
    %seen = llvm.load %x : !llvm.ptr -> f32
    gpu.launch_func @kernels::@none blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) : i64
    llvm.return %seen : f32
  }

  // A launch in a loop: one piece of stack, in the entry block.
  // CHECK-LABEL: define void @loop(
  // CHECK:         %kdl.args = alloca
  // CHECK:         br label
  // CHECK-NOT:     alloca
  // CHECK:         ret void
  llvm.func @loop(%n: i64, %x: !llvm.ptr) {
    %c0 = llvm.mlir.constant(0 : i64) : i64
    %c1 = llvm.mlir.constant(1 : i64) : i64
    llvm.br ^head(%c0 : i64)
  ^head(%i: i64):
    gpu.launch_func @kernels::@swap blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) : i64
      args(%x : !llvm.ptr, %x : !llvm.ptr)
    %next = llvm.add %i, %c1 : i64
    %more = llvm.icmp "slt" %next, %n : i64
    llvm.cond_br %more, ^head(%next : i64), ^done
  ^done:
    llvm.return
  }
}
