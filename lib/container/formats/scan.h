/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The search for device code in a section whose name does not tell. */
#ifndef KDL_CONTAINER_FORMATS_SCAN_H
#define KDL_CONTAINER_FORMATS_SCAN_H

#include "lib/container/container.h"

typedef struct kdl_scan {
  const kdl_region *region;
  uint64_t address; /* where it is loaded, or 0 */
  /* What the section is called; asked for where something is found. */
  kdl_status (*name)(void *user, kdl_string *out_name);
  void *user;
} kdl_scan;

/* Lists what is found. What only looks like device code is passed over. */
kdl_status kdl_scan_region(kdl_container *container, const kdl_parse_context *scope,
                           const kdl_scan *scan);

#endif
