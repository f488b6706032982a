// linalg.mmt4d in f16, and in i8 with extreme numbers: microkernels give the results of MLIR's plain loops,
// for this CPU and for the least one.
// REQUIRES: ukernels
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-lower-mmt4d-to-ukernels{target=host:x86-64-v4})' \
// RUN:   | FileCheck %s --check-prefix=LOWERED
// LOWERED-DAG: func.func private @kdl_uk_mma_f32_f16({{.*}}kdl.variant = "avx512"}
// LOWERED: func.func @f16(
// LOWERED-NOT: linalg.mmt4d
// LOWERED: arith.extf {{.*}} : f16 to f32
// LOWERED: call @kdl_uk_mma_f32_f16(

// RUN: mlir-opt %s --pass-pipeline='builtin.module(func.func(convert-linalg-to-loops),convert-scf-to-cf,expand-strided-metadata,lower-affine,convert-to-llvm,reconcile-unrealized-casts)' \
// RUN:   | kdl-mlir run --entry-point-result=void --shared-libs=%llvm_lib/libmlir_runner_utils.so,%llvm_lib/libmlir_c_runner_utils.so \
// RUN:   | sed 's/base@ = 0x[0-9a-f]* //; s/-nan/nan/g' > %t.plain
// RUN: FileCheck %s --input-file=%t.plain
// CHECK: sizes = [2, 3, 5, 16]
// CHECK: nan
// CHECK: inf
// CHECK: sizes = [2, 3, 5, 32]
// CHECK: 655367
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-lower-mmt4d-to-ukernels{target=host no-silent-fallback=true},convert-scf-to-cf,arith-expand,expand-strided-metadata,lower-affine,convert-to-llvm,reconcile-unrealized-casts)' \
// RUN:   | kdl-mlir run --entry-point-result=void --shared-libs=%llvm_lib/libmlir_runner_utils.so,%llvm_lib/libmlir_c_runner_utils.so \
// RUN:   | sed 's/base@ = 0x[0-9a-f]* //; s/-nan/nan/g' > %t.host
// RUN: diff %t.plain %t.host
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-lower-mmt4d-to-ukernels{target=host:x86-64 no-silent-fallback=true},convert-scf-to-cf,arith-expand,expand-strided-metadata,lower-affine,convert-to-llvm,reconcile-unrealized-casts)' \
// RUN:   | kdl-mlir run --entry-point-result=void --shared-libs=%llvm_lib/libmlir_runner_utils.so,%llvm_lib/libmlir_c_runner_utils.so \
// RUN:   | sed 's/base@ = 0x[0-9a-f]* //; s/-nan/nan/g' > %t.least
// RUN: diff %t.plain %t.least

func.func private @printMemrefF32(memref<*xf32>)
func.func private @printMemrefI32(memref<*xi32>)

func.func @f16(%a: memref<?x?x5x1xf16>, %b: memref<3x?x16x1xf16>, %c: memref<?x3x5x16xf32>) {
  linalg.mmt4d ins(%a, %b : memref<?x?x5x1xf16>, memref<3x?x16x1xf16>) outs(%c : memref<?x3x5x16xf32>)
  return
}

func.func @i8(%a: memref<2x10x5x4xi8>, %b: memref<3x10x32x4xi8>, %c: memref<2x3x5x32xi32>) {
  linalg.mmt4d ins(%a, %b : memref<2x10x5x4xi8>, memref<3x10x32x4xi8>) outs(%c : memref<2x3x5x32xi32>)
  return
}

// Multiples of a quarter, so that every sum is exact.
func.func @fill(%x: memref<?xf16>, %mul: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c13 = arith.constant 13 : index
  %quarter = arith.constant 0.25 : f32
  %end = memref.dim %x, %c0 : memref<?xf16>
  scf.for %i = %c0 to %end step %c1 {
    %0 = arith.muli %i, %mul : index
    %1 = arith.remui %0, %c13 : index
    %2 = arith.index_cast %1 : index to i32
    %six = arith.constant 6 : i32
    %3 = arith.subi %2, %six : i32
    %4 = arith.sitofp %3 : i32 to f32
    %5 = arith.mulf %4, %quarter : f32
    %6 = arith.truncf %5 : f32 to f16
    memref.store %6, %x[%i] : memref<?xf16>
  }
  return
}

