/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The math of portable images that <kdl/math/clc.h> adds to libclc's functions (cc/math): fast
 * forms, and on CPUs the gamma functions of libm. */
#if defined(__NVPTX__)
#define KDL_HOST 0
#else
#define KDL_HOST 1
#endif
#define KDL_MATH_CLC
#include <kdl/math/clc.h>

#include <kdl/math/functions.h>

#define OURS __attribute__((visibility("hidden")))

#define DECLARE(name) float kdl_math_##name##f(float);
KDL_MATH_EACH_NATIVE(DECLARE)
#define DEFINE_NATIVE(name)                                                                        \
  OURS float kdl_math_native_##name##f(float x) {                                                  \
    return KDL_MATH_NATIVE(name)(x);                                                               \
  }
KDL_MATH_EACH_NATIVE(DEFINE_NATIVE)

#if KDL_HOST
#define GAMMA(real, name, symbol)                                                                  \
  OURS real portable_##name(real x) __asm__(symbol);                                               \
  OURS real portable_##name(real x) {                                                              \
    return kdl_libm_##name(x);                                                                     \
  }
GAMMA(float, tgammaf, "kdl_math_tgammaf")
GAMMA(double, tgamma, "kdl_math_tgamma")
GAMMA(float, lgammaf, "kdl_math_lgammaf")
GAMMA(double, lgamma, "kdl_math_lgamma")
OURS float portable_lgamma_rf(float x, int *sign) __asm__("kdl_math_lgamma_rf");
OURS float portable_lgamma_rf(float x, int *sign) {
  return kdl_libm_lgamma_rf(x, sign);
}
OURS double portable_lgamma_r(double x, int *sign) __asm__("kdl_math_lgamma_r");
OURS double portable_lgamma_r(double x, int *sign) {
  return kdl_libm_lgamma_r(x, sign);
}
#endif
