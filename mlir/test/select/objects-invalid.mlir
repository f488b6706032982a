// Binaries with objects that cannot be distinguished, and objects that cannot be loaded.
// RUN: mlir-opt %s -split-input-file -verify-diagnostics \
// RUN:   --pass-pipeline='builtin.module(kdl-mark-runtime-select,kdl-pack-objects)'

// expected-error@+1 {{objects 0 and 2 are both for #nvvm.target<chip = "sm_90">, and neither their format, variant_tag, variant_priority, requires_features, min_sm, min_gfx nor when tells them apart}}
gpu.binary @twice [
  #gpu.object<#nvvm.target<chip = "sm_90">, bin = "x">,
  #gpu.object<#nvvm.target<chip = "sm_80">, bin = "x">,
  #gpu.object<#nvvm.target<chip = "sm_90">, properties = {O = 2 : i32}, bin = "y">]

// -----

// expected-error@+1 {{object 1: found AMD assembly, which nothing loads: compile it with format=bin}}
gpu.binary @assembly [
  #gpu.object<#nvvm.target, assembly = "x">, #gpu.object<#rocdl.target, assembly = "x">]

// -----

// expected-error@+1 {{object 0: found SPIR-V as text, which nothing loads: compile it with format=bin}}
gpu.binary @text [#gpu.object<#xevm.target, assembly = "x">]

// -----

// expected-error@+1 {{object 0: found variant_priority = 1.000000e+00 : f32, expected an unsigned number of 32 bits}}
gpu.binary @property [
  #gpu.object<#nvvm.target, properties = {variant_priority = 1.0 : f32}, bin = "x">]

// -----

// expected-error@+1 {{object 0: found the target #kdl.compiled}}
gpu.binary @target [#gpu.object<#kdl.compiled<#gpu.object<#kdl.host, bin = "x">>, bin = "x">]

// -----

// expected-error@+1 {{object 0: found variant_priority = "x", expected an unsigned number of 32 bits}}
gpu.binary @word [
  #gpu.object<#nvvm.target, properties = {variant_priority = "x"}, bin = "x">]

// -----

// expected-error@+1 {{object 0: found variant_tag = 1.000000e+00 : f32, expected a string, an integer or an array of strings}}
gpu.binary @tag [
  #gpu.object<#nvvm.target, properties = {variant_tag = 1.0 : f32}, bin = "x">]

// -----

// expected-error@+1 {{kdl.properties: found "str", expected a dictionary}}
gpu.module @string attributes {kdl.properties = "str"} {}

// -----

// expected-error@+1 {{kdl.properties: found variant_priority = "high", expected an unsigned number of 32 bits}}
gpu.module @high attributes {kdl.properties = {variant_priority = "high"}} {}

// -----

// expected-error@+1 {{kdl.properties: found "bogus", expected min_sm, min_gfx, requires_features, variant_priority, variant_tag, when or what begins with kdl.}}
gpu.module @bogus attributes {kdl.properties = {bogus = 3 : i32, variant_priority = 3 : i32}} {}
