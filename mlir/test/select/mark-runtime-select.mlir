// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-mark-runtime-select)' | FileCheck %s
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-mark-runtime-select{policy=first fallback=host})' \
// RUN:   | FileCheck %s --check-prefix=OPTIONS
// RUN: not mlir-opt %s --pass-pipeline='builtin.module(kdl-mark-runtime-select{policy=worst})' 2>&1 \
// RUN:   | FileCheck %s --check-prefix=POLICY
// RUN: not mlir-opt %s --pass-pipeline='builtin.module(kdl-mark-runtime-select{fallback=none})' 2>&1 \
// RUN:   | FileCheck %s --check-prefix=FALLBACK

// POLICY: error: kdl-mark-runtime-select: found policy=worst, expected best, first, capability or adaptive
// FALLBACK: error: kdl-mark-runtime-select: found fallback=none, expected error or host

// CHECK: gpu.binary @two <#kdl.runtime_select> [
// OPTIONS: gpu.binary @two <#kdl.runtime_select<policy = first, fallback = host>> [
gpu.binary @two [#gpu.object<#nvvm.target, bin = "x">, #gpu.object<#rocdl.target, bin = "y">]

// With one object there is nothing to select.
// CHECK: gpu.binary @one [
gpu.binary @one [#gpu.object<#nvvm.target, bin = "x">]

// An explicit handler stays.
// CHECK: gpu.binary @chosen <#gpu.select_object<1 : i64>> [
gpu.binary @chosen <#gpu.select_object<1>> [
  #gpu.object<#nvvm.target, bin = "x">, #gpu.object<#rocdl.target, bin = "y">]

// Properties or the form distinguish variants for one target.
// CHECK: gpu.binary @variants <#kdl.runtime_select> [
gpu.binary @variants [
  #gpu.object<#nvvm.target, bin = "x">,
  #gpu.object<#nvvm.target, assembly = "x">,
  #gpu.object<#nvvm.target, properties = {variant_tag = "debug"}, bin = "x">,
  #gpu.object<#nvvm.target, properties = {variant_priority = 7 : i32}, bin = "x">]
