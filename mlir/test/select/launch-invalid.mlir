// The translation refuses launches that no object could serve.
// RUN: not kdl-mlir translate --split-input-file %s 2>&1 | FileCheck %s

module attributes {gpu.container_module} {
  gpu.binary @kernels <#kdl.runtime_select> [
    #gpu.object<#nvvm.target, bin = "x">,
    #gpu.object<#rocdl.target,
      kernels = #gpu.kernel_table<[#gpu.kernel_metadata<"axpy", !llvm.func<void (f32, ptr)>>]>,
      bin = "x">]
  // CHECK: error: found 1 operands, expected 2 as object 1 of @kernels has it: '!llvm.func<void (f32, ptr)>'
  llvm.func @operands(%a: f32) {
    %c1 = llvm.mlir.constant(1 : i64) : i64
    gpu.launch_func @kernels::@axpy blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) : i64
      args(%a : f32)
    llvm.return
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.binary @kernels <#kdl.runtime_select> [
    #gpu.object<#nvvm.target, kernels = #gpu.kernel_table<[
      #gpu.kernel_metadata<"other", !llvm.func<void ()>>]>, bin = "x">]
  // CHECK: error: found the kernel "axpy", which is not in the kernel table of object 0 of @kernels
  llvm.func @kernel() {
    %c1 = llvm.mlir.constant(1 : i64) : i64
    gpu.launch_func @kernels::@axpy blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) : i64
    llvm.return
  }
}

// -----

// CHECK: error: objects 0 and 1 are both for #nvvm.target
gpu.binary @twice <#kdl.runtime_select> [
  #gpu.object<#nvvm.target, bin = "x">, #gpu.object<#nvvm.target, bin = "y">]
