// Properties are those of one target: a feature of CPUs is no key of the cubin, which an H200 would refuse.
// REQUIRES: ld.lld
// RUN: mlir-opt %s -o %t.mlir --pass-pipeline='builtin.module(kdl-compile-targets{ptx=true},gpu-module-to-binary,kdl-mark-runtime-select{fallback=host},gpu-to-llvm,convert-to-llvm,reconcile-unrealized-casts)'
// RUN: FileCheck %s --input-file=%t.mlir
// CHECK: gpu.binary @kernels <#kdl.runtime_select<fallback = host>>
// CHECK-SAME: #gpu.object<#nvvm.target<chip = "sm_80">, properties = {O = 2 : i32, min_sm = 80 : i32, variant_tag = "all"}
// CHECK-SAME: #gpu.object<#nvvm.target<chip = "sm_90">, properties = {O = 2 : i32, min_sm = 80 : i32, variant_priority = 3 : i32, variant_tag = "hopper"}
// CHECK-SAME: #gpu.object<#kdl.host<arch = "x86-64-v3">, properties = {requires_features = ["avx512f"], variant_tag = "all"}

// RUN: sh -c 'kdl-mlir translate %t.mlir | llc -relocation-model=pic -filetype=obj -o %t.o'
// RUN: kdl ls %t.o | FileCheck %s --check-prefix=KEYS
// KEYS: 0 ptx cuda nvptx64-nvidia-cuda sm_80
// KEYS-NOT: requires_features
// KEYS: 2 object openmp {{.*}} x86-64-v3 {{.*}}requires_features=avx512f
// RUN: kdl which %t.o fill --device=h200 | FileCheck %s --check-prefix=H200
// H200: 1 sm_90 ptx

// MLIR's own pass compiles a variant as its target.
// RUN: sed 's/, #kdl.variant<#kdl.host.*>\]/]/' %s > %t.gpu.mlir
// RUN: mlir-opt %t.gpu.mlir --pass-pipeline='builtin.module(gpu.module(convert-gpu-to-nvvm),gpu-module-to-binary{format=isa})' | FileCheck %s --check-prefix=STOCK
// STOCK: #gpu.object<#nvvm.target<chip = "sm_90">, properties = {{.*}}variant_priority = 3 : i32, variant_tag = "hopper"

module attributes {gpu.container_module} {
  gpu.module @kernels [#nvvm.target<chip = "sm_80">, #kdl.variant<#nvvm.target<chip = "sm_90">, {variant_tag = "hopper", variant_priority = 3 : i32}>, #kdl.variant<#kdl.host<arch = "x86-64-v3">, {requires_features = ["avx512f"]}>]
      attributes {kdl.properties = {variant_tag = "all", min_sm = 80 : i32}} {
    gpu.func @fill(%a: f32, %y: memref<?xf32>) kernel {
      %i = gpu.thread_id x
      memref.store %a, %y[%i] : memref<?xf32>
      gpu.return
    }
  }
}
