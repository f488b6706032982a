/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* JSON documents: skipped whole, and read as device specs. */
#include "lib/device/spec.h"
#include "support/json/reader.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  kdl_json json;
  kdl_json_start(&json, "t", data, size);
  kdl_status skipped = kdl_json_skip(&json);
  if (skipped == KDL_OK)
    skipped = kdl_json_finish(&json);
  if (skipped != KDL_OK && kdl_error_message()[0] == '\0')
    abort();
  kdl_device_routes routes;
  size_t count;
  for (size_t index = 0; index < 3; ++index) {
    if (kdl_device_routes_read_json("t", data, size, index, &routes, &count) != KDL_OK)
      break;
    /* What is read as specs is JSON, and a spec that was read has a meaning. */
    kdl_device_rule rule;
    if (skipped != KDL_OK || index >= count || !routes.count || routes.count > KDL_LIMIT_ROUTES)
      abort();
    for (size_t i = 0; i < routes.count; ++i) {
      if (kdl_device_spec_compile(&routes.specs[i], &rule) != KDL_OK)
        abort();
    }
  }
  return 0;
}
