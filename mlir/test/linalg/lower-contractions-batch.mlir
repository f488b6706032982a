// Batches of products on parts of larger tensors, with accumulation: on one thread and on several, the results equal those of plain loops, with static and
// with dynamic sizes.
// REQUIRES: ukernels
// RUN: mlir-opt %s --pass-pipeline='builtin.module(func.func(convert-linalg-to-loops),convert-scf-to-cf,expand-strided-metadata,lower-affine,convert-to-llvm,reconcile-unrealized-casts)' -o %t.plain.mlir
// RUN: kdl-mlir run %t.plain.mlir --entry-point-result=void --shared-libs=%llvm_lib/libmlir_runner_utils.so,%llvm_lib/libmlir_c_runner_utils.so | sed 's/base@ = 0x[0-9a-f]* //' > %t.plain
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-lower-linalg{target=host:x86-64-v4+avx512_bf16+avx512_vnni no-silent-fallback=true})' -o %t.one.stated.mlir
// RUN: grep -c 'llvm.call @kdl_matmul_[a-z_]*s32_s8[a-z_]*_part(' %t.one.stated.mlir | FileCheck %s --check-prefix=ONE
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-lower-linalg{target=host no-silent-fallback=true})' -o %t.one.mlir
// RUN: kdl-mlir run %t.one.mlir --entry-point-result=void --shared-libs=%llvm_lib/libmlir_runner_utils.so,%llvm_lib/libmlir_c_runner_utils.so | sed 's/base@ = 0x[0-9a-f]* //' > %t.one
// RUN: diff %t.plain %t.one
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-lower-linalg{target=host:x86-64-v4+avx512_bf16+avx512_vnni no-silent-fallback=true threads=true})' -o %t.several.stated.mlir
// RUN: grep -c 'llvm.call @kdl_matmul_[a-z_]*s32_s8[a-z_]*_part(' %t.several.stated.mlir | FileCheck %s --check-prefix=SEVERAL
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-lower-linalg{target=host no-silent-fallback=true threads=true})' -o %t.several.mlir
// RUN: env KDL_HOST_THREADS=3 kdl-mlir run %t.several.mlir --entry-point-result=void --shared-libs=%lib/libkdl_mlir_runtime.so,%llvm_lib/libmlir_runner_utils.so,%llvm_lib/libmlir_c_runner_utils.so | sed 's/base@ = 0x[0-9a-f]* //' > %t.several
// RUN: diff %t.plain %t.several
// Two products, one that packs beforehand, and a dynamic one, which may; on several threads each exists twice, for many elements and for few, and K of the
// dynamic one may be divided.
// ONE: {{^}}6{{$}}
// SEVERAL: {{^}}10{{$}}

func.func private @printMemrefI32(memref<*xi32>)

func.func @fill(%to: memref<?xi8>, %factor: index) {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %size = memref.dim %to, %0 : memref<?xi8>
  scf.for %i = %0 to %size step %1 {
    %2 = arith.muli %i, %i : index
    %3 = arith.divui %2, %factor : index
    %4 = arith.index_cast %3 : index to i8
    memref.store %4, %to[%i] : memref<?xi8>
  }
  return
}

// Four parts of two elements; the batch is the second dimension of B.
func.func @few(%a: memref<2x120x40xi8, strided<[6000, 50, 1], offset: ?>>, %b: memref<40x2x64xi8, strided<[140, 70, 1], offset: 3>>,
               %c: memref<2x120x64xi32, strided<[9100, 70, 1], offset: 72>>) {
  linalg.contract indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (k, b, n)>, affine_map<(b, m, n, k) -> (b, m, n)>]
      ins(%a, %b : memref<2x120x40xi8, strided<[6000, 50, 1], offset: ?>>, memref<40x2x64xi8, strided<[140, 70, 1], offset: 3>>)
      outs(%c : memref<2x120x64xi32, strided<[9100, 70, 1], offset: 72>>)
  return
}

// Twenty elements of two dimensions.
func.func @several(%a: memref<5x3x4x40xi8>, %b: memref<4x30x5x40xi8>, %c: memref<4x5x3x30xi32>) {
  linalg.contract indexing_maps = [affine_map<(x, y, m, n, k) -> (y, m, x, k)>, affine_map<(x, y, m, n, k) -> (x, n, y, k)>, affine_map<(x, y, m, n, k) -> (x, y, m, n)>]
      ins(%a, %b : memref<5x3x4x40xi8>, memref<4x30x5x40xi8>) outs(%c : memref<4x5x3x30xi32>)
  return
}

