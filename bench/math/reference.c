/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "reference.h"

static int of_lgamma(mpfr_ptr out, mpfr_srcptr x, mpfr_rnd_t how) {
  int sign;
  return mpfr_lgamma(out, &sign, x, how);
}

static int of_logb(mpfr_ptr out, mpfr_srcptr x, mpfr_rnd_t how) {
  const bool is_zero = mpfr_zero_p(x) != 0;
  if (is_zero)
    return mpfr_div_si(out, x, 0, how);
  if (!mpfr_number_p(x))
    return mpfr_abs(out, x, how);
  mpfr_exp_t exponent = mpfr_get_exp(x);
  return mpfr_set_si(out, exponent - 1, how);
}

static int of_rint(mpfr_ptr out, mpfr_srcptr x, mpfr_rnd_t how) {
  return mpfr_rint_roundeven(out, x, how);
}

/* Those that MPFR gives no rounding. */
#define EXACT(name)                                                                                \
  static int of_##name(mpfr_ptr out, mpfr_srcptr x, mpfr_rnd_t how) {                              \
    (void)how;                                                                                     \
    return mpfr_##name(out, x);                                                                    \
  }
EXACT(round)
EXACT(ceil)
EXACT(floor)
EXACT(trunc)

static int of_fabs(mpfr_ptr out, mpfr_srcptr x, mpfr_rnd_t how) {
  return mpfr_abs(out, x, how);
}

static int of_maxmag(mpfr_ptr out, mpfr_srcptr x, mpfr_srcptr y, mpfr_rnd_t how) {
  int order = mpfr_cmpabs(x, y);
  return order == 0 ? mpfr_max(out, x, y, how) : mpfr_set(out, order > 0 ? x : y, how);
}

static int of_minmag(mpfr_ptr out, mpfr_srcptr x, mpfr_srcptr y, mpfr_rnd_t how) {
  int order = mpfr_cmpabs(x, y);
  return order == 0 ? mpfr_min(out, x, y, how) : mpfr_set(out, order < 0 ? x : y, how);
}

static int of_copysign(mpfr_ptr out, mpfr_srcptr x, mpfr_srcptr y, mpfr_rnd_t how) {
  return mpfr_copysign(out, x, y, how);
}

const function functions[] = {
    {"acos", UNIT, false, mpfr_acos, NULL, NULL},
    {"acosh", ABOVE_1, false, mpfr_acosh, NULL, NULL},
    {"acospi", UNIT, false, mpfr_acospi, NULL, NULL},
    {"asin", UNIT, false, mpfr_asin, NULL, NULL},
    {"asinh", ANY, false, mpfr_asinh, NULL, NULL},
    {"asinpi", UNIT, false, mpfr_asinpi, NULL, NULL},
    {"atan", ANY, false, mpfr_atan, NULL, NULL},
    {"atan2", PAIRS, false, NULL, mpfr_atan2, NULL},
    {"atan2pi", PAIRS, false, NULL, mpfr_atan2pi, NULL},
    {"atanh", UNIT, false, mpfr_atanh, NULL, NULL},
    {"atanpi", ANY, false, mpfr_atanpi, NULL, NULL},
    {"cbrt", ANY, false, mpfr_cbrt, NULL, NULL},
    {"ceil", ANY, false, of_ceil, NULL, NULL},
    {"copysign", PAIRS, false, NULL, of_copysign, NULL},
    {"cos", ANY, false, mpfr_cos, NULL, NULL},
    {"cosh", ANY, false, mpfr_cosh, NULL, NULL},
    {"cospi", TURNS, false, mpfr_cospi, NULL, NULL},
    {"erf", ANY, false, mpfr_erf, NULL, NULL},
    {"erfc", ANY, false, mpfr_erfc, NULL, NULL},
    {"exp", ANY, false, mpfr_exp, NULL, NULL},
    {"exp10", ANY, false, mpfr_exp10, NULL, NULL},
    {"exp2", ANY, false, mpfr_exp2, NULL, NULL},
    {"expm1", ANY, false, mpfr_expm1, NULL, NULL},
    {"fabs", ANY, false, of_fabs, NULL, NULL},
    {"fdim", PAIRS, false, NULL, mpfr_dim, NULL},
    {"floor", ANY, false, of_floor, NULL, NULL},
    {"fmax", PAIRS, false, NULL, mpfr_max, NULL},
    {"fmin", PAIRS, false, NULL, mpfr_min, NULL},
    {"fmod", PAIRS, false, NULL, mpfr_fmod, NULL},
    {"hypot", PAIRS, false, NULL, mpfr_hypot, NULL},
    {"ldexp", INTEGERS, false, NULL, NULL, mpfr_mul_2si},
    {"lgamma", GAMMA, false, of_lgamma, NULL, NULL},
    {"log", POSITIVE, false, mpfr_log, NULL, NULL},
    {"log10", POSITIVE, false, mpfr_log10, NULL, NULL},
    {"log1p", ANY, false, mpfr_log1p, NULL, NULL},
    {"log2", POSITIVE, false, mpfr_log2, NULL, NULL},
    {"logb", ANY, false, of_logb, NULL, NULL},
    {"maxmag", PAIRS, false, NULL, of_maxmag, NULL},
    {"minmag", PAIRS, false, NULL, of_minmag, NULL},
    {"pow", POWERS, false, NULL, mpfr_pow, NULL},
    {"pown", INTEGERS, false, NULL, NULL, mpfr_pow_si},
    {"powr", POWERS, false, NULL, mpfr_pow, NULL},
    {"remainder", PAIRS, false, NULL, mpfr_remainder, NULL},
    {"rint", ANY, false, of_rint, NULL, NULL},
    {"rootn", INTEGERS, false, NULL, NULL, mpfr_rootn_si},
    {"round", ANY, false, of_round, NULL, NULL},
    {"rsqrt", POSITIVE, false, mpfr_rec_sqrt, NULL, NULL},
    {"sin", ANY, false, mpfr_sin, NULL, NULL},
    {"sinh", ANY, false, mpfr_sinh, NULL, NULL},
    {"sinpi", TURNS, false, mpfr_sinpi, NULL, NULL},
    {"sqrt", POSITIVE, false, mpfr_sqrt, NULL, NULL},
    {"tan", ANY, false, mpfr_tan, NULL, NULL},
    {"tanh", ANY, false, mpfr_tanh, NULL, NULL},
    {"tanpi", TURNS, false, mpfr_tanpi, NULL, NULL},
    {"tgamma", GAMMA, false, mpfr_gamma, NULL, NULL},
    {"trunc", ANY, false, of_trunc, NULL, NULL},
    {"native_cos", TURNS, true, mpfr_cos, NULL, NULL},
    {"native_exp", ANY, true, mpfr_exp, NULL, NULL},
    {"native_exp10", ANY, true, mpfr_exp10, NULL, NULL},
    {"native_exp2", ANY, true, mpfr_exp2, NULL, NULL},
    {"native_log", POSITIVE, true, mpfr_log, NULL, NULL},
    {"native_log10", POSITIVE, true, mpfr_log10, NULL, NULL},
    {"native_log2", POSITIVE, true, mpfr_log2, NULL, NULL},
    {"native_rsqrt", POSITIVE, true, mpfr_rec_sqrt, NULL, NULL},
    {"native_sin", TURNS, true, mpfr_sin, NULL, NULL},
    {"native_sqrt", POSITIVE, true, mpfr_sqrt, NULL, NULL},
    {"native_tan", TURNS, true, mpfr_tan, NULL, NULL},
};
const size_t function_count = sizeof functions / sizeof *functions;
