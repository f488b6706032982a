// linalg.mmt4d through the microkernels for AMX: K in blocks of 16 steps, the last one padded
// with zeros, and a request for permission. mmt4d-amx-run.test runs it.
// REQUIRES: ukernels
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-lower-mmt4d-to-ukernels{target=host:x86-64-v4+avx512_bf16+avx512_vnni+amx_tile+amx_bf16+amx_int8})' -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir
// RUN: mlir-opt %t.mlir --pass-pipeline='builtin.module(func.func(convert-linalg-to-loops),arith-expand,convert-scf-to-cf,expand-strided-metadata,lower-affine,convert-to-llvm,reconcile-unrealized-casts)' \
// RUN:   -o %t.llvm.mlir
// RUN: grep -c 'llvm.call @kdl_uk_mma_.*_tiles' %t.llvm.mlir | FileCheck %s --check-prefix=CALLS
// CALLS: {{^}}10{{$}}
// RUN: kdl-mlir translate %t.llvm.mlir -o %t.ll
// RUN: FileCheck %s --check-prefix=LINKED --implicit-check-not=@kdl_uk_mma --input-file=%t.ll
// RUN: llc -O2 %t.ll -o - | FileCheck %s --check-prefix=CODE

// CHECK-DAG: func.func private @kdl_uk_mma_f32_bf16_tiles({{.*}}kdl.function = "kdl_uk_mma_f32_bf16", kdl.object = "amx{{[^"]*}}", kdl.tiles, kdl.variant = "amx"}
// CHECK-DAG: func.func private @kdl_uk_mma_s32_u8s8_tiles({{.*}}kdl.function = "kdl_uk_mma_s32_u8s8", kdl.object = "amx{{[^"]*}}", kdl.tiles, kdl.variant = "amx"}
// CHECK-DAG: func.func private @kdl_uk_mma_f32_bf16({{.*}}kdl.variant = "avx512bf16"}

// LINKED: @llvm.global_ctors = {{.*}} { i32 65535, ptr @kdl_request_amx, ptr null }
// LINKED: define void @rest(
// LINKED: call void @llvm.x86.tdpbf16ps(
// LINKED: define internal void @kdl_request_amx()
// LINKED: call i64 (i64, ...) @syscall(i64 158, i64 4131, i64 18)

// CODE-LABEL: rest:
// CODE: ldtilecfg
// CODE: tdpbf16ps
// CODE: tilerelease
// CODE-LABEL: i8:
// CODE: tdpbusd

