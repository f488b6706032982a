// #kdl.portable: one object that names no device.
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-attach-targets{targets=portable,portable},kdl-compile-targets,gpu-module-to-binary,kdl-mark-runtime-select{min-objects=1})' -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir
// RUN: kdl-mlir translate %t.mlir | llc -relocation-model=pic -filetype=obj -o %t.o
// RUN: kdl verify %t.o
// RUN: kdl ls %t.o | FileCheck %s --check-prefix=LIST
// RUN: kdl extract %t.o --image=0 -o %t.bc && llvm-dis %t.bc -o - | FileCheck %s --check-prefix=FORM --implicit-check-not=nvvm

// With bare pointers, a memref of static shape is one.
// RUN: sed 's/%%x\[%%i\]/%%x[%%y, %%i]/; s/memref<?xf16>/memref<7x9xf16>/' %s > %t.static.mlir
// RUN: mlir-opt %t.static.mlir --pass-pipeline='builtin.module(kdl-attach-targets{targets=portable},kdl-compile-targets{bare-pointers=true})' | FileCheck %s --check-prefix=BARE
// BARE: #gpu.kernel_metadata<"all", !llvm.func<void (ptr<1>)>

// CHECK: gpu.binary @kernels <#kdl.runtime_select{{.*}}> [#gpu.object<#kdl.portable, properties = {kdl.llvm = "{{[0-9.]+}}", kdl.needs = "fp16", kdl.portable = "1"}, kernels = <[
// CHECK-NOT: #gpu.object
// LIST: 0 bitcode none portable - {{[0-9]+}} kdl.llvm={{[0-9.]+}} kdl.needs=fp16 kdl.portable=1 kdl.kernel.all="sig=ptr<void> ptr<void> i64 i64 i64; block=64x1x1"

// FORM: source_filename = "kdl.portable"
// FORM-NOT: target
// FORM: @all.shared0 = private addrspace(3) global [64 x half] poison
// FORM: declare hidden float @kdl_math_logf(float)
// FORM: declare hidden void @kdl_p1_sync_threads()
// FORM: define internal {{.*}} @twice
// FORM: define protected spir_kernel void @all(ptr addrspace(1) %0, ptr addrspace(1) %1, i64 %2, i64 %3, i64 %4)
// FORM: alloca {{half, i64 4|\[4 x half\]}}, align 2
// FORM: call i32 @kdl_p1_block_id(i32 1)
// FORM: call i32 @kdl_p1_num_threads(i32 1)
// FORM: call i32 @kdl_p1_thread_id(i32 1)
// FORM: call i32 @kdl_p1_num_blocks(i32 2)
// FORM: call i32 @kdl_p1_lane_id()
// FORM: call i32 @kdl_p1_num_lanes()
// FORM: call void @kdl_p1_sync_threads()
// FORM: "kdl.kernel"="64,1,1,64,1,1,-1"
// FORM: !kdl.portable = !{![[VERSION:[0-9]+]]}
// FORM: ![[VERSION]] = !{i32 1}

module attributes {gpu.container_module} {
  gpu.module @kernels {
    func.func @twice(%x: f16) -> f16 {
      %0 = arith.addf %x, %x : f16
      return %0 : f16
    }
    gpu.func @all(%x: memref<?xf16>) workgroup(%shared: memref<64xf16, #gpu.address_space<workgroup>>)
        private(%own: memref<4xf16, #gpu.address_space<private>>) kernel
        attributes {known_block_size = array<i32: 64, 1, 1>} {
      %y = gpu.global_id y
      %count = gpu.grid_dim z
      %lane = gpu.lane_id
      %lanes = gpu.subgroup_size : index
      %a = arith.addi %y, %count : index
      %b = arith.addi %lane, %lanes : index
      %i = arith.addi %a, %b : index
      %v = memref.load %x[%i] : memref<?xf16>
      memref.store %v, %own[%y] : memref<4xf16, #gpu.address_space<private>>
      memref.store %v, %shared[%i] : memref<64xf16, #gpu.address_space<workgroup>>
      gpu.barrier
      %w = memref.load %shared[%y] : memref<64xf16, #gpu.address_space<workgroup>>
      %u = memref.load %own[%i] : memref<4xf16, #gpu.address_space<private>>
      %s = arith.addf %u, %w : f16
      %log = math.log %s : f16
      %two = func.call @twice(%log) : (f16) -> f16
      memref.store %two, %x[%i] : memref<?xf16>
      gpu.return
    }
  }
}
