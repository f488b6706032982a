/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the kernels of images use, as text and as JSON: docs/resources.md. */
#ifndef KDL_TOOLS_COMMON_IMAGES_RESOURCES_H
#define KDL_TOOLS_COMMON_IMAGES_RESOURCES_H

#include "tools/common/images/device_options.h"
#include "tools/common/json.h"
#include "tools/common/options.h"

#include <kdl/resources.h>

/* Occupancy is shown where a device is given. */
typedef struct cli_resources {
  cli_devices devices; /* none or one */
  uint32_t block;      /* of --block; 0: none */
  bool *runs;          /* by image of the current file; NULL without a device */
} cli_resources;

/* --device and --block. The caller frees it, also after a failure. */
kdl_status cli_resources_options(const cli_args *args, cli_resources *out_resources);
void cli_resources_free(cli_resources *resources);

/* Finds the images of the file that run on the device. */
kdl_status cli_resources_begin_file(cli_resources *resources, kdl_library *lib);

/* The work-items of a group for which occupancy is computed: `given`, unless it is 0, else the
 * kernel's own block, else the largest that its source allows, else 256. */
uint32_t cli_occupancy_block(const kdl_kernel_resources *uses, uint32_t given);

/* "vector_registers=40 stack=0 ...", in memory of the caller, who frees it. */
char *cli_resources_text(const cli_resources *resources, size_t image,
                         const kdl_kernel_resources *uses);

/* The pairs of an object. */
void cli_resources_json(cli_json *json, const cli_resources *resources, size_t image,
                        const kdl_kernel_resources *uses);

#endif
