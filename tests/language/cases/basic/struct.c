// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kdl/kernel.h>

typedef struct {
  uint8_t first;
  float scale;
  uint64_t wide;
} basic_settings;

// args: {u8=7,f32=0.5,u64=4294967298} f32[3]
// items: 1
// arg1: 7 0.5 4294967298
__gpu_kernel void basic_struct(basic_settings s, __gpu_global float *out) {
  out[0] = s.first;
  out[1] = s.scale;
  out[2] = (float)s.wide;
}
