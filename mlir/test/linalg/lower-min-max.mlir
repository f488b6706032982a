// Maximum and minimum of f32 and f64 become LLVM intrinsics; other types and operations stay. LLVM vectorises the maximum of a row.
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-lower-min-max)' | FileCheck %s
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-lower-linalg)' | kdl-mlir translate - -o %t.ll
// RUN: opt -S -O2 -mtriple=x86_64-linux-gnu -mcpu=x86-64-v3 %t.ll | FileCheck %s --check-prefix=VECTORS
// CHECK-LABEL: func.func @each(
// CHECK: llvm.intr.maximum(%{{.*}}, %{{.*}}) : (f32, f32) -> f32
// CHECK: llvm.intr.minimum(%{{.*}}, %{{.*}}) {{.*fastmath<nnan>.*}} : (f64, f64) -> f64
// CHECK: arith.maximumf %{{.*}} : bf16
// CHECK: arith.maxnumf %{{.*}} : f32
func.func @each(%a: f32, %b: f64, %c: bf16) -> (f32, f64, bf16, f32) {
  %0 = arith.maximumf %a, %a : f32
  %1 = arith.minimumf %b, %b fastmath<nnan> : f64
  %2 = arith.maximumf %c, %c : bf16
  %3 = arith.maxnumf %a, %a : f32
  return %0, %1, %2, %3 : f32, f64, bf16, f32
}

// VECTORS-LABEL: @rows(
// VECTORS: call <8 x float> @llvm.maximum.v8f32(
// VECTORS: call float @llvm.vector.reduce.fmaximum.v8f32(
func.func @rows(%a: tensor<64x64xf32>) -> tensor<64xf32> {
  %least = arith.constant 0xFF800000 : f32
  %empty = tensor.empty() : tensor<64xf32>
  %start = linalg.fill ins(%least : f32) outs(%empty : tensor<64xf32>) -> tensor<64xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%a : tensor<64x64xf32>) outs(%start : tensor<64xf32>) {
  ^bb0(%x: f32, %y: f32):
    %0 = arith.maximumf %x, %y : f32
    linalg.yield %0 : f32
  } -> tensor<64xf32>
  return %r : tensor<64xf32>
}
