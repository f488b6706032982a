// Device memory, copies both ways and a launch, all on one stream.
module attributes {gpu.container_module} {
  func.func private @printMemrefI32(memref<*xi32>)
  func.func @main() {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c6 = arith.constant 6 : index
    %c42 = arith.constant 42 : i32
    %host = memref.alloc() : memref<6xi32>
    scf.for %i = %c0 to %c6 step %c1 {
      %v = arith.index_cast %i : index to i32
      %w = arith.addi %v, %c42 : i32
      memref.store %w, %host[%i] : memref<6xi32>
    }
    %t0 = gpu.wait async
    %device, %t1 = gpu.alloc async [%t0] () : memref<6xi32>
    %t2 = gpu.memcpy async [%t1] %device, %host : memref<6xi32>, memref<6xi32>
    %t3 = gpu.launch async [%t2] blocks(%bx, %by, %bz) in (%gx = %c6, %gy = %c1, %gz = %c1)
                                 threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
      %one = arith.constant 1 : i32
      %v = memref.load %device[%bx] : memref<6xi32>
      %w = arith.addi %v, %one : i32
      memref.store %w, %device[%bx] : memref<6xi32>
      gpu.terminator
    }
    %t4 = gpu.memcpy async [%t3] %host, %device : memref<6xi32>, memref<6xi32>
    %t5 = gpu.dealloc async [%t4] %device : memref<6xi32>
    gpu.wait [%t5]
    %any = memref.cast %host : memref<6xi32> to memref<*xi32>
    call @printMemrefI32(%any) : (memref<*xi32>) -> ()
    memref.dealloc %host : memref<6xi32>
    return
  }
}
