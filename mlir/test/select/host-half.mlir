// Half precision and bfloat16 in a gpu.module run on a CPU without instructions for them: the object contains the
// functions that LLVM calls.
// REQUIRES: ld.lld
// RUN: mlir-opt %s -o %t.mlir --pass-pipeline='builtin.module(gpu-kernel-outlining,kdl-lower-to-binary{targets=host})'
// RUN: kdl-mlir run %t.mlir --entry-point-result=void --shared-libs=%lib/libkdl_mlir_runtime.so \
// RUN:   --shared-libs=%llvm_lib/libmlir_runner_utils.so,%llvm_lib/libmlir_c_runner_utils.so | FileCheck %s
// RUN: mlir-opt %s -o %t.mlir --pass-pipeline='builtin.module(gpu-kernel-outlining,kdl-lower-to-binary{targets=host:x86-64 O=0})'
// RUN: kdl-mlir run %t.mlir --entry-point-result=void --shared-libs=%lib/libkdl_mlir_runtime.so \
// RUN:   --shared-libs=%llvm_lib/libmlir_runner_utils.so,%llvm_lib/libmlir_c_runner_utils.so | FileCheck %s

// Compiling for every level of a CPU checks that the undefined symbols are those that a host image may have.
// RUN: mlir-opt %s -o %t.mlir --pass-pipeline='builtin.module(gpu-kernel-outlining,kdl-attach-targets{targets=host:x86-64,host:x86-64-v2,host:x86-64-v3,host:x86-64-v4,host:sapphirerapids},kdl-compile-targets)'

func.func private @printMemrefF32(memref<*xf32>)

// 1/3 rounded to 11 bits and to 8, twice; atomic sums in both formats; and a sum beyond the largest half.
// CHECK: sizes = [2, 4]
// CHECK-NEXT: {{\[\[}}0.666504, 0.667969, 64, 64],
// CHECK-NEXT: [inf, 131072, 64, 64]]
func.func @half() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %third = arith.constant 0.333333333 : f32
  %large = arith.constant 65504.0 : f32
  %in = memref.alloc() : memref<2xf32>
  memref.store %third, %in[%c0] : memref<2xf32>
  memref.store %large, %in[%c1] : memref<2xf32>
  %out = memref.alloc() : memref<2x4xf32>
  %halves = memref.alloc() : memref<2xf16>
  %brains = memref.alloc() : memref<2xbf16>
  %zero16 = arith.constant 0.0 : f16
  %zerob = arith.constant 0.0 : bf16
  scf.for %i = %c0 to %c2 step %c1 {
    memref.store %zero16, %halves[%i] : memref<2xf16>
    memref.store %zerob, %brains[%i] : memref<2xbf16>
  }
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c2, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c64, %sy = %c1, %sz = %c1) {
    %x = memref.load %in[%bx] : memref<2xf32>
    %h = arith.truncf %x : f32 to f16
    %b = arith.truncf %x : f32 to bf16
    %h2 = arith.addf %h, %h : f16
    %b2 = arith.addf %b, %b : bf16
    %hf = arith.extf %h2 : f16 to f32
    %bf = arith.extf %b2 : bf16 to f32
    memref.store %hf, %out[%bx, %c0] : memref<2x4xf32>
    memref.store %bf, %out[%bx, %c1] : memref<2x4xf32>
    %one16 = arith.constant 1.0 : f16
    %oneb = arith.constant 1.0 : bf16
    %0 = memref.atomic_rmw addf %one16, %halves[%bx] : (f16, memref<2xf16>) -> f16
    %1 = memref.atomic_rmw addf %oneb, %brains[%bx] : (bf16, memref<2xbf16>) -> bf16
    gpu.barrier
    %hs = memref.load %halves[%bx] : memref<2xf16>
    %bs = memref.load %brains[%bx] : memref<2xbf16>
    %hsf = arith.extf %hs : f16 to f32
    %bsf = arith.extf %bs : bf16 to f32
    memref.store %hsf, %out[%bx, %c2] : memref<2x4xf32>
    memref.store %bsf, %out[%bx, %c3] : memref<2x4xf32>
    gpu.terminator
  }
  %seen = memref.cast %out : memref<2x4xf32> to memref<*xf32>
  call @printMemrefF32(%seen) : (memref<*xf32>) -> ()
  return
}

func.func @main() {
  call @half() : () -> ()
  return
}
