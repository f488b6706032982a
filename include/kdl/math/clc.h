/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* <kdl/math.h> for CPUs, and for NVIDIA without libdevice: LLVM's libclc, installed with `kdl cc`
 * as bitcode, which links it and inlines it into the loop over work-items. */
#ifndef KDL_MATH_CLC_H
#define KDL_MATH_CLC_H

#define KDL_MATH_LINK
#define KDL_MATH_LINK_2
#define KDL_MATH_PRIVATE
#define KDL_MATH_F32(name) kdl_math_##name##f
#define KDL_MATH_F64(name) kdl_math_##name
#ifdef __NVPTX__
#include <kdl/math/ptx.h>
#define KDL_MATH_NATIVE(name) kdl_ptx_##name##f
#define KDL_MATH_NATIVE_ALONE
#else
#define KDL_MATH_NATIVE(name) kdl_math_##name##f
#endif

#if KDL_HOST
/* libclc's gamma functions are a thousand ulp off. These call the machine's libm instead, which
 * libkdl provides to an image (<kdl/host_abi.h>). */
#ifdef __cplusplus
extern "C" {
#endif
float kdl_libm_tgammaf(float) __asm__("tgammaf");
double kdl_libm_tgamma(double) __asm__("tgamma");
float kdl_libm_lgammaf(float) __asm__("lgammaf");
double kdl_libm_lgamma(double) __asm__("lgamma");

/* Negative between -1 and 0, -3 and -2, ..., and for -0. */
static inline int kdl_libm_sign(double x) {
  double below = __builtin_floor(x);
  return x == 0 ? (__builtin_signbit(x) ? -1 : 1)
                : (x < 0 && below != x && below != 2 * __builtin_floor(below / 2) ? -1 : 1);
}
static inline float kdl_libm_lgamma_rf(float x, int *sign) {
  *sign = kdl_libm_sign((double)x);
  return kdl_libm_lgammaf(x);
}
static inline double kdl_libm_lgamma_r(double x, int *sign) {
  *sign = kdl_libm_sign(x);
  return kdl_libm_lgamma(x);
}
#ifdef __cplusplus
}
#endif
#define kdl_math_tgammaf kdl_libm_tgammaf
#define kdl_math_tgamma kdl_libm_tgamma
#define kdl_math_lgammaf kdl_libm_lgammaf
#define kdl_math_lgamma kdl_libm_lgamma
#define kdl_math_lgamma_rf kdl_libm_lgamma_rf
#define kdl_math_lgamma_r kdl_libm_lgamma_r
#endif

#ifndef KDL_MATH_CLC
#define KDL_MATH_MISSING                                                                           \
  "this kdl was built without libclc's functions: build it again with libclc installed (Debian: "  \
  "libclc-22)"
#endif

#endif
