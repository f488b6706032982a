/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Whatever is behind OpenCL, through its loader: opened when a device is first used, never linked,
 * never closed. */
#ifndef KDL_BACKENDS_OPENCL_OPENCL_H
#define KDL_BACKENDS_OPENCL_OPENCL_H

#include <kdl/backend.h>

/* Touches no driver. */
const kdl_backend_table *kdl_opencl_backend_open(const kdl_backend_host *host);

#endif
