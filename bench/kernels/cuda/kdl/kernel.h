/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* <kdl/kernel.h> in the words of CUDA C++, for nvcc: as much of it as the measured kernels use. */
#include <cstdint>

#define KDL_HOST 0
#define KDL_THREADS(n) (n)
#define KDL_EXTENT(x, y, z, ...) ((x) * (y) * (z))
#define KDL_BLOCK(...) extern "C" __launch_bounds__(KDL_EXTENT(__VA_ARGS__, 1, 1))
#define KDL_TILE(...)
#define KDL_LOCAL(type, declarator) __shared__ type declarator

#define __gpu_kernel __global__
#define __gpu_global
#define __gpu_local
#define __gpu_sync_threads() __syncthreads()
#define __gpu_thread_id(dim) ((dim) == 0 ? threadIdx.x : threadIdx.y)
#define __gpu_block_id(dim) ((dim) == 0 ? blockIdx.x : blockIdx.y)
#define __gpu_num_threads(dim) ((dim) == 0 ? blockDim.x : blockDim.y)

#define kdl_atomic_add(p, v) atomicAdd(p, v)
#define kdl_atomic_add_f32(p, v) atomicAdd(p, v)
#define kdl_exp(x) expf(x)
#define kdl_sqrt(x) sqrtf(x)

#ifndef KDL_BENCH_CUDA_MAX
#define KDL_BENCH_CUDA_MAX
__device__ static inline float kdl_max(float a, float b) {
  return a > b ? a : b;
}
#endif
