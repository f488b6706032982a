/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What one driver shows: the list that its backend fills. */
#ifndef KDL_BACKENDS_COMMON_FOUND_H
#define KDL_BACKENDS_COMMON_FOUND_H

#include "backends/common/driver.h"
#include "device/spec.h"

typedef struct kdl_found_list {
  kdl_device_spec *specs;
  size_t count;
  size_t capacity;
  kdl_driver_report report;
  bool is_short; /* of memory: there may be more devices */
} kdl_found_list;

/* A new spec of the list's backend at the end of the list, ordinal and discrete class filled in;
 * NULL when out of memory, which the list then knows. Valid until the next one is added. */
kdl_device_spec *kdl_found_add(kdl_found_list *list);

/* Takes back the last spec, with a word of why. */
void kdl_found_drop(kdl_found_list *list, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Takes out devices that the rules do not know, and sets the state to "no device" where a driver
 * that works has shown none. */
void kdl_found_finish(kdl_found_list *list);

#endif
