/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Kernels in C++: templates, lambdas, constants, a namespace, a structure by value. */
#include <kdl/kernel.h>

namespace app {

struct params {
  float a;
  uint32_t n;
};

static constexpr uint32_t threads = 64;

template <class F> static inline void each(uint32_t n, F f) {
  uint32_t i = __gpu_block_id(0) * __gpu_num_threads(0) + __gpu_thread_id(0);
  if (i < n)
    f(i);
}

template <class T> struct square {
  static constexpr T of(T x) { return x * x; }
};

KDL_BLOCK(threads)
__gpu_kernel void squares(params p, const __gpu_global float *__restrict x, __gpu_global float *y) {
  each(p.n, [=](uint32_t i) { y[i] = p.a * square<float>::of(x[i]); });
}

} // namespace app

extern "C" __gpu_kernel void fill(__gpu_global int32_t *y, const __gpu_global void *v, bool b,
                                  char c) {
  (void)v;
  y[__gpu_thread_id(0)] = b ? c : 0;
}
