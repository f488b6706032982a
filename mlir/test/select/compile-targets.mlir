// One gpu.module, one object per target, each with its kernels and their parameters.
// REQUIRES: ld.lld, rocm
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-attach-targets{targets=sm_80,sm_90,gfx90a,gfx942,spirv,host},kdl-compile-targets{ptx=true})' \
// RUN:   | FileCheck %s

// CHECK: gpu.module @kernels [
// CHECK-SAME: #kdl.compiled<#gpu.object<#nvvm.target<O = 3, chip = "sm_80", features = "+ptx70">, properties = {O = 3 : i32, variant_tag = "generic"}, kernels = <[#gpu.kernel_metadata<"axpy", !llvm.func<void (f32, ptr, ptr, i64, i64, i64, ptr, ptr, i64, i64, i64)>>,
// CHECK-SAME: #gpu.kernel_metadata<"fill", !llvm.func<void (f32, ptr, ptr, i64, i64, i64)>, metadata = {known_block_size = array<i32: 64, 1, 1>}>]>, assembly = "
// CHECK-SAME: .version 7.0
// CHECK-SAME: .target sm_80
// CHECK-SAME: .entry axpy(
// CHECK-SAME: #kdl.compiled<#gpu.object<#nvvm.target<O = 3, chip = "sm_90", features = "+ptx78">
// CHECK-SAME: .target sm_90
// CHECK-SAME: #kdl.compiled<#gpu.object<#rocdl.target<O = 3, chip = "gfx90a">, properties = {variant_tag = "generic"},
// CHECK-SAME: bin = "\7FELF
// CHECK-SAME: #kdl.compiled<#gpu.object<#rocdl.target<O = 3, chip = "gfx942">,
// CHECK-SAME: #kdl.compiled<#gpu.object<#xevm.target<O = 3>
// CHECK-SAME: bin = "\03\02#\07
// CHECK-SAME: #kdl.compiled<#gpu.object<#kdl.host,
// CHECK-SAME: bin = "\7FELF
// The module itself does not change.
// CHECK: gpu.func @axpy(%{{.*}}: f32, %{{.*}}: memref<?xf32>, %{{.*}}: memref<?xf32>) kernel
// CHECK-NOT: module

// Compile times are not part of an object: two runs give the same.
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-attach-targets{targets=sm_90,host},kdl-compile-targets)' -o %t.1
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-attach-targets{targets=sm_90,host},kdl-compile-targets)' -o %t.2
// RUN: cmp %t.1 %t.2

// Memrefs as one pointer each.
// RUN: sed s/memref\<?xf32\>/memref\<64xf32\>/g %s > %t.static.mlir
// RUN: mlir-opt %t.static.mlir --pass-pipeline='builtin.module(kdl-attach-targets{targets=sm_90,gfx942,host},kdl-compile-targets{bare-pointers=true})' \
// RUN:   | FileCheck %s --check-prefix=BARE
// BARE: #nvvm.target
// BARE-SAME: #gpu.kernel_metadata<"axpy", !llvm.func<void (f32, ptr, ptr)>>
// BARE-SAME: #rocdl.target
// BARE-SAME: #gpu.kernel_metadata<"axpy", !llvm.func<void (f32, ptr, ptr)>>
// BARE-SAME: #kdl.host
// BARE-SAME: #gpu.kernel_metadata<"axpy", !llvm.func<void (f32, ptr, ptr)>>

module attributes {gpu.container_module} {
  gpu.module @kernels attributes {kdl.properties = {variant_tag = "generic"}} {
    gpu.func @axpy(%a: f32, %x: memref<?xf32>, %y: memref<?xf32>) kernel {
      %b = gpu.block_id x
      %t = gpu.thread_id x
      %d = gpu.block_dim x
      %0 = arith.muli %b, %d : index
      %i = arith.addi %0, %t : index
      %c0 = arith.constant 0 : index
      %n = memref.dim %x, %c0 : memref<?xf32>
      %in = arith.cmpi ult, %i, %n : index
      scf.if %in {
        %xv = memref.load %x[%i] : memref<?xf32>
        %yv = memref.load %y[%i] : memref<?xf32>
        %p = arith.mulf %a, %xv : f32
        %s = arith.addf %p, %yv : f32
        memref.store %s, %y[%i] : memref<?xf32>
      }
      gpu.return
    }
    gpu.func @fill(%a: f32, %y: memref<?xf32>) kernel
        attributes {known_block_size = array<i32: 64, 1, 1>} {
      %i = gpu.global_id x
      memref.store %a, %y[%i] : memref<?xf32>
      gpu.return
    }
  }
}
