// SPIR-V requires of a device what its kernels need, and no more.
// REQUIRES: spirv-dis
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-attach-targets{targets=spirv},kdl-compile-targets,gpu-module-to-binary,kdl-mark-runtime-select{min-objects=1})' \
// RUN:   | kdl-mlir translate | llc -relocation-model=pic -filetype=obj -o %t.o
// RUN: kdl extract %t.o --image=0 -o %t.0.spv
// RUN: spirv-dis %t.0.spv | FileCheck %s --check-prefix=NONE --implicit-check-not=Subgroup
// RUN: kdl extract %t.o --image=1 -o %t.1.spv
// RUN: spirv-dis %t.1.spv | FileCheck %s --check-prefix=ASKED
// RUN: kdl extract %t.o --image=2 -o %t.2.spv
// RUN: spirv-dis %t.2.spv | FileCheck %s --check-prefix=XEVM
// RUN: kdl extract %t.o --image=3 -o %t.3.spv
// RUN: spirv-dis %t.3.spv | FileCheck %s --check-prefix=VECTORS

module attributes {gpu.container_module} {
  // NONE: OpEntryPoint Kernel %fill "fill"
  gpu.module @plain {
    gpu.func @fill(%a: f32, %x: memref<?xf32>) kernel {
      %i = gpu.global_id x
      memref.store %a, %x[%i] : memref<?xf32>
      gpu.return
    }
  }

  // The shuffle is as wide as the kernel's declared subgroups; the other kernel accepts any size.
  // ASKED: OpEntryPoint Kernel %[[FREE:.*]] "free"
  // ASKED: OpEntryPoint Kernel %[[ASKED:.*]] "asked"
  // ASKED-NOT: OpExecutionMode %[[FREE]] SubgroupSize
  // ASKED: OpExecutionMode %[[ASKED]] SubgroupSize 32
  // ASKED: OpExecutionMode %{{.*}} SubgroupSize 8
  // ASKED-NOT: OpExecutionMode {{.*}} SubgroupSize
  gpu.module @asked {
    gpu.func @free(%x: memref<?xindex>) kernel {
      %i = gpu.global_id x
      %size = gpu.subgroup_size : index
      memref.store %size, %x[%i] : memref<?xindex>
      gpu.return
    }
    gpu.func @asked(%x: memref<?xf32>) kernel attributes {intel_reqd_sub_group_size = 32 : i32} {
      %i = gpu.global_id x
      %offset = arith.constant 1 : i32
      %width = arith.constant 32 : i32
      %v = memref.load %x[%i] : memref<?xf32>
      %w, %ok = gpu.shuffle xor %v, %offset, %width : f32
      memref.store %w, %x[%i] : memref<?xf32>
      gpu.return
    }
    // As later versions of MLIR spell it.
    gpu.func @later(%x: memref<?xf32>) kernel attributes {llvm.intel_reqd_sub_group_size = 8 : i32} {
      gpu.return
    }
  }

  // XeVM's operations need subgroups of 16.
  // XEVM-COUNT-2: OpExecutionMode %{{.*}} SubgroupSize 16
  gpu.module @xevm {
    gpu.func @first(%x: !llvm.ptr<1>) kernel {
      "xevm.memfence"() <{addrspace = #xevm.addr_space<global>, scope = #xevm.mem_scope<workgroup>}> : () -> ()
      gpu.return
    }
    gpu.func @second(%x: !llvm.ptr<1>) kernel {
      "xevm.memfence"() <{addrspace = #xevm.addr_space<global>, scope = #xevm.mem_scope<workgroup>}> : () -> ()
      gpu.return
    }
  }

  // OpenCL's functions, once for each element.
  // VECTORS-COUNT-4: OpExtInst %float %{{.*}} erf
  // VECTORS-NOT: erf
  gpu.module @vectors {
    gpu.func @vectors(%x: memref<?xvector<2x2xf32>>) kernel {
      %i = gpu.global_id x
      %v = memref.load %x[%i] : memref<?xvector<2x2xf32>>
      %w = math.erf %v : vector<2x2xf32>
      memref.store %w, %x[%i] : memref<?xvector<2x2xf32>>
      gpu.return
    }
  }
}
