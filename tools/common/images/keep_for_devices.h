/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* --for=DEVICE,...: the images that devices would select, and their fallbacks. */
#ifndef KDL_TOOLS_COMMON_IMAGES_KEEP_FOR_DEVICES_H
#define KDL_TOOLS_COMMON_IMAGES_KEEP_FOR_DEVICES_H

#include "tools/common/input.h"
#include "tools/common/options.h"

#include <kdl/kdl.h>

#include <stdbool.h>

/*
 * Sets the flags of the images to keep for the devices of --for; flags that are set stay.
 *
 * For each device, and for each kernel of the file as well as for no kernel, this keeps the first
 * image of the ranking and the first of each other form after it: after code for the exact
 * architecture other machine code, then PTX, then SPIR-V; and for a CPU with AMX, which the system
 * may refuse, the first image without AMX. Machine code of unknown level is kept for CPUs of its
 * family.
 *
 * KDL_NO_MATCH where a device admits no image; for "native", only where none of its devices does.
 * `report`, which may be NULL, is called with each image and the reason to keep or drop it.
 */
typedef void cli_keep_report(void *user, size_t index, const char *why);
kdl_status cli_keep_for_devices(const cli_args *args, const cli_input *input,
                                cli_keep_report *report, void *user, bool *kept);

/* The image that the only device of --for would select; `kernel` may be NULL. */
kdl_status cli_choose_image_for_device(const cli_args *args, const cli_input *input,
                                       const char *kernel, size_t *out_index);

#endif
