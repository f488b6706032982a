/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Discovery of devices (lib/inspect/devices.h). */
#ifndef KDL_LIB_REGISTRY_DISCOVER_H
#define KDL_LIB_REGISTRY_DISCOVER_H

#include "lib/backends/common/driver.h"

struct kdl_discover_opts {
  const kdl_driver_resolver *resolver; /* NULL = the system's */
  unsigned backends;                   /* mask of 1 << KDL_BACKEND_x; 0 = all */
  unsigned timeout_ms;                 /* for the slowest driver; 0 = see kdl_discover */
  bool routes_only;                    /* do not group routes into devices */
};

/* The programs of this machine that libkdl makes images with. */
kdl_spec_tools kdl_tools_find(void);

/* A machine with eight GPUs and no persistence daemon takes several seconds to start its driver. */
enum { KDL_DISCOVER_TIMEOUT_MS = 30000 };

#endif
