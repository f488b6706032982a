/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* sm_80 and later have an instruction for it. */
#include <kdl/ukernels.h>

int32_t kdl_uk_subgroup_sum_i32(int32_t value) {
  return __nvvm_redux_sync_add(value, -1);
}
