/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What launching shares with sequences. */
#ifndef KDL_LAUNCH_LAUNCH_H
#define KDL_LAUNCH_LAUNCH_H

#include "lib/binding/kernel.h"
#include "lib/inspect/sequences.h"

/* Whether a bound kernel may be launched so, with a grid of the caller's. */
kdl_status kdl_launch_check_grid(const kdl_kernel *kernel, const kdl_launch_desc *desc);

struct kdl_event {
  const kdl_runtime *runtime;
  void *handle; /* the backend's */
};

static inline const kdl_runtime *kdl_event_runtime(const kdl_event *event) {
  return event->runtime;
}

#endif
