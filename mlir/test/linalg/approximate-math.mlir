// exp, tanh and erf of f32 become polynomials; other functions and types stay.
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-approximate-math)' | FileCheck %s
// CHECK-LABEL: func.func @f32(
// CHECK-NOT: math.exp
// CHECK-NOT: math.tanh
// CHECK-NOT: math.erf
// CHECK: math.log
// CHECK-LABEL: func.func @f64(
// CHECK: math.exp
func.func @f32(%x: f32) -> (f32, f32, f32, f32) {
  %0 = math.exp %x : f32
  %1 = math.tanh %x : f32
  %2 = math.erf %x : f32
  %3 = math.log %x : f32
  return %0, %1, %2, %3 : f32, f32, f32, f32
}
func.func @f64(%x: f64) -> f64 {
  %0 = math.exp %x : f64
  return %0 : f64
}
