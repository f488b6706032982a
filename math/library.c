/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * <kdl/math.h>'s functions: those of LLVM's libclc, under names of kdl's own. libclc's are OpenCL's
 * overloaded ones, whose names Clang mangles as in C++. They are inlined where they are called, so
 * that a CPU's loop over work-items is vectorised: most are without branches.
 */
#include <kdl/math/functions.h>

#define CLC extern __attribute__((overloadable))
#define OURS __attribute__((always_inline))

#define DEFINE_1(name)                                                                             \
  CLC float name(float);                                                                           \
  CLC double name(double);                                                                         \
  OURS float kdl_math_##name##f(float x) {                                                         \
    return name(x);                                                                                \
  }                                                                                                \
  OURS double kdl_math_##name(double x) {                                                          \
    return name(x);                                                                                \
  }
#define DEFINE_2(name)                                                                             \
  CLC float name(float, float);                                                                    \
  CLC double name(double, double);                                                                 \
  OURS float kdl_math_##name##f(float x, float y) {                                                \
    return name(x, y);                                                                             \
  }                                                                                                \
  OURS double kdl_math_##name(double x, double y) {                                                \
    return name(x, y);                                                                             \
  }
#define DEFINE_3(name)                                                                             \
  CLC float name(float, float, float);                                                             \
  CLC double name(double, double, double);                                                         \
  OURS float kdl_math_##name##f(float x, float y, float z) {                                       \
    return name(x, y, z);                                                                          \
  }                                                                                                \
  OURS double kdl_math_##name(double x, double y, double z) {                                      \
    return name(x, y, z);                                                                          \
  }
#define DEFINE_INT(name)                                                                           \
  CLC float name(float, int);                                                                      \
  CLC double name(double, int);                                                                    \
  OURS float kdl_math_##name##f(float x, int n) {                                                  \
    return name(x, n);                                                                             \
  }                                                                                                \
  OURS double kdl_math_##name(double x, int n) {                                                   \
    return name(x, n);                                                                             \
  }
#define DEFINE_OTHERS(real, suffix)                                                                \
  CLC int ilogb(real);                                                                             \
  CLC real frexp(real, int *);                                                                     \
  CLC real lgamma_r(real, int *);                                                                  \
  CLC real modf(real, real *);                                                                     \
  CLC real fract(real, real *);                                                                    \
  CLC real remquo(real, real, int *);                                                              \
  CLC real sincos(real, real *);                                                                   \
  OURS int kdl_math_ilogb##suffix(real x) {                                                        \
    return ilogb(x);                                                                               \
  }                                                                                                \
  OURS real kdl_math_frexp##suffix(real x, int *exponent) {                                        \
    return frexp(x, exponent);                                                                     \
  }                                                                                                \
  real kdl_math_lgamma_r##suffix(real x, int *sign) {                                              \
    return lgamma_r(x, sign);                                                                      \
  }                                                                                                \
  OURS real kdl_math_modf##suffix(real x, real *whole) {                                           \
    return modf(x, whole);                                                                         \
  }                                                                                                \
  OURS real kdl_math_fract##suffix(real x, real *whole) {                                          \
    return fract(x, whole);                                                                        \
  }                                                                                                \
  real kdl_math_remquo##suffix(real x, real y, int *quotient) {                                    \
    return remquo(x, y, quotient);                                                                 \
  }                                                                                                \
  OURS real kdl_math_sincos##suffix(real x, real *cosine) {                                        \
    return sincos(x, cosine);                                                                      \
  }

KDL_MATH_EACH_1(DEFINE_1)
KDL_MATH_EACH_2(DEFINE_2)
KDL_MATH_EACH_3(DEFINE_3)
KDL_MATH_EACH_INT(DEFINE_INT)
DEFINE_OTHERS(float, f)
DEFINE_OTHERS(double, )
