// A program from a GPU module to its result. TARGETS and FACTOR are replaced. Each element of the buffer becomes its index times FACTOR; the program
// returns the factor that it finds, -1 if the elements do not agree.
module attributes {gpu.container_module} {
  gpu.module @kernels HANDLER [TARGETS] {
    gpu.func @add(%sums: memref<1024xi32>, %summand: i16) kernel {
      %size = gpu.block_dim x
      %block = gpu.block_id x
      %thread = gpu.thread_id x
      %before = arith.muli %block, %size : index
      %i = arith.addi %before, %thread : index
      %number = arith.index_cast %i : index to i32
      %factor = arith.constant FACTOR : i32
      %wide = arith.extsi %summand : i16 to i32
      %first = arith.muli %number, %factor : i32
      %product = arith.muli %first, %wide : i32
      %old = memref.load %sums[%i] : memref<1024xi32>
      %new = arith.addi %old, %product : i32
      memref.store %new, %sums[%i] : memref<1024xi32>
      gpu.return
    }
  }
  func.func @choose() -> i32 {
    // HOST
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c256 = arith.constant 256 : index
    %c1024 = arith.constant 1024 : index
    %zero = arith.constant 0 : i32
    %wrong = arith.constant -1 : i32
    %summand = arith.constant 1 : i16
    %host = memref.alloc() : memref<1024xi32>
    scf.for %i = %c0 to %c1024 step %c1 {
      memref.store %zero, %host[%i] : memref<1024xi32>
    }
    %t0 = gpu.wait async
    %sums, %t1 = gpu.alloc async [%t0] () : memref<1024xi32>
    %t2 = gpu.memcpy async [%t1] %sums, %host : memref<1024xi32>, memref<1024xi32>
    %t3 = gpu.launch_func async [%t2] @kernels::@add blocks in (%c4, %c1, %c1) threads in (%c256, %c1, %c1) args(%sums : memref<1024xi32>, %summand : i16)
    %t4 = gpu.memcpy async [%t3] %host, %sums : memref<1024xi32>, memref<1024xi32>
    %t5 = gpu.dealloc async [%t4] %sums : memref<1024xi32>
    gpu.wait [%t5]
    %factor = memref.load %host[%c1] : memref<1024xi32>
    %result = scf.for %i = %c0 to %c1024 step %c1 iter_args(%so_far = %factor) -> (i32) {
      %number = arith.index_cast %i : index to i32
      %expected = arith.muli %number, %factor : i32
      %found = memref.load %host[%i] : memref<1024xi32>
      %same = arith.cmpi eq, %expected, %found : i32
      %next = arith.select %same, %so_far, %wrong : i32
      scf.yield %next : i32
    }
    memref.dealloc %host : memref<1024xi32>
    return %result : i32
  }
}
