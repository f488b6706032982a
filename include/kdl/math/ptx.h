/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The fast forms of <kdl/math.h> for NVIDIA without libdevice: the same instructions as
 * libdevice's. */
#ifndef KDL_MATH_PTX_H
#define KDL_MATH_PTX_H

#ifdef __cplusplus
extern "C" {
#endif
#define KDL_PTX(name, ...)                                                                         \
  static inline __attribute__((always_inline, unused)) float kdl_ptx_##name##f(float x) {          \
    return __VA_ARGS__;                                                                            \
  }
KDL_PTX(cos, __nvvm_cos_approx_f(x))
KDL_PTX(exp, __nvvm_ex2_approx_f(x * 1.44269504f))
KDL_PTX(exp10, __nvvm_ex2_approx_f(x * 3.32192809f))
KDL_PTX(exp2, __nvvm_ex2_approx_f(x))
KDL_PTX(log, __nvvm_lg2_approx_f(x) * 0.693147181f)
KDL_PTX(log10, __nvvm_lg2_approx_f(x) * 0.301029996f)
KDL_PTX(log2, __nvvm_lg2_approx_f(x))
KDL_PTX(rsqrt, __nvvm_rsqrt_approx_f(x))
KDL_PTX(sin, __nvvm_sin_approx_f(x))
KDL_PTX(sqrt, __nvvm_sqrt_approx_f(x))
KDL_PTX(tan, __nvvm_div_approx_f(__nvvm_sin_approx_f(x), __nvvm_cos_approx_f(x)))
#undef KDL_PTX
#ifdef __cplusplus
}
#endif

#endif
