// Unpacked contractions call the matmul library's functions, with the target's microkernel.
// REQUIRES: ukernels
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-lower-contractions{target=host:x86-64-v4+avx512_bf16+avx512_vnni})' -split-input-file 2>%t.remarks | sed 's/kdl.object = "[^"]*"/OBJECT/' | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARKS --input-file=%t.remarks

// Few rows: B is not packed beforehand. The fill with zeros is dropped.
// CHECK-DAG: func.func private @kdl_matmul_plain_f32_f32_part({{.*}}) attributes {kdl.calls = @kdl_uk_mma_f32_f32, OBJECT}
// CHECK-DAG: func.func private @kdl_uk_mma_f32_f32({{.*}}) attributes {OBJECT, kdl.variant = "avx512"}
// CHECK-LABEL: func.func @narrow(
// CHECK-NOT: linalg.fill
// CHECK: memref.alloc() {{.*}}alignment = 4096{{.*}} : memref<720896xi8>
// CHECK: call @kdl_matmul_plain_f32_f32_part(
// CHECK: memref.dealloc
// CHECK-NOT: linalg.matmul
func.func @narrow(%a: memref<4x1024xf32>, %b: memref<1024x1024xf32>, %c: memref<4x1024xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<4x1024xf32>)
  linalg.matmul ins(%a, %b : memref<4x1024xf32>, memref<1024x1024xf32>) outs(%c : memref<4x1024xf32>)
  return
}

// -----

// Many rows: B is packed at once, with the column sums of bytes. The product accumulates, in spite of zeros elsewhere.
// CHECK-LABEL: func.func @many(
// CHECK: linalg.fill
// CHECK: memref.alloc() {{.*}}alignment = 4096{{.*}} : memref<1052672xi8>
// CHECK: call @kdl_matmul_pack_s32_s8_part(
// CHECK: call @kdl_matmul_s32_s8_part(
func.func @many(%a: memref<1024x1024xi8>, %b: memref<1024x1024xi8>, %c: memref<1024x1024xi32>, %d: memref<1024x1024xi32>) {
  %zero = arith.constant 0 : i32
  linalg.fill ins(%zero : i32) outs(%d : memref<1024x1024xi32>)
  linalg.matmul ins(%a, %b : memref<1024x1024xi8>, memref<1024x1024xi8>) outs(%c : memref<1024x1024xi32>)
  return
}

// -----

// In parts, for threads: by rows if there are enough.
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-lower-contractions{target=host:x86-64-v4+avx512_bf16+avx512_vnni threads=true})' -split-input-file 2>/dev/null | FileCheck %s --check-prefix=THREADS
// THREADS-LABEL: func.func @narrow(
// THREADS: scf.forall (%{{.*}}) in (8)
// THREADS: call @kdl_matmul_plain_f32_f32_part(
// THREADS-LABEL: func.func @many(
// THREADS: scf.forall (%{{.*}}) in (16)
// THREADS: call @kdl_matmul_pack_s32_s8_part(
// THREADS: scf.forall (%{{.*}}) in (16)
// THREADS: call @kdl_matmul_s32_s8_part(

// Few rows and columns, and a long K: it is divided, and its parts are added up.
// CHECK-LABEL: func.func @long(
// CHECK: call @kdl_matmul_plain_f32_f32_part(
// THREADS-LABEL: func.func @long(
// THREADS: memref.alloc() {{.*}}alignment = 4096{{.*}} : memref<65536xi8>
// THREADS: scf.forall (%{{.*}}) in (16)
// THREADS: call @kdl_matmul_plain_f32_f32_depth_part(
// THREADS: scf.forall (%{{.*}}) in (16)
// THREADS: call @kdl_matmul_sum_f32_f32_part(
func.func @long(%a: memref<16x65536xf32>, %b: memref<65536x64xf32>, %c: memref<16x64xf32>) {
  linalg.matmul ins(%a, %b : memref<16x65536xf32>, memref<65536x64xf32>) outs(%c : memref<16x64xf32>)
  return
}

// -----

