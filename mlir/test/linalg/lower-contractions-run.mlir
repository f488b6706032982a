// Products of parts of larger matrices with strided rows and columns, with accumulation: on one thread and on several, the results equal those of plain loops.
// REQUIRES: ukernels
// RUN: mlir-opt %s --pass-pipeline='builtin.module(func.func(convert-linalg-to-loops),convert-scf-to-cf,expand-strided-metadata,lower-affine,convert-to-llvm,reconcile-unrealized-casts)' -o %t.plain.mlir
// RUN: kdl-mlir run %t.plain.mlir --entry-point-result=void --shared-libs=%llvm_lib/libmlir_runner_utils.so,%llvm_lib/libmlir_c_runner_utils.so | sed 's/base@ = 0x[0-9a-f]* //' > %t.plain
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-lower-linalg{target=host:x86-64-v4+avx512_bf16+avx512_vnni no-silent-fallback=true})' -o %t.one.stated.mlir
// RUN: grep -c 'llvm.call @kdl_matmul' %t.one.stated.mlir | FileCheck %s --check-prefix=CALLS
// CALLS: {{^}}3{{$}}
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-lower-linalg{target=host no-silent-fallback=true})' -o %t.one.mlir
// RUN: kdl-mlir run %t.one.mlir --entry-point-result=void --shared-libs=%llvm_lib/libmlir_runner_utils.so,%llvm_lib/libmlir_c_runner_utils.so | sed 's/base@ = 0x[0-9a-f]* //' > %t.one
// RUN: diff %t.plain %t.one
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-lower-linalg{target=host no-silent-fallback=true threads=true})' -o %t.several.mlir
// RUN: env KDL_HOST_THREADS=3 kdl-mlir run %t.several.mlir --entry-point-result=void --shared-libs=%lib/libkdl_mlir_runtime.so,%llvm_lib/libmlir_runner_utils.so,%llvm_lib/libmlir_c_runner_utils.so | sed 's/base@ = 0x[0-9a-f]* //' > %t.several
// RUN: diff %t.plain %t.several

func.func private @printMemrefI32(memref<*xi32>)

func.func @fill(%to: memref<?x?xi8>, %factor: index) {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %rows = memref.dim %to, %0 : memref<?x?xi8>
  %columns = memref.dim %to, %1 : memref<?x?xi8>
  scf.for %i = %0 to %rows step %1 {
    scf.for %j = %0 to %columns step %1 {
      %2 = arith.muli %i, %factor : index
      %3 = arith.addi %2, %j : index
      %4 = arith.index_cast %3 : index to i8
      memref.store %4, %to[%i, %j] : memref<?x?xi8>
    }
  }
  return
}

// From 150 x 90 elements the product uses 120 rows and every second of 80 columns; B is transposed.
func.func @main() {
  %three = arith.constant 3 : index
  %five = arith.constant 5 : index
  %seven = arith.constant 7 : i32
  %a = memref.alloc() : memref<150x90xi8>
  %b = memref.alloc() : memref<70x90xi8>
  %c = memref.alloc() : memref<130x80xi32>
  %ad = memref.cast %a : memref<150x90xi8> to memref<?x?xi8>
  %bd = memref.cast %b : memref<70x90xi8> to memref<?x?xi8>
  call @fill(%ad, %three) : (memref<?x?xi8>, index) -> ()
  call @fill(%bd, %five) : (memref<?x?xi8>, index) -> ()
  linalg.fill ins(%seven : i32) outs(%c : memref<130x80xi32>)
  %ap = memref.subview %a[11, 3] [120, 40] [1, 2] : memref<150x90xi8> to memref<120x40xi8, strided<[90, 2], offset: 993>>
  %bp = memref.subview %b[1, %five] [66, 40] [1, 1] : memref<70x90xi8> to memref<66x40xi8, strided<[90, 1], offset: ?>>
  %cp = memref.subview %c[%three, 8] [120, 66] [1, 1] : memref<130x80xi32> to memref<120x66xi32, strided<[80, 1], offset: ?>>
  linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
      ins(%ap, %bp : memref<120x40xi8, strided<[90, 2], offset: 993>>, memref<66x40xi8, strided<[90, 1], offset: ?>>)
      outs(%cp : memref<120x66xi32, strided<[80, 1], offset: ?>>)
  // Three rows of it, with strided columns of the result.
  %a3 = memref.subview %ap[7, 0] [3, 40] [1, 1] : memref<120x40xi8, strided<[90, 2], offset: 993>> to memref<3x40xi8, strided<[90, 2], offset: 1623>>
  %b3 = memref.subview %a[20, 2] [40, 30] [1, 1] : memref<150x90xi8> to memref<40x30xi8, strided<[90, 1], offset: 1802>>
  %c3 = memref.subview %c[0, 0] [3, 30] [1, 2] : memref<130x80xi32> to memref<3x30xi32, strided<[80, 2]>>
  linalg.matmul ins(%a3, %b3 : memref<3x40xi8, strided<[90, 2], offset: 1623>>, memref<40x30xi8, strided<[90, 1], offset: 1802>>)
      outs(%c3 : memref<3x30xi32, strided<[80, 2]>>)
  %u = memref.cast %c : memref<130x80xi32> to memref<*xi32>
  call @printMemrefI32(%u) : (memref<*xi32>) -> ()
  return
}
