/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The backends that libkdl is built with: kdl_built_in_NAME for every row of
 * lib/device/backends.def, in the folder of that name. */
#ifndef KDL_LIB_BACKENDS_COMMON_BUILT_IN_H
#define KDL_LIB_BACKENDS_COMMON_BUILT_IN_H

#include "lib/backends/common/driver.h"
#include "support/system/variables.h"

#include <kdl/backend.h>

typedef struct kdl_built_in {
  const kdl_backend_table *table;
  kdl_driver *driver; /* NULL for a backend without a driver */
  /* The vendor's variables that limit, reorder or partition the devices of a process. */
  const kdl_variable *variables;
  size_t variable_count;
  /* The driver changes the environment, which other drivers read while they start: it is opened and
   * queried after them. */
  bool enumerate_last;
  /* Opens the libraries that the driver itself opens, if one of its calls does that; may be
   * NULL. */
  void (*open_dependencies)(void);
  /* Adds the devices of the open driver, without creating a context. Any thread. */
  void (*list)(kdl_spec_list *list);
} kdl_built_in;

#define KDL_BACKEND_ROW(id, name, ...) extern const kdl_built_in kdl_built_in_##name;
#include "lib/device/backends.def"
#undef KDL_BACKEND_ROW

#endif
