/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* AMD GPUs, through libamdhip64 of ROCm 5 to 7: opened when a device is first used, never linked,
 * never closed. */
#ifndef KDL_BACKENDS_HIP_HIP_H
#define KDL_BACKENDS_HIP_HIP_H

#include <kdl/backend.h>

/* Touches no driver. */
const kdl_backend_table *kdl_hip_backend_open(const kdl_backend_host *host);

#endif
