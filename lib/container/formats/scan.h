/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Scans a section of any name for device code. */
#ifndef KDL_LIB_CONTAINER_FORMATS_SCAN_H
#define KDL_LIB_CONTAINER_FORMATS_SCAN_H

#include "lib/container/container.h"

typedef struct kdl_scan {
  const kdl_region *region;
  uint64_t address; /* load address, or 0 */
  /* Gives the section's name; called only after a hit. */
  kdl_status (*name)(void *user, kdl_string *out_name);
  void *user;
} kdl_scan;

/* Lists the device code that it finds; skips chance hits. */
kdl_status kdl_scan_region(kdl_container *container, const kdl_parse_context *scope,
                           const kdl_scan *scan);

#endif