module {
  func.func private @printMemrefF32(memref<*xf32>)
  func.func private @printMemrefI32(memref<*xi32>)

  // 37 steps: two blocks, and five remaining steps.
  // CHECK-LABEL: func.func @rest(
  // CHECK: memref.alloc({{.*}}) : memref<?x?x4x16x2xbf16>
  // CHECK: memref.alloc({{.*}}) : memref<?x?x16x32x2xbf16>
  // CHECK: call @kdl_uk_mma_f32_bf16_tiles(
  // CHECK: call @kdl_uk_mma_f32_bf16_tiles(
  // CHECK: memref.dealloc
  // CHECK: memref.dealloc
  func.func @rest(%a: memref<?x?x4x2xbf16>, %b: memref<?x?x32x2xbf16>, %c: memref<?x?x4x32xf32>) {
    linalg.mmt4d ins(%a, %b : memref<?x?x4x2xbf16>, memref<?x?x32x2xbf16>)
                 outs(%c : memref<?x?x4x32xf32>)
    return
  }

  // More rows than a tile has, one vector, static.
  func.func @two_halves(%a: memref<1x32x20x2xbf16>, %b: memref<2x32x16x2xbf16>, %c: memref<1x2x20x16xf32>) {
    linalg.mmt4d ins(%a, %b : memref<1x32x20x2xbf16>, memref<2x32x16x2xbf16>)
                 outs(%c : memref<1x2x20x16xf32>)
    return
  }

  // A vector times a matrix.
  func.func @narrow(%a: memref<1x3x1x2xbf16>, %b: memref<2x3x16x2xbf16>, %c: memref<1x2x1x16xf32>) {
    linalg.mmt4d ins(%a, %b : memref<1x3x1x2xbf16>, memref<2x3x16x2xbf16>)
                 outs(%c : memref<1x2x1x16xf32>)
    return
  }

  // A result that does not fit in the tiles.
  // CHECK-LABEL: func.func @wide(
  // CHECK: call @kdl_uk_mma_f32_bf16(
  func.func @wide(%a: memref<1x3x2x2xbf16>, %b: memref<1x3x48x2xbf16>, %c: memref<1x1x2x48xf32>) {
    linalg.mmt4d ins(%a, %b : memref<1x3x2x2xbf16>, memref<1x3x48x2xbf16>)
                 outs(%c : memref<1x1x2x48xf32>)
    return
  }

  // CHECK-LABEL: func.func @i8(
  // CHECK: call @kdl_uk_mma_s32_u8s8_tiles(
  func.func @i8(%a: memref<?x?x6x4xi8>, %b: memref<?x?x16x4xi8>, %c: memref<?x?x6x16xi32>) {
    linalg.mmt4d ins(%a, %b : memref<?x?x6x4xi8>, memref<?x?x16x4xi8>)
                 outs(%c : memref<?x?x6x16xi32>)
    return
  }

  // Every sum of these numbers is exact, and all elements differ.
  func.func @fill_bf16(%x: memref<?x?x?x?xbf16>, %mul: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c7 = arith.constant 7 : index
    %d0 = memref.dim %x, %c0 : memref<?x?x?x?xbf16>
    %d1 = memref.dim %x, %c1 : memref<?x?x?x?xbf16>
    %d2 = memref.dim %x, %c2 : memref<?x?x?x?xbf16>
    %d3 = memref.dim %x, %c3 : memref<?x?x?x?xbf16>
    scf.for %i = %c0 to %d0 step %c1 {
      scf.for %j = %c0 to %d1 step %c1 {
        scf.for %k = %c0 to %d2 step %c1 {
          scf.for %l = %c0 to %d3 step %c1 {
            %0 = arith.muli %i, %c3 : index
            %1 = arith.muli %j, %mul : index
            %2 = arith.muli %k, %c2 : index
            %3 = arith.addi %0, %1 : index
            %4 = arith.addi %2, %l : index
            %5 = arith.addi %3, %4 : index
            %6 = arith.remui %5, %c7 : index
            %7 = arith.index_cast %6 : index to i32
            %c3_i32 = arith.constant 3 : i32
            %8 = arith.subi %7, %c3_i32 : i32
            %9 = arith.sitofp %8 : i32 to f32
            %10 = arith.truncf %9 : f32 to bf16
            memref.store %10, %x[%i, %j, %k, %l] : memref<?x?x?x?xbf16>
          }
        }
      }
    }
    return
  }

  func.func @fill_i8(%x: memref<?x?x?x?xi8>, %mul: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c37 = arith.constant 37 : index
    %d0 = memref.dim %x, %c0 : memref<?x?x?x?xi8>
    %d1 = memref.dim %x, %c1 : memref<?x?x?x?xi8>
    %d2 = memref.dim %x, %c2 : memref<?x?x?x?xi8>
    %d3 = memref.dim %x, %c3 : memref<?x?x?x?xi8>
    scf.for %i = %c0 to %d0 step %c1 {
      scf.for %j = %c0 to %d1 step %c1 {
        scf.for %k = %c0 to %d2 step %c1 {
          scf.for %l = %c0 to %d3 step %c1 {
            %0 = arith.muli %i, %c3 : index
            %1 = arith.muli %j, %mul : index
            %2 = arith.muli %k, %c37 : index
            %3 = arith.addi %0, %1 : index
            %4 = arith.addi %2, %l : index
            %5 = arith.addi %3, %4 : index
            %6 = arith.index_cast %5 : index to i8
            memref.store %6, %x[%i, %j, %k, %l] : memref<?x?x?x?xi8>
          }
        }
      }
    }
    return
  }

  func.func @main() {
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c5 = arith.constant 5 : index
    %c11 = arith.constant 11 : index
    %c37 = arith.constant 37 : index
    %one = arith.constant 1.0 : f32
    %seven = arith.constant 7 : i32

    %ra = memref.alloc(%c2, %c37) : memref<?x?x4x2xbf16>
    %rb = memref.alloc(%c3, %c37) : memref<?x?x32x2xbf16>
    %rc = memref.alloc(%c2, %c3) : memref<?x?x4x32xf32>
    %ra_any = memref.cast %ra : memref<?x?x4x2xbf16> to memref<?x?x?x?xbf16>
    %rb_any = memref.cast %rb : memref<?x?x32x2xbf16> to memref<?x?x?x?xbf16>
    call @fill_bf16(%ra_any, %c5) : (memref<?x?x?x?xbf16>, index) -> ()
    call @fill_bf16(%rb_any, %c11) : (memref<?x?x?x?xbf16>, index) -> ()
    linalg.fill ins(%one : f32) outs(%rc : memref<?x?x4x32xf32>)
    call @rest(%ra, %rb, %rc) : (memref<?x?x4x2xbf16>, memref<?x?x32x2xbf16>, memref<?x?x4x32xf32>) -> ()
    %rc_any = memref.cast %rc : memref<?x?x4x32xf32> to memref<*xf32>
    call @printMemrefF32(%rc_any) : (memref<*xf32>) -> ()

    %ha = memref.alloc() : memref<1x32x20x2xbf16>
    %hb = memref.alloc() : memref<2x32x16x2xbf16>
    %hc = memref.alloc() : memref<1x2x20x16xf32>
    %ha_any = memref.cast %ha : memref<1x32x20x2xbf16> to memref<?x?x?x?xbf16>
    %hb_any = memref.cast %hb : memref<2x32x16x2xbf16> to memref<?x?x?x?xbf16>
    call @fill_bf16(%ha_any, %c5) : (memref<?x?x?x?xbf16>, index) -> ()
    call @fill_bf16(%hb_any, %c11) : (memref<?x?x?x?xbf16>, index) -> ()
    linalg.fill ins(%one : f32) outs(%hc : memref<1x2x20x16xf32>)
    call @two_halves(%ha, %hb, %hc) : (memref<1x32x20x2xbf16>, memref<2x32x16x2xbf16>, memref<1x2x20x16xf32>) -> ()
    %hc_any = memref.cast %hc : memref<1x2x20x16xf32> to memref<*xf32>
    call @printMemrefF32(%hc_any) : (memref<*xf32>) -> ()

    %na = memref.alloc() : memref<1x3x1x2xbf16>
    %nb = memref.alloc() : memref<2x3x16x2xbf16>
    %nc = memref.alloc() : memref<1x2x1x16xf32>
    %na_any = memref.cast %na : memref<1x3x1x2xbf16> to memref<?x?x?x?xbf16>
    %nb_any = memref.cast %nb : memref<2x3x16x2xbf16> to memref<?x?x?x?xbf16>
    call @fill_bf16(%na_any, %c5) : (memref<?x?x?x?xbf16>, index) -> ()
    call @fill_bf16(%nb_any, %c11) : (memref<?x?x?x?xbf16>, index) -> ()
    linalg.fill ins(%one : f32) outs(%nc : memref<1x2x1x16xf32>)
    call @narrow(%na, %nb, %nc) : (memref<1x3x1x2xbf16>, memref<2x3x16x2xbf16>, memref<1x2x1x16xf32>) -> ()
    %nc_any = memref.cast %nc : memref<1x2x1x16xf32> to memref<*xf32>
    call @printMemrefF32(%nc_any) : (memref<*xf32>) -> ()

    %ia = memref.alloc(%c2, %c37) : memref<?x?x6x4xi8>
    %ib = memref.alloc(%c3, %c37) : memref<?x?x16x4xi8>
    %ic = memref.alloc(%c2, %c3) : memref<?x?x6x16xi32>
    %ia_any = memref.cast %ia : memref<?x?x6x4xi8> to memref<?x?x?x?xi8>
    %ib_any = memref.cast %ib : memref<?x?x16x4xi8> to memref<?x?x?x?xi8>
    call @fill_i8(%ia_any, %c5) : (memref<?x?x?x?xi8>, index) -> ()
    call @fill_i8(%ib_any, %c11) : (memref<?x?x?x?xi8>, index) -> ()
    linalg.fill ins(%seven : i32) outs(%ic : memref<?x?x6x16xi32>)
    call @i8(%ia, %ib, %ic) : (memref<?x?x6x4xi8>, memref<?x?x16x4xi8>, memref<?x?x6x16xi32>) -> ()
    %ic_any = memref.cast %ic : memref<?x?x6x16xi32> to memref<*xi32>
    call @printMemrefI32(%ic_any) : (memref<*xi32>) -> ()
    return
  }
}
