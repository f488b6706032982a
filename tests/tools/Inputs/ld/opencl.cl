// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifdef __SPIRV__ /* LLVM 22 writes any() and all() of numbers as modules that are not valid */
#define ANY(x) 0
#define ALL(x) 0
#else
#define ANY(x) any(x)
#define ALL(x) all(x)
#endif
// Functions of OpenCL C 1.2. All but those of `functions` give the same bits on every device.
__kernel void integers(__global int *x, __global uint *u, __global long *l, __global int *out) {
  int i = get_global_id(0);
  int a = x[i], b = x[(i + 5) % 16];
  uint c = u[i], d = u[(i + 3) % 16];
  int r = 0;
  r ^= mul_hi(a, b) ^ rotate(a, 7) ^ popcount(b) ^ clz(a) ^ (int)abs(b) ^ (int)abs_diff(a, b);
  r ^= add_sat(a, b) ^ sub_sat(a, b) ^ hadd(a, b) ^ rhadd(a, b) ^ mad24(a & 0xffff, b & 0x3ff, a) ^ min(a, b) ^ max(a, b) ^ clamp(a, -100, 100);
  r ^= (int)(mul_hi(c, d) ^ rotate(c, d) ^ add_sat(c, d) ^ sub_sat(c, d) ^ hadd(c, d) ^ min(c, d) ^ mad_hi(c, d, c));
  r ^= mad_sat(a, b, a) ^ (int)upsample((short)a, (ushort)c) ^ (int)mul_hi(l[i], l[(i + 1) % 16]);
  out[i] = r;
}
__kernel void vectors(__global float4 *v, __global int4 *w, __global float4 *out, __global int4 *iout) {
  int i = get_global_id(0);
  float4 a = v[i], b = v[(i + 1) % 4];
  out[4 * i] = fmax(a, b) + fmin(a, 0.25f) + floor(a) + fabs(b) + trunc(a) + rint(b) + copysign(a, b);
  out[4 * i + 1] = (float4)(cross(a, b).xyz, dot(a, b));
  out[4 * i + 2] = select(a, b, w[i]) + bitselect(a, b, a) + step(a, b) + sign(a) + clamp(a, -1.0f, 1.0f) + shuffle(a, as_uint4(w[i] & 3));
  out[4 * i + 3] = vload4(i, (__global float *)v) + shuffle2(a, b, as_uint4(w[i] & 7)) + sqrt(fabs(a));
  iout[2 * i] = convert_int4_sat(a * 1e10f) ^ convert_int4_rte(a) ^ convert_int4_rtp(b) ^ convert_int4_rtn(b) ^ isnan(a) ^ isinf(b) ^ isless(a, b) ^ signbit(a);
  iout[2 * i + 1] = (int4)(ANY(w[i]), ALL(w[i]), convert_uchar_sat(w[i].x), isnormal(a.x)) + convert_int4(convert_uchar4_sat(w[i]));
  vstore3(a.xyz, 0, (__global float *)(out + 16 + i));
}
__kernel void atomics(__global int *x, __global uint *u) {
  __local int sum;
  int i = get_global_id(0);
  if (get_local_id(0) == 0) sum = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  atomic_add(&sum, i);
  atomic_add(x, 2); atomic_sub(x + 1, 3); atomic_min(x + 2, 50 - i); atomic_max(x + 3, i); atomic_or(x + 4, 1 << (i & 7));
  atomic_and(x + 5, ~(1 << (i & 3))); atomic_xor(x + 6, i); atomic_inc(u); atomic_dec(u + 1); atomic_max(u + 2, 0x80000000u + (uint)i); atomic_min(u + 3, 0x80000000u + (uint)i);
  atomic_cmpxchg(u + 4, 0u, 9u); atomic_xchg(u + 5, 7u);
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  if (get_local_id(0) == 0) atomic_add(x + 7, sum);
}
__constant float table[4] = {1.0f, 2.0f, 4.0f, 8.0f};
float pick(const float *p, int n) { float s = 0; for (int k = 0; k <= n; ++k) s += p[k]; return s; }
__kernel __attribute__((reqd_work_group_size(8, 1, 1)))
void memory(float by, __constant float *c, __global float *x, __local float *held) {
  int t = get_local_id(0), i = get_global_id(0);
  float own[8];
  for (int k = 0; k < 8; ++k) own[k] = (float)(k * t) + table[k & 3];
  held[t] = x[i] * by + c[i % 3];
  barrier(CLK_LOCAL_MEM_FENCE);
  x[i] = held[7 - t] + pick(own, t) + (float)(get_global_size(0) + get_num_groups(0) * 10 + get_local_size(0) + get_group_id(0));
}
__kernel void functions(__global float *x, __global float *out) {
  int i = get_global_id(0);
  float a = x[i], b = x[(i + 1) % 16], c;
  int e;
  out[i * 8] = sin(a) + cos(b) + tan(a);
  out[i * 8 + 1] = exp(a) + log(fabs(b) + 1.0f) + pow(fabs(a), b);
  out[i * 8 + 2] = fract(a, &c) + c + frexp(b, &e) + (float)e + sincos(a, &c) + c;
  out[i * 8 + 3] = length((float4)(a, b, 1.0f, 2.0f)) + distance((float2)(a, b), (float2)(b, a)) + normalize((float3)(a, b, 1.0f)).x;
  out[i * 8 + 4] = mix(a, b, 0.25f) + smoothstep(-1.0f, 1.0f, a) + degrees(a) + radians(b);
  out[i * 8 + 5] = native_exp(a) + half_sqrt(fabs(b)) + native_divide(a, fabs(b) + 1.0f);
  out[i * 8 + 6] = tgamma(fabs(a) + 1.0f) + erf(b) + cbrt(a) + hypot(a, b) + fma(a, b, 1.0f);
  out[i * 8 + 7] = sin((float4)(a, b, a, b)).y + ldexp(a, 3) + pown(b, 3) + ilogb(a) + nextafter(a, b);
}
