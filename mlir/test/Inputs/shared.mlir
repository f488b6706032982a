// The host writes and reads the memory that the kernel uses.
module attributes {gpu.container_module} {
  gpu.module @kernels attributes {spirv.target_env = #spirv.target_env<#spirv.vce<v1.0, [Addresses, Int64, Kernel], []>, api=OpenCL, #spirv.resource_limits<>>} {
    gpu.func @increment(%data: memref<4xi32>) kernel attributes {spirv.entry_point_abi = #spirv.entry_point_abi<>} {
      %c1 = arith.constant 1 : i32
      %i = gpu.block_id x
      %v = memref.load %data[%i] : memref<4xi32>
      %w = arith.addi %v, %c1 : i32
      memref.store %w, %data[%i] : memref<4xi32>
      gpu.return
    }
  }
  func.func private @printMemrefI32(memref<*xi32>)
  func.func @main() {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c6 = arith.constant 6 : i32
    %data = gpu.alloc host_shared () : memref<4xi32>
    scf.for %i = %c0 to %c4 step %c1 {
      %v = arith.index_cast %i : index to i32
      %w = arith.addi %v, %c6 : i32
      memref.store %w, %data[%i] : memref<4xi32>
    }
    gpu.launch_func @kernels::@increment blocks in (%c4, %c1, %c1) threads in (%c1, %c1, %c1)
      args(%data : memref<4xi32>)
    %any = memref.cast %data : memref<4xi32> to memref<*xi32>
    call @printMemrefI32(%any) : (memref<*xi32>) -> ()
    %t0 = gpu.wait async
    %t1 = gpu.dealloc async [%t0] %data : memref<4xi32>
    gpu.wait [%t1]
    return
  }
}
