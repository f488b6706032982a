// What a kernel can do on a CPU, by its results. All of it is compiled for one group at a time:
// REQUIRES: ld.lld
// RUN: mlir-opt %s --pass-pipeline='builtin.module(gpu-kernel-outlining,kdl-lower-to-binary{targets=host})' \
// RUN:   -o %t.mlir
// RUN: kdl-mlir run %t.mlir --entry-point-result=void --shared-libs=%lib/libkdl_mlir_runtime.so \
// RUN:   --shared-libs=%llvm_lib/libmlir_runner_utils.so,%llvm_lib/libmlir_c_runner_utils.so \
// RUN:   | FileCheck %s
// The same without optimization, and with the level that most machines have.
// RUN: mlir-opt %s --pass-pipeline='builtin.module(gpu-kernel-outlining,kdl-lower-to-binary{targets=host:x86-64 O=0})' \
// RUN:   -o %t.mlir
// RUN: kdl-mlir run %t.mlir --entry-point-result=void --shared-libs=%lib/libkdl_mlir_runtime.so \
// RUN:   --shared-libs=%llvm_lib/libmlir_runner_utils.so,%llvm_lib/libmlir_c_runner_utils.so \
// RUN:   | FileCheck %s

func.func private @printMemrefF32(memref<*xf32>)
func.func private @printMemrefI32(memref<*xi32>)

// Every work-item writes its position: x + 10 y + 100 z of the item, 1000 of the group.
// CHECK: sizes = [16]
// CHECK-NEXT: [0, 1, 10, 11, 100, 101, 110, 111, 1000, 1001, 1010, 1011, 1100, 1101, 1110, 1111]
func.func @ids() {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c10 = arith.constant 10 : index
  %c100 = arith.constant 100 : index
  %c1000 = arith.constant 1000 : index
  %out = memref.alloc() : memref<16xi32>
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c2, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c2, %sy = %c2, %sz = %c2) {
    %0 = arith.muli %ty, %c10 : index
    %1 = arith.muli %tz, %c100 : index
    %2 = arith.muli %by, %c1000 : index
    %3 = arith.addi %tx, %0 : index
    %4 = arith.addi %1, %2 : index
    %5 = arith.addi %3, %4 : index
    %6 = arith.index_cast %5 : index to i32
    %y = arith.muli %ty, %c2 : index
    %z = arith.muli %tz, %c4 : index
    %g = arith.muli %by, %c8 : index
    %xy = arith.addi %tx, %y : index
    %zg = arith.addi %z, %g : index
    %at = arith.addi %xy, %zg : index
    memref.store %6, %out[%at] : memref<16xi32>
    gpu.terminator
  }
  %seen = memref.cast %out : memref<16xi32> to memref<*xi32>
  call @printMemrefI32(%seen) : (memref<*xi32>) -> ()
  return
}

// Group memory, and barriers in a loop: a sum by halves.
// CHECK: sizes = [2]
// CHECK-NEXT: [2016, 6112]
func.func @tree() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %out = memref.alloc() : memref<2xf32>
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c2, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c64, %sy = %c1, %sz = %c1)
             workgroup(%shared : memref<64xf32, #gpu.address_space<workgroup>>) {
    %base = arith.muli %bx, %c64 : index
    %i = arith.addi %base, %tx : index
    %i32 = arith.index_cast %i : index to i32
    %v = arith.sitofp %i32 : i32 to f32
    memref.store %v, %shared[%tx] : memref<64xf32, #gpu.address_space<workgroup>>
    %c32 = arith.constant 32 : index
    %c6 = arith.constant 6 : index
    scf.for %step = %c0 to %c6 step %c1 {
      gpu.barrier
      %half = arith.shrui %c32, %step : index
      %mine = arith.cmpi ult, %tx, %half : index
      scf.if %mine {
        %other = arith.addi %tx, %half : index
        %a = memref.load %shared[%tx] : memref<64xf32, #gpu.address_space<workgroup>>
        %b = memref.load %shared[%other] : memref<64xf32, #gpu.address_space<workgroup>>
        %s = arith.addf %a, %b : f32
        memref.store %s, %shared[%tx] : memref<64xf32, #gpu.address_space<workgroup>>
      }
    }
    %first = arith.cmpi eq, %tx, %c0 : index
    scf.if %first {
      %s = memref.load %shared[%c0] : memref<64xf32, #gpu.address_space<workgroup>>
      memref.store %s, %out[%bx] : memref<2xf32>
    }
    gpu.terminator
  }
  %seen = memref.cast %out : memref<2xf32> to memref<*xf32>
  call @printMemrefF32(%seen) : (memref<*xf32>) -> ()
  return
}

// A reduction over a group of three subgroups, the last one partial: shuffles in some of them,
// barriers in all.
// CHECK: sizes = [70]
// CHECK-NEXT: [2415, 2415, {{.*}} 2415]
func.func @all_reduce() {
  %c1 = arith.constant 1 : index
  %c70 = arith.constant 70 : index
  %out = memref.alloc() : memref<70xf32>
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c70, %sy = %c1, %sz = %c1) {
    %i32 = arith.index_cast %tx : index to i32
    %v = arith.sitofp %i32 : i32 to f32
    %sum = gpu.all_reduce add %v uniform {} : (f32) -> (f32)
    memref.store %sum, %out[%tx] : memref<70xf32>
    gpu.terminator
  }
  %seen = memref.cast %out : memref<70xf32> to memref<*xf32>
  call @printMemrefF32(%seen) : (memref<*xf32>) -> ()
  return
}

