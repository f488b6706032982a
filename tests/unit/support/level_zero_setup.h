/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Setup and teardown of the tests of the Level Zero backend: see driver_backend.h. */
#ifndef KDL_TESTS_UNIT_LEVEL_ZERO_SETUP_H
#define KDL_TESTS_UNIT_LEVEL_ZERO_SETUP_H

#include "level_zero_support.h"

#define BACKEND_KEPT 0
#include "driver_backend.h"

static void *backend_load(void *device) {
  return load_golden(device, "spirv64.spv");
}

static bool backend_is_clean(void) {
  return is_order_kept();
}

#endif
