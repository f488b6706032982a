/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The cheapest kernel there is. */
#include "any_cpu.h"

#include <kdl/kernel.h>

KDL_KERNEL(nothing, (1, 1, 1), (1, 1, 1), (uint32_t, unused)) {
  (void)kdl_group;
  (void)unused;
}
