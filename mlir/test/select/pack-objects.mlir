// All objects in one, under MLIR's own handler: stock mlir-translate accepts it.
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-pack-objects)' -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir
// RUN: mlir-translate --mlir-to-llvmir %t.mlir | FileCheck %s --check-prefix=LLVM

// CHECK: gpu.binary @kernels [#gpu.object<#nvvm.target, "\10\FF\10\AD{{.*}}sm_90{{.*}}\10\FF\10\AD{{.*}}gfx942
// CHECK-NOT: kdl.runtime_select
// LLVM: @kernels_binary = internal constant [{{[0-9]+}} x i8] c"\10\FF\10\AD
// LLVM: call ptr @mgpuModuleLoad(ptr @kernels_binary, i64 {{[0-9]+}})
gpu.binary @kernels <#kdl.runtime_select> [
  #gpu.object<#nvvm.target<chip = "sm_90">, bin = "x">,
  #gpu.object<#rocdl.target<chip = "gfx942">, bin = "x">]
