/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a driver's own words for a parameter mean. */
#ifndef KDL_IMAGE_OPENCL_C_H
#define KDL_IMAGE_OPENCL_C_H

#include "image/params.h"

#include <stdbool.h>

/* A type of OpenCL C by its name, "uint" or "float4": its kind and size. False where it is none. */
bool kdl_opencl_c_type(kdl_string name, kdl_image_param *out_param);

#endif