// Few columns, which are packed beforehand.
func.func @narrow(%a: memref<6x33x20xi8>, %b: memref<6x20x3xi8>, %c: memref<6x33x3xi32>) {
  linalg.batch_matmul ins(%a, %b : memref<6x33x20xi8>, memref<6x20x3xi8>) outs(%c : memref<6x33x3xi32>)
  return
}

func.func @dynamic(%a: memref<?x?x?xi8, strided<[?, ?, ?], offset: ?>>, %b: memref<?x?x?xi8, strided<[?, ?, ?], offset: ?>>,
                   %c: memref<?x?x?xi32, strided<[?, ?, ?], offset: ?>>) {
  linalg.batch_matmul ins(%a, %b : memref<?x?x?xi8, strided<[?, ?, ?], offset: ?>>, memref<?x?x?xi8, strided<[?, ?, ?], offset: ?>>)
      outs(%c : memref<?x?x?xi32, strided<[?, ?, ?], offset: ?>>)
  return
}

func.func @main() {
  %three = arith.constant 3 : index
  %five = arith.constant 5 : index
  %seven = arith.constant 7 : i32
  %a = memref.alloc() : memref<15000xi8>
  %b = memref.alloc() : memref<15000xi8>
  %c = memref.alloc() : memref<2x130x70xi32>
  %d = memref.alloc() : memref<20x91x10xi32>
  %ad = memref.cast %a : memref<15000xi8> to memref<?xi8>
  %bd = memref.cast %b : memref<15000xi8> to memref<?xi8>
  call @fill(%ad, %three) : (memref<?xi8>, index) -> ()
  call @fill(%bd, %five) : (memref<?xi8>, index) -> ()
  linalg.fill ins(%seven : i32) outs(%c : memref<2x130x70xi32>)
  linalg.fill ins(%seven : i32) outs(%d : memref<20x91x10xi32>)

  %fa = memref.reinterpret_cast %a to offset: [%five], sizes: [2, 120, 40], strides: [6000, 50, 1] : memref<15000xi8> to memref<2x120x40xi8, strided<[6000, 50, 1], offset: ?>>
  %fb = memref.reinterpret_cast %b to offset: [3], sizes: [40, 2, 64], strides: [140, 70, 1] : memref<15000xi8> to memref<40x2x64xi8, strided<[140, 70, 1], offset: 3>>
  %fc = memref.subview %c[0, 1, 2] [2, 120, 64] [1, 1, 1] : memref<2x130x70xi32> to memref<2x120x64xi32, strided<[9100, 70, 1], offset: 72>>
  call @few(%fa, %fb, %fc) : (memref<2x120x40xi8, strided<[6000, 50, 1], offset: ?>>, memref<40x2x64xi8, strided<[140, 70, 1], offset: 3>>, memref<2x120x64xi32, strided<[9100, 70, 1], offset: 72>>) -> ()

  %sa = memref.reinterpret_cast %a to offset: [0], sizes: [5, 3, 4, 40], strides: [480, 160, 40, 1] : memref<15000xi8> to memref<5x3x4x40xi8>
  %sb = memref.alloc() : memref<4x30x5x40xi8>
  %sbl = memref.collapse_shape %sb [[0, 1, 2, 3]] : memref<4x30x5x40xi8> into memref<24000xi8>
  %sbd = memref.cast %sbl : memref<24000xi8> to memref<?xi8>
  call @fill(%sbd, %five) : (memref<?xi8>, index) -> ()
  %sc = memref.alloc() : memref<4x5x3x30xi32>
  linalg.fill ins(%seven : i32) outs(%sc : memref<4x5x3x30xi32>)
  call @several(%sa, %sb, %sc) : (memref<5x3x4x40xi8>, memref<4x30x5x40xi8>, memref<4x5x3x30xi32>) -> ()

  %na = memref.reinterpret_cast %a to offset: [0], sizes: [6, 33, 20], strides: [660, 20, 1] : memref<15000xi8> to memref<6x33x20xi8>
  %nb = memref.reinterpret_cast %b to offset: [0], sizes: [6, 20, 3], strides: [60, 3, 1] : memref<15000xi8> to memref<6x20x3xi8>
  %nc = memref.alloc() : memref<6x33x3xi32>
  linalg.fill ins(%seven : i32) outs(%nc : memref<6x33x3xi32>)
  call @narrow(%na, %nb, %nc) : (memref<6x33x20xi8>, memref<6x20x3xi8>, memref<6x33x3xi32>) -> ()

  // Few elements of many parts; many of one part, whose B is packed beforehand.
  %da = memref.reinterpret_cast %b to offset: [7], sizes: [2, 120, 40], strides: [1, 100, 2] : memref<15000xi8> to memref<2x120x40xi8, strided<[1, 100, 2], offset: 7>>
  %db = memref.reinterpret_cast %a to offset: [3], sizes: [2, 40, 66], strides: [70, 140, 1] : memref<15000xi8> to memref<2x40x66xi8, strided<[70, 140, 1], offset: 3>>
  %dah = memref.cast %da : memref<2x120x40xi8, strided<[1, 100, 2], offset: 7>> to memref<?x?x?xi8, strided<[?, ?, ?], offset: ?>>
  %dbh = memref.cast %db : memref<2x40x66xi8, strided<[70, 140, 1], offset: 3>> to memref<?x?x?xi8, strided<[?, ?, ?], offset: ?>>
  %dc = memref.subview %c[0, 1, 2] [2, 120, 66] [1, 1, 1] : memref<2x130x70xi32> to memref<2x120x66xi32, strided<[9100, 70, 1], offset: 72>>
  %dch = memref.cast %dc : memref<2x120x66xi32, strided<[9100, 70, 1], offset: 72>> to memref<?x?x?xi32, strided<[?, ?, ?], offset: ?>>
  call @dynamic(%dah, %dbh, %dch) : (memref<?x?x?xi8, strided<[?, ?, ?], offset: ?>>, memref<?x?x?xi8, strided<[?, ?, ?], offset: ?>>, memref<?x?x?xi32, strided<[?, ?, ?], offset: ?>>) -> ()
  %ma = memref.reinterpret_cast %a to offset: [2], sizes: [20, 88, 7], strides: [700, 7, 1] : memref<15000xi8> to memref<20x88x7xi8, strided<[700, 7, 1], offset: 2>>
  %mb = memref.reinterpret_cast %b to offset: [1], sizes: [20, 7, 5], strides: [40, 5, 1] : memref<15000xi8> to memref<20x7x5xi8, strided<[40, 5, 1], offset: 1>>
  %mc = memref.subview %d[0, 2, 1] [20, 88, 5] [1, 1, 2] : memref<20x91x10xi32> to memref<20x88x5xi32, strided<[910, 10, 2], offset: 21>>
  %mah = memref.cast %ma : memref<20x88x7xi8, strided<[700, 7, 1], offset: 2>> to memref<?x?x?xi8, strided<[?, ?, ?], offset: ?>>
  %mbh = memref.cast %mb : memref<20x7x5xi8, strided<[40, 5, 1], offset: 1>> to memref<?x?x?xi8, strided<[?, ?, ?], offset: ?>>
  %mch = memref.cast %mc : memref<20x88x5xi32, strided<[910, 10, 2], offset: 21>> to memref<?x?x?xi32, strided<[?, ?, ?], offset: ?>>
  call @dynamic(%mah, %mbh, %mch) : (memref<?x?x?xi8, strided<[?, ?, ?], offset: ?>>, memref<?x?x?xi8, strided<[?, ?, ?], offset: ?>>, memref<?x?x?xi32, strided<[?, ?, ?], offset: ?>>) -> ()

  %uc = memref.cast %c : memref<2x130x70xi32> to memref<*xi32>
  %us = memref.cast %sc : memref<4x5x3x30xi32> to memref<*xi32>
  %un = memref.cast %nc : memref<6x33x3xi32> to memref<*xi32>
  %ud = memref.cast %d : memref<20x91x10xi32> to memref<*xi32>
  call @printMemrefI32(%uc) : (memref<*xi32>) -> ()
  call @printMemrefI32(%us) : (memref<*xi32>) -> ()
  call @printMemrefI32(%un) : (memref<*xi32>) -> ()
  call @printMemrefI32(%ud) : (memref<*xi32>) -> ()
  return
}
