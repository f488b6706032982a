/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Host kernels that tell who they are: built several times, with another VARIANT and TILE each. */
#define KDL_KERNEL_SHARED 64
#include "any_cpu.h"

#include <kdl/kernel.h>

/* Each element gets the variant and its own index; what lies beyond n is left alone. */
KDL_KERNEL(mark, (BLOCK, 1, 1), (TILE, 1, 1), (uint32_t *, out), (uint32_t, n)) {
  uint64_t end = kdl_group_end(kdl_group, 0, n);
  for (uint64_t i = kdl_group_begin(kdl_group, 0); i < end; ++i)
    out[i] = VARIANT * 1000000u + (uint32_t)i;
}

/* Every group adds one to its own cell: each must run exactly once. */
KDL_KERNEL(count, (1, 1, 1), (1, 1, 1), (uint32_t *, out)) {
  const uint32_t *at = kdl_group->group, *of = kdl_group->group_count;
  out[(at[2] * (uint64_t)of[1] + at[1]) * of[0] + at[0]] += VARIANT;
}

typedef struct {
  double x[3];
} triple;

/* Parameters of many sizes. */
KDL_KERNEL(mixed, (1, 1, 1), (1, 1, 1), (uint8_t, a), (double, b), (int16_t, c), (triple, d),
           (double *, out)) {
  (void)kdl_group;
  out[0] = a;
  out[1] = b;
  out[2] = c;
  out[3] = d.x[0] + d.x[1] + d.x[2];
  out[4] = VARIANT;
}

/* Group memory: private to the group, aligned, as large as promised. */
KDL_KERNEL(scratch, (1, 1, 1), (1, 1, 1), (uint32_t *, out)) {
  uint8_t *memory = kdl_group->shared;
  uint32_t sum = 0;
  for (uint32_t i = 0; i < kdl_group->shared_size; ++i)
    memory[i] = (uint8_t)kdl_group->group[0];
  for (uint32_t i = 0; i < kdl_group->shared_size; ++i)
    sum += memory[i];
  out[kdl_group->group[0]] = (uintptr_t)memory % 64 ? 0xbad : sum;
}

KDL_KERNEL_EXPORT uint32_t tally[4] = {VARIANT, 0, 0, 0};

/* Reads and writes a variable of the image. */
KDL_KERNEL(use_tally, (1, 1, 1), (1, 1, 1), (uint32_t *, out)) {
  (void)kdl_group;
  out[0] = tally[0] + tally[1];
  tally[2] = 77;
}