// Any strides, and one dimension.
// CHECK-LABEL: func.func @strides(
// CHECK-SAME: %[[A:[^:]*]]: memref<64x40xbf16, strided<[1, 100], offset: 7>>
// CHECK: memref.extract_strided_metadata %[[A]]
// CHECK: call @kdl_matmul_{{(plain_)?}}f32_bf16_part(
// CHECK: call @kdl_matmul_{{(plain_)?}}f32_bf16_part(
func.func @strides(%a: memref<64x40xbf16, strided<[1, 100], offset: 7>>, %x: memref<40xbf16>, %y: memref<64xf32>,
                   %b: memref<40x64xbf16, strided<[?, ?], offset: ?>>, %c: memref<64x64xf32>) {
  linalg.matmul ins(%a, %b : memref<64x40xbf16, strided<[1, 100], offset: 7>>, memref<40x64xbf16, strided<[?, ?], offset: ?>>) outs(%c : memref<64x64xf32>)
  linalg.matvec ins(%a, %x : memref<64x40xbf16, strided<[1, 100], offset: 7>>, memref<40xbf16>) outs(%y : memref<64xf32>)
  return
}

// -----

// A microkernel of the module has precedence: this one cannot be used.
// CHECK-LABEL: func.func @own(
// CHECK: linalg.matmul
// REMARKS: remark: stays linalg.matmul: {{.*}}bitcode
func.func private @kdl_uk_mma_f32_f32(!llvm.ptr, i64, !llvm.ptr, i64, !llvm.ptr, i64, i32, i32, i32, i32) attributes {kdl.bitcode = "none"}
func.func @own(%a: memref<4x16xf32>, %b: memref<16x64xf32>, %c: memref<4x64xf32>) {
  linalg.matmul ins(%a, %b : memref<4x16xf32>, memref<16x64xf32>) outs(%c : memref<4x64xf32>)
  return
}

// -----

// Dynamic sizes: the library decides at run time, for as much as it takes at a time. K = 0 is one iteration, too, which
// sets the result to zeros; later iterations accumulate. The library gives the size of the packed B, and packing has no parts if it is not wanted.
// CHECK-DAG: func.func private @kdl_matmul_f32_f32_dynamic_scratch(i32, i32, i32, i32) -> i64 attributes {kdl.calls = @kdl_uk_mma_f32_f32, OBJECT}
// THREADS-DAG: func.func private @kdl_matmul_f32_f32_dynamic_parts(i32, i32, i32) -> i32
// CHECK-DAG: func.func private @kdl_matmul_f32_f32_dynamic_part({{.*}}) attributes {kdl.calls = @kdl_uk_mma_f32_f32, OBJECT}
// CHECK-LABEL: func.func @dynamic(
// CHECK-SAME: %[[A:[^:]*]]: memref<?x?xf32>, %[[B:[^:]*]]: memref<?x?xf32, strided<[?, ?], offset: ?>>, %[[C:[^:]*]]: memref<?x?xf32>
// CHECK-NOT: linalg.fill
// CHECK: %[[ADDS:.*]] = arith.constant 0 : i32
// CHECK: %[[M:.*]] = memref.dim %[[C]], %c0
// CHECK: %[[STEP:.*]] = arith.constant 1073741824 : index
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[M]] step %[[STEP]]
// CHECK: memref.dim %[[C]], %c1
// CHECK: scf.for
// CHECK: %[[K:.*]] = memref.dim %[[A]], %c1
// CHECK: %[[END:.*]] = arith.maxsi %[[K]], %{{.*}} : index
// CHECK: scf.for %[[AT:.*]] = %{{.*}} to %[[END]] step
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[AT]],
// CHECK: arith.select %[[FIRST]], %[[ADDS]], %{{.*}} : i32
// CHECK: %[[SCRATCH:.*]] = func.call @kdl_matmul_f32_f32_dynamic_scratch(
// CHECK: %[[BYTES:.*]] = arith.index_cast %[[SCRATCH]]
// CHECK: memref.alloc(%[[BYTES]]) {{.*}}alignment = 4096{{.*}} : memref<?xi8>
// CHECK: %[[PACKS:.*]] = arith.select %{{.*}} : index
// CHECK: scf.forall (%{{.*}}) in (%[[PACKS]])
// CHECK: func.call @kdl_matmul_pack_f32_f32_part(
// CHECK: func.call @kdl_matmul_f32_f32_dynamic_part(
// CHECK: memref.dealloc
// CHECK: memref.dealloc
// THREADS-LABEL: func.func @dynamic(
// THREADS: func.call @kdl_matmul_f32_f32_dynamic_depths(
// THREADS: %[[DEPTHS:.*]] = arith.select
// THREADS: %[[PARTS:.*]] = func.call @kdl_matmul_f32_f32_dynamic_parts(
// THREADS: %[[ALL:.*]] = arith.index_cast %[[PARTS]]
// THREADS: %[[COUNT:.*]] = arith.select %{{.*}}, %[[ALL]],
// THREADS: scf.forall
// THREADS: func.call @kdl_matmul_pack_f32_f32_part(
// THREADS: scf.forall (%{{.*}}) in (%[[COUNT]])
// THREADS: func.call @kdl_matmul_f32_f32_dynamic_part(
// THREADS: scf.forall (%{{.*}}) in (%[[DEPTHS]])
// THREADS: func.call @kdl_matmul_plain_f32_f32_depth_part(
// THREADS: scf.forall (%{{.*}}) in (%[[DEPTHS]])
// THREADS: func.call @kdl_matmul_sum_f32_f32_part(
// Of one that is not known, there is one loop.
// CHECK-LABEL: func.func @rows(
// CHECK: scf.for
// CHECK-NOT: scf.for {{.*}}step
// CHECK: func.call @kdl_matmul_f32_f32_dynamic_part(
// CHECK-LABEL: func.func @stop(
func.func @dynamic(%a: memref<?x?xf32>, %b: memref<?x?xf32, strided<[?, ?], offset: ?>>, %c: memref<?x?xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<?x?xf32>)
  linalg.matmul ins(%a, %b : memref<?x?xf32>, memref<?x?xf32, strided<[?, ?], offset: ?>>) outs(%c : memref<?x?xf32>)
  return
}
func.func @rows(%a: memref<?x8xf32>, %b: memref<8x16xf32>, %c: memref<?x16xf32>) {
  linalg.matmul ins(%a, %b : memref<?x8xf32>, memref<8x16xf32>) outs(%c : memref<?x16xf32>)
  return
}
func.func @stop() {
  return
}

