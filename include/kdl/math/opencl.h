/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * <kdl/math.h> for OpenCL C: the driver's own functions. Those of double are macros, so that an
 * image has the word `double` only if its source has it. OpenCL's names are overloaded, and C's are
 * not: a name in parentheses is OpenCL's, because a macro is not expanded there.
 */
#ifndef KDL_MATH_OPENCL_H
#define KDL_MATH_OPENCL_H

#include <kdl/math/functions.h>

#if defined(__FAST_MATH__) || defined(__FAST_RELAXED_MATH__)
#define KDL_CL_FAST(name) kdl_cl_native_##name
#else
#define KDL_CL_FAST(name) kdl_cl_##name
#endif

/* Those of float are functions: a variable of the source such as `float exp` then does not hide
 * OpenCL's. */
#define KDL_CL_1(name)                                                                             \
  static inline float kdl_cl_##name##f(float x) {                                                  \
    return name(x);                                                                                \
  }
#define KDL_CL_2(name)                                                                             \
  static inline float kdl_cl_##name##f(float x, float y) {                                         \
    return name(x, y);                                                                             \
  }
#define KDL_CL_3(name)                                                                             \
  static inline float kdl_cl_##name##f(float x, float y, float z) {                                \
    return name(x, y, z);                                                                          \
  }
#define KDL_CL_INT(name)                                                                           \
  static inline float kdl_cl_##name##f(float x, int n) {                                           \
    return name(x, n);                                                                             \
  }
#define KDL_CL_NATIVE(name) KDL_CL_1(native_##name)
KDL_MATH_EACH_1(KDL_CL_1)
KDL_MATH_EACH_2(KDL_CL_2)
KDL_MATH_EACH_3(KDL_CL_3)
KDL_MATH_EACH_INT(KDL_CL_INT)
KDL_MATH_EACH_NATIVE(KDL_CL_NATIVE)

/* The sign of gamma(x) as in C: NVIDIA's lgamma_r gives 0 and 1, for 1 and -1. */
#define KDL_CL_LGAMMA_R(real, suffix)                                                              \
  static inline real kdl_cl_lgamma_r##suffix(real x, int *sign) {                                  \
    real below = floor(x);                                                                         \
    bool is_odd = below != 2 * floor(below / 2);                                                   \
    *sign = (x == 0 ? signbit(x) : x < 0 && below != x && is_odd) ? -1 : 1;                        \
    return lgamma(x);                                                                              \
  }
KDL_CL_LGAMMA_R(float, f)
#define lgammaf_r kdl_cl_lgamma_rf
#ifdef KDL_OPENCL_DOUBLE /* `kdl cc` defines it if the source computes with double */
KDL_CL_LGAMMA_R(double, )
#define lgamma_r kdl_cl_lgamma_r
#else
#define lgamma_r(x, sign) (lgamma_r)((double)(x), sign)
#endif

