// Launches a kernel of a binary twice, on a stream and without one. OBJECTS is replaced by the objects.
module attributes {gpu.container_module} {
  gpu.binary @kernels <#gpu.runtime_select> [OBJECTS]

  llvm.func @mgpuStreamCreate() -> !llvm.ptr
  llvm.func @mgpuStreamSynchronize(!llvm.ptr)
  llvm.func @mgpuStreamDestroy(!llvm.ptr)
  llvm.func @mgpuMemAlloc(i64, !llvm.ptr, i8) -> !llvm.ptr
  llvm.func @mgpuMemFree(!llvm.ptr, !llvm.ptr)
  llvm.func @mgpuMemcpy(!llvm.ptr, !llvm.ptr, i64, !llvm.ptr)
  llvm.func @mgpuMemset32(!llvm.ptr, i32, i64, !llvm.ptr)

  llvm.func @choose() -> i32 {
    %no = llvm.mlir.constant(0 : i8) : i8
    %one = llvm.mlir.constant(1 : index) : i64
    %size = llvm.mlir.constant(4 : index) : i64
    %two = llvm.mlir.constant(2 : i32) : i32
    %ten = llvm.mlir.constant(10 : i16) : i16
    %result = llvm.alloca %one x i32 : (i64) -> !llvm.ptr
    %stream = llvm.call @mgpuStreamCreate() : () -> !llvm.ptr
    %sum = llvm.call @mgpuMemAlloc(%size, %stream, %no) : (i64, !llvm.ptr, i8) -> !llvm.ptr
    llvm.call @mgpuMemset32(%sum, %two, %one, %stream) : (!llvm.ptr, i32, i64, !llvm.ptr) -> ()
    llvm.call @mgpuStreamSynchronize(%stream) : (!llvm.ptr) -> ()
    gpu.launch_func <%stream : !llvm.ptr> @kernels::@add blocks in (%one, %one, %one) threads in (%one, %one, %one) : i64 args(%sum : !llvm.ptr, %ten : i16)
    llvm.call @mgpuStreamSynchronize(%stream) : (!llvm.ptr) -> ()
    gpu.launch_func @kernels::@add blocks in (%one, %one, %one) threads in (%one, %one, %one) : i64 args(%sum : !llvm.ptr, %ten : i16)
    llvm.call @mgpuMemcpy(%result, %sum, %size, %stream) : (!llvm.ptr, !llvm.ptr, i64, !llvm.ptr) -> ()
    llvm.call @mgpuStreamSynchronize(%stream) : (!llvm.ptr) -> ()
    llvm.call @mgpuMemFree(%sum, %stream) : (!llvm.ptr, !llvm.ptr) -> ()
    llvm.call @mgpuStreamDestroy(%stream) : (!llvm.ptr) -> ()
    %loaded = llvm.load %result : !llvm.ptr -> i32
    llvm.return %loaded : i32
  }
}
