// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Of 64 bits, which OpenCL has as an extension.
#include <kdl/kernel.h>

// args: u64[3]=5000000000 i64[3]=-5000000000 u32[1]
// grid: 2
// arg0: 5000000028 5000000000 30000000007
// arg1: -5000000028 -30000000007 1
// arg2: 8
KDL_BLOCK(4)
__gpu_kernel void atomic64_global(__gpu_global uint64_t *u, __gpu_global int64_t *s,
                                  __gpu_global uint32_t *count) {
  uint32_t i = __gpu_block_id(0) * __gpu_num_threads(0) + __gpu_thread_id(0);
  kdl_atomic_add(&u[0], i);
  kdl_atomic_min(&u[1], 30000000000 + i);
  kdl_atomic_max(&u[2], 30000000000 + i);
  kdl_atomic_add(&s[0], -(int64_t)i);
  kdl_atomic_min(&s[1], -30000000000 - (int64_t)i);
  kdl_atomic_max(&s[2], i == 3 ? 1 : -1);
  kdl_atomic_add(count, 1);
}

// args: u64[1]=5000000000 u64[1]
// grid: 2
// arg0: 5000000028
// arg1: 12884901892
KDL_BLOCK(4)
__gpu_kernel void atomic64_cas(__gpu_global uint64_t *sum, __gpu_global uint64_t *groups) {
  KDL_LOCAL(uint64_t, own[1]);
  uint64_t i = __gpu_block_id(0) * __gpu_num_threads(0) + __gpu_thread_id(0);
  if (__gpu_thread_id(0) == 0)
    own[0] = 0;
  __gpu_sync_threads();
  uint64_t seen = 0, found;
  while ((found = kdl_atomic_cas(sum, seen, seen + i)) != seen)
    seen = found;
  kdl_atomic_max(&own[0], ((uint64_t)3 << 32) + i % 4 + 1);
  __gpu_sync_threads();
  if (i == 0)
    *groups = own[0];
}