#define acosf kdl_cl_acosf
#define acos(x) (acos)((double)(x))
#define acoshf kdl_cl_acoshf
#define acosh(x) (acosh)((double)(x))
#define acospif kdl_cl_acospif
#define acospi(x) (acospi)((double)(x))
#define asinf kdl_cl_asinf
#define asin(x) (asin)((double)(x))
#define asinhf kdl_cl_asinhf
#define asinh(x) (asinh)((double)(x))
#define asinpif kdl_cl_asinpif
#define asinpi(x) (asinpi)((double)(x))
#define atanf kdl_cl_atanf
#define atan(x) (atan)((double)(x))
#define atanhf kdl_cl_atanhf
#define atanh(x) (atanh)((double)(x))
#define atanpif kdl_cl_atanpif
#define atanpi(x) (atanpi)((double)(x))
#define cbrtf kdl_cl_cbrtf
#define cbrt(x) (cbrt)((double)(x))
#define ceilf kdl_cl_ceilf
#define ceil(x) (ceil)((double)(x))
#define cosf KDL_CL_FAST(cosf)
#define cos(x) (cos)((double)(x))
#define coshf kdl_cl_coshf
#define cosh(x) (cosh)((double)(x))
#define cospif kdl_cl_cospif
#define cospi(x) (cospi)((double)(x))
#define erff kdl_cl_erff
#define erf(x) (erf)((double)(x))
#define erfcf kdl_cl_erfcf
#define erfc(x) (erfc)((double)(x))
#define expf KDL_CL_FAST(expf)
#define exp(x) (exp)((double)(x))
#define exp10f KDL_CL_FAST(exp10f)
#define exp10(x) (exp10)((double)(x))
#define exp2f KDL_CL_FAST(exp2f)
#define exp2(x) (exp2)((double)(x))
#define expm1f kdl_cl_expm1f
#define expm1(x) (expm1)((double)(x))
#define fabsf kdl_cl_fabsf
#define fabs(x) (fabs)((double)(x))
#define floorf kdl_cl_floorf
#define floor(x) (floor)((double)(x))
#define lgammaf kdl_cl_lgammaf
#define lgamma(x) (lgamma)((double)(x))
#define logf KDL_CL_FAST(logf)
#define log(x) (log)((double)(x))
#define log10f KDL_CL_FAST(log10f)
#define log10(x) (log10)((double)(x))
#define log1pf kdl_cl_log1pf
#define log1p(x) (log1p)((double)(x))
#define log2f KDL_CL_FAST(log2f)
#define log2(x) (log2)((double)(x))
#define logbf kdl_cl_logbf
#define logb(x) (logb)((double)(x))
#define rintf kdl_cl_rintf
#define rint(x) (rint)((double)(x))
#define roundf kdl_cl_roundf
#define round(x) (round)((double)(x))
#define rsqrtf KDL_CL_FAST(rsqrtf)
#define rsqrt(x) (rsqrt)((double)(x))
#define sinf KDL_CL_FAST(sinf)
#define sin(x) (sin)((double)(x))
#define sinhf kdl_cl_sinhf
#define sinh(x) (sinh)((double)(x))
#define sinpif kdl_cl_sinpif
#define sinpi(x) (sinpi)((double)(x))
#define sqrtf KDL_CL_FAST(sqrtf)
#define sqrt(x) (sqrt)((double)(x))
#define tanf KDL_CL_FAST(tanf)
#define tan(x) (tan)((double)(x))
#define tanhf kdl_cl_tanhf
#define tanh(x) (tanh)((double)(x))
#define tanpif kdl_cl_tanpif
#define tanpi(x) (tanpi)((double)(x))
#define tgammaf kdl_cl_tgammaf
#define tgamma(x) (tgamma)((double)(x))
#define truncf kdl_cl_truncf
#define trunc(x) (trunc)((double)(x))
#define atan2f kdl_cl_atan2f
#define atan2(x, y) (atan2)((double)(x), (double)(y))
#define atan2pif kdl_cl_atan2pif
#define atan2pi(x, y) (atan2pi)((double)(x), (double)(y))
#define copysignf kdl_cl_copysignf
#define copysign(x, y) (copysign)((double)(x), (double)(y))
#define fdimf kdl_cl_fdimf
#define fdim(x, y) (fdim)((double)(x), (double)(y))
#define fmaxf kdl_cl_fmaxf
#define fmax(x, y) (fmax)((double)(x), (double)(y))
#define fminf kdl_cl_fminf
#define fmin(x, y) (fmin)((double)(x), (double)(y))
#define fmodf kdl_cl_fmodf
#define fmod(x, y) (fmod)((double)(x), (double)(y))
#define hypotf kdl_cl_hypotf
#define hypot(x, y) (hypot)((double)(x), (double)(y))
#define maxmagf kdl_cl_maxmagf
#define maxmag(x, y) (maxmag)((double)(x), (double)(y))
#define minmagf kdl_cl_minmagf
#define minmag(x, y) (minmag)((double)(x), (double)(y))
#define nextafterf kdl_cl_nextafterf
#define nextafter(x, y) (nextafter)((double)(x), (double)(y))
#define powf kdl_cl_powf
#define pow(x, y) (pow)((double)(x), (double)(y))
#define powrf kdl_cl_powrf
#define powr(x, y) (powr)((double)(x), (double)(y))
#define remainderf kdl_cl_remainderf
#define remainder(x, y) (remainder)((double)(x), (double)(y))
#define fmaf kdl_cl_fmaf
#define fma(x, y, z) (fma)((double)(x), (double)(y), (double)(z))
#define madf kdl_cl_madf
#define mad(x, y, z) (mad)((double)(x), (double)(y), (double)(z))
#define ldexpf kdl_cl_ldexpf
#define ldexp(x, n) (ldexp)((double)(x), (int)(n))
#define pownf kdl_cl_pownf
#define pown(x, n) (pown)((double)(x), (int)(n))
#define rootnf kdl_cl_rootnf
#define rootn(x, n) (rootn)((double)(x), (int)(n))
#define native_cosf kdl_cl_native_cosf
#define native_expf kdl_cl_native_expf
#define native_exp10f kdl_cl_native_exp10f
#define native_exp2f kdl_cl_native_exp2f
#define native_logf kdl_cl_native_logf
#define native_log10f kdl_cl_native_log10f
#define native_log2f kdl_cl_native_log2f
#define native_rsqrtf kdl_cl_native_rsqrtf
#define native_sinf kdl_cl_native_sinf
#define native_sqrtf kdl_cl_native_sqrtf
#define native_tanf kdl_cl_native_tanf

