// Kernels with the names of C functions: the object binds to its own, and code that would call its own kernel is refused.
// REQUIRES: ld.lld
// RUN: split-file %s %t
// RUN: mlir-opt %t/own.mlir --pass-pipeline='builtin.module(kdl-host-object,gpu-module-to-binary,kdl-mark-runtime-select{min-objects=1})' \
// RUN:   | kdl-mlir translate | llc -relocation-model=pic -filetype=obj -o %t.o
// RUN: kdl verify %t.o
// RUN: kdl extract %t.o --image=0 -o %t.so
// RUN: llvm-readelf -r -l %t.so | FileCheck %s
// CHECK-NOT: TLS
// CHECK: R_X86_64_RELATIVE
// CHECK-NOT: {{R_X86_64_(64|GLOB_DAT|JUMP_SLOT)}}
// RUN: kdl run %t.so read --device=host --grid=1 --block=1 --arg=buf:i32[1]=0 --arg=buf:i32[1]=0 --arg=i64:0 --arg=i64:1 --arg=i64:1 --dump=arg1 | FileCheck %s --check-prefix=RAN
// RAN: arg1 = 7

// RUN: not mlir-opt %t/called.mlir --pass-pipeline='builtin.module(kdl-host-object)' 2>&1 | FileCheck %s --check-prefix=CALLED
// CALLED: error: #kdl.host{{.*}}: found a kernel 'cos', which is also the name of a C function that the code calls

//--- own.mlir
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @read(%out: memref<?xi32>) kernel {
      %i = gpu.global_id x
      %v = arith.constant 7 : i32
      memref.store %v, %out[%i] : memref<?xi32>
      gpu.return
    }
  }
}

//--- called.mlir
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @cos(%out: memref<?xf64>) kernel {
      %i = gpu.global_id x
      %x = memref.load %out[%i] : memref<?xf64>
      %v = math.cos %x : f64
      memref.store %v, %out[%i] : memref<?xf64>
      gpu.return
    }
  }
}
