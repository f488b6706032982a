// What a portable image cannot have is refused, with its place.
// RUN: mlir-opt %s -split-input-file -verify-diagnostics --pass-pipeline='builtin.module(kdl-compile-targets)'

gpu.module @shuffled [#kdl.portable] {
  gpu.func @kernel(%x: memref<64xf32>) kernel {
    %t = gpu.thread_id x
    %v = memref.load %x[%t] : memref<64xf32>
    %one = arith.constant 1 : i32
    %width = arith.constant 32 : i32
    // expected-error@+1 {{'gpu.shuffle' has no lowering for #kdl.portable}}
    %s, %ok = gpu.shuffle xor %v, %one, %width : f32
    memref.store %s, %x[%t] : memref<64xf32>
    gpu.return
  }
}

// -----

// AMD's pointers to group memory have another size.
gpu.module @swapped [#kdl.portable] {
  // expected-error@+1 {{with a pointer to group memory in a structure has no lowering for #kdl.portable}}
  gpu.func @kernel(%x: memref<64xf32>, %n: index) workgroup(%a: memref<64xf32, 3>, %b: memref<64xf32, 3>) kernel {
    %t = gpu.thread_id x
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %last:2 = scf.for %i = %c0 to %n step %c1 iter_args(%p = %a, %q = %b) -> (memref<64xf32, 3>, memref<64xf32, 3>) {
      %v = memref.load %x[%t] : memref<64xf32>
      memref.store %v, %p[%t] : memref<64xf32, 3>
      scf.yield %q, %p : memref<64xf32, 3>, memref<64xf32, 3>
    }
    gpu.return
  }
}

// -----

gpu.module @vendor [#kdl.portable] {
  gpu.func @kernel(%x: memref<64xf32>) kernel {
    %f = arith.constant 1.0 : f32
    %t = nvvm.read.ptx.sreg.tid.x : i32
    %i = arith.index_cast %t : i32 to index
    memref.store %f, %x[%i] : memref<64xf32>
    gpu.return
  }
}
// expected-error@-9 {{found llvm.nvvm.read.ptx.sreg.tid.x, which a portable image cannot have}}
// expected-error@-10 {{cannot be compiled for #kdl.portable}}
