/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The functions of <kdl/math.h>: those of LLVM's libclc, under kdl's names. libclc has OpenCL's
 * overloaded ones, whose names Clang mangles as in C++. They are inlined into their callers, so
 * that a CPU's loop over work-items is vectorised: most have no branches.
 */
#include <kdl/math/functions.h>

#define CLC extern __attribute__((overloadable))
#define OURS __attribute__((always_inline))

/* Defines a function for float and double; `parameters` and `arguments` are in parentheses. */
#define DEFINE(name, types, parameters, arguments)                                                 \
  CLC float name types(float);                                                                     \
  CLC double name types(double);                                                                   \
  OURS float kdl_math_##name##f parameters(float) {                                                \
    return name arguments;                                                                         \
  }                                                                                                \
  OURS double kdl_math_##name parameters(double) {                                                 \
    return name arguments;                                                                         \
  }
#define TYPES_1(real) (real)
#define TYPES_2(real) (real, real)
#define TYPES_3(real) (real, real, real)
#define TYPES_INT(real) (real, int)
#define PARAMETERS_1(real) (real x)
#define PARAMETERS_2(real) (real x, real y)
#define PARAMETERS_3(real) (real x, real y, real z)
#define PARAMETERS_INT(real) (real x, int n)
#define DEFINE_1(name) DEFINE(name, TYPES_1, PARAMETERS_1, (x))
#define DEFINE_2(name) DEFINE(name, TYPES_2, PARAMETERS_2, (x, y))
#define DEFINE_3(name) DEFINE(name, TYPES_3, PARAMETERS_3, (x, y, z))
#define DEFINE_INT(name) DEFINE(name, TYPES_INT, PARAMETERS_INT, (x, n))
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

/* From LLVM 23 on, libclc for NVIDIA's GPUs calls CUDA's libdevice for these. neutral.sed renames
 * them, so that they do not replace libdevice's. */
#if __clang_major__ >= 23
#define DEFINE_DEVICE(real, suffix)                                                                \
  OURS real __nv_sqrt##suffix(real x) {                                                            \
    return __builtin_elementwise_sqrt(x);                                                          \
  }                                                                                                \
  OURS real __nv_rsqrt##suffix(real x) {                                                           \
    return 1 / __builtin_elementwise_sqrt(x);                                                      \
  }                                                                                                \
  OURS real __nv_log##suffix(real x) {                                                             \
    return log2(x) * (real)0x1.62e42fefa39efp-1;                                                   \
  }                                                                                                \
  OURS real __nv_sinpi##suffix(real x) {                                                           \
    real from = fabs(x), turn = from - 2 * rint(from / 2); /* exact */                             \
    turn = fabs(turn) > (real)0.5 ? copysign(1 - fabs(turn), turn) : turn;                         \
    return copysign((real)1, x) * sin((real)0x1.921fb54442d18p+1 * turn);                          \
  }
DEFINE_DEVICE(float, f)
DEFINE_DEVICE(double, )
#endif
