// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kdl/kernel.h>

// args: bf16[8]=-3,-0.5,0,0.25,1,2.5,10,1000 bf16=2 bf16[8] f32[8] i32[8]
// items: 8
// arg2: -5 0 1 1.5 3 6 21 2000
// arg3: 9 0.25 0 0.0625 1 6.25 100 999424
// arg4: -3 0 0 0 1 2 10 1000
KDL_BLOCK(8)
__gpu_kernel void types_bf16(const __gpu_global __bf16 *x, __bf16 k, __gpu_global __bf16 *y,
                             __gpu_global float *z, __gpu_global int32_t *whole) {
  uint32_t i = __gpu_thread_id(0);
  __bf16 one = (__bf16)1.0f;
  y[i] = x[i] * k + one;
  __bf16 square = x[i] * x[i];
  z[i] = (float)square;
  whole[i] = (int32_t)(float)x[i];
}

typedef struct {
  __bf16 scale;
  float bias;
} types_bf16_pair;

static __bf16 types_bf16_larger(__bf16 a, __bf16 b) {
  return a > b ? a : -b;
}

// args: f32[6]=1,2.0078125,-3,65280,1e-3,257 bf16=2 bf16[6] f64[6]
// items: 6
// arg2: -2 2.015625 -2 65280 -2 256
// arg3: 1 2 -3 65280 0.00099945068359375 256
KDL_BLOCK(6)
__gpu_kernel void types_bf16_convert(const __gpu_global float *x, __bf16 k, __gpu_global __bf16 *y,
                                     __gpu_global double *wide) {
  uint32_t i = __gpu_thread_id(0);
  types_bf16_pair pair = {(__bf16)x[i], 0.0f};
  if (i == 1)
    pair.scale = (__bf16)2.0117188;
  y[i] = types_bf16_larger(pair.scale, k);
  wide[i] = (double)(__bf16)x[i] + (double)pair.bias;
}

static const __bf16 types_bf16_steps[3] = {(__bf16)0.5f, -1, (__bf16)1e3f};

// Changed in place, in memory of every kind; numbers of other types; conditions.
// args: f32[4]=0,1,-2,100 bf16[4]=1,2,3,256 f32[4] i32[4]
// items: 4
// arg1: -1 -2.5 -2 -306
// arg2: 1.5 2.5 3.5 256
// arg3: 315 307 312 307
KDL_BLOCK(4)
__gpu_kernel void types_bf16_changes(const __gpu_global float *x, __gpu_global __bf16 *y,
                                     __gpu_global float *z, __gpu_global int32_t *seen) {
  KDL_LOCAL(__bf16, shared[4]);
  uint32_t i = __gpu_thread_id(0);
  shared[i] = y[i];
  shared[i]++;
  --shared[i];
  shared[i] += 1;
  shared[i]-=types_bf16_steps[0];
  z[i] = shared[i];
  __bf16 own = x[i];
  own *= 2.0f;
  own /= (4.0f);
  y[i] += own;
  uint32_t next = i;
  y[next++] *= types_bf16_steps[1];
  int32_t count = own != 0 ? 2 : 1;
  if (!own)
    count += 4;
  while (own > 0 && count < 7)
    count++;
  if (own < types_bf16_steps[0])
    count += 10;
  for (__bf16 k = 0; k < 3; k++)
    count += 100;
  seen[i] = count + (int32_t)(next - i - 1);
}

// args: f64[3]=1.00390625,1.003906251,-3.0117187 bf16[3]=1 bf16[3]
// items: 3
// arg1: 2 2 -2.015625
// arg2: 1 1.0078125 -3.015625
KDL_BLOCK(3)
__gpu_kernel void types_bf16_double(const __gpu_global double *x, __gpu_global __bf16 *y,
                                    __gpu_global __bf16 *narrow) {
  uint32_t i = __gpu_thread_id(0);
  narrow[i] = x[i];
  y[i] += x[i] + 0.0;
}
