// A host object that could not be loaded is refused at compile time.
// REQUIRES: ld.lld
// RUN: mlir-opt %s -split-input-file -verify-diagnostics --pass-pipeline='builtin.module(kdl-compile-targets)'

// expected-error@+1 {{#kdl.host: needs 'elsewhere', which it does not define and a host image cannot count on}}
gpu.module @other [#kdl.host] {
  func.func private @elsewhere(f32) -> f32
  gpu.func @kernel(%a: f32, %x: memref<?xf32>) kernel {
    %i = gpu.global_id x
    %0 = func.call @elsewhere(%a) : (f32) -> f32
    memref.store %0, %x[%i] : memref<?xf32>
    gpu.return
  }
}
