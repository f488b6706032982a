/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The functions of <kdl/math.h> that are the same for float and double, by their parameters: OpenCL
 * 1.2's built-in math functions, under C23's names.
 */
#ifndef KDL_MATH_FUNCTIONS_H
#define KDL_MATH_FUNCTIONS_H

/* One number. */
/* clang-format off */
#define KDL_MATH_EACH_1(X) \
  X(acos) X(acosh) X(acospi) X(asin) X(asinh) X(asinpi) X(atan) X(atanh) X(atanpi) X(cbrt) \
  X(ceil) X(cos) X(cosh) X(cospi) X(erf) X(erfc) X(exp) X(exp10) X(exp2) X(expm1) X(fabs) \
  X(floor) X(lgamma) X(log) X(log10) X(log1p) X(log2) X(logb) X(rint) X(round) X(rsqrt) X(sin) \
  X(sinh) X(sinpi) X(sqrt) X(tan) X(tanh) X(tanpi) X(tgamma) X(trunc)
/* clang-format on */

/* Two numbers, */
/* clang-format off */
#define KDL_MATH_EACH_2(X) \
  X(atan2) X(atan2pi) X(copysign) X(fdim) X(fmax) X(fmin) X(fmod) X(hypot) X(maxmag) X(minmag) \
  X(nextafter) X(pow) X(powr) X(remainder)
/* clang-format on */

/* except for the one whose result depends on the spacing of the type's numbers; */
/* clang-format off */
#define KDL_MATH_EACH_HALF_2(X) \
  X(atan2) X(atan2pi) X(copysign) X(fdim) X(fmax) X(fmin) X(fmod) X(hypot) X(maxmag) X(minmag) \
  X(pow) X(powr) X(remainder)
/* clang-format on */

/* three numbers; */
#define KDL_MATH_EACH_3(X) X(fma) X(mad)

/* a number and an int. */
#define KDL_MATH_EACH_INT(X) X(ldexp) X(pown) X(rootn)

/* Functions of float with a fast form, as exact as the device makes it. */
/* clang-format off */
#define KDL_MATH_EACH_NATIVE(X) \
  X(cos) X(exp) X(exp10) X(exp2) X(log) X(log10) X(log2) X(rsqrt) X(sin) X(sqrt) X(tan)
/* clang-format on */

#endif
