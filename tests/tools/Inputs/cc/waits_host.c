/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The same for a CPU. */
#include <kdl/kernel.h>

KDL_KERNEL(waits, (1, 1, 1), (64, 1, 1), (float *, y)) {
  for (uint64_t i = kdl_group_begin(kdl_group, 0), k = i + 63; i < k; ++i, --k) {
    float kept = y[i];
    y[i] = y[k];
    y[k] = kept;
  }
}
