/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "reference.h"

static int of_lgamma(mpfr_ptr out, mpfr_srcptr x, mpfr_rnd_t how) {
  int sign;
  return mpfr_lgamma(out, &sign, x, how);
}

static int of_logb(mpfr_ptr out, mpfr_srcptr x, mpfr_rnd_t how) {
  return mpfr_zero_p(x)     ? mpfr_div_si(out, x, 0, how)
         : mpfr_number_p(x) ? mpfr_set_si(out, mpfr_get_exp(x) - 1, how)
                            : mpfr_abs(out, x, how);
}

static int of_rint(mpfr_ptr out, mpfr_srcptr x, mpfr_rnd_t how) {
  return mpfr_rint_roundeven(out, x, how);
}

static int of_round(mpfr_ptr out, mpfr_srcptr x, mpfr_rnd_t how) {
  (void)how;
  return mpfr_round(out, x);
}

static int of_ceil(mpfr_ptr out, mpfr_srcptr x, mpfr_rnd_t how) {
  (void)how;
  return mpfr_ceil(out, x);
}

static int of_floor(mpfr_ptr out, mpfr_srcptr x, mpfr_rnd_t how) {
  (void)how;
  return mpfr_floor(out, x);
}

static int of_trunc(mpfr_ptr out, mpfr_srcptr x, mpfr_rnd_t how) {
  (void)how;
  return mpfr_trunc(out, x);
}

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
    {"acos", UNIT, mpfr_acos, NULL, NULL, false},
    {"acosh", ABOVE_1, mpfr_acosh, NULL, NULL, false},
    {"acospi", UNIT, mpfr_acospi, NULL, NULL, false},
    {"asin", UNIT, mpfr_asin, NULL, NULL, false},
    {"asinh", ANY, mpfr_asinh, NULL, NULL, false},
    {"asinpi", UNIT, mpfr_asinpi, NULL, NULL, false},
    {"atan", ANY, mpfr_atan, NULL, NULL, false},
    {"atan2", PAIRS, NULL, mpfr_atan2, NULL, false},
    {"atan2pi", PAIRS, NULL, mpfr_atan2pi, NULL, false},
    {"atanh", UNIT, mpfr_atanh, NULL, NULL, false},
    {"atanpi", ANY, mpfr_atanpi, NULL, NULL, false},
    {"cbrt", ANY, mpfr_cbrt, NULL, NULL, false},
    {"ceil", ANY, of_ceil, NULL, NULL, false},
    {"copysign", PAIRS, NULL, of_copysign, NULL, false},
    {"cos", ANY, mpfr_cos, NULL, NULL, false},
    {"cosh", ANY, mpfr_cosh, NULL, NULL, false},
    {"cospi", TURNS, mpfr_cospi, NULL, NULL, false},
    {"erf", ANY, mpfr_erf, NULL, NULL, false},
    {"erfc", ANY, mpfr_erfc, NULL, NULL, false},
    {"exp", ANY, mpfr_exp, NULL, NULL, false},
    {"exp10", ANY, mpfr_exp10, NULL, NULL, false},
    {"exp2", ANY, mpfr_exp2, NULL, NULL, false},
    {"expm1", ANY, mpfr_expm1, NULL, NULL, false},
    {"fabs", ANY, of_fabs, NULL, NULL, false},
    {"fdim", PAIRS, NULL, mpfr_dim, NULL, false},
    {"floor", ANY, of_floor, NULL, NULL, false},
    {"fmax", PAIRS, NULL, mpfr_max, NULL, false},
    {"fmin", PAIRS, NULL, mpfr_min, NULL, false},
    {"fmod", PAIRS, NULL, mpfr_fmod, NULL, false},
    {"hypot", PAIRS, NULL, mpfr_hypot, NULL, false},
    {"ldexp", INTEGERS, NULL, NULL, mpfr_mul_2si, false},
    {"lgamma", GAMMA, of_lgamma, NULL, NULL, false},
    {"log", POSITIVE, mpfr_log, NULL, NULL, false},
    {"log10", POSITIVE, mpfr_log10, NULL, NULL, false},
    {"log1p", ANY, mpfr_log1p, NULL, NULL, false},
    {"log2", POSITIVE, mpfr_log2, NULL, NULL, false},
    {"logb", ANY, of_logb, NULL, NULL, false},
    {"maxmag", PAIRS, NULL, of_maxmag, NULL, false},
    {"minmag", PAIRS, NULL, of_minmag, NULL, false},
    {"pow", POWERS, NULL, mpfr_pow, NULL, false},
    {"pown", INTEGERS, NULL, NULL, mpfr_pow_si, false},
    {"powr", POWERS, NULL, mpfr_pow, NULL, false},
    {"remainder", PAIRS, NULL, mpfr_remainder, NULL, false},
    {"rint", ANY, of_rint, NULL, NULL, false},
    {"rootn", INTEGERS, NULL, NULL, mpfr_rootn_si, false},
    {"round", ANY, of_round, NULL, NULL, false},
    {"rsqrt", POSITIVE, mpfr_rec_sqrt, NULL, NULL, false},
    {"sin", ANY, mpfr_sin, NULL, NULL, false},
    {"sinh", ANY, mpfr_sinh, NULL, NULL, false},
    {"sinpi", TURNS, mpfr_sinpi, NULL, NULL, false},
    {"sqrt", POSITIVE, mpfr_sqrt, NULL, NULL, false},
    {"tan", ANY, mpfr_tan, NULL, NULL, false},
    {"tanh", ANY, mpfr_tanh, NULL, NULL, false},
    {"tanpi", TURNS, mpfr_tanpi, NULL, NULL, false},
    {"tgamma", GAMMA, mpfr_gamma, NULL, NULL, false},
    {"trunc", ANY, of_trunc, NULL, NULL, false},
    {"native_cos", TURNS, mpfr_cos, NULL, NULL, true},
    {"native_exp", ANY, mpfr_exp, NULL, NULL, true},
    {"native_exp10", ANY, mpfr_exp10, NULL, NULL, true},
    {"native_exp2", ANY, mpfr_exp2, NULL, NULL, true},
    {"native_log", POSITIVE, mpfr_log, NULL, NULL, true},
    {"native_log10", POSITIVE, mpfr_log10, NULL, NULL, true},
    {"native_log2", POSITIVE, mpfr_log2, NULL, NULL, true},
    {"native_rsqrt", POSITIVE, mpfr_rec_sqrt, NULL, NULL, true},
    {"native_sin", TURNS, mpfr_sin, NULL, NULL, true},
    {"native_sqrt", POSITIVE, mpfr_sqrt, NULL, NULL, true},
    {"native_tan", TURNS, mpfr_tan, NULL, NULL, true},
};
const size_t function_count = sizeof functions / sizeof *functions;
