// The initial accumulators of a tile are stored vector by vector, as the microkernel loads them.
// REQUIRES: ukernels
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-lower-mmt4d-to-ukernels{target=host:x86-64-v4+avx512_vnni})' | FileCheck %s

// CHECK-LABEL: func.func @zeros(
// CHECK-NOT: linalg.fill
// CHECK-COUNT-28: vector.store {{.*}} : memref<1x1x14x32xf32>, vector<16xf32>
// CHECK-NOT: vector.store
// CHECK: call @kdl_uk_mma_f32_f32
func.func @zeros(%a: memref<1x8x14x1xf32>, %b: memref<1x8x32x1xf32>) {
  %zero = arith.constant 0.0 : f32
  %sums = memref.alloca() : memref<1x1x14x32xf32>
  linalg.fill ins(%zero : f32) outs(%sums : memref<1x1x14x32xf32>)
  linalg.mmt4d ins(%a, %b : memref<1x8x14x1xf32>, memref<1x8x32x1xf32>) outs(%sums : memref<1x1x14x32xf32>)
  return
}

// A number for each column, one for each row, and one for all.
// CHECK-LABEL: func.func @columns(
// CHECK-SAME: memref<1x1x4x4xi8>, %{{.*}}: memref<1x1x16x4xi8>, %[[C:[^:]*]]: memref<1x16xi32>, %[[R:[^:]*]]: memref<4xi32>, %[[P:.*]]: i32
// CHECK: vector.load %[[C]]{{.*}} : memref<1x16xi32>, vector<16xi32>
// CHECK: %[[ROW:.*]] = memref.load %[[R]]
// CHECK: vector.broadcast %[[ROW]] : i32 to vector<16xi32>
// CHECK: vector.broadcast %[[P]] : i32 to vector<16xi32>
// CHECK: arith.muli {{.*}} : vector<16xi32>
// CHECK: arith.subi {{.*}} : vector<16xi32>
// CHECK: vector.store {{.*}} : memref<1x1x4x16xi32>, vector<16xi32>
// CHECK-COUNT-3: vector.store
// CHECK-NOT: vector.store {{.*}} memref<1x1x4x16xi32>
// CHECK: call @kdl_uk_mma_s32_u8s8
#all = affine_map<(a, b, c, d) -> (a, b, c, d)>
func.func @columns(%a: memref<1x1x4x4xi8>, %b: memref<1x1x16x4xi8>, %c: memref<1x16xi32>, %r: memref<4xi32>, %p: i32) {
  %sums = memref.alloca() : memref<1x1x4x16xi32>
  linalg.generic {indexing_maps = [affine_map<(a, b, c, d) -> (b, d)>, affine_map<(a, b, c, d) -> (c)>, #all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%c, %r : memref<1x16xi32>, memref<4xi32>) outs(%sums : memref<1x1x4x16xi32>) {
  ^bb0(%x: i32, %y: i32, %z: i32):
    %0 = arith.muli %x, %p : i32
    %1 = arith.subi %y, %0 : i32
    linalg.yield %1 : i32
  }
  linalg.generic {indexing_maps = [affine_map<(m, n, k, a, b, c) -> (m, k, a, c)>, affine_map<(m, n, k, a, b, c) -> (n, k, b, c)>, affine_map<(m, n, k, a, b, c) -> (m, n, a, b)>],
      iterator_types = ["parallel", "parallel", "reduction", "parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<1x1x4x4xi8>, memref<1x1x16x4xi8>) outs(%sums : memref<1x1x4x16xi32>) {
  ^bb0(%x: i8, %y: i8, %z: i32):
    %0 = arith.extui %x : i8 to i32
    %1 = arith.extsi %y : i8 to i32
    %2 = arith.muli %0, %1 : i32
    %3 = arith.addi %z, %2 : i32
    linalg.yield %3 : i32
  }
  return
}

// Several tiles, a write in between, and an operation that reads the old value.
// CHECK-LABEL: func.func @stays(
// CHECK: linalg.fill
// CHECK: call @kdl_uk_mma_f32_f32
// CHECK: linalg.fill
// CHECK: call @write
// CHECK: call @kdl_uk_mma_f32_f32
// CHECK: linalg.generic
// CHECK: call @kdl_uk_mma_f32_f32
func.func private @write(memref<1x1x14x32xf32>)
func.func @stays(%a: memref<1x8x14x1xf32>, %b: memref<1x8x32x1xf32>, %b2: memref<2x8x32x1xf32>, %c2: memref<1x2x14x32xf32>, %c: memref<1x1x14x32xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c2 : memref<1x2x14x32xf32>)
  linalg.mmt4d ins(%a, %b2 : memref<1x8x14x1xf32>, memref<2x8x32x1xf32>) outs(%c2 : memref<1x2x14x32xf32>)
  linalg.fill ins(%zero : f32) outs(%c : memref<1x1x14x32xf32>)
  func.call @write(%c) : (memref<1x1x14x32xf32>) -> ()
  linalg.mmt4d ins(%a, %b : memref<1x8x14x1xf32>, memref<1x8x32x1xf32>) outs(%c : memref<1x1x14x32xf32>)
  linalg.generic {indexing_maps = [#all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%c : memref<1x1x14x32xf32>) {
  ^bb0(%x: f32):
    %0 = arith.negf %x : f32
    linalg.yield %0 : f32
  }
  linalg.mmt4d ins(%a, %b : memref<1x8x14x1xf32>, memref<1x8x32x1xf32>) outs(%c : memref<1x1x14x32xf32>)
  return
}
