/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Kernels in C, written once for every kind of device:
 *
 *     #include <kdl/kernel.h>
 *
 *     KDL_BLOCK(256)
 *     __gpu_kernel void saxpy(float a, const __gpu_global float *x, __gpu_global float *y,
 *                             uint32_t n) {
 *       uint32_t i = __gpu_block_id(0) * __gpu_num_threads(0) + __gpu_thread_id(0);
 *       if (i < n)
 *         y[i] += a * x[i];
 *     }
 *
 *     kdl cc saxpy.c --targets=sm_90,gfx942,spirv64,opencl-c,x86-64-v3 -o saxpy.offload
 *
 * Names that begin with __gpu_ are those of Clang's <gpuintrin.h>. For NVIDIA, AMD and SPIR-V they
 * come from there; for the CPU and for OpenCL C this header defines them, with subgroups of one
 * work-item. Additions to <gpuintrin.h> have names that begin with kdl_ and KDL_.
 *
 * Kernel parameters are numbers, structures and pointers to __gpu_global memory. On the CPU a group
 * is a loop over its work-items in one thread; barriers split it into several loops. The manual is
 * docs/kernels.md.
 *
 * For the CPU the header also compiles with any C compiler, without `kdl cc`: see
 * <kdl/kernel/group.h> for kernels that run a group in one call.
 */
#ifndef KDL_KERNEL_H
#define KDL_KERNEL_H

/* Exactly one of these is 1: the target. In a portable image the device is known when it is loaded:
 * KDL_HOST is a value there, and no constant. */
#if defined(KDL_PORTABLE)
#define KDL_OPENCL 0
#define KDL_GPU (!kdl_p1_is_host())
#define KDL_HOST kdl_p1_is_host()
#elif defined(__OPENCL_C_VERSION__)
#define KDL_OPENCL 1
#define KDL_GPU 0
#define KDL_HOST 0
#elif defined(__NVPTX__) || defined(__AMDGPU__) || defined(__SPIRV__)
#define KDL_OPENCL 0
#define KDL_GPU 1
#define KDL_HOST 0
#else
#define KDL_OPENCL 0
#define KDL_GPU 0
#define KDL_HOST 1
#endif

/* `kdl cc` also defines KDL_TARGET, the name of the target, such as "x86-64-v3", and KDL_TAG, the
 * tag of the variant, such as "tiled", or "". */

/* ------------------------------------------------------------------------------------------ */
/* Properties of a kernel                                                                       */

/* Write these before __gpu_kernel. The values are constant expressions, and become metadata of the
 * image (docs/metadata.md). y and z are optional.
 *
 *     KDL_BLOCK(x, y, z)  work-items in a group; default: the launch decides
 *     KDL_TILE(x, y, z)   work-items of the problem that one group covers; default: the block
 *     KDL_SUBGROUP(n)     the kernel requires subgroups of this size
 *     KDL_REVISION(n)     of what the kernel computes; default: 1
 *     KDL_DYNAMIC(n)      bytes of KDL_LOCAL_DYNAMIC, if the launch gives a number of groups */
#define KDL_BLOCK(...) KDL_ANNOTATE("kdl.block", __VA_ARGS__) KDL_BLOCK_ATTRIBUTE(__VA_ARGS__)
#define KDL_TILE(...) KDL_ANNOTATE("kdl.tile", __VA_ARGS__)
#define KDL_SUBGROUP(n) KDL_ANNOTATE("kdl.subgroup", n)
#define KDL_REVISION(n) KDL_ANNOTATE("kdl.rev", n)
#define KDL_DYNAMIC(n) KDL_ANNOTATE("kdl.shared", n)

/* Only the pass of `kdl cc` that reads kernels defines these. In the compilation they would become
 * strings in the image, and in SPIR-V decorations that OpenCL does not allow. */
#ifdef KDL_CC_READS
#define KDL_ANNOTATE(...) __attribute__((annotate(__VA_ARGS__)))
#else
#define KDL_ANNOTATE(...)
#endif

/* Threads of a group whose work-items have barriers: n on a device, one on the CPU. A kernel that
 * goes through its tile in steps of __gpu_num_threads works with both. */
#ifdef KDL_PORTABLE /* a constant, which cannot wait for the device */
#define KDL_THREADS(n) (n)
#else
#define KDL_THREADS(n) (KDL_HOST ? 1 : (n))
#endif

#define KDL_EXTENT(m, ...) KDL_EXTENT_(m, __VA_ARGS__, 1, 1, 1)
#define KDL_EXTENT_(m, x, y, z, ...) m(x, y, z)

