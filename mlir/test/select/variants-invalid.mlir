// RUN: mlir-opt %s -split-input-file -verify-diagnostics --pass-pipeline='builtin.module(kdl-compile-targets)'

// expected-error@+1 {{kdl.properties: found requires_features = ["avx512f"] for GPUs and CPUs alike, whose features differ: expected it for its target, as #kdl.variant<#kdl.host, {requires_features = ...}>}}
gpu.module @features [#nvvm.target<chip = "sm_90">, #kdl.host] attributes {kdl.properties = {requires_features = ["avx512f"]}} {
}

// -----

// expected-error@+1 {{found min_sm for #kdl.host, expected it for #nvvm.target}}
gpu.module @minimum [#kdl.variant<#kdl.host, {min_sm = 90 : i32}>] {
}

// -----

// expected-error@+1 {{found variant_priority = "high", expected an unsigned number of 32 bits}}
gpu.module @priority [#kdl.variant<#nvvm.target, {variant_priority = "high"}>] {
}

// -----

// expected-error@+1 {{found "bogus", expected min_sm, min_gfx, requires_features, variant_priority, variant_tag, when or what begins with kdl.}}
gpu.module @key [#kdl.variant<#nvvm.target, {bogus}>] {
}

// -----

// expected-error@+1 {{found 3 : i32, expected a target such as #nvvm.target or #kdl.host}}
gpu.module @target [#kdl.variant<3 : i32, {}>] {
}

// -----

// expected-error@+1 {{found #kdl.variant<#nvvm.target, {}>, expected a target such as #nvvm.target or #kdl.host}}
gpu.module @nested [#kdl.variant<#kdl.variant<#nvvm.target, {}>, {}>] {
}