// -----

// A batch: one call for each element, which begins at its place in each operand. Memory is that of all elements.
// CHECK-LABEL: func.func @batch(
// CHECK-SAME: %[[A:[^:]*]]: memref<3x8x40xf32>
// CHECK-NOT: linalg.fill
// CHECK: %[[MEMORY:.*]] = memref.alloc() {{.*}}alignment = 4096{{.*}} : memref<720896xi8>
// CHECK: scf.for %[[AT:.*]] = %{{.*}} to %c3 step
// CHECK: %{{.*}}, %[[OFFSET:.*]], %{{.*}}:3, %[[STRIDES:.*]]:3 = memref.extract_strided_metadata %[[A]]
// CHECK: %[[BY:.*]] = arith.muli %[[AT]], %[[STRIDES]]#0 : index
// CHECK: arith.addi %[[OFFSET]], %[[BY]] : index
// CHECK-NOT: memref.alloc
// CHECK: func.call @kdl_matmul_plain_f32_f32_part(
// CHECK: }
// CHECK: memref.dealloc %[[MEMORY]]
// Dimensions of the batch are where the maps say; the last one of the result runs fastest.
// CHECK-LABEL: func.func @several(
// CHECK-SAME: %[[A:[^:]*]]: memref<5x8x3x40xf32>
// CHECK: scf.for %[[AT:.*]] = %{{.*}} to %c15
// CHECK: %[[INNER:.*]] = arith.remui %[[AT]], %[[FIVE:.*]] : index
// CHECK: %[[OUTER:.*]] = arith.divui %[[AT]], %[[FIVE]] : index
// CHECK: %[[STRIDES:[^:, ]*]]:4 = memref.extract_strided_metadata %[[A]]
// CHECK: arith.muli %[[OUTER]], %[[STRIDES]]#2 : index
// CHECK: arith.muli %[[INNER]], %[[STRIDES]]#0 : index
// CHECK: func.call @kdl_matmul_plain_f32_f32_part(
// On several threads, where a product alone would be made in more parts than there are elements, they are made one after the other; elsewhere each is
// made by one thread, and memory is that of a part.
// THREADS-LABEL: func.func @batch(
// THREADS: scf.forall (%{{.*}}) in (3)
// THREADS: memref.alloc
// THREADS: scf.for
// THREADS: func.call @kdl_matmul_plain_f32_f32_part(
// THREADS-LABEL: func.func @several(
// THREADS: scf.forall (%{{.*}}) in (15)
// THREADS-LABEL: func.func @many_elements(
// THREADS: scf.forall (%{{.*}}) in (16)
// THREADS: memref.alloc
// THREADS: scf.for
// THREADS: func.call @kdl_matmul_plain_f32_f32_part(
// THREADS-LABEL: func.func @large_elements(
// THREADS: memref.alloc
// THREADS: scf.for
// THREADS: scf.forall (%{{.*}}) in (16)
// THREADS: func.call @kdl_matmul_pack_f32_f32_part(
// THREADS: scf.forall (%{{.*}}) in (16)
// THREADS: func.call @kdl_matmul_f32_f32_part(
// THREADS-LABEL: func.func @dynamic_batch(
// THREADS: %[[COUNT:.*]] = memref.dim
// THREADS: call @kdl_matmul_f32_f32_dynamic_parts(
// THREADS: arith.cmpi uge, %[[COUNT]],
// THREADS: scf.if
// THREADS: arith.minui %[[COUNT]],
// THREADS: scf.forall
// THREADS: scf.for
// THREADS: func.call @kdl_matmul_f32_f32_dynamic_part(
// THREADS: } else {
// THREADS: scf.for
// THREADS: scf.forall
// THREADS: scf.forall
// THREADS: func.call @kdl_matmul_f32_f32_dynamic_part(
// CHECK-LABEL: func.func @dynamic_batch(
// CHECK-NOT: scf.if
// CHECK: scf.for
// CHECK: func.call @kdl_matmul_f32_f32_dynamic_part(
func.func @batch(%a: memref<3x8x40xf32>, %b: memref<3x40x64xf32>, %c: memref<3x8x64xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<3x8x64xf32>)
  linalg.batch_matmul ins(%a, %b : memref<3x8x40xf32>, memref<3x40x64xf32>) outs(%c : memref<3x8x64xf32>)
  return
}
func.func @several(%a: memref<5x8x3x40xf32>, %b: memref<3x64x5x40xf32>, %c: memref<3x5x8x64xf32>) {
  linalg.contract indexing_maps = [affine_map<(x, y, m, n, k) -> (y, m, x, k)>, affine_map<(x, y, m, n, k) -> (x, n, y, k)>, affine_map<(x, y, m, n, k) -> (x, y, m, n)>]
      ins(%a, %b : memref<5x8x3x40xf32>, memref<3x64x5x40xf32>) outs(%c : memref<3x5x8x64xf32>)
  return
}
func.func @many_elements(%a: memref<40x8x40xf32>, %b: memref<40x40x64xf32>, %c: memref<40x8x64xf32>) {
  linalg.batch_matmul ins(%a, %b : memref<40x8x40xf32>, memref<40x40x64xf32>) outs(%c : memref<40x8x64xf32>)
  return
}
func.func @large_elements(%a: memref<2x1024x1024xf32>, %b: memref<2x1024x1024xf32>, %c: memref<2x1024x1024xf32>) {
  linalg.batch_matmul ins(%a, %b : memref<2x1024x1024xf32>, memref<2x1024x1024xf32>) outs(%c : memref<2x1024x1024xf32>)
  return
}
func.func @dynamic_batch(%a: memref<?x8x40xf32>, %b: memref<?x40x64xf32>, %c: memref<?x8x64xf32>) {
  linalg.batch_matmul ins(%a, %b : memref<?x8x40xf32>, memref<?x40x64xf32>) outs(%c : memref<?x8x64xf32>)
  return
}

