// Group memory with a barrier, private memory, math of three types and of a vector, and a two-dimensional launch: each row
// of 8 numbers is reversed through group memory, and tanh, a remainder and powers are added to it.
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @rows(%in: memref<?x8xf32>, %out: memref<?x8xf32>, %scale: f64) workgroup(%shared: memref<8xf32, #gpu.address_space<workgroup>>) private(%own: memref<2xf32, #gpu.address_space<private>>) kernel
        attributes {known_block_size = array<i32: 8, 1, 1>} {
      %row = gpu.block_id x
      %column = gpu.thread_id x
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c7 = arith.constant 7 : index
      %x = memref.load %in[%row, %column] : memref<?x8xf32>
      memref.store %x, %shared[%column] : memref<8xf32, #gpu.address_space<workgroup>>
      gpu.barrier
      %other = arith.subi %c7, %column : index
      %y = memref.load %shared[%other] : memref<8xf32, #gpu.address_space<workgroup>>
      %three = arith.constant 3.0 : f32
      %rest = arith.remf %y, %three : f32
      memref.store %rest, %own[%c0] : memref<2xf32, #gpu.address_space<private>>
      %halved = arith.truncf %x : f32 to f16
      %tanh = math.tanh %halved : f16
      %tanh32 = arith.extf %tanh : f16 to f32
      memref.store %tanh32, %own[%c1] : memref<2xf32, #gpu.address_space<private>>
      %more = memref.alloca() : memref<2xf32>
      %view = memref.subview %more[1] [1] [1] : memref<2xf32> to memref<1xf32, strided<[1], offset: 1>>
      %wide = arith.extf %y : f32 to f64
      %exp = math.exp2 %wide : f64
      %scaled = arith.mulf %exp, %scale : f64
      %narrow = arith.truncf %scaled : f64 to f32
      memref.store %narrow, %view[%c0] : memref<1xf32, strided<[1], offset: 1>>
      %two = vector.broadcast %y : f32 to vector<2xf32>
      %powers = arith.constant dense<[1.0, 2.0]> : vector<2xf32>
      %raised = math.powf %two, %powers : vector<2xf32>
      %sum = vector.reduction <add>, %raised : vector<2xf32> into f32
      %a = memref.load %own[%c0] : memref<2xf32, #gpu.address_space<private>>
      %b = memref.load %own[%c1] : memref<2xf32, #gpu.address_space<private>>
      %c = memref.load %more[%c1] : memref<2xf32>
      %ab = arith.addf %a, %b : f32
      %abc = arith.addf %ab, %c : f32
      %all = arith.addf %abc, %sum : f32
      memref.store %all, %out[%row, %column] : memref<?x8xf32>
      gpu.return
    }
  }
  func.func private @printMemrefF32(memref<*xf32>)
  func.func @main() {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c8 = arith.constant 8 : index
    %scale = arith.constant 0.25 : f64
    %host = memref.alloc() : memref<2x8xf32>
    scf.for %i = %c0 to %c2 step %c1 {
      scf.for %j = %c0 to %c8 step %c1 {
        %start = arith.muli %i, %c8 : index
        %at = arith.addi %start, %j : index
        %number = arith.index_cast %at : index to i32
        %value = arith.sitofp %number : i32 to f32
        memref.store %value, %host[%i, %j] : memref<2x8xf32>
      }
    }
    %t0 = gpu.wait async
    %in, %t1 = gpu.alloc async [%t0] (%c2) : memref<?x8xf32>
    %out, %t2 = gpu.alloc async [%t1] (%c2) : memref<?x8xf32>
    %any_host = memref.cast %host : memref<2x8xf32> to memref<?x8xf32>
    %t3 = gpu.memcpy async [%t2] %in, %any_host : memref<?x8xf32>, memref<?x8xf32>
    %t4 = gpu.launch_func async [%t3] @kernels::@rows blocks in (%c2, %c1, %c1)
      threads in (%c8, %c1, %c1) args(%in : memref<?x8xf32>, %out : memref<?x8xf32>, %scale : f64)
    %t5 = gpu.memcpy async [%t4] %any_host, %out : memref<?x8xf32>, memref<?x8xf32>
    %t6 = gpu.dealloc async [%t5] %in : memref<?x8xf32>
    %t7 = gpu.dealloc async [%t6] %out : memref<?x8xf32>
    gpu.wait [%t7]
    %any = memref.cast %host : memref<2x8xf32> to memref<*xf32>
    call @printMemrefF32(%any) : (memref<*xf32>) -> ()
    memref.dealloc %host : memref<2x8xf32>
    return
  }
}
