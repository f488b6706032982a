// linalg.mmt4d with a microkernel: the call exists before linking, and is inlined by it; the
// results are those of a plain loop.
// REQUIRES: ukernels
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-lower-mmt4d-to-ukernels{target=host:x86-64-v4+avx512_bf16+avx512_vnni})' \
// RUN:   -o %t.best.mlir
// RUN: FileCheck %s --check-prefix=BEST --input-file=%t.best.mlir
// BEST-DAG: func.func private @kdl_uk_mma_f32_bf16(!llvm.ptr, i64, !llvm.ptr, i64, !llvm.ptr, i64, i32, i32, i32, i32) attributes {kdl.object = "avx512bf16", kdl.variant = "avx512bf16"}
// BEST-DAG: func.func private @kdl_uk_mma_s32_u8s8({{.*}}kdl.variant = "avx512vnni"}
// BEST: func.func @bf16(
// BEST-NOT: linalg.mmt4d
// BEST: scf.for
// BEST: scf.for
// BEST: call @kdl_uk_mma_f32_bf16(

// Target features select the microkernel.
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-lower-mmt4d-to-ukernels{target=host:x86-64-v3})' \
// RUN:   | FileCheck %s --check-prefix=AVX2
// AVX2-DAG: @kdl_uk_mma_f32_bf16({{.*}}kdl.variant = "avx2"
// AVX2-DAG: @kdl_uk_mma_s32_u8s8({{.*}}kdl.variant = "avx2"

// For this machine, linked: no call, no microkernel, and its target in its callers.
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-lower-mmt4d-to-ukernels{target=host},func.func(convert-linalg-to-loops),convert-scf-to-cf,expand-strided-metadata,lower-affine,convert-to-llvm,reconcile-unrealized-casts)' \
// RUN:   -o %t.mlir
// RUN: kdl-mlir translate %t.mlir | FileCheck %s --check-prefix=LINKED --implicit-check-not=@kdl_uk_mma
// LINKED: define void @bf16({{.*}} #[[ATTRIBUTES:[0-9]+]]
// LINKED: attributes #[[ATTRIBUTES]] = {{.*}}"target-features"="

// The selected microkernel is the one that was inlined.
// RUN: mlir-opt %t.best.mlir --pass-pipeline='builtin.module(func.func(convert-linalg-to-loops),convert-scf-to-cf,expand-strided-metadata,lower-affine,convert-to-llvm,reconcile-unrealized-casts)' \
// RUN:   -o %t.best.llvm.mlir
// RUN: grep -c 'llvm.call @kdl_uk_mma' %t.best.llvm.mlir | FileCheck %s --check-prefix=CALLS
// CALLS: {{^}}4{{$}}
// RUN: kdl-mlir translate %t.best.llvm.mlir | FileCheck %s --check-prefix=INLINED --implicit-check-not=@kdl_uk_mma
// INLINED: define void @bf16(
// INLINED: call <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(
// INLINED: define void @i8(
// INLINED: call <16 x i32> @llvm.x86.avx512.vpdpbusd.512(

// RUN: kdl-mlir run -O3 %t.mlir --entry-point-result=void \
// RUN:   --shared-libs=%llvm_lib/libmlir_runner_utils.so,%llvm_lib/libmlir_c_runner_utils.so \
// RUN:   | FileCheck %s --check-prefix=NUMBERS
// The least CPU gives the same results.
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-lower-mmt4d-to-ukernels{target=host:x86-64},func.func(convert-linalg-to-loops),convert-scf-to-cf,expand-strided-metadata,lower-affine,convert-to-llvm,reconcile-unrealized-casts)' \
// RUN:   | kdl-mlir run -O3 --entry-point-result=void \
// RUN:     --shared-libs=%llvm_lib/libmlir_runner_utils.so,%llvm_lib/libmlir_c_runner_utils.so \
// RUN:   | FileCheck %s --check-prefix=NUMBERS
// And so does MLIR without libkdl.
// RUN: mlir-opt %s --pass-pipeline='builtin.module(func.func(convert-linalg-to-loops),convert-scf-to-cf,expand-strided-metadata,lower-affine,convert-to-llvm,reconcile-unrealized-casts)' \
// RUN:   | kdl-mlir run --entry-point-result=void \
// RUN:     --shared-libs=%llvm_lib/libmlir_runner_utils.so,%llvm_lib/libmlir_c_runner_utils.so \
// RUN:   | FileCheck %s --check-prefix=NUMBERS

// The user's own microkernel has precedence.
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-lower-mmt4d-to-ukernels{target=host:x86-64})' -o %t.own.mlir
// RUN: sed 's/kdl.variant = "generic"/kdl.variant = "mine"/' %t.own.mlir > %t.mine.mlir
// RUN: mlir-opt %t.mine.mlir --pass-pipeline='builtin.module(kdl-lower-mmt4d-to-ukernels{target=host:x86-64-v4})' \
// RUN:   | FileCheck %s --check-prefix=MINE
// MINE: kdl.variant = "mine"
// MINE-NOT: avx512

