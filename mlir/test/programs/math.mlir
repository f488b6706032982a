// Functions that a vendor's library has and LLVM lacks.
// REQUIRES: ld.lld, rocm, spirv-dis
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-attach-targets{targets=spirv},kdl-compile-targets,gpu-module-to-binary,kdl-mark-runtime-select{min-objects=1})' \
// RUN:   | kdl-mlir translate | llc -relocation-model=pic -filetype=obj -o %t.o
// RUN: kdl extract %t.o --image=0 -o %t.spv && spirv-dis %t.spv | FileCheck %s
// CHECK-DAG: OpExtInst %float %{{.*}} tanh
// CHECK-DAG: OpExtInst %float %{{.*}} erf
// CHECK-DAG: OpExtInst %double %{{.*}} erf
// CHECK-DAG: OpExtInst %float %{{.*}} erfc
// CHECK-DAG: OpExtInst %float %{{.*}} cbrt
// CHECK-DAG: OpExtInst %float %{{.*}} atanh

// AMD's device libraries may be older than the chip: they only lack its number.
// RUN: mlir-opt %s -o %t.amd.mlir --pass-pipeline='builtin.module(kdl-attach-targets{targets=gfx90a,gfx942,gfx1100},kdl-compile-targets,gpu-module-to-binary,kdl-mark-runtime-select)'
// RUN: kdl-mlir translate %t.amd.mlir | llc -relocation-model=pic -filetype=obj -o %t.amd.o
// RUN: kdl ls --archs %t.amd.o | FileCheck %s --check-prefix=AMD
// AMD: gfx90a
// AMD: gfx942
// AMD: gfx1100
// RUN: kdl verify %t.amd.o

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @functions(%x: memref<?xf32>, %y: memref<?xf64>) kernel {
      %i = gpu.global_id x
      %0 = memref.load %x[%i] : memref<?xf32>
      %1 = math.tanh %0 : f32
      %2 = math.erf %1 : f32
      %3 = math.erfc %2 : f32
      %4 = math.cbrt %3 : f32
      %5 = math.atanh %4 : f32
      %6 = math.erf %5 : f32
      memref.store %6, %x[%i] : memref<?xf32>
      %7 = memref.load %y[%i] : memref<?xf64>
      %8 = math.erf %7 : f64
      memref.store %8, %y[%i] : memref<?xf64>
      gpu.return
    }
  }
}
