// An operation without a microkernel stays unchanged, with a remark that gives the reason.
// REQUIRES: ukernels
// RUN: mlir-opt %s -split-input-file -verify-diagnostics \
// RUN:   --pass-pipeline='builtin.module(kdl-lower-mmt4d-to-ukernels)' | FileCheck %s

// Invalid options are errors, whatever the module contains.
// RUN: not mlir-opt %s --pass-pipeline='builtin.module(kdl-lower-mmt4d-to-ukernels{library=/nonexistent})' \
// RUN:   -split-input-file 2>&1 | FileCheck %s --check-prefix=LIBRARY -DPASS=kdl-lower-mmt4d-to-ukernels
// RUN: not mlir-opt %s --pass-pipeline='builtin.module(kdl-lower-linalg{library=/nonexistent})' \
// RUN:   -split-input-file 2>&1 | FileCheck %s --check-prefix=LIBRARY -DPASS=kdl-data-tile
// RUN: not mlir-opt %s --pass-pipeline='builtin.module(kdl-lower-contractions{library=/nonexistent})' \
// RUN:   -split-input-file 2>&1 | FileCheck %s --check-prefix=LIBRARY -DPASS=kdl-lower-contractions
// LIBRARY: error: [[PASS]]: found library=/nonexistent: /nonexistent: cannot open: No such file or directory
// RUN: not mlir-opt %s --pass-pipeline='builtin.module(kdl-lower-linalg{target=host:foo})' \
// RUN:   -split-input-file 2>&1 | FileCheck %s --check-prefix=CPU
// CPU: error: kdl-data-tile: found target=host:foo: device spec 'host:foo': offset 5: found 'foo', expected
// RUN: not mlir-opt %s --pass-pipeline='builtin.module(kdl-data-tile{target=sm_90})' \
// RUN:   -split-input-file 2>&1 | FileCheck %s --check-prefix=GPU
// RUN: not mlir-opt %s --pass-pipeline='builtin.module(kdl-fuse-tiles{target=sm_90})' \
// RUN:   -split-input-file 2>&1 | FileCheck %s --check-prefix=GPU
// GPU: error: {{kdl-data-tile|kdl-fuse-tiles}}: found target=sm_90, expected a CPU, as host or host:x86-64-v4

// CHECK: func.func @fits
// CHECK-NOT: linalg.mmt4d
// CHECK: call @kdl_uk_mma_f32_f32
func.func @fits(%a: memref<2x3x4x1xf32>, %b: memref<5x3x16x1xf32>, %c: memref<2x5x4x16xf32>) {
  linalg.mmt4d ins(%a, %b : memref<2x3x4x1xf32>, memref<5x3x16x1xf32>)
               outs(%c : memref<2x5x4x16xf32>)
  return
}

// -----

// CHECK: linalg.mmt4d
func.func @type(%a: memref<2x3x4x1xf64>, %b: memref<5x3x16x1xf64>, %c: memref<2x5x4x16xf64>) {
  // expected-remark@+1 {{stays linalg.mmt4d: found f64 and f64 to f64, expected bf16, f16 or f32 to f32, or i8 to i32}}
  linalg.mmt4d ins(%a, %b : memref<2x3x4x1xf64>, memref<5x3x16x1xf64>)
               outs(%c : memref<2x5x4x16xf64>)
  return
}

// -----

// CHECK: linalg.mmt4d
func.func @tile(%a: memref<2x3x?x1xbf16>, %b: memref<5x3x8x1xbf16>, %c: memref<2x5x?x8xf32>) {
  // expected-remark@+1 {{stays linalg.mmt4d: found tiles of M0 = ?, N0 = 8, K0 = 1, expected them static, N0 a multiple of 16 and K0 = 2}}
  linalg.mmt4d ins(%a, %b : memref<2x3x?x1xbf16>, memref<5x3x8x1xbf16>)
               outs(%c : memref<2x5x?x8xf32>)
  return
}

// -----

// CHECK: linalg.mmt4d
func.func @tensors(%a: tensor<2x3x4x1xf32>, %b: tensor<5x3x16x1xf32>, %c: tensor<2x5x4x16xf32>)
    -> tensor<2x5x4x16xf32> {
  // expected-remark@+1 {{stays linalg.mmt4d: found operands that are no memrefs: bufferize first}}
  %0 = linalg.mmt4d ins(%a, %b : tensor<2x3x4x1xf32>, tensor<5x3x16x1xf32>)
                    outs(%c : tensor<2x5x4x16xf32>) -> tensor<2x5x4x16xf32>
  return %0 : tensor<2x5x4x16xf32>
}
