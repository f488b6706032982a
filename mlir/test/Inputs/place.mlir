// A kernel that the fake drivers know, and that every vendor's pipeline of MLIR accepts: each group
// writes its position.
module attributes {gpu.container_module} {
  gpu.module @kernels attributes {spirv.target_env = #spirv.target_env<#spirv.vce<v1.0, [Addresses, Int64, Kernel], []>, api=OpenCL, #spirv.resource_limits<>>} {
    gpu.func @place(%out: memref<24xi32>) kernel attributes {spirv.entry_point_abi = #spirv.entry_point_abi<>} {
      %x = gpu.block_id x
      %y = gpu.block_id y
      %z = gpu.block_id z
      %c3 = arith.constant 3 : index
      %c4 = arith.constant 4 : index
      %c10 = arith.constant 10 : index
      %zy = arith.muli %z, %c3 : index
      %row = arith.addi %zy, %y : index
      %start = arith.muli %row, %c4 : index
      %at = arith.addi %start, %x : index
      %z10 = arith.muli %z, %c10 : index
      %tens = arith.addi %z10, %y : index
      %tens10 = arith.muli %tens, %c10 : index
      %sum = arith.addi %tens10, %x : index
      %value = arith.index_cast %sum : index to i32
      memref.store %value, %out[%at] : memref<24xi32>
      gpu.return
    }
  }
  func.func private @printMemrefI32(memref<*xi32>)
  func.func @main() {
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %host = memref.alloc() : memref<24xi32>
    %t0 = gpu.wait async
    %device, %t1 = gpu.alloc async [%t0] () : memref<24xi32>
    %t2 = gpu.launch_func async [%t1] @kernels::@place blocks in (%c4, %c3, %c2)
      threads in (%c1, %c1, %c1) args(%device : memref<24xi32>)
    %t3 = gpu.memcpy async [%t2] %host, %device : memref<24xi32>, memref<24xi32>
    %t4 = gpu.dealloc async [%t3] %device : memref<24xi32>
    gpu.wait [%t4]
    %any = memref.cast %host : memref<24xi32> to memref<*xi32>
    call @printMemrefI32(%any) : (memref<*xi32>) -> ()
    memref.dealloc %host : memref<24xi32>
    return
  }
}