// -----

// What stays: batches of single numbers, two dimensions of rows, sizes of 0, and more of them than the library takes, other types, bytes without a sign, tensors; mmt4d is another pass's.
// CHECK-LABEL: func.func @stays(
// CHECK: linalg.contract
// CHECK: linalg.contract
// CHECK: linalg.matmul
// CHECK: linalg.matmul
// CHECK: linalg.matmul
// CHECK: linalg.generic
// CHECK: linalg.matmul
// CHECK: linalg.mmt4d
// REMARKS: remark: stays linalg.contract: found a batch of products of vectors
// REMARKS: remark: stays linalg.contract: found more than one dimension of rows, columns or K
// REMARKS: remark: stays linalg.matmul: found more than 2146435072 rows, columns or steps of K
// REMARKS: remark: stays linalg.matmul: found sizes that are 0, expected others
// REMARKS: remark: stays linalg.matmul: found other elements than bf16, f16 or f32 to f32, or signed i8 to i32
// REMARKS: remark: stays linalg.generic: found other elements than
// REMARKS-NOT: remark
// CHECK-LABEL: func.func @largest(
// CHECK: call @kdl_matmul_f32_f32_{{.*}}part(
#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>
func.func @stays(%a2: memref<2x8xf32>, %c1: memref<2xf32>, %a3: memref<2x4x8xf32>, %b2: memref<8x16xf32>, %c3: memref<2x4x16xf32>,
                 %ad: memref<?x8xf32>, %bd: memref<8x2146435073xf32>, %cd: memref<?x2146435073xf32>,
                 %a0: memref<4x0xf32>, %b0: memref<0x16xf32>, %c0: memref<4x16xf32>,
                 %a64: memref<4x8xf64>, %b64: memref<8x16xf64>, %c64: memref<4x16xf64>,
                 %au: memref<4x8xi8>, %bu: memref<8x16xi8>, %cu: memref<4x16xi32>,
                 %at: tensor<4x8xf32>, %bt: tensor<8x16xf32>, %ct: tensor<4x16xf32>,
                 %am: memref<1x8x4x1xf32>, %bm: memref<1x8x16x1xf32>, %cm: memref<1x1x4x16xf32>) -> tensor<4x16xf32> {
  linalg.contract indexing_maps = [affine_map<(b, k) -> (b, k)>, affine_map<(b, k) -> (b, k)>, affine_map<(b, k) -> (b)>]
      ins(%a2, %a2 : memref<2x8xf32>, memref<2x8xf32>) outs(%c1 : memref<2xf32>)
  linalg.contract indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (k, n)>, affine_map<(b, m, n, k) -> (b, m, n)>]
      ins(%a3, %b2 : memref<2x4x8xf32>, memref<8x16xf32>) outs(%c3 : memref<2x4x16xf32>)
  linalg.matmul ins(%ad, %bd : memref<?x8xf32>, memref<8x2146435073xf32>) outs(%cd : memref<?x2146435073xf32>)
  linalg.matmul ins(%a0, %b0 : memref<4x0xf32>, memref<0x16xf32>) outs(%c0 : memref<4x16xf32>)
  linalg.matmul ins(%a64, %b64 : memref<4x8xf64>, memref<8x16xf64>) outs(%c64 : memref<4x16xf64>)
  linalg.generic {indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%au, %bu : memref<4x8xi8>, memref<8x16xi8>) outs(%cu : memref<4x16xi32>) {
  ^bb0(%x: i8, %y: i8, %z: i32):
    %0 = arith.extui %x : i8 to i32
    %1 = arith.extsi %y : i8 to i32
    %2 = arith.muli %0, %1 : i32
    %3 = arith.addi %z, %2 : i32
    linalg.yield %3 : i32
  }
  %t = linalg.matmul ins(%at, %bt : tensor<4x8xf32>, tensor<8x16xf32>) outs(%ct : tensor<4x16xf32>) -> tensor<4x16xf32>
  linalg.mmt4d ins(%am, %bm : memref<1x8x4x1xf32>, memref<1x8x16x1xf32>) outs(%cm : memref<1x1x4x16xf32>)
  return %t : tensor<4x16xf32>
}
func.func @largest(%a: memref<?x8xf32>, %b: memref<8x2146435072xf32>, %c: memref<?x2146435072xf32>) {
  linalg.matmul ins(%a, %b : memref<?x8xf32>, memref<8x2146435072xf32>) outs(%c : memref<?x2146435072xf32>)
  return
}