func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %c7 = arith.constant 7 : index
  %c16 = arith.constant 16 : index
  %one = arith.constant 1.0 : f32
  %a = memref.alloc(%c2, %c7) : memref<?x?x5x1xf16>
  %b = memref.alloc(%c7) : memref<3x?x16x1xf16>
  %c = memref.alloc(%c2) : memref<?x3x5x16xf32>
  %fa = memref.reinterpret_cast %a to offset: [0], sizes: [70], strides: [1] : memref<?x?x5x1xf16> to memref<70xf16>
  %fb = memref.reinterpret_cast %b to offset: [0], sizes: [336], strides: [1] : memref<3x?x16x1xf16> to memref<336xf16>
  %da = memref.cast %fa : memref<70xf16> to memref<?xf16>
  %db = memref.cast %fb : memref<336xf16> to memref<?xf16>
  call @fill(%da, %c5) : (memref<?xf16>, index) -> ()
  call @fill(%db, %c7) : (memref<?xf16>, index) -> ()
  // An infinity in one row of the first tile, a NaN in one of the second; the least subnormal.
  %infinity = arith.constant 0x7C00 : f16
  %nan = arith.constant 0x7E00 : f16
  %least = arith.constant 0x0001 : f16
  memref.store %infinity, %a[%c0, %c2, %c1, %c0] : memref<?x?x5x1xf16>
  memref.store %nan, %a[%c1, %c5, %c4, %c0] : memref<?x?x5x1xf16>
  memref.store %least, %a[%c0, %c0, %c2, %c0] : memref<?x?x5x1xf16>
  scf.for %tile = %c0 to %c2 step %c1 {
    scf.for %panel = %c0 to %c3 step %c1 {
      scf.for %row = %c0 to %c5 step %c1 {
        scf.for %column = %c0 to %c16 step %c1 {
          memref.store %one, %c[%tile, %panel, %row, %column] : memref<?x3x5x16xf32>
        }
      }
    }
  }
  call @f16(%a, %b, %c) : (memref<?x?x5x1xf16>, memref<3x?x16x1xf16>, memref<?x3x5x16xf32>) -> ()
  %any = memref.cast %c : memref<?x3x5x16xf32> to memref<*xf32>
  call @printMemrefF32(%any) : (memref<*xf32>) -> ()

  %ia = memref.alloc() : memref<2x10x5x4xi8>
  %ib = memref.alloc() : memref<3x10x32x4xi8>
  %ic = memref.alloc() : memref<2x3x5x32xi32>
  call @fill_i8(%ia, %ib, %ic) : (memref<2x10x5x4xi8>, memref<3x10x32x4xi8>, memref<2x3x5x32xi32>) -> ()
  call @i8(%ia, %ib, %ic) : (memref<2x10x5x4xi8>, memref<3x10x32x4xi8>, memref<2x3x5x32xi32>) -> ()
  %iany = memref.cast %ic : memref<2x3x5x32xi32> to memref<*xi32>
  call @printMemrefI32(%iany) : (memref<*xi32>) -> ()
  return
}

// -128 in the first row and the first column of each tile, 127 in the others.
func.func @fill_i8(%a: memref<2x10x5x4xi8>, %b: memref<3x10x32x4xi8>, %c: memref<2x3x5x32xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %c10 = arith.constant 10 : index
  %c32 = arith.constant 32 : index
  %min = arith.constant -128 : i8
  %max = arith.constant 127 : i8
  %seven = arith.constant 7 : i32
  scf.for %i = %c0 to %c3 step %c1 {
    scf.for %j = %c0 to %c10 step %c1 {
      scf.for %k = %c0 to %c32 step %c1 {
        scf.for %l = %c0 to %c4 step %c1 {
          %first = arith.cmpi eq, %k, %c0 : index
          %value = arith.select %first, %min, %max : i8
          memref.store %value, %b[%i, %j, %k, %l] : memref<3x10x32x4xi8>
          %row = arith.minui %k, %c4 : index
          %tile = arith.minui %i, %c1 : index
          memref.store %value, %a[%tile, %j, %row, %l] : memref<2x10x5x4xi8>
          %step = arith.minui %j, %c4 : index
          memref.store %seven, %c[%c0, %i, %step, %k] : memref<2x3x5x32xi32>
          memref.store %seven, %c[%c1, %i, %step, %k] : memref<2x3x5x32xi32>
        }
      }
    }
  }
  return
}