#define ilogbf(x) (ilogb)((float)(x))
#define ilogb(x) (ilogb)((double)(x))
#define frexpf(x, exponent) (frexp)((float)(x), exponent)
#define frexp(x, exponent) (frexp)((double)(x), exponent)
#define modff(x, whole) (modf)((float)(x), whole)
#define modf(x, whole) (modf)((double)(x), whole)
#define fractf(x, whole) (fract)((float)(x), whole)
#define fract(x, whole) (fract)((double)(x), whole)
#define remquof(x, y, quotient) (remquo)((float)(x), (float)(y), quotient)
#define remquo(x, y, quotient) (remquo)((double)(x), (double)(y), quotient)
#define sincosf(x, sine, cosine) ((void)(*(sine) = (sincos)((float)(x), cosine)))
#define sincos(x, sine, cosine) ((void)(*(sine) = (sincos)((double)(x), cosine)))

/* Half precision is computed in float, and rounded once more. */
#define acosf16(x) ((_Float16)kdl_cl_acosf((float)(x)))
#define acoshf16(x) ((_Float16)kdl_cl_acoshf((float)(x)))
#define acospif16(x) ((_Float16)kdl_cl_acospif((float)(x)))
#define asinf16(x) ((_Float16)kdl_cl_asinf((float)(x)))
#define asinhf16(x) ((_Float16)kdl_cl_asinhf((float)(x)))
#define asinpif16(x) ((_Float16)kdl_cl_asinpif((float)(x)))
#define atanf16(x) ((_Float16)kdl_cl_atanf((float)(x)))
#define atanhf16(x) ((_Float16)kdl_cl_atanhf((float)(x)))
#define atanpif16(x) ((_Float16)kdl_cl_atanpif((float)(x)))
#define cbrtf16(x) ((_Float16)kdl_cl_cbrtf((float)(x)))
#define ceilf16(x) ((_Float16)kdl_cl_ceilf((float)(x)))
#define cosf16(x) ((_Float16)kdl_cl_cosf((float)(x)))
#define coshf16(x) ((_Float16)kdl_cl_coshf((float)(x)))
#define cospif16(x) ((_Float16)kdl_cl_cospif((float)(x)))
#define erff16(x) ((_Float16)kdl_cl_erff((float)(x)))
#define erfcf16(x) ((_Float16)kdl_cl_erfcf((float)(x)))
#define expf16(x) ((_Float16)kdl_cl_expf((float)(x)))
#define exp10f16(x) ((_Float16)kdl_cl_exp10f((float)(x)))
#define exp2f16(x) ((_Float16)kdl_cl_exp2f((float)(x)))
#define expm1f16(x) ((_Float16)kdl_cl_expm1f((float)(x)))
#define fabsf16(x) ((_Float16)kdl_cl_fabsf((float)(x)))
#define floorf16(x) ((_Float16)kdl_cl_floorf((float)(x)))
#define lgammaf16(x) ((_Float16)kdl_cl_lgammaf((float)(x)))
#define logf16(x) ((_Float16)kdl_cl_logf((float)(x)))
#define log10f16(x) ((_Float16)kdl_cl_log10f((float)(x)))
#define log1pf16(x) ((_Float16)kdl_cl_log1pf((float)(x)))
#define log2f16(x) ((_Float16)kdl_cl_log2f((float)(x)))
#define logbf16(x) ((_Float16)kdl_cl_logbf((float)(x)))
#define rintf16(x) ((_Float16)kdl_cl_rintf((float)(x)))
#define roundf16(x) ((_Float16)kdl_cl_roundf((float)(x)))
#define rsqrtf16(x) ((_Float16)kdl_cl_rsqrtf((float)(x)))
#define sinf16(x) ((_Float16)kdl_cl_sinf((float)(x)))
#define sinhf16(x) ((_Float16)kdl_cl_sinhf((float)(x)))
#define sinpif16(x) ((_Float16)kdl_cl_sinpif((float)(x)))
#define sqrtf16(x) ((_Float16)kdl_cl_sqrtf((float)(x)))
#define tanf16(x) ((_Float16)kdl_cl_tanf((float)(x)))
#define tanhf16(x) ((_Float16)kdl_cl_tanhf((float)(x)))
#define tanpif16(x) ((_Float16)kdl_cl_tanpif((float)(x)))
#define tgammaf16(x) ((_Float16)kdl_cl_tgammaf((float)(x)))
#define truncf16(x) ((_Float16)kdl_cl_truncf((float)(x)))
#define atan2f16(x, y) ((_Float16)kdl_cl_atan2f((float)(x), (float)(y)))
#define atan2pif16(x, y) ((_Float16)kdl_cl_atan2pif((float)(x), (float)(y)))
#define copysignf16(x, y) ((_Float16)kdl_cl_copysignf((float)(x), (float)(y)))
#define fdimf16(x, y) ((_Float16)kdl_cl_fdimf((float)(x), (float)(y)))
#define fmaxf16(x, y) ((_Float16)kdl_cl_fmaxf((float)(x), (float)(y)))
#define fminf16(x, y) ((_Float16)kdl_cl_fminf((float)(x), (float)(y)))
#define fmodf16(x, y) ((_Float16)kdl_cl_fmodf((float)(x), (float)(y)))
#define hypotf16(x, y) ((_Float16)kdl_cl_hypotf((float)(x), (float)(y)))
#define maxmagf16(x, y) ((_Float16)kdl_cl_maxmagf((float)(x), (float)(y)))
#define minmagf16(x, y) ((_Float16)kdl_cl_minmagf((float)(x), (float)(y)))
#define powf16(x, y) ((_Float16)kdl_cl_powf((float)(x), (float)(y)))
#define powrf16(x, y) ((_Float16)kdl_cl_powrf((float)(x), (float)(y)))
#define remainderf16(x, y) ((_Float16)kdl_cl_remainderf((float)(x), (float)(y)))
#define fmaf16(x, y, z) ((_Float16)kdl_cl_fmaf((float)(x), (float)(y), (float)(z)))
#define madf16(x, y, z) ((_Float16)kdl_cl_madf((float)(x), (float)(y), (float)(z)))
#define ldexpf16(x, n) ((_Float16)kdl_cl_ldexpf((float)(x), (int)(n)))
#define pownf16(x, n) ((_Float16)kdl_cl_pownf((float)(x), (int)(n)))
#define rootnf16(x, n) ((_Float16)kdl_cl_rootnf((float)(x), (int)(n)))

#define nearbyintf kdl_cl_rintf
#define nearbyint(x) (rint)((double)(x))
#define scalbnf kdl_cl_ldexpf
#define scalbn(x, n) (ldexp)((double)(x), (int)(n))
#define lrintf(x) ((long)kdl_cl_rintf(x))
#define lrint(x) ((long)(rint)((double)(x)))
#define lroundf(x) ((long)kdl_cl_roundf(x))
#define lround(x) ((long)(round)((double)(x)))
#define llrintf(x) lrintf(x)
#define llrint(x) lrint(x)
#define llroundf(x) lroundf(x)
#define llround(x) lround(x)

#define nanf(tag) (nan)((uint)0)

#endif
