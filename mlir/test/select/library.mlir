// The library of a program: every object in one OffloadBinary, in a section that kdl lists and linkers keep.
// RUN: kdl-mlir translate %s | llc -relocation-model=pic -filetype=obj -o %t.o
// RUN: llvm-readelf -S %t.o | FileCheck %s --check-prefix=SECTION
// RUN: kdl ls %t.o > %t.ls
// RUN: FileCheck %s --check-prefix=LIST --input-file=%t.ls
// RUN: kdl ls --long %t.o | grep -c 'kdl.digest=blake2b-256:' | FileCheck %s --check-prefix=DIGESTS
// DIGESTS: {{^}}8{{$}}

// Allocated, so that linkers keep it.
// SECTION: .kdl.offloading PROGBITS {{.*}} A 0 0 8

// LIST: 0 cubin cuda nvptx64-nvidia-cuda sm_90 1 kdl.kernel.axpy="sig=f32 ptr<void> i64" kdl.kernel.fill="sig=ptr<void> i8; block=128x1x1"
// LIST-NEXT: 1 ptx cuda nvptx64-nvidia-cuda sm_80 27 kdl.kernel.axpy="sig=f32 ptr<void> i64"
// LIST-NEXT: 2 unknown cuda nvptx64-nvidia-cuda sm_75 1 -
// LIST-NEXT: 3 hsaco hip amdgcn-amd-amdhsa gfx942:sramecc-:xnack+ 1 kdl.note=kept requires_features=bf16+fp8 variant_priority=2 variant_tag=optimized kdl.kernel.axpy="sig=f32 ptr<void> i64"
// LIST-NEXT: 4 spirv sycl spirv64-unknown-unknown generic 5 kdl.kernel.axpy="sig=f32 ptr<void> i64"
// LIST-NEXT: 5 spirv sycl spirv64-unknown-unknown generic 5 kdl.kernel.axpy="sig=f32 ptr<void> i64"
// LIST-NEXT: 6 object openmp x86_64-unknown-linux-gnu x86-64-v3 1 kdl.kernel.axpy="sig=f32 ptr<void> i64"

// Intel's native code is for the chip that it names.
// LIST-NEXT: 7 {{[a-z]+}} sycl spirv64-unknown-unknown pvc 4 variant_tag=native kdl.kernel.axpy="sig=f32 ptr<void> i64"

module attributes {gpu.container_module} {
  gpu.binary @kernels <#kdl.runtime_select<policy = capability, fallback = host>> [
    // A table lists the kernels of the object ...
    #gpu.object<#nvvm.target<chip = "sm_90">,
      kernels = #gpu.kernel_table<[
        #gpu.kernel_metadata<"axpy", !llvm.func<void (f32, ptr, i64)>>,
        #gpu.kernel_metadata<"fill", (memref<?xf32>, i1) -> (),
                             metadata = {known_block_size = array<i32: 128, 1, 1>}>]>,
      bin = "x">,
    // ... and launches do where there is none.
    #gpu.object<#nvvm.target<chip = "sm_80">, assembly = ".version 7.0\n.target sm_80\n">,
    // A nested container gets no kernel keys, so that libkdl opens it.
    #gpu.object<#nvvm.target<chip = "sm_75">, "x">,
    #gpu.object<#rocdl.target<chip = "gfx942", features = "+xnack,-sramecc,+wavefrontsize64">,
      properties = {variant_priority = 2 : i32, requires_features = ["bf16", "fp8"],
                    variant_tag = "optimized", O = 3 : i32, kdl.note = "kept"}, bin = "x">,
    #gpu.object<#xevm.target<chip = "pvc">, bin = "\03\02#\07x">,
    #gpu.object<#spirv.target_env<#spirv.vce<v1.4, [Kernel], []>, #spirv.resource_limits<>>,
      bin = "\03\02#\07x">,
    #gpu.object<#kdl.host<arch = "x86-64-v3">, bin = "x">,
    #gpu.object<#xevm.target<chip = "pvc">, properties = {variant_tag = "native"}, bin = "\7FELF">]

  llvm.func @launch(%a: f32, %x: !llvm.ptr, %n: i64) {
    %c1 = llvm.mlir.constant(1 : i64) : i64
    gpu.launch_func @kernels::@axpy blocks in (%n, %c1, %c1) threads in (%c1, %c1, %c1) : i64
      args(%a : f32, %x : !llvm.ptr, %n : i64)
    llvm.return
  }
}
