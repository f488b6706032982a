// Blocking gpu.alloc, dealloc, memcpy and memset are lowered like asynchronous ones, followed by a wait.
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-async-memory)' | FileCheck %s
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-lower-to-binary{targets=host})' \
// RUN:   | kdl-mlir run --entry-point-result=void --shared-libs=%lib/libkdl_mlir_runtime.so \
// RUN:       --shared-libs=%llvm_lib/libmlir_runner_utils.so --shared-libs=%llvm_lib/libmlir_c_runner_utils.so \
// RUN:   | FileCheck %s --check-prefix=RAN
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-attach-targets{targets=host},kdl-compile-targets,gpu-module-to-binary,gpu-to-llvm,convert-to-llvm,reconcile-unrealized-casts)' \
// RUN:   | not kdl-mlir translate 2>&1 | FileCheck %s --check-prefix=LEFT
// LEFT: error: found 'gpu.{{alloc|memset}}', expected it lowered: run kdl-async-memory and gpu-to-llvm before

// RAN: [5,  5,  3,  3]
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @fill(%a: f32, %x: memref<?xf32>) kernel {
      %i = gpu.global_id x
      memref.store %a, %x[%i] : memref<?xf32>
      gpu.return
    }
  }
  func.func private @printMemrefF32(memref<*xf32>) attributes {llvm.emit_c_interface}

  // CHECK-LABEL: func.func @main
  func.func @main() {
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %three = arith.constant 3.0 : f32
    %five = arith.constant 5.0 : f32
    %host = memref.alloc(%c4) : memref<?xf32>
    // CHECK:      %[[T0:.*]] = gpu.wait async
    // CHECK-NEXT: %[[X:.*]], %[[T1:.*]] = gpu.alloc async [%[[T0]]] (%{{.*}}) : memref<?xf32>
    // CHECK-NEXT: gpu.wait [%[[T1]]]
    %x = gpu.alloc (%c4) : memref<?xf32>
    // CHECK-NEXT: %[[T2:.*]] = gpu.wait async
    // CHECK-NEXT: %[[T3:.*]] = gpu.memset async [%[[T2]]] %[[X]]
    // CHECK-NEXT: gpu.wait [%[[T3]]]
    gpu.memset %x, %three : memref<?xf32>, f32
    gpu.launch_func @kernels::@fill blocks in (%c1, %c1, %c1) threads in (%c2, %c1, %c1)
      args(%five : f32, %x : memref<?xf32>)
    // One with a dependency waits for it.
    // CHECK:      %[[T4:.*]] = gpu.wait async
    // CHECK-NEXT: %[[T5:.*]] = gpu.wait async [%[[T4]]]
    // CHECK-NEXT: %[[T6:.*]] = gpu.memcpy async [%[[T5]]] %{{.*}}, %[[X]]
    // CHECK-NEXT: gpu.wait [%[[T6]]]
    %t = gpu.wait async
    gpu.memcpy [%t] %host, %x : memref<?xf32>, memref<?xf32>
    // CHECK:      gpu.dealloc async
    // CHECK-NEXT: gpu.wait
    gpu.dealloc %x : memref<?xf32>
    // Memory shared with the host is allocated without a stream.
    // CHECK-NEXT: %{{.*}} = gpu.alloc  host_shared () : memref<4xf32>
    %shared = gpu.alloc host_shared () : memref<4xf32>
    gpu.dealloc %shared : memref<4xf32>
    %unranked = memref.cast %host : memref<?xf32> to memref<*xf32>
    call @printMemrefF32(%unranked) : (memref<*xf32>) -> ()
    return
  }
}