// Shuffles: from the lane across, the one below, the one above, and lane 3; -1 where there is none.
// CHECK: sizes = [4, 8]
// CHECK-NEXT: {{\[\[}}1, 0, 3, 2, 5, 4, 7, 6],
// CHECK-NEXT: [2, 3, 4, 5, 6, 7, -1, -1],
// CHECK-NEXT: [-1, 0, 1, 2, 3, 4, 5, 6],
// CHECK-NEXT: [3, 3, 3, 3, 3, 3, 3, 3]]
func.func @shuffle() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c8 = arith.constant 8 : index
  %out = memref.alloc() : memref<4x8xi32>
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c8, %sy = %c1, %sz = %c1) {
    %none = arith.constant -1 : i32
    %width = arith.constant 8 : i32
    %i1 = arith.constant 1 : i32
    %i2 = arith.constant 2 : i32
    %i3 = arith.constant 3 : i32
    %lane = gpu.lane_id
    %v = arith.index_cast %lane : index to i32
    %x, %has_x = gpu.shuffle xor %v, %i1, %width : i32
    %d, %has_d = gpu.shuffle down %v, %i2, %width : i32
    %u, %has_u = gpu.shuffle up %v, %i1, %width : i32
    %f, %has_f = gpu.shuffle idx %v, %i3, %width : i32
    %rx = arith.select %has_x, %x, %none : i32
    %rd = arith.select %has_d, %d, %none : i32
    %ru = arith.select %has_u, %u, %none : i32
    %rf = arith.select %has_f, %f, %none : i32
    memref.store %rx, %out[%c0, %tx] : memref<4x8xi32>
    memref.store %rd, %out[%c1, %tx] : memref<4x8xi32>
    memref.store %ru, %out[%c2, %tx] : memref<4x8xi32>
    memref.store %rf, %out[%c3, %tx] : memref<4x8xi32>
    gpu.terminator
  }
  %seen = memref.cast %out : memref<4x8xi32> to memref<*xi32>
  call @printMemrefI32(%seen) : (memref<*xi32>) -> ()
  return
}

// Memory that the launch adds, beside an attribution; and memory of one item alone.
// CHECK: sizes = [4]
// CHECK-NEXT: [33, 32, 31, 30]
func.func @dynamic() {
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %bytes = arith.constant 16 : i32
  %out = memref.alloc() : memref<4xi32>
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c4, %sy = %c1, %sz = %c1)
             dynamic_shared_memory_size %bytes
             workgroup(%fixed : memref<4xi32, #gpu.address_space<workgroup>>)
             private(%own : memref<1xi32, #gpu.address_space<private>>) {
    %c0 = arith.constant 0 : index
    %all = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    %added = memref.view %all[%c0][] : memref<?xi8, #gpu.address_space<workgroup>> to memref<4xi32, #gpu.address_space<workgroup>>
    %v = arith.index_cast %tx : index to i32
    %c30 = arith.constant 30 : i32
    memref.store %v, %added[%tx] : memref<4xi32, #gpu.address_space<workgroup>>
    memref.store %c30, %fixed[%tx] : memref<4xi32, #gpu.address_space<workgroup>>
    memref.store %v, %own[%c0] : memref<1xi32, #gpu.address_space<private>>
    gpu.barrier
    %back = arith.subi %c3, %tx : index
    %a = memref.load %added[%back] : memref<4xi32, #gpu.address_space<workgroup>>
    %b = memref.load %fixed[%back] : memref<4xi32, #gpu.address_space<workgroup>>
    %o = memref.load %own[%c0] : memref<1xi32, #gpu.address_space<private>>
    %ab = arith.addi %a, %b : i32
    %zero = arith.subi %o, %v : i32
    %r = arith.addi %ab, %zero : i32
    memref.store %r, %out[%tx] : memref<4xi32>
    gpu.terminator
  }
  %seen = memref.cast %out : memref<4xi32> to memref<*xi32>
  call @printMemrefI32(%seen) : (memref<*xi32>) -> ()
  return
}

// Vectors and math functions, of which some come from libm.
// CHECK: sizes = [4]
// CHECK-NEXT: [2, 3, 4, 5]
func.func @math() {
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %out = memref.alloc() : memref<4xf32>
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c4, %sy = %c1, %sz = %c1) {
    %c0 = arith.constant 0 : index
    %two = arith.constant 2 : index
    %n = arith.addi %tx, %two : index
    %i = arith.index_cast %n : index to i32
    %v = arith.sitofp %i : i32 to f32
    %l = math.log %v : f32
    %e = math.exp %l : f32
    %r = math.roundeven %e : f32
    %q = vector.broadcast %r : f32 to vector<4xf32>
    %s = vector.extract %q[2] : f32 from vector<4xf32>
    memref.store %s, %out[%tx] : memref<4xf32>
    gpu.terminator
  }
  %seen = memref.cast %out : memref<4xf32> to memref<*xf32>
  call @printMemrefF32(%seen) : (memref<*xf32>) -> ()
  return
}

func.func @main() {
  call @ids() : () -> ()
  call @tree() : () -> ()
  call @all_reduce() : () -> ()
  call @shuffle() : () -> ()
  call @dynamic() : () -> ()
  call @math() : () -> ()
  return
}
