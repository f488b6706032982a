/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The math of portable images, kdl_math_sinf and so on, by a vendor's library: AMD's ocml, or
 * NVIDIA's libdevice with libclc for what it lacks. kdl-ld links these libraries where it finds
 * them.
 */
#ifdef __SPIRV__
#include <kdl/math/spirv.h>
#elif defined(__AMDGPU__)
#define KDL_MATH_OCML
#include <kdl/math/amd.h>
#else
#include <kdl/math/nvidia.h>
#endif

#include <kdl/math/functions.h>

#define OURS __attribute__((visibility("hidden")))

#define DEFINE(name, types, parameters, arguments)                                                 \
  KDL_MATH_LINK float KDL_MATH_F32(name) types(float);                                             \
  KDL_MATH_LINK double KDL_MATH_F64(name) types(double);                                           \
  OURS float portable_##name##f parameters(float) __asm__("kdl_math_" #name "f");                  \
  OURS float portable_##name##f parameters(float) {                                                \
    return KDL_MATH_F32(name) arguments;                                                           \
  }                                                                                                \
  OURS double portable_##name parameters(double) __asm__("kdl_math_" #name);                       \
  OURS double portable_##name parameters(double) {                                                 \
    return KDL_MATH_F64(name) arguments;                                                           \
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
#define SECOND(real, type, name, library, symbol)                                                  \
  KDL_MATH_LINK_2 real library(name)(real, type KDL_MATH_PRIVATE *);                               \
  OURS real portable_##name##_##real(real x, type *also) __asm__(symbol);                          \
  OURS real portable_##name##_##real(real x, type *also) {                                         \
    type second;                                                                                   \
    real first = library(name)(x, (type KDL_MATH_PRIVATE *)&second);                               \
    *also = second;                                                                                \
    return first;                                                                                  \
  }
#define DEFINE_OTHERS(real, library, suffix)                                                       \
  KDL_MATH_LINK int library(ilogb)(real);                                                          \
  OURS int portable_ilogb_##real(real x) __asm__("kdl_math_ilogb" suffix);                         \
  OURS int portable_ilogb_##real(real x) {                                                         \
    return library(ilogb)(x);                                                                      \
  }                                                                                                \
  KDL_MATH_LINK_2 real library(remquo)(real, real, int KDL_MATH_PRIVATE *);                        \
  OURS real portable_remquo_##real(real x, real y, int *also) __asm__("kdl_math_remquo" suffix);   \
  OURS real portable_remquo_##real(real x, real y, int *also) {                                    \
    int second;                                                                                    \
    real first = library(remquo)(x, y, (int KDL_MATH_PRIVATE *)&second);                           \
    *also = second;                                                                                \
    return first;                                                                                  \
  }                                                                                                \
  SECOND(real, int, frexp, library, "kdl_math_frexp" suffix)                                       \
  SECOND(real, int, lgamma_r, library, "kdl_math_lgamma_r" suffix)                                 \
  SECOND(real, real, modf, library, "kdl_math_modf" suffix)                                        \
  SECOND(real, real, fract, library, "kdl_math_fract" suffix)                                      \
  SECOND(real, real, sincos, library, "kdl_math_sincos" suffix)
KDL_MATH_EACH_1(DEFINE_1)
KDL_MATH_EACH_2(DEFINE_2)
KDL_MATH_EACH_3(DEFINE_3)
KDL_MATH_EACH_INT(DEFINE_INT)
DEFINE_OTHERS(float, KDL_MATH_F32, "f")
DEFINE_OTHERS(double, KDL_MATH_F64, "")

#define DEFINE_NATIVE(name)                                                                        \
  KDL_MATH_LINK float KDL_MATH_NATIVE(name)(float);                                                \
  OURS float kdl_math_native_##name##f(float x) {                                                  \
    return KDL_MATH_NATIVE(name)(x);                                                               \
  }
KDL_MATH_EACH_NATIVE(DEFINE_NATIVE)
