/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Declarations that lib/launch shares with lib/sequence. */
#ifndef KDL_LIB_LAUNCH_LAUNCH_H
#define KDL_LIB_LAUNCH_LAUNCH_H

#include "lib/binding/kernel.h"
#include "lib/inspect/sequences.h"

/* Checks a launch of a bound kernel with an explicit grid. */
kdl_status kdl_launch_check_grid(const kdl_kernel *kernel, const kdl_launch_desc *desc);

struct kdl_event {
  const kdl_runtime *runtime;
  void *handle; /* the backend's */
};

static inline const kdl_runtime *kdl_event_runtime(const kdl_event *event) {
  return event->runtime;
}

#endif
