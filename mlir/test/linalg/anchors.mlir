// Passes on functions run on a function as well as on a module, with the same result; those on a gpu.module likewise.
// RUN: mlir-opt %s -o %t.module --pass-pipeline='builtin.module(kdl-mark-manual-deallocation,kdl-fuse-foralls,kdl-clone-fills,kdl-lower-expand-shapes,kdl-distribute-loops,kdl-hoist-allocas,kdl-lower-min-max,kdl-approximate-math,kdl-async-memory,kdl-deallocate-buffers,kdl-attach-targets{targets=sm_90})'
// RUN: mlir-opt %s -o %t.function --pass-pipeline='builtin.module(func.func(kdl-mark-manual-deallocation,kdl-fuse-foralls,kdl-clone-fills,kdl-lower-expand-shapes,kdl-distribute-loops,kdl-hoist-allocas,kdl-lower-min-max,kdl-approximate-math,kdl-async-memory,kdl-deallocate-buffers),gpu.module(kdl-attach-targets{targets=sm_90}))'
// RUN: diff %t.module %t.function
// RUN: FileCheck %s --input-file=%t.function
// RUN: not mlir-opt %s --pass-pipeline='builtin.module(func.func(kdl-lower-contractions))' 2>&1 | FileCheck %s --check-prefix=SYMBOLS
// SYMBOLS: restricted to 'builtin.module'

// CHECK-LABEL: func.func @largest(
// CHECK: llvm.intr.maximum
func.func @largest(%a: f32, %b: f32) -> f32 {
  %0 = arith.maximumf %a, %b : f32
  return %0 : f32
}

// CHECK-LABEL: func.func @memory(
// CHECK: gpu.memcpy async
func.func @memory(%a: memref<8xf32>, %b: memref<8xf32>) {
  gpu.memcpy %a, %b : memref<8xf32>, memref<8xf32>
  return
}

// CHECK: gpu.module @kernels [#nvvm.target<O = 3, chip = "sm_90", features = "+ptx78">]
gpu.module @kernels {
}
