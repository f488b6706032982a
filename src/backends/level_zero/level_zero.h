/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Intel GPUs, through the Level Zero loader: opened when a device is first used, never linked,
 * never closed. */
#ifndef KDL_BACKENDS_LEVEL_ZERO_LEVEL_ZERO_H
#define KDL_BACKENDS_LEVEL_ZERO_LEVEL_ZERO_H

#include <kdl/backend.h>

/* Touches no driver. */
const kdl_backend_table *kdl_ze_backend_open(const kdl_backend_host *host);

#endif
