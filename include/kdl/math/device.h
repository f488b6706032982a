/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * <kdl/math.h> for targets that Clang compiles for: each function calls one of a library. The
 * library's header, included before, defines how:
 *
 *     KDL_MATH_F32(sin), KDL_MATH_F64(sin)    the name of its sine
 *     KDL_MATH_NATIVE(sin)                    and of its fast one, for float
 *     KDL_MATH_NATIVE_ALONE                   defined if that needs no library
 *     KDL_MATH_OVERLOADS                      defined if both are overloads of one name
 *     KDL_MATH_LINK                           the prefix of a declaration of these
 *     KDL_MATH_LINK_2                         the same, for functions with a second result
 *     KDL_MATH_PRIVATE                        the address space of their pointers
 *
 * If no library was found, KDL_MATH_MISSING is the message for the calling line.
 */
#ifndef KDL_MATH_DEVICE_H
#define KDL_MATH_DEVICE_H

#include <kdl/math/functions.h>

#ifdef KDL_MATH_MISSING
#define KDL_MATH_PUBLIC __attribute__((unavailable(KDL_MATH_MISSING)))
#define KDL_MATH_BODY(function, ...)
#else
#define KDL_MATH_PUBLIC static inline __attribute__((always_inline, unused))
#define KDL_MATH_BODY(function, ...)                                                               \
  KDL_MATH_PUBLIC function {                                                                       \
    __VA_ARGS__;                                                                                   \
  }
#endif

/* ------------------------------------------------------------------------------------------ */
/* Functions of the library                                                                     */

#ifndef KDL_MATH_MISSING
#define KDL_MATH_DECLARE_1(name)                                                                   \
  KDL_MATH_LINK float KDL_MATH_F32(name)(float);                                                   \
  KDL_MATH_LINK double KDL_MATH_F64(name)(double);
#define KDL_MATH_DECLARE_2(name)                                                                   \
  KDL_MATH_LINK float KDL_MATH_F32(name)(float, float);                                            \
  KDL_MATH_LINK double KDL_MATH_F64(name)(double, double);
#define KDL_MATH_DECLARE_3(name)                                                                   \
  KDL_MATH_LINK float KDL_MATH_F32(name)(float, float, float);                                     \
  KDL_MATH_LINK double KDL_MATH_F64(name)(double, double, double);
#define KDL_MATH_DECLARE_INT(name)                                                                 \
  KDL_MATH_LINK float KDL_MATH_F32(name)(float, int);                                              \
  KDL_MATH_LINK double KDL_MATH_F64(name)(double, int);
#define KDL_MATH_DECLARE_NATIVE(name) KDL_MATH_LINK float KDL_MATH_NATIVE(name)(float);

#if defined(__cplusplus) && !defined(KDL_MATH_OVERLOADS)
extern "C" {
#endif
KDL_MATH_EACH_1(KDL_MATH_DECLARE_1)
KDL_MATH_EACH_2(KDL_MATH_DECLARE_2)
KDL_MATH_EACH_3(KDL_MATH_DECLARE_3)
KDL_MATH_EACH_INT(KDL_MATH_DECLARE_INT)
KDL_MATH_EACH_NATIVE(KDL_MATH_DECLARE_NATIVE)
KDL_MATH_LINK int KDL_MATH_F32(ilogb)(float);
KDL_MATH_LINK int KDL_MATH_F64(ilogb)(double);
KDL_MATH_LINK_2 float KDL_MATH_F32(frexp)(float, int KDL_MATH_PRIVATE *);
KDL_MATH_LINK_2 double KDL_MATH_F64(frexp)(double, int KDL_MATH_PRIVATE *);
KDL_MATH_LINK_2 float KDL_MATH_F32(lgamma_r)(float, int KDL_MATH_PRIVATE *);
KDL_MATH_LINK_2 double KDL_MATH_F64(lgamma_r)(double, int KDL_MATH_PRIVATE *);
KDL_MATH_LINK_2 float KDL_MATH_F32(modf)(float, float KDL_MATH_PRIVATE *);
KDL_MATH_LINK_2 double KDL_MATH_F64(modf)(double, double KDL_MATH_PRIVATE *);
KDL_MATH_LINK_2 float KDL_MATH_F32(fract)(float, float KDL_MATH_PRIVATE *);
KDL_MATH_LINK_2 double KDL_MATH_F64(fract)(double, double KDL_MATH_PRIVATE *);
KDL_MATH_LINK_2 float KDL_MATH_F32(remquo)(float, float, int KDL_MATH_PRIVATE *);
KDL_MATH_LINK_2 double KDL_MATH_F64(remquo)(double, double, int KDL_MATH_PRIVATE *);
KDL_MATH_LINK_2 float KDL_MATH_F32(sincos)(float, float KDL_MATH_PRIVATE *);
KDL_MATH_LINK_2 double KDL_MATH_F64(sincos)(double, double KDL_MATH_PRIVATE *);
#if defined(__cplusplus) && !defined(KDL_MATH_OVERLOADS)
}
#endif
#endif