func.func private @printMemrefF32(memref<*xf32>)
func.func private @printMemrefI32(memref<*xi32>)

func.func @bf16(%a: memref<?x?x4x2xbf16>, %b: memref<?x?x32x2xbf16>, %c: memref<?x?x4x32xf32>) {
  linalg.mmt4d ins(%a, %b : memref<?x?x4x2xbf16>, memref<?x?x32x2xbf16>)
               outs(%c : memref<?x?x4x32xf32>)
  return
}

// One row: a vector times a matrix.
func.func @narrow(%a: memref<1x3x1x2xbf16>, %b: memref<2x3x16x2xbf16>, %c: memref<1x2x1x16xf32>) {
  linalg.mmt4d ins(%a, %b : memref<1x3x1x2xbf16>, memref<2x3x16x2xbf16>)
               outs(%c : memref<1x2x1x16xf32>)
  return
}

func.func @i8(%a: memref<?x5x6x4xi8>, %b: memref<?x5x16x4xi8>, %c: memref<?x?x6x16xi32>) {
  linalg.mmt4d ins(%a, %b : memref<?x5x6x4xi8>, memref<?x5x16x4xi8>)
               outs(%c : memref<?x?x6x16xi32>)
  return
}

// NUMBERS: sizes = [2, 2, 4, 32]
// NUMBERS: [25, 25,
// NUMBERS: sizes = [1, 2, 1, 16]
// NUMBERS: [13, 13,
// NUMBERS: sizes = [2, 2, 6, 16]
// NUMBERS: [-119993, -119993,
func.func @main() {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c6 = arith.constant 6 : index
  %one = arith.constant 1.0 : f32
  %seven = arith.constant 7 : i32
  %b1 = arith.constant 1.0 : bf16
  %b2 = arith.constant 2.0 : bf16
  %min = arith.constant -100 : i8
  %max = arith.constant 60 : i8

  %a = memref.alloc(%c2, %c6) : memref<?x?x4x2xbf16>
  %b = memref.alloc(%c2, %c6) : memref<?x?x32x2xbf16>
  %c = memref.alloc(%c2, %c2) : memref<?x?x4x32xf32>
  linalg.fill ins(%b1 : bf16) outs(%a : memref<?x?x4x2xbf16>)
  linalg.fill ins(%b2 : bf16) outs(%b : memref<?x?x32x2xbf16>)
  linalg.fill ins(%one : f32) outs(%c : memref<?x?x4x32xf32>)
  call @bf16(%a, %b, %c) : (memref<?x?x4x2xbf16>, memref<?x?x32x2xbf16>, memref<?x?x4x32xf32>) -> ()
  %any = memref.cast %c : memref<?x?x4x32xf32> to memref<*xf32>
  call @printMemrefF32(%any) : (memref<*xf32>) -> ()

  %na = memref.alloc() : memref<1x3x1x2xbf16>
  %nb = memref.alloc() : memref<2x3x16x2xbf16>
  %nc = memref.alloc() : memref<1x2x1x16xf32>
  linalg.fill ins(%b1 : bf16) outs(%na : memref<1x3x1x2xbf16>)
  linalg.fill ins(%b2 : bf16) outs(%nb : memref<2x3x16x2xbf16>)
  linalg.fill ins(%one : f32) outs(%nc : memref<1x2x1x16xf32>)
  call @narrow(%na, %nb, %nc) : (memref<1x3x1x2xbf16>, memref<2x3x16x2xbf16>, memref<1x2x1x16xf32>) -> ()
  %nany = memref.cast %nc : memref<1x2x1x16xf32> to memref<*xf32>
  call @printMemrefF32(%nany) : (memref<*xf32>) -> ()

  %ia = memref.alloc(%c2) : memref<?x5x6x4xi8>
  %ib = memref.alloc(%c2) : memref<?x5x16x4xi8>
  %ic = memref.alloc(%c2, %c2) : memref<?x?x6x16xi32>
  linalg.fill ins(%min : i8) outs(%ia : memref<?x5x6x4xi8>)
  linalg.fill ins(%max : i8) outs(%ib : memref<?x5x16x4xi8>)
  linalg.fill ins(%seven : i32) outs(%ic : memref<?x?x6x16xi32>)
  call @i8(%ia, %ib, %ic) : (memref<?x5x6x4xi8>, memref<?x5x16x4xi8>, memref<?x?x6x16xi32>) -> ()
  %iany = memref.cast %ic : memref<?x?x6x16xi32> to memref<*xi32>
  call @printMemrefI32(%iany) : (memref<*xi32>) -> ()
  return
}
