/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What an AMD code object says of how it can be loaded, and one of its kernels launched. */
#ifndef KDL_IMAGE_AMD_LIMITS_H
#define KDL_IMAGE_AMD_LIMITS_H

#include <kdl/kdl.h>

#include <stddef.h>
#include <stdint.h>

typedef struct kdl_image_limits {
  uint32_t block[3];  /* the only one it was compiled for; 0: any */
  uint32_t max_block; /* work-items in a group; 0: not said */
  uint32_t shared;    /* bytes of group memory of its own */
} kdl_image_limits;

/* Zeros where the code object has no metadata or does not say. Fails with KDL_NO_MATCH where the
 * metadata knows no kernel of that name, and KDL_BAD_FILE where it contradicts its format. */
kdl_status kdl_amdgpu_read_limits(const void *data, size_t size, kdl_string kernel,
                                  kdl_image_limits *out_limits);

/* Fails with KDL_BAD_FILE where the code object is stripped: HIP looks for `.symtab` and `.strtab`
 * by their names, and the process ends in a segmentation fault where they are missing. */
kdl_status kdl_amdgpu_check_symbols(const void *data, size_t size);

#endif
