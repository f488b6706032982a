// linalg operations on memrefs are divided along their outermost loops, consecutive ones over the same rows together. Operations that must
// not be divided, or have too little work, stay.
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-distribute-loops{least-work=16384},canonicalize,cse)' -split-input-file | FileCheck %s

// CHECK-LABEL: func.func @softmax(
// CHECK-NOT: memref.alloc()
// CHECK: scf.forall (%[[I:.*]], %[[J:.*]]) in (4, 4) {
// CHECK: %[[ROWS:.*]] = memref.alloca() {{.*}}alignment = 64{{.*}} : memref<1x16xf32>
// CHECK: linalg.fill ins(%{{.*}} : f32) outs(%[[ROWS]]
// CHECK: memref.subview %arg0[%[[I]], %{{.*}}, 0] [1, 16, 64]
// CHECK: linalg.generic {{.*}} "reduction"]} ins(%{{.*}} : memref<1x16x64xf32,{{.*}}) outs(%[[ROWS]]
// CHECK: linalg.generic {{.*}} "parallel"]}
// CHECK: math.exp
// CHECK: linalg.fill
// CHECK: linalg.generic {{.*}} "reduction"]}
// CHECK: arith.divf
// CHECK-NOT: scf.forall
// CHECK-NOT: linalg.generic
// CHECK: return
#row = affine_map<(i, j, k) -> (i, j)>
#each = affine_map<(i, j, k) -> (i, j, k)>
func.func @softmax(%x: memref<4x64x64xf32>) {
  %r = memref.alloc() : memref<4x64xf32>
  %least = arith.constant -1.0e30 : f32
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%least : f32) outs(%r : memref<4x64xf32>)
  linalg.generic {indexing_maps = [#each, #row], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x : memref<4x64x64xf32>) outs(%r : memref<4x64xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.maximumf %a, %b : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#each, #row, #each], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %r : memref<4x64x64xf32>, memref<4x64xf32>) outs(%x : memref<4x64x64xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.subf %a, %b : f32
    %1 = math.exp %0 : f32
    linalg.yield %1 : f32
  }
  linalg.fill ins(%zero : f32) outs(%r : memref<4x64xf32>)
  linalg.generic {indexing_maps = [#each, #row], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x : memref<4x64x64xf32>) outs(%r : memref<4x64xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %a, %b : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#each, #row, #each], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %r : memref<4x64x64xf32>, memref<4x64xf32>) outs(%x : memref<4x64x64xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.divf %a, %b : f32
    linalg.yield %0 : f32
  }
  memref.dealloc %r : memref<4x64xf32>
  return
}

// -----

// A copy joins the group. The transpose needs all rows, and is divided with its successors; a store to other memory does not matter, and
// memory that both groups use is not private to a part.
// CHECK-LABEL: func.func @transpose(
// CHECK: memref.store
// CHECK: scf.forall (%{{.*}}) in (16) {
// CHECK: %[[OWN:.*]] = memref.alloca() {{.*}} : memref<8x64xf32>
// CHECK: linalg.copy ins({{.*}}) outs(%[[OWN]]
// CHECK: linalg.map { arith.addf } ins(%[[SAME:[a-z0-9_]+]], %[[SAME]] : memref<8x64xf32{{(, strided<\[64, 1\]>)?}}>
// CHECK: }
// CHECK: scf.forall (%{{.*}}) in (16) {
// CHECK-DAG: memref.subview %{{.*}}[0, %{{.*}}] [128, 4]
// CHECK-DAG: memref.subview %{{.*}}[%{{.*}}, 0] [4, 128]
// CHECK: linalg.transpose
// CHECK: linalg.map { math.exp }
// CHECK: return
func.func @transpose(%x: memref<128x64xf32>, %y: memref<64x128xf32>) -> memref<4xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %z = memref.alloc() : memref<4xf32>
  %a = memref.alloc() : memref<128x64xf32>
  %b = memref.alloc() : memref<128x64xf32>
  memref.copy %x, %a : memref<128x64xf32> to memref<128x64xf32>
  memref.store %zero, %z[%c0] : memref<4xf32>
  linalg.map { arith.addf } ins(%a, %a : memref<128x64xf32>, memref<128x64xf32>) outs(%b : memref<128x64xf32>)
  linalg.transpose ins(%b : memref<128x64xf32>) outs(%y : memref<64x128xf32>) permutation = [1, 0]
  linalg.map { math.exp } ins(%y : memref<64x128xf32>) outs(%y : memref<64x128xf32>)
  memref.dealloc %a : memref<128x64xf32>
  memref.dealloc %b : memref<128x64xf32>
  return %z : memref<4xf32>
}

// -----

// Uneven parts of a loop with contiguous elements: each part has full cache lines.
// CHECK-LABEL: func.func @uneven(
// CHECK: scf.forall (%[[I:.*]]) in (16) {
// CHECK-DAG: %[[AT:.*]] = affine.apply {{.*}}%[[I]]
// CHECK-DAG: %[[COUNT:.*]] = affine.min {{.*}}%[[I]]
// CHECK: memref.subview %arg0[%[[AT]]] [%[[COUNT]]] [1]
// CHECK: linalg.map { math.exp }
func.func @uneven(%x: memref<1000003xf32>) {
  linalg.map { math.exp } ins(%x : memref<1000003xf32>) outs(%x : memref<1000003xf32>)
  return
}

