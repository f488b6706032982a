/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The process-wide registry of devices: those of this machine, and those that were described. */
#ifndef KDL_LINK_DEVICE_H
#define KDL_LINK_DEVICE_H

#include "select/ranking.h"

#include <kdl/kdl.h>

struct kdl_device {
  kdl_device *next;          /* of those that were described */
  bool here;                 /* found on this machine, not described */
  size_t route_count;        /* at least 1 */
  kdl_select_device *routes; /* the vendor's own driver before OpenCL */
  char **lines;              /* each route's spec as text */
};

#endif
