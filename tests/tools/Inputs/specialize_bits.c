/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Kernels for specialize_bits.py: each has two buffers and scalars. */
#include <kdl/kernel.h>
#include <kdl/math.h>

static uint32_t item(void) {
  return __gpu_block_id(0) * __gpu_num_threads(0) + __gpu_thread_id(0);
}

static float *floats(__gpu_global uint32_t *out) {
  return (float *)out;
}

/* Products and sums, of which some are of constants alone. */
__gpu_kernel void sum(const __gpu_global float *x, __gpu_global uint32_t *out, uint32_t taps,
                      float scale) {
  uint32_t i = item();
  float total = scale * scale + scale / 3;
  for (uint32_t k = 0; k < taps; ++k)
    total += x[i + k] * scale;
  for (uint32_t k = 0; k < 4; ++k) /* of literals alone */
    total += (float)k * 0.1f;
  for (uint32_t k = 0; k < taps; ++k) /* of counted numbers and literals */
    total -= (float)k * 0.3f;
  floats(out)[i] = total - scale * 0.1f;
}

/* Functions of math, with constants and with literals. */
__gpu_kernel void waves(const __gpu_global float *x, __gpu_global uint32_t *out, float power,
                        float small, int32_t mode) {
  uint32_t i = item();
  float value = fabsf(x[i]);
  if (mode == 0)
    value = powf(value, power);
  else if (mode == 1)
    value = expf(power) + sinf(power * small) * value;
  else
    value = powf(value, (float)mode) + logf(value + small) + powf(value, 2);
  floats(out)[i] = value + expf(small);
}

__gpu_kernel void root(const __gpu_global float *x, __gpu_global uint32_t *out, double shift,
                       int64_t count) {
  uint32_t i = item();
  double value = x[i];
  for (int64_t k = 0; k < count; ++k)
    value = sqrt(fabs(value + shift)) * 0.7;
  ((double *)out)[i] = value / shift;
}

__gpu_kernel void shift(const __gpu_global float *x, __gpu_global uint32_t *out, uint16_t narrow,
                        uint32_t divisor, int32_t sign) {
  uint32_t i = item();
  uint16_t wrapped = (uint16_t)(narrow * 3u + i);
  int32_t rest = (int32_t)(i % divisor) / sign - (int32_t)(x[i] * 100) % sign;
  out[i] = wrapped + (uint32_t)rest;
}

/* Barriers, group memory, and the number of work-items. */
__gpu_kernel void scan(const __gpu_global float *x, __gpu_global uint32_t *out, uint32_t length,
                       float decay) {
  KDL_LOCAL(float, line[64]);
  uint32_t me = __gpu_thread_id(0), i = item();
  line[me] = me < length ? x[i] : 0;
  __gpu_sync_threads();
  for (uint32_t reach = 1; reach < __gpu_num_threads(0); reach *= 2) {
    float other = me >= reach ? line[me - reach] * decay : 0;
    __gpu_sync_threads();
    line[me] += other;
    __gpu_sync_threads();
  }
  floats(out)[i] = line[me];
}
