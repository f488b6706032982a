/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* How an image wants one of its kernels to be launched, as far as the image itself shows it. */
#ifndef KDL_IMAGE_GEOMETRY_H
#define KDL_IMAGE_GEOMETRY_H

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeros where the image does not say. */
typedef struct kdl_image_geometry {
  uint32_t block[3]; /* work-items in a group: the only number that works */
  uint32_t tile[3];  /* work-items of the problem that a group covers */
} kdl_image_geometry;

/* Whether images of this kind can say anything. Host code does by <kdl/host_abi.h>, AMD code
 * objects by `.reqd_workgroup_size`, SPIR-V by `LocalSize`, zebins in `.ze_info`. OpenCL C may, by
 * an attribute whose numbers can be macros, which is not read; machine code and PTX for NVIDIA
 * leave it to the driver to refuse. */
bool kdl_image_has_geometry(kdl_image_kind kind);

/* A pure function over memory. An image that contradicts its format, or has no such kernel, says
 * nothing: that shows when it is loaded. */
kdl_image_geometry kdl_image_read_geometry(kdl_image_kind kind, const void *data, size_t size,
                                           kdl_string kernel);

#endif
