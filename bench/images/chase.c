/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* One work-item follows a chain of indices: each load waits for the one before it. */
#include <kdl/kernel.h>

KDL_BLOCK(1)
__gpu_kernel void chase(__gpu_global uint32_t *next, uint32_t steps) {
  uint32_t at = 0;
  for (uint32_t i = 0; i < steps; ++i)
    at = next[at];
  next[1] = at; /* no element of the chain: it has one in thirty-two */
}
