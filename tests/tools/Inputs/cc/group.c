/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Functions of every kind that ask which work-item runs, and that have memory of the group. */
#include <kdl/kernel.h>

#define APART __attribute__((noinline))

struct place {
  uint64_t x, y, z;
};

static APART uint32_t global_id(int d) {
  return __gpu_block_id(d) * __gpu_num_threads(d) + __gpu_thread_id(d);
}

__attribute__((const)) APART uint32_t constant_id(void) {
  return __gpu_thread_id_x();
}

APART struct place structure(uint32_t x) {
  return (struct place){x, global_id(1), global_id(2)};
}

static APART uint32_t recursive(uint32_t n) {
  return n ? recursive(n - 1) + __gpu_thread_id_x() : 0;
}

static APART uint32_t jumps(uint32_t n) {
  static const void *const to[] = {&&zero, &&one};
  goto *to[n & 1];
zero:
  return global_id(0);
one:
  return global_id(0) + 1000;
}

/* Memory of the group, in a function that two kernels call. */
static APART uint32_t *counter(void) {
  KDL_LOCAL(uint32_t, counted);
  return &counted;
}

KDL_BLOCK(4)
__gpu_kernel void indices(__gpu_global uint32_t *out) {
  uint32_t i = global_id(0);
  out[i * 4] = constant_id();
  out[i * 4 + 1] = (uint32_t)structure(i).x;
  out[i * 4 + 2] = recursive(3);
  out[i * 4 + 3] = jumps(i);
}

KDL_BLOCK(4)
__gpu_kernel void counts(__gpu_global uint32_t *out) {
  if (__gpu_thread_id(0) == 0)
    *counter() = __gpu_block_id(0) * 100;
  *counter() += 1;
  out[global_id(0)] = *counter();
}

KDL_BLOCK(KDL_THREADS(64))
KDL_TILE(64)
__gpu_kernel void reverses(__gpu_global uint32_t *out) {
  KDL_LOCAL(uint32_t, kept[64]);
  uint32_t begin = __gpu_block_id(0) * 64;
  for (uint32_t i = __gpu_thread_id(0); i < 64; i += __gpu_num_threads(0))
    kept[i] = out[begin + i];
  __gpu_sync_threads();
  for (uint32_t i = __gpu_thread_id(0); i < 64; i += __gpu_num_threads(0))
    out[begin + i] = kept[63 - i];
  *counter() = 0;
}
