// A product of matrices for GPUs: a launch of the matmul library's kernels, with what is around it.
// REQUIRES: ukernels
// RUN: mlir-opt %s --split-input-file --pass-pipeline='builtin.module(kdl-lower-mmt4d-to-ukernels{target=sm_90a,gfx942,host},canonicalize,cse)' 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK --input-file=%t.remarks
// RUN: not mlir-opt %s --split-input-file --pass-pipeline='builtin.module(kdl-lower-mmt4d-to-ukernels{target=sm_90a no-silent-fallback=true})' -o %t 2>&1 | FileCheck %s --check-prefix=ERROR
// RUN: mlir-opt %s --split-input-file --pass-pipeline='builtin.module(kdl-lower-mmt4d-to-ukernels{target=sm_90a})' 2>/dev/null | FileCheck %s --check-prefix=ALONE
// RUN: not mlir-opt %s --pass-pipeline='builtin.module(kdl-lower-mmt4d-to-ukernels{target=sm_90a,rows})' -o %t 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not mlir-opt %s --pass-pipeline='builtin.module(kdl-lower-mmt4d-to-ukernels{target=sm_90a library=/nonexistent.offload})' -o %t 2>&1 | FileCheck %s --check-prefix=LIBRARY
// RUN: not mlir-opt %s --split-input-file --pass-pipeline='builtin.module(kdl-lower-mmt4d-to-ukernels{target=sm_70 no-silent-fallback=true})' -o %t 2>&1 | FileCheck %s --check-prefix=OLD
// TARGET: error: kdl-lower-mmt4d-to-ukernels: found target=rows among GPUs, expected sm_90a, gfx942, host or host:x86-64-v4
// LIBRARY: error: kdl-lower-mmt4d-to-ukernels: found library=/nonexistent.offload: {{.*}}/nonexistent.offload
// OLD: error: linalg.matmul has no microkernel: found no kdl_gpu_matmul_f32_bf16_tiles for cuda:sm_70 in {{.*}}kdl-matmul.offload

// CHECK-LABEL: func.func @linear
// CHECK-SAME: (%[[A:.*]]: memref<64x128xbf16>, %[[B:.*]]: memref<128x96xbf16>, %[[BIAS:.*]]: memref<96xf32>, %[[C:.*]]: memref<64x96xf32>)
// CHECK-NOT: linalg
// CHECK: memref.extract_aligned_pointer_as_index %[[A]]
// CHECK: memref.extract_aligned_pointer_as_index %[[B]]
// CHECK: memref.extract_aligned_pointer_as_index %[[C]]
// CHECK: memref.extract_aligned_pointer_as_index %[[BIAS]]
// CHECK: gpu.launch_func @kdl_contraction_f32_bf16::@kdl_contraction_f32_bf16 blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
// CHECK-SAME: %c64_i64 : i64, %c96_i64 : i64, %c128_i64 : i64, %c1_i64 : i64
// CHECK-NOT: linalg
// CHECK: gpu.binary @kdl_contraction_f32_bf16 <#kdl.runtime_select<fallback = host>> [
// CHECK-SAME: #gpu.object<#nvvm.target<O = 3, chip = "sm_80"
// CHECK-SAME: kdl.kernel.kdl_gpu_matmul_f32_bf16_0n
// CHECK-SAME: #gpu.object<#rocdl.target<O = 3, chip = "gfx9-4-generic"
// CHECK-SAME: #gpu.object<#kdl.host<arch = "x86-64">
// ALONE: gpu.binary @kdl_contraction_f32_bf16 <#kdl.runtime_select> [#gpu.object<#nvvm.target
// ALONE-NOT: #kdl.host
func.func @linear(%a: memref<64x128xbf16>, %b: memref<128x96xbf16>, %bias: memref<96xf32>, %c: memref<64x96xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<64x96xf32>)
  linalg.matmul ins(%a, %b : memref<64x128xbf16>, memref<128x96xbf16>) outs(%c : memref<64x96xf32>)
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%bias : memref<96xf32>) outs(%c : memref<64x96xf32>) {
  ^bb0(%x: f32, %s: f32):
    %0 = arith.addf %s, %x : f32
    %1 = arith.maximumf %0, %zero : f32
    linalg.yield %1 : f32
  }
  return
}

