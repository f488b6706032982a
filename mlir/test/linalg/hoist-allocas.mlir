// Stack allocations move out of loops and branches of scf; one whose size changes per iteration, or in another kind of region, stays.
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-hoist-allocas)' | FileCheck %s
// CHECK-LABEL: func.func @loops(
// CHECK-DAG: memref.alloca() : memref<8xf32>
// CHECK-DAG: memref.alloca() {{.*}}alignment = 64{{.*}} : memref<4xf32>
// CHECK: scf.for
// CHECK-NOT: memref.alloca()
// CHECK: memref.alloca(%{{.*}}) : memref<?xf32>
// CHECK: memref.alloca_scope
// CHECK: memref.alloca() : memref<2xf32>
// CHECK: return
func.func private @use(memref<8xf32>, memref<4xf32>, memref<?xf32>, memref<2xf32>)
func.func @loops(%n: index, %c: i1) {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  scf.for %i = %0 to %n step %1 {
    %a = memref.alloca() : memref<8xf32>
    scf.if %c {
      %b = "memref.alloca"() <{alignment = 64 : i64, operandSegmentSizes = array<i32: 0, 0>}> : () -> memref<4xf32>
      %d = memref.alloca(%i) : memref<?xf32>
      memref.alloca_scope {
        %e = memref.alloca() : memref<2xf32>
        func.call @use(%a, %b, %d, %e) : (memref<8xf32>, memref<4xf32>, memref<?xf32>, memref<2xf32>) -> ()
      }
    }
  }
  return
}
