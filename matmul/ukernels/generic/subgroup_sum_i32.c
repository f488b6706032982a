/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* CPUs: a work-item is a subgroup. */
#include <kdl/ukernels.h>

int32_t kdl_uk_subgroup_sum_i32(int32_t value) {
  return value;
}
