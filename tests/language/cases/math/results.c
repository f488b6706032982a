// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functions with a second result, and those that give an integer or a truth.
#include <math.h>

// args: f32[4]=0,0.5,-2,10 f32[4] f32[4]
// items: 4
// arg1: 0 0.479425539 -0.909297427 -0.544021111
// arg2: 1 0.877582562 -0.416146837 -0.839071529
// ulp: 4
KDL_BLOCK(4)
__gpu_kernel void math_sincosf(const __gpu_global float *x, __gpu_global float *s,
                               __gpu_global float *c) {
  uint32_t i = __gpu_thread_id(0);
  float sine, cosine;
  sincosf(x[i], &sine, &cosine);
  s[i] = sine;
  c[i] = cosine;
}

// args: f64[4]=0,0.5,-2,10 f64[4] f64[4]
// items: 4
// arg1: 0 0.47942553860420301 -0.90929742682568170 -0.54402111088936981
// arg2: 1 0.87758256189037276 -0.41614683654714241 -0.83907152907645244
// ulp: 4
KDL_BLOCK(4)
__gpu_kernel void math_sincos(const __gpu_global double *x, __gpu_global double *s,
                              __gpu_global double *c) {
  uint32_t i = __gpu_thread_id(0);
  double sine, cosine;
  sincos(x[i], &sine, &cosine);
  s[i] = sine;
  c[i] = cosine;
}

// args: f32[5]=0,1,-10,0.3,1e20 f32[5] i32[5] f32[5] f32[5]
// items: 5
// arg1: 0 0.5 -0.625 0.6 0.6776263578034403
// arg2: 0 1 4 -1 67
// arg3: 0 0 0 0.3 0
// arg4: 0 1 -10 0 1e20
// ulp: 1
KDL_BLOCK(5)
__gpu_kernel void math_frexpf_modff(const __gpu_global float *x, __gpu_global float *fraction,
                                    __gpu_global int32_t *exponent, __gpu_global float *rest,
                                    __gpu_global float *whole) {
  uint32_t i = __gpu_thread_id(0);
  int e;
  float w;
  fraction[i] = frexpf(x[i], &e);
  exponent[i] = e;
  rest[i] = fabsf(modff(x[i], &w));
  whole[i] = w;
}

// args: f64[5]=0,1,-10,0.3,1e20 f64[5] i32[5] f64[5] f64[5]
// items: 5
// arg1: 0 0.5 -0.625 0.6 0.67762635780344027
// arg2: 0 1 4 -1 67
// arg3: 0 0 0 0.3 0
// arg4: 0 1 -10 0 1e20
// ulp: 1
KDL_BLOCK(5)
__gpu_kernel void math_frexp_modf(const __gpu_global double *x, __gpu_global double *fraction,
                                  __gpu_global int32_t *exponent, __gpu_global double *rest,
                                  __gpu_global double *whole) {
  uint32_t i = __gpu_thread_id(0);
  int e;
  double w;
  fraction[i] = frexp(x[i], &e);
  exponent[i] = e;
  rest[i] = fabs(modf(x[i], &w));
  whole[i] = w;
}

// args: f32[4]=7,-7,10.5,1 f32[4]=2,2,3,0.75 f32[4] i32[4] f32[4] f32[4]
// items: 4
// arg2: -1 1 -1.5 0.25
// arg3: 4 -4 4 1
// arg4: 0 0 0.5 0
// arg5: 7 -7 10 1
KDL_BLOCK(4)
__gpu_kernel void math_remquof_fractf(const __gpu_global float *x, const __gpu_global float *y,
                                      __gpu_global float *rest, __gpu_global int32_t *quotient,
                                      __gpu_global float *part, __gpu_global float *below) {
  uint32_t i = __gpu_thread_id(0);
  int q;
  float b;
  rest[i] = remquof(x[i], y[i], &q);
  quotient[i] = q < 0 ? -(-q & 7) : q & 7;
  part[i] = fractf(x[i], &b);
  below[i] = b;
}

