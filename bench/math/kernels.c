/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A kernel for each function of <kdl/math.h>, of arrays: what ulp.c measures. */
#include <kdl/math.h>
#include <kdl/math/functions.h>

#define INDEX (__gpu_block_id(0) * __gpu_num_threads(0) + __gpu_thread_id(0))
#define KERNEL_1(name, real, suffix)                                                               \
  KDL_BLOCK(256)                                                                                   \
  __gpu_kernel void ulp_##name##suffix(const __gpu_global real *x, __gpu_global real *out,         \
                                       uint32_t n) {                                               \
    uint32_t i = INDEX;                                                                            \
    if (i < n)                                                                                     \
      out[i] = name##suffix(x[i]);                                                                 \
  }
#define KERNEL_WITH(second, name, real, suffix)                                                    \
  KDL_BLOCK(256)                                                                                   \
  __gpu_kernel void ulp_##name##suffix(const __gpu_global real *x, const __gpu_global real *y,     \
                                       __gpu_global real *out, uint32_t n) {                       \
    uint32_t i = INDEX;                                                                            \
    if (i < n)                                                                                     \
      out[i] = name##suffix(x[i], (second)y[i]);                                                   \
  }
#define KERNEL_2(name, real, suffix) KERNEL_WITH(real, name, real, suffix)
#define KERNEL_INT(name, real, suffix) KERNEL_WITH(int, name, real, suffix)
#define BOTH_1(name) KERNEL_1(name, float, f) KERNEL_1(name, double, )
#define BOTH_2(name) KERNEL_2(name, float, f) KERNEL_2(name, double, )
#define BOTH_INT(name) KERNEL_INT(name, float, f) KERNEL_INT(name, double, )
#define NATIVE(name) KERNEL_1(native_##name, float, f)

KDL_MATH_EACH_1(BOTH_1)
KDL_MATH_EACH_2(BOTH_2)
KDL_MATH_EACH_INT(BOTH_INT)
KDL_MATH_EACH_NATIVE(NATIVE)
