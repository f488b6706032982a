/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The backends that libkdl is built with: kdl_built_in_NAME for every row of
 * lib/device/backends.def, in the folder of that name. */
#ifndef KDL_BACKENDS_COMMON_BUILT_IN_H
#define KDL_BACKENDS_COMMON_BUILT_IN_H

#include "lib/backends/common/driver.h"

#include <kdl/backend.h>

typedef struct kdl_built_in {
  const kdl_backend_table *table;
  kdl_driver *driver; /* NULL where there is none to open */
  /* What vendors read to limit, reorder or divide what a process sees; NULL behind the last. */
  const char *const *variables;
  /* The driver changes the environment, which others read while they start: it is opened and asked
   * when they have answered. */
  bool enumerate_last;
  /* Opens what the driver opens in turn, where a call of its own does that; may be NULL. */
  void (*open_dependencies)(void);
  /* Adds the devices of the driver, which is open, and creates no context. Any thread. */
  void (*list)(kdl_spec_list *list);
} kdl_built_in;

#define KDL_BACKEND_ROW(id, name, driver, example) extern const kdl_built_in kdl_built_in_##name;
#include "lib/device/backends.def"
#undef KDL_BACKEND_ROW

#endif
