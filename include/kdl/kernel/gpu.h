/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* <kdl/kernel.h> for GPUs that Clang compiles for: NVIDIA, AMD, SPIR-V. */
#ifndef KDL_KERNEL_GPU_H
#define KDL_KERNEL_GPU_H

#include <gpuintrin.h>

#ifdef __cplusplus
/* A launch names a kernel by its C name. */
#undef __gpu_kernel
#if defined(__NVPTX__)
#define __gpu_kernel extern "C" __attribute__((nvptx_kernel, visibility("protected")))
#elif defined(__AMDGPU__)
#define __gpu_kernel extern "C" __attribute__((amdgpu_kernel, visibility("protected")))
#else
#define __gpu_kernel extern "C" __attribute__((device_kernel, visibility("protected")))
#endif
#endif

#ifdef __AMDGPU__
/* The compiler allocates registers by it. Clang has no such attribute in C for the other
 * targets. */
#define KDL_BLOCK_ATTRIBUTE(...)                                                                   \
  __attribute__((amdgpu_flat_work_group_size(KDL_EXTENT(KDL_PRODUCT, __VA_ARGS__),                 \
                                             KDL_EXTENT(KDL_PRODUCT, __VA_ARGS__))))
#define KDL_PRODUCT(x, y, z) ((x) * (y) * (z))
#else
#define KDL_BLOCK_ATTRIBUTE(...)
#endif

#ifdef __AMDGPU__
/* Clang 22 has the barrier and then a fence: writes before the barrier may not be visible yet when
 * other work-items continue. This one waits for writes before the barrier, and prevents earlier
 * reads. */
static inline __attribute__((always_inline)) void kdl_sync_threads(void) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
#define __gpu_sync_threads() kdl_sync_threads()
#elif defined(__SPIRV__)
/* Clang 22's barrier has the semantics "sequentially consistent" and no memory, which by SPIR-V's
 * rules orders none. This one is OpenCL's barrier for group and global memory: the scope of a group
 * twice, and SequentiallyConsistent | WorkgroupMemory | CrossWorkgroupMemory. */
__attribute__((overloadable, convergent)) void
__spirv_ControlBarrier(unsigned execution, unsigned memory, unsigned semantics);
#define __gpu_sync_threads() __spirv_ControlBarrier(2, 2, 0x310)
#endif

/* Clang 22's scans use uint32_t for every type, and its scans and sums read lanes outside the
 * mask. */
#define KDL_LANES(type, suffix)                                                                    \
  static inline type kdl_lane_scan_##suffix(uint64_t mask, type x) {                               \
    uint64_t rest = mask >> __builtin_ctzll(mask);                                                 \
    uint32_t lane = __gpu_lane_id(), lanes = __gpu_num_lanes();                                    \
    if (rest & (rest + 1)) { /* with gaps: one lane after the other */                             \
      type sum = 0, mine = x;                                                                      \
      for (uint64_t left = mask; left; left &= left - 1) {                                         \
        uint32_t from = (uint32_t)__builtin_ctzll(left);                                           \
        sum += __gpu_shuffle_idx_##suffix(mask, from, x, lanes);                                   \
        mine = lane == from ? sum : mine;                                                          \
      }                                                                                            \
      return mine;                                                                                 \
    }                                                                                              \
    for (uint32_t step = 1; step < lanes; step *= 2) {                                             \
      uint32_t has = lane >= step && (mask >> (lane - step) & 1);                                  \
      type other = __gpu_shuffle_idx_##suffix(mask, has ? lane - step : lane, x, lanes);           \
      x += has ? other : 0;                                                                        \
    }                                                                                              \
    return x;                                                                                      \
  }                                                                                                \
  static inline type kdl_lane_sum_##suffix(uint64_t mask, type x) {                                \
    return __gpu_shuffle_idx_##suffix(mask, (uint32_t)(63 - __builtin_clzll(mask)),                \
                                      kdl_lane_scan_##suffix(mask, x), __gpu_num_lanes());         \
  }
KDL_LANES(uint32_t, u32)
KDL_LANES(uint64_t, u64)
KDL_LANES(float, f32)
KDL_LANES(double, f64)
#undef KDL_LANES
#define __gpu_lane_scan_u32(mask, x) kdl_lane_scan_u32(mask, x)
#define __gpu_lane_scan_u64(mask, x) kdl_lane_scan_u64(mask, x)
#define __gpu_lane_scan_f32(mask, x) kdl_lane_scan_f32(mask, x)
#define __gpu_lane_scan_f64(mask, x) kdl_lane_scan_f64(mask, x)
#define __gpu_lane_sum_u32(mask, x) kdl_lane_sum_u32(mask, x)
#define __gpu_lane_sum_u64(mask, x) kdl_lane_sum_u64(mask, x)
#define __gpu_lane_sum_f32(mask, x) kdl_lane_sum_f32(mask, x)
#define __gpu_lane_sum_f64(mask, x) kdl_lane_sum_f64(mask, x)

/* Group memory has no initial contents; without the attribute it would be zero, which AMD's and
 * NVIDIA's linkers refuse. The alignment lets neighbours be loaded and stored as one. */
#define KDL_LOCAL(type, declarator)                                                                \
  static __attribute__((loader_uninitialized, aligned(16))) __gpu_local type declarator

#ifdef __SPIRV__
/* A parameter, which `kdl cc` adds to the kernel. */
#if defined(KDL_CC_READS) || defined(KDL_CC_ASKS)
#ifdef __cplusplus
extern "C"
#endif
    __gpu_local uint8_t *kdl_local_dynamic(void);
#else
#define kdl_local_dynamic() kdl_dynamic
#endif
#else
#ifdef __cplusplus
extern "C"
#endif
    __attribute__((aligned(16))) extern __gpu_local uint8_t kdl_dynamic[];
#define kdl_local_dynamic() kdl_dynamic
#endif

#include <kdl/kernel/gpu_operations.h>

static inline float kdl_fma(float a, float b, float c) {
  return __builtin_fmaf(a, b, c);
}

#endif
