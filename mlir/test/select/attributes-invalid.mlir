// RUN: mlir-opt %s -split-input-file -verify-diagnostics

// expected-error@+2 {{expected one of [best, first, capability, adaptive] for policy, got: fastest}}
// expected-error@+1 {{failed to parse Kdl_RuntimeSelectAttr parameter 'policy'}}
gpu.binary @policy <#kdl.runtime_select<policy = fastest>> [#gpu.object<#kdl.host, bin = "x">]

// -----

// expected-error@+2 {{expected one of [error, host] for fallback, got: gpu}}
// expected-error@+1 {{failed to parse Kdl_RuntimeSelectAttr parameter 'fallback'}}
gpu.binary @fallback <#kdl.runtime_select<fallback = gpu>> [#gpu.object<#kdl.host, bin = "x">]

// -----

// expected-error@+1 {{with at least 1 elements}}
gpu.binary @empty <#kdl.runtime_select> []

// -----

// expected-error@+1 {{found O = 4, expected 0 to 3}}
gpu.module @level [#kdl.host<O = 4>] {}

// -----

// expected-error@+1 {{found an empty arch}}
gpu.module @arch [#kdl.host<arch = "">] {}
