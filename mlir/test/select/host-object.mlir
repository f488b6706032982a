// A CPU's object beside what stock MLIR compiles for a GPU: its pipeline need not know.
// REQUIRES: ld.lld
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-host-object{arch=x86-64-v3},gpu-lower-to-nvvm-pipeline{cubin-chip=sm_90 cubin-features=+ptx78 cubin-format=isa},kdl-mark-runtime-select{fallback=host})' \
// RUN:   | FileCheck %s
// CHECK: gpu.binary @kernels <#kdl.runtime_select<fallback = host>> [
// CHECK-SAME: #gpu.object<#kdl.host<arch = "x86-64-v3">, kernels = <[#gpu.kernel_metadata<"place", !llvm.func<void (ptr, ptr, i64, i64, i64)>>]>, bin = "\7FELF
// CHECK-SAME: #gpu.object<#nvvm.target<chip = "sm_90", features = "+ptx78">, {{.*}}assembly = "

// RUN: not mlir-opt %s --pass-pipeline='builtin.module(kdl-host-object{arch=pentium9})' 2>&1 \
// RUN:   | FileCheck %s --check-prefix=ARCH
// ARCH: error: #kdl.host<arch = "pentium9">: found arch = "pentium9", which LLVM does not know for x86_64-unknown-linux-gnu

// Without that pass, a module that is lowered for a GPU can no longer be compiled for a CPU.
// RUN: not mlir-opt %s --pass-pipeline='builtin.module(kdl-attach-targets{targets=host},gpu-module-to-binary)' 2>&1 \
// RUN:   | FileCheck %s --check-prefix=LATE
// LATE: error: found the target #kdl.host, which is compiled before the module is lowered for a GPU: run kdl-host-object or kdl-compile-targets first

// libkdl itself loads the image.
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-host-object{arch=x86-64-v3},gpu-module-to-binary,kdl-mark-runtime-select{min-objects=1})' \
// RUN:   | kdl-mlir translate | llc -relocation-model=pic -filetype=obj -o %t.o
// RUN: kdl verify %t.o
// RUN: kdl extract %t.o --image=0 -o %t.so
// RUN: llvm-readelf -s -d %t.so | FileCheck %s --check-prefix=IMAGE
// IMAGE-DAG: GLOBAL DEFAULT {{.*}} place{{$}}
// IMAGE-DAG: GLOBAL DEFAULT {{.*}} kdl_host_kernel_place{{$}}
// IMAGE-NOT: NEEDED
// It names the CPU that it needs.
// RUN: kdl ls %t.so | FileCheck %s --check-prefix=CPU
// CPU: 0 object none x86_64-unknown-linux-gnu x86-64-v3

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @place(%out: memref<?xi32>) kernel {
      %i = gpu.global_id x
      %v = arith.index_cast %i : index to i32
      memref.store %v, %out[%i] : memref<?xi32>
      gpu.return
    }
  }
}
