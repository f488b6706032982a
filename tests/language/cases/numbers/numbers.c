// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each type as a parameter, in memory, and in arithmetic.
#include <kdl/kernel.h>

// args: i8[4]=-128,-1,0,127 i8=3 i32[4]
// items: 4
// arg2: -384 -3 0 381
__gpu_kernel void type_i8(const __gpu_global int8_t *x, int8_t a, __gpu_global int32_t *y) {
  uint32_t i = __gpu_block_id(0) * __gpu_num_threads(0) + __gpu_thread_id(0);
  if (i < 4)
    y[i] = x[i] * a;
}

// args: u8[4]=0,1,200,255 u8=3 u8[4] u32[4]
// items: 4
// arg2: 3 4 203 2
// arg3: 0 3 600 765
__gpu_kernel void type_u8(const __gpu_global uint8_t *x, uint8_t a, __gpu_global uint8_t *y,
                          __gpu_global uint32_t *z) {
  uint32_t i = __gpu_block_id(0) * __gpu_num_threads(0) + __gpu_thread_id(0);
  if (i < 4) {
    y[i] = (uint8_t)(x[i] + a);
    z[i] = (uint32_t)x[i] * a;
  }
}

// args: i16[4]=-32768,-1,0,32767 i16=-2 i32[4]
// items: 4
// arg2: 65536 2 0 -65534
__gpu_kernel void type_i16(const __gpu_global int16_t *x, int16_t a, __gpu_global int32_t *y) {
  uint32_t i = __gpu_block_id(0) * __gpu_num_threads(0) + __gpu_thread_id(0);
  if (i < 4)
    y[i] = x[i] * a;
}

// args: u16[4]=0,1,65535,256 u16=257 u16[4]
// items: 4
// arg2: 0 257 65279 256
__gpu_kernel void type_u16(const __gpu_global uint16_t *x, uint16_t a, __gpu_global uint16_t *y) {
  uint32_t i = __gpu_block_id(0) * __gpu_num_threads(0) + __gpu_thread_id(0);
  if (i < 4)
    y[i] = (uint16_t)((uint32_t)x[i] * a);
}

// args: i32[6]=-7,-6,7,6,-2147483647,5 i32=3 i32[6] i32[6] i32[6]
// items: 6
// arg2: -2 -2 2 2 -715827882 1
// arg3: -1 0 1 0 -1 2
// arg4: -1 -1 0 0 -268435456 0
__gpu_kernel void type_i32(const __gpu_global int32_t *x, int32_t a, __gpu_global int32_t *quotient,
                           __gpu_global int32_t *rest, __gpu_global int32_t *shifted) {
  uint32_t i = __gpu_block_id(0) * __gpu_num_threads(0) + __gpu_thread_id(0);
  if (i < 6) {
    quotient[i] = x[i] / a;
    rest[i] = x[i] % a;
    shifted[i] = x[i] >> a;
  }
}

// args: u32[4]=0,1,4294967295,2147483648 u32=3 u32[4] u32[4] u32[4]
// items: 4
// arg2: 0 3 4294967293 2147483648
// arg3: 0 0 1431655765 715827882
// arg4: 0 0 536870911 268435456
__gpu_kernel void type_u32(const __gpu_global uint32_t *x, uint32_t a, __gpu_global uint32_t *product,
                           __gpu_global uint32_t *quotient, __gpu_global uint32_t *shifted) {
  uint32_t i = __gpu_block_id(0) * __gpu_num_threads(0) + __gpu_thread_id(0);
  if (i < 4) {
    product[i] = x[i] * a;
    quotient[i] = x[i] / a;
    shifted[i] = x[i] >> a;
  }
}

// args: i64[4]=-9223372036854775807,-7,0,9223372036854775807 i64=-10 i64[4] i64[4]
// items: 4
// arg2: 922337203685477580 0 0 -922337203685477580
// arg3: -7 -7 0 7
__gpu_kernel void type_i64(const __gpu_global int64_t *x, int64_t a, __gpu_global int64_t *quotient,
                           __gpu_global int64_t *rest) {
  uint32_t i = __gpu_block_id(0) * __gpu_num_threads(0) + __gpu_thread_id(0);
  if (i < 4) {
    quotient[i] = x[i] / a;
    rest[i] = x[i] % a;
  }
}

// args: u64[4]=0,1,18446744073709551615,9223372036854775808 u64=10000000000 u64[4] u64[4]
// items: 4
// arg2: 0 10000000000 18446744063709551616 0
// arg3: 0 0 1844674407 922337203
__gpu_kernel void type_u64(const __gpu_global uint64_t *x, uint64_t a, __gpu_global uint64_t *product,
                           __gpu_global uint64_t *quotient) {
  uint32_t i = __gpu_block_id(0) * __gpu_num_threads(0) + __gpu_thread_id(0);
  if (i < 4) {
    product[i] = x[i] * a;
    quotient[i] = x[i] / a;
  }
}

// args: f32[4]=1.5,-2.25,16777216,0 f32=0.5 f32[4] i32[4] u32[4]
// items: 4
// arg2: 3 -4.5 33554432 0
// arg3: 1 -2 16777216 0
// arg4: 1069547520 3222274048 1266679808 0
__gpu_kernel void type_f32(const __gpu_global float *x, float a, __gpu_global float *y, __gpu_global int32_t *whole,
                           __gpu_global uint32_t *bits) {
  uint32_t i = __gpu_block_id(0) * __gpu_num_threads(0) + __gpu_thread_id(0);
  if (i < 4) {
    y[i] = x[i] / a;
    whole[i] = (int32_t)x[i];
    bits[i] = kdl_bits_f32(x[i]);
  }
}

// args: f64[4]=1.5,-2.25,9007199254740992,0.1 f64=0.5 f64[4] i64[4]
// items: 4
// arg2: 3 -4.5 18014398509481984 0.2
// arg3: 1 -2 9007199254740992 0
__gpu_kernel void type_f64(const __gpu_global double *x, double a, __gpu_global double *y, __gpu_global int64_t *whole) {
  uint32_t i = __gpu_block_id(0) * __gpu_num_threads(0) + __gpu_thread_id(0);
  if (i < 4) {
    y[i] = x[i] / a;
    whole[i] = (int64_t)x[i];
  }
}