/* ------------------------------------------------------------------------------------------ */
/* Functions of C                                                                               */

/* On a CPU, a function with C's own name would be what LLVM calls if it has no instruction. */
#define KDL_MATH_LABEL(name) __asm__("kdl_c_" #name)

#define KDL_MATH_DEFINE(type, name, parameters, ...)                                               \
  KDL_MATH_PUBLIC type name parameters KDL_MATH_LABEL(name);                                       \
  KDL_MATH_BODY(type name parameters, __VA_ARGS__)
#ifdef __cplusplus /* a name without f takes floats as well */
#define KDL_MATH_OVERLOAD(name, parameters, arguments)                                             \
  KDL_MATH_PUBLIC float name parameters;                                                           \
  KDL_MATH_BODY(float name parameters, return name##f arguments)
#else
#define KDL_MATH_OVERLOAD(name, parameters, arguments)
#endif
#define KDL_MATH_DEFINE_1(name)                                                                    \
  KDL_MATH_DEFINE(float, name##f, (float x), return KDL_MATH_F32(name)(x))                         \
  KDL_MATH_DEFINE(double, name, (double x), return KDL_MATH_F64(name)(x))                          \
  KDL_MATH_OVERLOAD(name, (float x), (x))
#define KDL_MATH_DEFINE_2(name)                                                                    \
  KDL_MATH_DEFINE(float, name##f, (float x, float y), return KDL_MATH_F32(name)(x, y))             \
  KDL_MATH_DEFINE(double, name, (double x, double y), return KDL_MATH_F64(name)(x, y))             \
  KDL_MATH_OVERLOAD(name, (float x, float y), (x, y))
#define KDL_MATH_DEFINE_3(name)                                                                    \
  KDL_MATH_DEFINE(float, name##f, (float x, float y, float z), return KDL_MATH_F32(name)(x, y, z)) \
  KDL_MATH_DEFINE(double, name, (double x, double y, double z),                                    \
                  return KDL_MATH_F64(name)(x, y, z))                                              \
  KDL_MATH_OVERLOAD(name, (float x, float y, float z), (x, y, z))
#define KDL_MATH_DEFINE_INT(name)                                                                  \
  KDL_MATH_DEFINE(float, name##f, (float x, int n), return KDL_MATH_F32(name)(x, n))               \
  KDL_MATH_DEFINE(double, name, (double x, int n), return KDL_MATH_F64(name)(x, n))
#ifdef KDL_MATH_NATIVE_ALONE
#define KDL_MATH_DEFINE_NATIVE(name)                                                               \
  static inline __attribute__((always_inline, unused)) float native_##name##f(float x) {           \
    return KDL_MATH_NATIVE(name)(x);                                                               \
  }
#else
#define KDL_MATH_DEFINE_NATIVE(name)                                                               \
  KDL_MATH_DEFINE(float, native_##name##f, (float x), return KDL_MATH_NATIVE(name)(x))
#endif

/* Half precision is computed in float, and rounded once more. */
#define KDL_MATH_HALF_1(name)                                                                      \
  KDL_MATH_DEFINE(_Float16, name##f16, (_Float16 x), return (_Float16)KDL_MATH_F32(name)((float)x))
#define KDL_MATH_HALF_2(name)                                                                      \
  KDL_MATH_DEFINE(_Float16, name##f16, (_Float16 x, _Float16 y),                                   \
                  return (_Float16)KDL_MATH_F32(name)((float)x, (float)y))
#define KDL_MATH_HALF_3(name)                                                                      \
  KDL_MATH_DEFINE(_Float16, name##f16, (_Float16 x, _Float16 y, _Float16 z),                       \
                  return (_Float16)KDL_MATH_F32(name)((float)x, (float)y, (float)z))
#define KDL_MATH_HALF_INT(name)                                                                    \
  KDL_MATH_DEFINE(_Float16, name##f16, (_Float16 x, int n),                                        \
                  return (_Float16)KDL_MATH_F32(name)((float)x, n))

KDL_MATH_EACH_1(KDL_MATH_DEFINE_1)
KDL_MATH_EACH_2(KDL_MATH_DEFINE_2)
KDL_MATH_EACH_3(KDL_MATH_DEFINE_3)
KDL_MATH_EACH_INT(KDL_MATH_DEFINE_INT)
KDL_MATH_EACH_NATIVE(KDL_MATH_DEFINE_NATIVE)
KDL_MATH_EACH_1(KDL_MATH_HALF_1)
KDL_MATH_EACH_HALF_2(KDL_MATH_HALF_2)
KDL_MATH_EACH_3(KDL_MATH_HALF_3)
KDL_MATH_EACH_INT(KDL_MATH_HALF_INT)

/* A second result goes through a local variable, because the libraries take no pointer to other
 * memory. */
#define KDL_MATH_BOTH(type, call, at)                                                              \
  type kdl_also;                                                                                   \
  kdl_result = call;                                                                               \
  *(at) = kdl_also;
#define KDL_MATH_TO(type) (type KDL_MATH_PRIVATE *)&kdl_also
#define KDL_MATH_DEFINE_OTHERS(real, suffix, library)                                              \
  KDL_MATH_DEFINE(int, ilogb##suffix, (real x), return library(ilogb)(x))                          \
  KDL_MATH_DEFINE(real, frexp##suffix, (real x, int *exponent), real kdl_result; KDL_MATH_BOTH(    \
                      int, library(frexp)(x, KDL_MATH_TO(int)), exponent) return kdl_result)       \
  KDL_MATH_DEFINE(real, lgamma##suffix##_r, (real x, int *sign), real kdl_result; KDL_MATH_BOTH(   \
                      int, library(lgamma_r)(x, KDL_MATH_TO(int)), sign) return kdl_result)        \
  KDL_MATH_DEFINE(real, modf##suffix, (real x, real * whole), real kdl_result; KDL_MATH_BOTH(      \
                      real, library(modf)(x, KDL_MATH_TO(real)), whole) return kdl_result)         \
  KDL_MATH_DEFINE(real, fract##suffix, (real x, real * whole), real kdl_result; KDL_MATH_BOTH(     \
                      real, library(fract)(x, KDL_MATH_TO(real)), whole) return kdl_result)        \
  KDL_MATH_DEFINE(                                                                                 \
      real, remquo##suffix, (real x, real y, int *quotient), real kdl_result;                      \
      KDL_MATH_BOTH(int, library(remquo)(x, y, KDL_MATH_TO(int)), quotient) return kdl_result)     \
  KDL_MATH_DEFINE(void, sincos##suffix, (real x, real * sine, real * cosine), real kdl_result;     \
                  KDL_MATH_BOTH(real, library(sincos)(x, KDL_MATH_TO(real)), cosine) *sine =       \
                      kdl_result)                                                                  \
  KDL_MATH_DEFINE(real, nearbyint##suffix, (real x), return library(rint)(x))                      \
  KDL_MATH_DEFINE(real, scalbn##suffix, (real x, int n), return library(ldexp)(x, n))              \
  KDL_MATH_DEFINE(long, lrint##suffix, (real x), return (long)library(rint)(x))                    \
  KDL_MATH_DEFINE(long, lround##suffix, (real x), return (long)library(round)(x))                  \
  KDL_MATH_DEFINE(long long, llrint##suffix, (real x), return (long long)library(rint)(x))         \
  KDL_MATH_DEFINE(long long, llround##suffix, (real x), return (long long)library(round)(x))
KDL_MATH_DEFINE_OTHERS(float, f, KDL_MATH_F32)
KDL_MATH_DEFINE_OTHERS(double, , KDL_MATH_F64)

#define nanf(tag) __builtin_nanf(tag)
#define nan(tag) __builtin_nan(tag)

#ifdef __FAST_MATH__
#define cosf native_cosf
#define expf native_expf
#define exp10f native_exp10f
#define exp2f native_exp2f
#define logf native_logf
#define log10f native_log10f
#define log2f native_log2f
#define rsqrtf native_rsqrtf
#define sinf native_sinf
#define sqrtf native_sqrtf
#define tanf native_tanf
#endif

#endif