// -----

// A microkernel that takes 16 steps at a time is called in blocks, and has a name of its own.
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-lower-contractions{target=host:x86-64-v4+avx512_bf16+avx512_vnni+amx_tile+amx_bf16+amx_int8})' -split-input-file 2>/dev/null | sed 's/kdl.object = "[^"]*"/OBJECT/' | FileCheck %s --check-prefix=AMX
// AMX: func.func private @kdl_matmul_s32_s8_part({{.*}}) attributes {kdl.calls = @kdl_uk_mma_s32_u8s8_blocks, OBJECT}
// AMX: func.func private @kdl_uk_mma_s32_u8s8_blocks({{.*}}) attributes {kdl.function = "kdl_uk_mma_s32_u8s8", OBJECT, kdl.tiles, kdl.variant = "amx"}
// AMX-LABEL: func.func @many(
// AMX: call @kdl_matmul_pack_s32_s8_part(
// AMX: call @kdl_matmul_s32_s8_part(
// RUN: not mlir-opt %s --pass-pipeline='builtin.module(kdl-lower-contractions{target=host:x86-64 no-silent-fallback=true})' -split-input-file 2>&1 | FileCheck %s --check-prefix=ERROR
// ERROR-DAG: error: linalg.contract has no microkernel: found a batch of products of vectors
