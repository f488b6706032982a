/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The built-in functions of OpenCL C, of all versions and the extensions of Khronos. */
#ifndef KDL_TOOL_CC_OPENCL_FUNCTIONS_H
#define KDL_TOOL_CC_OPENCL_FUNCTIONS_H

#include <kdl/kdl.h>

#include <stdbool.h>

/* Whether a driver has a function of that name. */
bool cc_opencl_has_function(kdl_string name);

#endif