// -----

// In a loop, but not in one that is divided already.
// CHECK-LABEL: func.func @loops(
// CHECK: scf.for
// CHECK: scf.forall
// CHECK: linalg.map { math.exp }
// CHECK: scf.forall (%{{.*}}) in (2)
// CHECK-NOT: scf.forall
// CHECK: return
func.func @loops(%x: memref<256x256xf32>, %y: memref<2x256x256xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  scf.for %i = %c0 to %c9 step %c1 {
    linalg.map { math.exp } ins(%x : memref<256x256xf32>) outs(%x : memref<256x256xf32>)
  }
  scf.forall (%i) in (2) {
    %0 = memref.subview %y[%i, 0, 0] [1, 256, 256] [1, 1, 1] : memref<2x256x256xf32> to memref<256x256xf32, strided<[256, 1], offset: ?>>
    linalg.map { math.exp } ins(%0 : memref<256x256xf32, strided<[256, 1], offset: ?>>) outs(%0 : memref<256x256xf32, strided<[256, 1], offset: ?>>)
  }
  return
}

// -----

// What is called may use any memory: nothing is moved past it.
// CHECK-LABEL: func.func @call(
// CHECK: scf.forall
// CHECK: linalg.map { math.exp }
// CHECK: call @other
// CHECK: scf.forall
// CHECK: linalg.map { math.exp }
// CHECK: return
func.func private @other()
func.func @call(%x: memref<256x256xf32>) {
  linalg.map { math.exp } ins(%x : memref<256x256xf32>) outs(%x : memref<256x256xf32>)
  call @other() : () -> ()
  linalg.map { math.exp } ins(%x : memref<256x256xf32>) outs(%x : memref<256x256xf32>)
  return
}

// -----

// Little work; a sum over the outermost loop; sizes that are not known; two results in one memory; a result that is read elsewhere;
// elements with the same address.
// CHECK-LABEL: func.func @stays(
// CHECK-NOT: scf.forall
// CHECK: return
#inner = affine_map<(i, j) -> (i, j)>
#other = affine_map<(i, j) -> (j, i)>
#sum = affine_map<(i, j) -> (j)>
func.func @stays(%x: memref<512x512xf32>, %few: memref<16x16xf32>, %sums: memref<512xf32>, %any: memref<?x512xf32>,
                 %same: memref<512x512xf32, strided<[1, 1]>>, %strided: memref<512x512xf32, strided<[?, 1]>>) {
  linalg.map { math.exp } ins(%few : memref<16x16xf32>) outs(%few : memref<16x16xf32>)
  linalg.generic {indexing_maps = [#inner, #sum], iterator_types = ["reduction", "parallel"]}
      ins(%x : memref<512x512xf32>) outs(%sums : memref<512xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %a, %b : f32
    linalg.yield %0 : f32
  }
  linalg.map { math.exp } ins(%any : memref<?x512xf32>) outs(%any : memref<?x512xf32>)
  linalg.generic {indexing_maps = [#inner, #inner], iterator_types = ["parallel", "parallel"]}
      outs(%x, %x : memref<512x512xf32>, memref<512x512xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %b, %a : f32, f32
  }
  linalg.generic {indexing_maps = [#other, #inner], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<512x512xf32>) outs(%x : memref<512x512xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  linalg.map { math.exp } ins(%x : memref<512x512xf32>) outs(%same : memref<512x512xf32, strided<[1, 1]>>)
  linalg.map { math.exp } ins(%x : memref<512x512xf32>) outs(%strided : memref<512x512xf32, strided<[?, 1]>>)
  return
}

// -----

// A body that reads other memory: neither is it divided, nor does what writes there pass it.
// CHECK-LABEL: func.func @gather(
// CHECK: scf.forall
// CHECK: linalg.map { math.exp }
// CHECK: }
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : memref<256xindex>)
// CHECK: memref.load
// CHECK: scf.forall
// CHECK: linalg.map { math.exp }
// CHECK: return
func.func @gather(%at: memref<256xindex>, %y: memref<256x256xf32>) {
  %x = memref.alloc() : memref<256x256xf32>
  linalg.map { math.exp } ins(%y : memref<256x256xf32>) outs(%x : memref<256x256xf32>)
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%at : memref<256xindex>) outs(%y : memref<256x256xf32>) {
  ^bb0(%a: index, %b: f32):
    %j = linalg.index 1 : index
    %0 = memref.load %x[%a, %j] : memref<256x256xf32>
    linalg.yield %0 : f32
  }
  linalg.map { math.exp } ins(%x : memref<256x256xf32>) outs(%x : memref<256x256xf32>)
  memref.copy %x, %y : memref<256x256xf32> to memref<256x256xf32>
  memref.dealloc %x : memref<256x256xf32>
  return
}
