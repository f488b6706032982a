/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What names mean in OpenCL C. */
#ifndef KDL_IMAGE_OPENCL_C_H
#define KDL_IMAGE_OPENCL_C_H

#include "lib/image/params.h"

#include <stdbool.h>

/* Before the name of a kernel which a driver has a function of its own for: what is `dot` to all
 * others is `kdl_cl_dot` in the text. */
#define KDL_OPENCL_C_PREFIX "kdl_cl_"

/* A type of OpenCL C by its name, "uint" or "float4": its kind and size. False where it is none. */
bool kdl_opencl_c_type(kdl_string name, kdl_image_param *out_param);

#endif
