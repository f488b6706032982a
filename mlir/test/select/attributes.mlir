// Stock mlir-opt parses and prints the attributes, in full and with defaults.
// RUN: mlir-opt %s | mlir-opt | FileCheck %s
// RUN: kdl-mlir opt %s | FileCheck %s

// CHECK: gpu.binary @all <#kdl.runtime_select<policy = capability, fallback = host>>
gpu.binary @all <#kdl.runtime_select<policy = capability, fallback = host>> [
  #gpu.object<#nvvm.target<chip = "sm_90">, bin = "x">,
  #gpu.object<#kdl.host<O = 2, triple = "x86_64-unknown-linux-gnu", arch = "x86-64-v4">, bin = "y">]

// CHECK: gpu.binary @defaults <#kdl.runtime_select>
gpu.binary @defaults <#kdl.runtime_select<policy = best, fallback = error>> [
  #gpu.object<#kdl.host, bin = "x">]

// CHECK: gpu.binary @first <#kdl.runtime_select<policy = first>>
gpu.binary @first <#kdl.runtime_select<fallback = error, policy = first>> [
  #gpu.object<#kdl.host, bin = "x">]

// CHECK: gpu.module @compiled [#nvvm.target, #kdl.compiled<#gpu.object<#kdl.host<arch = "x86-64-v3">, bin = "x">>]
gpu.module @compiled [#nvvm.target,
                      #kdl.compiled<#gpu.object<#kdl.host<arch = "x86-64-v3">, bin = "x">>] {
}