#if defined(KDL_PORTABLE)
#include <kdl/kernel/portable.h>
#elif KDL_OPENCL
#include <kdl/kernel/opencl.h>
#elif KDL_GPU
#include <kdl/kernel/gpu.h>
#else
#include <kdl/kernel/host.h>
#endif

/* ------------------------------------------------------------------------------------------ */
/* Additions to <gpuintrin.h>                                                                   */

/* From the headers above:
 *
 *     KDL_LOCAL(float, rows[16][17]);     memory of the group, at the start of a kernel
 *     KDL_LOCAL_DYNAMIC(float, row);      the same, in the kernel itself: as many bytes as
 *                                         kdl_launch_desc.shared of the launch
 *     kdl_atomic_add(p, v)                p points to an integer of 32 or 64 bits in global or
 *     kdl_atomic_min(p, v)                group memory; these return the old value, and order
 *     kdl_atomic_max(p, v)                nothing else. 64 bits need a device with
 *     kdl_atomic_cas(p, expected, v)      int64_atomics in OpenCL C and SPIR-V
 *     kdl_bits_f32(f), kdl_f32_bits(u)    the bits of a float, and the float of bits
 *     kdl_fma, kdl_sqrt, kdl_abs          for floats */

#if defined(KDL_PORTABLE)
#include <kdl/kernel/half.h>
#elif !KDL_HOST || defined(KDL_CC) /* other compilers may lack these types */
#include <kdl/kernel/half.h>
#endif

static inline float kdl_min(float a, float b) {
  return a < b ? a : b;
}

static inline float kdl_max(float a, float b) {
  return a > b ? a : b;
}

#ifndef KDL_PORTABLE
/* e to the x, within 2 ulp: it needs no library, and vectorises on CPUs. Below -87.3 it is 0, above
 * 88.7 infinity. Results are the same everywhere except on NVIDIA's GPUs, which have an instruction
 * for powers of two: there it is within 2.1 ulp, with subnormal results down to -103. */
#ifdef __NVPTX__
static inline float kdl_exp(float x) {
  const float zero = 12583039.0f; /* 1.5 * 2^23 + 127: the last bits of a sum with it are an
                                   * exponent */
  float sum = __nvvm_fma_rn_f(x, 1.44269502f, zero);
  sum = __builtin_fminf(__builtin_fmaxf(sum, zero - 126.0f), zero + 126.0f);
  float part = __nvvm_fma_rn_f(x, 1.44269502f, -__nvvm_add_rn_f(sum, -zero));
  part = __nvvm_fma_rn_f(x, 1.92596303e-8f, part); /* log2 e in two parts */
  return __nvvm_ex2_approx_ftz_f(part) * kdl_f32_bits(kdl_bits_f32(sum) << 23);
}
#else
static inline float kdl_exp(float x) {
  const float most = 88.7228394f, least = -87.3365402f;
  float clamped = kdl_min(kdl_max(x, least), most);
  int32_t exponent = (int32_t)(clamped * 1.44269504f + (clamped < 0.0f ? -0.5f : 0.5f));
  float r = kdl_fma((float)exponent, -0.693145752f, clamped); /* ln 2 in two parts: the first */
  r = kdl_fma((float)exponent, -1.42860677e-6f, r);           /* times any exponent is exact  */
  float p = 1.98412698e-4f;                                   /* 1/7!, 1/6!, ...              */
  p = kdl_fma(p, r, 1.38888889e-3f);
  p = kdl_fma(p, r, 8.33333333e-3f);
  p = kdl_fma(p, r, 4.16666667e-2f);
  p = kdl_fma(p, r, 1.66666667e-1f);
  p = kdl_fma(p, r, 0.5f);
  p = kdl_fma(p * r, r, r) + 1.0f;
  int32_t half_way = exponent / 2; /* in two steps: 2^128 is not a float, but e^88.72 is */
  p *= kdl_f32_bits((uint32_t)(half_way + 127) << 23);
  p *= kdl_f32_bits((uint32_t)(exponent - half_way + 127) << 23);
  return x < least ? 0.0f : x > most ? kdl_f32_bits(0x7f800000u) : x != x ? x : p;
}
#endif

/* Adds to a float in global memory. The order of additions is undefined, and so are the last bits
 * of the sum. */
static inline void kdl_atomic_add_f32(__gpu_global float *p, float v) {
#if defined(__NVPTX__)
  __scoped_atomic_fetch_add(p, v, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
#else
  __gpu_global uint32_t *bits = (__gpu_global uint32_t *)p;
  uint32_t seen = 0, found; /* a guess: a plain read while others add would be a race */
  while ((found = kdl_atomic_cas(bits, seen, kdl_bits_f32(kdl_f32_bits(seen) + v))) != seen)
    seen = found;
#endif
}
#endif

#endif
