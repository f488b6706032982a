/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#ifndef KDL_LAUNCH_QUEUE_H
#define KDL_LAUNCH_QUEUE_H

#include "link/runtime.h"

struct kdl_queue {
  kdl_queue_head head;
  const kdl_runtime *runtime;
  bool is_adopted;
};

#endif
