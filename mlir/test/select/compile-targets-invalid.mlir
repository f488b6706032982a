// RUN: mlir-opt %s -split-input-file -verify-diagnostics \
// RUN:   --pass-pipeline='builtin.module(kdl-compile-targets{linker=/nonexistent})'

// expected-error@+1 {{found no targets: run kdl-attach-targets first}}
gpu.module @none {}

// -----

// expected-error@+1 {{found the target #spirv.target_env<#spirv.vce<v1.0, [Shader], []>, #spirv.resource_limits<>>, expected #nvvm.target, #rocdl.target, #xevm.target, #kdl.portable or #kdl.host}}
gpu.module @vulkan [#spirv.target_env<#spirv.vce<v1.0, [Shader], []>, #spirv.resource_limits<>>] {}

// -----

// expected-error@+1 {{#kdl.host: found no ld.lld at /nonexistent, which links host objects}}
gpu.module @linker [#kdl.host] {}

// -----

gpu.module @mma [#kdl.host] {
  gpu.func @kernel(%x: memref<16x16xf16>) kernel {
    %c0 = arith.constant 0 : index
    %0 = "gpu.subgroup_mma_load_matrix"(%x, %c0, %c0) <{leadDimension = 16 : index}> : (memref<16x16xf16>, index, index) -> !gpu.mma_matrix<16x16xf16, "COp">
    // expected-error@+1 {{found an operation that has no meaning on a CPU}}
    "gpu.subgroup_mma_store_matrix"(%0, %x, %c0, %c0) <{leadDimension = 16 : index}> : (!gpu.mma_matrix<16x16xf16, "COp">, memref<16x16xf16>, index, index) -> ()
    gpu.return
  }
}

// -----

gpu.module @called [#kdl.host] {
  func.func @device() -> index {
    // expected-error@+1 {{found in a function that is no kernel: inline it before it is compiled for a CPU}}
    %0 = gpu.thread_id x
    return %0 : index
  }
}

// -----

gpu.module @shared [#kdl.host] {
  gpu.func @kernel(%n: index) kernel {
    // expected-error@+1 {{found group memory of type 'memref<?xf32, 3>', expected a static shape without a layout}}
    %0 = memref.alloc(%n) : memref<?xf32, 3>
    %c0 = arith.constant 0 : index
    %f = arith.constant 1.0 : f32
    memref.store %f, %0[%c0] : memref<?xf32, 3>
    gpu.return
  }
}

// -----

gpu.module @reduced [#xevm.target] {
  gpu.func @kernel(%x: memref<64xf32>, %y: memref<1xf32>) kernel {
    %t = gpu.thread_id x
    %c0 = arith.constant 0 : index
    %v = memref.load %x[%t] : memref<64xf32>
    // expected-error@+1 {{has no lowering for #xevm.target}}
    %s = gpu.all_reduce add %v uniform {} : (f32) -> (f32)
    memref.store %s, %y[%c0] : memref<1xf32>
    gpu.return
  }
}

// -----

gpu.module @dynamic [#xevm.target] {
  gpu.func @kernel(%x: f32) kernel {
    %i = gpu.thread_id x
    %c0 = arith.constant 0 : index
    // expected-error@+1 {{'gpu.dynamic_shared_memory' has no lowering for #xevm.target}}
    %0 = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    %1 = memref.view %0[%c0][] : memref<?xi8, #gpu.address_space<workgroup>> to memref<64xf32, #gpu.address_space<workgroup>>
    memref.store %x, %1[%i] : memref<64xf32, #gpu.address_space<workgroup>>
    gpu.return
  }
}

// -----

// A shuffle among fewer than a subgroup's work-items.
gpu.module @narrow [#xevm.target] {
  gpu.func @kernel(%x: memref<64xf32>) kernel attributes {intel_reqd_sub_group_size = 32 : i32} {
    %t = gpu.thread_id x
    %v = memref.load %x[%t] : memref<64xf32>
    %offset = arith.constant 1 : i32
    %width = arith.constant 16 : i32
    // expected-error@+1 {{found a shuffle of 16 work-items for #xevm.target, expected 32, the kernel's intel_reqd_sub_group_size}}
    %s, %ok = gpu.shuffle xor %v, %offset, %width : f32
    memref.store %s, %x[%t] : memref<64xf32>
    gpu.return
  }
}

// -----

// The device decides how many a subgroup has.
gpu.module @undeclared [#xevm.target] {
  gpu.func @kernel(%x: memref<64xf32>) kernel {
    %t = gpu.thread_id x
    %v = memref.load %x[%t] : memref<64xf32>
    %offset = arith.constant 1 : i32
    %width = arith.constant 32 : i32
    // expected-error@+1 {{found a shuffle of 32 work-items for #xevm.target, expected a kernel with intel_reqd_sub_group_size}}
    %s, %ok = gpu.shuffle xor %v, %offset, %width : f32
    memref.store %s, %x[%t] : memref<64xf32>
    gpu.return
  }
}

// -----

gpu.module @any [#xevm.target] {
  gpu.func @kernel(%x: memref<64xf32>, %width: i32) kernel attributes {intel_reqd_sub_group_size = 32 : i32} {
    %t = gpu.thread_id x
    %v = memref.load %x[%t] : memref<64xf32>
    %offset = arith.constant 1 : i32
    // expected-error@+1 {{found a shuffle of a number of work-items that is not constant for #xevm.target, expected 32}}
    %s, %ok = gpu.shuffle xor %v, %offset, %width : f32
    memref.store %s, %x[%t] : memref<64xf32>
    gpu.return
  }
}

// -----

// Atomics that SPIR-V has only as an extension, or not at all.
gpu.module @atomic [#xevm.target] {
  gpu.func @kernel(%a: f32, %x: memref<?xf32>) kernel {
    %i = gpu.global_id x
    // expected-error@+1 {{'llvm.atomicrmw' of 'fadd' and 'f32' has no lowering for #xevm.target}}
    %0 = memref.atomic_rmw addf %a, %x[%i] : (f32, memref<?xf32>) -> f32
    gpu.return
  }
}

// -----

gpu.module @maximum [#xevm.target] {
  gpu.func @kernel(%a: f32, %x: memref<?xf32>) kernel {
    %i = gpu.global_id x
    // expected-error@+1 {{'llvm.atomicrmw' of 'fmaximum' and 'f32' has no lowering for #xevm.target}}
    %0 = memref.atomic_rmw maximumf %a, %x[%i] : (f32, memref<?xf32>) -> f32
    gpu.return
  }
}

// -----

// OpenCL has atomics of 32 and 64 bits.
gpu.module @byte [#xevm.target] {
  gpu.func @kernel(%a: i8, %x: memref<?xi8>) kernel {
    %i = gpu.global_id x
    // expected-error@+1 {{'llvm.atomicrmw' of 'add' and 'i8' has no lowering for #xevm.target}}
    %0 = memref.atomic_rmw addi %a, %x[%i] : (i8, memref<?xi8>) -> i8
    gpu.return
  }
}

// -----

gpu.module @short [#xevm.target] {
  gpu.func @kernel(%a: i16, %x: memref<?xi16>) kernel {
    %i = gpu.global_id x
    // expected-error@+1 {{'llvm.cmpxchg' of 'i16' has no lowering for #xevm.target}}
    %0 = memref.generic_atomic_rmw %x[%i] : memref<?xi16> {
    ^bb0(%old: i16):
      %new = arith.muli %old, %a : i16
      memref.atomic_yield %new : i16
    }
    gpu.return
  }
}

// -----

// One that MLIR itself leaves, among casts.
gpu.module @product [#nvvm.target] {
  gpu.func @kernel(%a: f32, %x: memref<?xf32>) kernel {
    %i = gpu.global_id x
    // expected-error@+1 {{'memref.atomic_rmw' has no lowering for #nvvm.target}}
    %0 = memref.atomic_rmw mulf %a, %x[%i] : (f32, memref<?xf32>) -> f32
    gpu.return
  }
}

// -----

gpu.module @host [#kdl.host] {
  gpu.func @kernel(%a: f32, %x: memref<?xf32>) kernel {
    %i = gpu.global_id x
    // expected-error@+1 {{'memref.atomic_rmw' has no lowering for #kdl.host}}
    %0 = memref.atomic_rmw mulf %a, %x[%i] : (f32, memref<?xf32>) -> f32
    gpu.return
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @block [#kdl.host] {
    gpu.func @kernel() kernel {
      gpu.return
    }
  }
  func.func @none(%n: index) {
    %c1 = arith.constant 1 : index
    %below = arith.constant -1 : index
    gpu.launch_func @block::@kernel blocks in (%c1, %c1, %c1) threads in (%n, %c1, %c1)
    // expected-error@+1 {{found a block of -1 threads, expected at least 1}}
    gpu.launch_func @block::@kernel blocks in (%c1, %c1, %c1) threads in (%c1, %below, %c1)
    return
  }
}

// -----

// A work-item's own memory, which MLIR lowers to no SPIR-V.
gpu.module @private [#xevm.target] {
  // expected-error@+1 {{found private memory, which has no lowering for #xevm.target}}
  gpu.func @kernel(%x: memref<?xf32>) private(%own: memref<4xf32, #gpu.address_space<private>>) kernel {
    gpu.return
  }
}

// -----

gpu.module @stack [#xevm.target] {
  gpu.func @kernel(%x: memref<?xf32>) kernel {
    %t = gpu.thread_id x
    // expected-error@+1 {{'llvm.alloca' has no lowering for #xevm.target}}
    %own = memref.alloca() : memref<4xf32>
    %v = memref.load %x[%t] : memref<?xf32>
    memref.store %v, %own[%t] : memref<4xf32>
    %w = memref.load %own[%t] : memref<4xf32>
    memref.store %w, %x[%t] : memref<?xf32>
    gpu.return
  }
}
