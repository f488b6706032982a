// Reductions in subgroups of any size: each sum of ones is the size, each greatest lane the last one, and
// so on, so that all differences are 0.
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @reduce(%out: memref<?x6xf32>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
      %i = gpu.thread_id x
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c3 = arith.constant 3 : index
      %c4 = arith.constant 4 : index
      %c5 = arith.constant 5 : index
      %size = gpu.subgroup_size : index
      %size32 = arith.index_cast %size : index to i32
      %sizef = arith.uitofp %size32 : i32 to f32
      %last = arith.subi %size, %c1 : index
      %last32 = arith.index_cast %last : index to i32
      %last64 = arith.index_cast %last : index to i64
      %lane = gpu.lane_id
      %lane32 = arith.index_cast %lane : index to i32
      %lane64 = arith.index_cast %lane : index to i64
      %lanef = arith.uitofp %lane32 : i32 to f32
      %lastf = arith.uitofp %last32 : i32 to f32

      %one = arith.constant 1.0 : f32
      %sum = gpu.subgroup_reduce add %one : (f32) -> f32
      %d0 = arith.subf %sum, %sizef : f32
      memref.store %d0, %out[%i, %c0] : memref<?x6xf32>

      %max = gpu.subgroup_reduce maxnumf %lanef : (f32) -> f32
      %d1 = arith.subf %max, %lastf : f32
      memref.store %d1, %out[%i, %c1] : memref<?x6xf32>

      %one32 = arith.constant 1 : i32
      %count = gpu.subgroup_reduce add %one32 uniform : (i32) -> i32
      %d2 = arith.subi %count, %size32 : i32
      %d2f = arith.sitofp %d2 : i32 to f32
      memref.store %d2f, %out[%i, %c2] : memref<?x6xf32>

      %zero64 = arith.constant 0 : i64
      %minus = arith.subi %zero64, %lane64 : i64
      %min = gpu.subgroup_reduce minsi %minus : (i64) -> i64
      %d3 = arith.addi %min, %last64 : i64
      %d3f = arith.sitofp %d3 : i64 to f32
      memref.store %d3f, %out[%i, %c3] : memref<?x6xf32>

      %oned = arith.constant 1.0 : f64
      %sumd = gpu.subgroup_reduce add %oned : (f64) -> f64
      %sizeboth = arith.extf %sizef : f32 to f64
      %d4 = arith.subf %sumd, %sizeboth : f64
      %d4f = arith.truncf %d4 : f64 to f32
      memref.store %d4f, %out[%i, %c4] : memref<?x6xf32>

      %laneh = arith.truncf %lanef : f32 to f16
      %minh = gpu.subgroup_reduce minnumf %laneh : (f16) -> f16
      %d5f = arith.extf %minh : f16 to f32
      memref.store %d5f, %out[%i, %c5] : memref<?x6xf32>
      gpu.return
    }
  }
  func.func private @printF32(f32)
  func.func @main() {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c6 = arith.constant 6 : index
    %c128 = arith.constant 128 : index
    %host = memref.alloc() : memref<128x6xf32>
    %any = memref.cast %host : memref<128x6xf32> to memref<?x6xf32>
    %t0 = gpu.wait async
    %out, %t1 = gpu.alloc async [%t0] (%c128) : memref<?x6xf32>
    %t2 = gpu.launch_func async [%t1] @kernels::@reduce blocks in (%c1, %c1, %c1) threads in (%c128, %c1, %c1)
      args(%out : memref<?x6xf32>)
    %t3 = gpu.memcpy async [%t2] %any, %out : memref<?x6xf32>, memref<?x6xf32>
    %t4 = gpu.dealloc async [%t3] %out : memref<?x6xf32>
    gpu.wait [%t4]
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    %right = scf.for %i = %c0 to %c128 step %c1 iter_args(%rows = %zero) -> f32 {
      %row = scf.for %j = %c0 to %c6 step %c1 iter_args(%n = %rows) -> f32 {
        %v = memref.load %host[%i, %j] : memref<128x6xf32>
        %is = arith.cmpf oeq, %v, %zero : f32
        %add = arith.select %is, %one, %zero : f32
        %more = arith.addf %n, %add : f32
        scf.yield %more : f32
      }
      scf.yield %row : f32
    }
    call @printF32(%right) : (f32) -> ()
    memref.dealloc %host : memref<128x6xf32>
    return
  }
}
