// With no-silent-fallback, an operation without a microkernel is an error; one with a microkernel is not.
// REQUIRES: ukernels
// RUN: mlir-opt %s -split-input-file -verify-diagnostics \
// RUN:   --pass-pipeline='builtin.module(kdl-lower-mmt4d-to-ukernels{no-silent-fallback=true})' | FileCheck %s
// RUN: not mlir-opt %s --pass-pipeline='builtin.module(kdl-lower-mmt4d-to-ukernels{no-silent-fallback=true})' \
// RUN:   -split-input-file -o %t.mlir 2>&1 | FileCheck %s --check-prefix=PLACE
// PLACE: no-silent-fallback.mlir:[[#@LINE + 12]]:3: error: linalg.mmt4d has no microkernel: found f64

// CHECK: call @kdl_uk_mma_f32_f32
func.func @fits(%a: memref<2x3x4x1xf32>, %b: memref<5x3x16x1xf32>, %c: memref<2x5x4x16xf32>) {
  linalg.mmt4d ins(%a, %b : memref<2x3x4x1xf32>, memref<5x3x16x1xf32>) outs(%c : memref<2x5x4x16xf32>)
  return
}

// -----

func.func @type(%a: memref<2x3x4x1xf64>, %b: memref<5x3x16x1xf64>, %c: memref<2x5x4x16xf64>) {
  // expected-error@+1 {{linalg.mmt4d has no microkernel: found f64 and f64 to f64, expected bf16, f16 or f32 to f32, or i8 to i32}}
  linalg.mmt4d ins(%a, %b : memref<2x3x4x1xf64>, memref<5x3x16x1xf64>) outs(%c : memref<2x5x4x16xf64>)
  return
}

// -----

// Each of them is reported.
func.func @two(%a: memref<2x3x4x1xf32>, %b: memref<5x3x8x1xf32>, %c: memref<2x5x4x8xf32>) {
  // expected-error@+1 {{linalg.mmt4d has no microkernel: found tiles of M0 = 4, N0 = 8, K0 = 1}}
  linalg.mmt4d ins(%a, %b : memref<2x3x4x1xf32>, memref<5x3x8x1xf32>) outs(%c : memref<2x5x4x8xf32>)
  // expected-error@+1 {{linalg.mmt4d has no microkernel: found tiles of M0 = 4, N0 = 8, K0 = 1}}
  linalg.mmt4d ins(%a, %b : memref<2x3x4x1xf32>, memref<5x3x8x1xf32>) outs(%c : memref<2x5x4x8xf32>)
  return
}
