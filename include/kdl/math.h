/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Math for kernels, under C's names, for every target of `kdl cc`; <math.h> is this header there.
 *
 *     #include <kdl/math.h>
 *     y[i] = expf(-x[i] * x[i]) * sinf(x[i]);
 *
 * Each target uses the best available library: the driver's own functions in OpenCL C and SPIR-V,
 * AMD's ocml, NVIDIA's libdevice, and LLVM's libclc on CPUs, where it is inlined and vectorised.
 * docs/kernels.md lists the functions with their measured accuracy.
 *
 * The suffix f is for float, f16 for _Float16, and none for double. All functions of OpenCL 1.2
 * exist, under their C23 names if there are any (sincosf has C libraries' parameters). With
 * -ffast-math some use the device's fast forms, which native_sinf and others always use.
 */
#ifndef KDL_MATH_H
#define KDL_MATH_H

#include <kdl/kernel.h>

#if defined(KDL_PORTABLE)
#include <kdl/math/portable.h>

#include <kdl/math/device.h>
#elif KDL_OPENCL
#include <kdl/math/opencl.h>
#elif KDL_HOST && !defined(KDL_CC)
#include <math.h> /* another compiler's: its C library */
#else
#if defined(__SPIRV__)
#include <kdl/math/spirv.h>
#elif defined(__AMDGPU__)
#include <kdl/math/amd.h>
#elif defined(__NVPTX__) && defined(KDL_MATH_LIBDEVICE) && defined(KDL_MATH_CLC)
#include <kdl/math/nvidia.h>
#else
#include <kdl/math/clc.h>
#endif
#include <kdl/math/device.h>
#endif

#if defined(KDL_PORTABLE)
#define KDL_MATH_CLANG
#elif KDL_GPU || defined(KDL_CC)
#define KDL_MATH_CLANG
#endif
#ifdef KDL_MATH_CLANG
#define isnan(x) __builtin_isnan(x)
#define isinf(x) __builtin_isinf(x)
#define isfinite(x) __builtin_isfinite(x)
#define isnormal(x) __builtin_isnormal(x)
#define signbit(x) __builtin_signbit(x)
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define HUGE_VALF __builtin_huge_valf()
#define HUGE_VAL __builtin_huge_val()
#endif

#ifndef M_PI
#define M_E 2.71828182845904523536
#define M_LOG2E 1.44269504088896340736
#define M_LOG10E 0.434294481903251827651
#define M_LN2 0.693147180559945309417
#define M_LN10 2.30258509299404568402
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.785398163397448309616
#define M_1_PI 0.318309886183790671538
#define M_2_PI 0.636619772367581343076
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.707106781186547524401
#endif

#endif
