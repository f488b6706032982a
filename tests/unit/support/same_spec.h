/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Whether two specs are equal. */
#ifndef KDL_TEST_SAME_SPEC_H
#define KDL_TEST_SAME_SPEC_H

#include "lib/device/spec.h"

#include <string.h>

static inline bool is_same_spec(const kdl_device_spec *a, const kdl_device_spec *b) {
  char lines[2][KDL_SPEC_LINE];
  kdl_device_spec_print(a, &(kdl_out){lines[0], KDL_SPEC_LINE, 0});
  kdl_device_spec_print(b, &(kdl_out){lines[1], KDL_SPEC_LINE, 0});
  return strcmp(lines[0], lines[1]) == 0;
}

#endif
