/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What every backend has to run, the same names and parameters for each kind of machine. */
#define KDL_KERNEL_SHARED 0
#include <kdl/kernel.h>

KDL_KERNEL(scale, (64, 1, 1), (64, 1, 1), (float, a), (const float *restrict, x),
           (float *restrict, y), (uint32_t, n)) {
  uint64_t end = kdl_group_end(kdl_group, 0, n);
  for (uint64_t i = kdl_group_begin(kdl_group, 0); i < end; ++i)
    y[i] = a * x[i];
}

KDL_KERNEL(place, (1, 1, 1), (1, 1, 1), (uint32_t *, out)) {
  const uint32_t *at = kdl_group->group, *of = kdl_group->group_count;
  out[(at[2] * of[1] + at[1]) * of[0] + at[0]] = at[0] + 10 * at[1] + 100 * at[2];
}

KDL_KERNEL_EXPORT uint32_t weight = 3;

KDL_KERNEL(weigh, (1, 1, 1), (1, 1, 1), (uint32_t *, out)) {
  (void)kdl_group;
  out[0] *= weight;
}