// args: f64[4]=7,-7,10.5,1 f64[4]=2,2,3,0.75 f64[4] i32[4] f64[4] f64[4]
// items: 4
// arg2: -1 1 -1.5 0.25
// arg3: 4 -4 4 1
// arg4: 0 0 0.5 0
// arg5: 7 -7 10 1
KDL_BLOCK(4)
__gpu_kernel void math_remquo_fract(const __gpu_global double *x, const __gpu_global double *y,
                                    __gpu_global double *rest, __gpu_global int32_t *quotient,
                                    __gpu_global double *part, __gpu_global double *below) {
  uint32_t i = __gpu_thread_id(0);
  int q;
  double b;
  rest[i] = remquo(x[i], y[i], &q);
  quotient[i] = q < 0 ? -(-q & 7) : q & 7;
  part[i] = fract(x[i], &b);
  below[i] = b;
}

// args: f32[4]=0.5,-0.5,-1.5,5 f32[4] i32[4] i32[4] i32[4] i32[4]
// items: 4
// arg1: 0.57236494 1.2655121 0.86004704 3.1780539
// arg2: 1 -1 1 1
// arg3: -1 -1 0 2
// arg4: 0 0 -2 5
// arg5: 1 -1 -2 5
// ulp: 64
KDL_BLOCK(4)
__gpu_kernel void math_lgammaf_r_ilogbf(const __gpu_global float *x, __gpu_global float *y,
                                        __gpu_global int32_t *sign, __gpu_global int32_t *power,
                                        __gpu_global int32_t *even, __gpu_global int32_t *away) {
  uint32_t i = __gpu_thread_id(0);
  int s;
  y[i] = lgammaf_r(x[i], &s);
  sign[i] = s;
  power[i] = ilogbf(x[i]);
  even[i] = (int32_t)lrintf(x[i]);
  away[i] = (int32_t)lroundf(x[i]);
}

// args: f64[4]=0.5,-0.5,-1.5,5 f64[4] i32[4] i32[4] i32[4] i32[4]
// items: 4
// arg1: 0.57236494292470009 1.2655121234846454 0.86004701537648102 3.1780538303479458
// arg2: 1 -1 1 1
// arg3: -1 -1 0 2
// arg4: 0 0 -2 5
// arg5: 1 -1 -2 5
// ulp: 64
KDL_BLOCK(4)
__gpu_kernel void math_lgamma_r_ilogb(const __gpu_global double *x, __gpu_global double *y,
                                      __gpu_global int32_t *sign, __gpu_global int32_t *power,
                                      __gpu_global int32_t *even, __gpu_global int32_t *away) {
  uint32_t i = __gpu_thread_id(0);
  int s;
  y[i] = lgamma_r(x[i], &s);
  sign[i] = s;
  power[i] = ilogb(x[i]);
  even[i] = (int32_t)lrint(x[i]);
  away[i] = (int32_t)lround(x[i]);
}

// args: f32[6]=1,-0,inf,-inf,nan,1e-45 u32[6]
// items: 6
// arg1: 12 17 2 18 1 4
KDL_BLOCK(6)
__gpu_kernel void math_classes(const __gpu_global float *x, __gpu_global uint32_t *is) {
  uint32_t i = __gpu_thread_id(0);
  float v = x[i];
  is[i] = (isnan(v) ? 1u : 0u) + (isinf(v) ? 2u : 0u) + (isfinite(v) && v != 0.0f ? 4u : 0u) +
          (isnormal(v) ? 8u : 0u) + (signbit(v) ? 16u : 0u) + (v == 0.0f ? 1u : 0u);
}

// args: f32[4]=0.5,1,2,10 f32[4] f32[4] f32[4]
// items: 4
// arg1: 0.47942554 0.84147098 0.90929743 -0.54402111
// arg2: 1.6487213 2.7182818 7.3890561 22026.466
// arg3: -0.69314718 0 0.69314718 2.3025851
// apart: 4
KDL_BLOCK(4)
__gpu_kernel void math_natives(const __gpu_global float *x, __gpu_global float *sine,
                               __gpu_global float *power, __gpu_global float *logarithm) {
  uint32_t i = __gpu_thread_id(0);
  sine[i] = native_sinf(x[i]);
  power[i] = native_expf(x[i]);
  logarithm[i] = native_logf(x[i]);
}
