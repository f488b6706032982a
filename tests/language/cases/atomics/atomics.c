// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Atomics of global and of group memory, by more work-items than a group has.
#include <kdl/kernel.h>

// args: u32[3]=0,4294967295,0 u32=1000
// grid: 4
// block: 250
// arg0: 499500 0 999
__gpu_kernel void atomic_global(__gpu_global uint32_t *out, uint32_t n) {
  uint32_t i = __gpu_block_id(0) * __gpu_num_threads(0) + __gpu_thread_id(0);
  if (i < n) {
    kdl_atomic_add(&out[0], i);
    kdl_atomic_min(&out[1], i);
    kdl_atomic_max(&out[2], i);
  }
}

// args: u32[1000]
// grid: 4
// block: 250
// arg0: 1
__gpu_kernel void atomic_before(__gpu_global uint32_t *seen) {
  // What was there before is told, to each another number.
  uint32_t i = __gpu_block_id(0) * __gpu_num_threads(0) + __gpu_thread_id(0);
  if (i == 0)
    kdl_atomic_add(&seen[0], 1);
  else
    kdl_atomic_add(&seen[i], 1 + kdl_atomic_add(&seen[i], 0));
}

// args: u32[2]
// items: 64
// arg0: 64 63
KDL_BLOCK(64)
__gpu_kernel void atomic_cas(__gpu_global uint32_t *out) {
  uint32_t seen = 0, found, tries = 0;
  while ((found = kdl_atomic_cas(&out[0], seen, seen + 1)) != seen && tries < 1000000) {
    seen = found;
    ++tries;
  }
  kdl_atomic_max(&out[1], seen);
}

// args: u32[8]=iota u32[4]
// items: 128
// arg1: 2016 0 63 64
KDL_BLOCK(64)
__gpu_kernel void atomic_group(const __gpu_global uint32_t *x, __gpu_global uint32_t *out) {
  KDL_LOCAL(uint32_t, held[4]);
  uint32_t t = __gpu_thread_id(0);
  if (t < 4)
    held[t] = t == 1 ? 1000 + x[0] : 0;
  __gpu_sync_threads();
  kdl_atomic_add(&held[0], t);
  kdl_atomic_min(&held[1], t);
  kdl_atomic_max(&held[2], t);
  uint32_t seen = 0, found;
  while ((found = kdl_atomic_cas(&held[3], seen, seen + 1)) != seen)
    seen = found;
  __gpu_sync_threads();
  if (t < 4)
    out[t] = held[t];
}

// args: f32[2] u32=512
// items: 512
// arg0: 128 1024
KDL_BLOCK(128)
__gpu_kernel void atomic_add_float(__gpu_global float *out, uint32_t n) {
  uint32_t i = __gpu_block_id(0) * 128 + __gpu_thread_id(0);
  if (i < n) {
    kdl_atomic_add_f32(&out[0], 0.25f); /* exact in any order */
    kdl_atomic_add_f32(&out[1], i % 2 ? 3.0f : 1.0f);
  }
}

// Signed and unsigned are compared as such.
// args: i32[3]=-5,-5,7
// grid: 1
// arg0: -9 6 5
KDL_BLOCK(4)
__gpu_kernel void atomic_signed(__gpu_global int32_t *v) {
  int32_t i = (int32_t)__gpu_thread_id(0);
  kdl_atomic_min(&v[0], -6 - i);
  kdl_atomic_max(&v[1], 3 + i);
  kdl_atomic_add(&v[2], i == 1 ? -2 : 0);
}