// -----

// A kernel of a gpu.module: its launches are the product's, and the memory of the sums is gone.
// CHECK-LABEL: func.func @launches
// CHECK: %[[START:.*]] = gpu.wait async
// CHECK-NOT: memref.alloc
// CHECK: %[[ONE:.*]] = gpu.launch_func async [%[[START]]] @kdl_contraction_f32_f16::@kdl_contraction_f32_f16
// CHECK: gpu.wait [%[[ONE]]]
// CHECK-NOT: gpu.module
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @multiply(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %c: memref<32x32xf16>) kernel {
      %zero = arith.constant 0.0 : f32
      %sums = memref.alloca() : memref<32x32xf32>
      linalg.fill ins(%zero : f32) outs(%sums : memref<32x32xf32>)
      linalg.matmul ins(%a, %b : memref<?x?xf16>, memref<?x?xf16>) outs(%sums : memref<32x32xf32>)
      linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
          ins(%sums : memref<32x32xf32>) outs(%c : memref<32x32xf16>) {
      ^bb0(%s: f32, %o: f16):
        %0 = arith.truncf %s : f32 to f16
        linalg.yield %0 : f16
      }
      gpu.return
    }
  }
  func.func @launches(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %c: memref<32x32xf16>) {
    %one = arith.constant 1 : index
    %start = gpu.wait async
    %done = gpu.launch_func async [%start] @kernels::@multiply blocks in (%one, %one, %one) threads in (%one, %one, %one) args(%a : memref<?x?xf16>, %b : memref<?x?xf16>, %c : memref<32x32xf16>)
    gpu.wait [%done]
    return
  }
}

// -----

// Other operands, and kernels with more.
// REMARK: remark: stays linalg.matmul: found f32, expected bf16, f16 or i8
// ERROR: error: linalg.matmul has no microkernel: found f32, expected bf16, f16 or i8
// CHECK-LABEL: func.func @single
// CHECK: linalg.matmul
func.func @single(%a: memref<8x8xf32>, %b: memref<8x8xf32>, %c: memref<8x8xf32>) {
  linalg.matmul ins(%a, %b : memref<8x8xf32>, memref<8x8xf32>) outs(%c : memref<8x8xf32>)
  return
}

// -----

// REMARK: remark: stays linalg.matmul: found gpu.barrier in the kernel, expected products, and zeros before and elementwise operations behind them
// CHECK: gpu.func @multiply
// CHECK: linalg.matmul
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @multiply(%a: memref<8x8xbf16>, %b: memref<8x8xbf16>, %c: memref<8x8xf32>) kernel {
      linalg.matmul ins(%a, %b : memref<8x8xbf16>, memref<8x8xbf16>) outs(%c : memref<8x8xf32>)
      gpu.barrier
      gpu.return
    }
  }
}

// -----

// What does not fit into the epilogue stays behind it: another order of additions, and a maximum with something else.
// CHECK-LABEL: func.func @behind
// CHECK: gpu.launch_func @kdl_contraction_f32_bf16
// CHECK: linalg.generic
// CHECK: arith.maximumf
func.func @behind(%a: memref<8x8xbf16>, %b: memref<8x8xbf16>, %c: memref<8x8xf32>) {
  %zero = arith.constant 0.0 : f32
  %six = arith.constant 6.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<8x8xf32>)
  linalg.matmul ins(%a, %b : memref<8x8xbf16>, memref<8x8xbf16>) outs(%c : memref<8x8xf32>)
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} outs(%c : memref<8x8xf32>) {
  ^bb0(%s: f32):
    %0 = arith.maximumf %s, %six : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

// REMARK: remark: stays linalg.mmt4d: found tiles for a CPU, expected a product that is not tiled
func.func @tiles(%a: memref<2x3x4x1xf32>, %b: memref<2x3x16x1xf32>, %c: memref<2x2x4x16xf32>) {
  linalg.mmt4d ins(%a, %b : memref<2x3x4x1xf32>, memref<2x3x16x1xf32>) outs(%c : memref<2x2x4x16xf32>)
  return
}
