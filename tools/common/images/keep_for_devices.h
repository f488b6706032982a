/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* --for=DEVICE,...: the images that devices would choose, and what they would fall back on. */
#ifndef KDL_TOOL_KEEP_FOR_H
#define KDL_TOOL_KEEP_FOR_H

#include "tools/common/input.h"
#include "tools/common/options.h"

#include <kdl/kdl.h>

#include <stdbool.h>

/* Sets the flags of the images to keep for the devices that --for names; flags that are set stay.
 *
 * For each device, and for each kernel of the file as well as for none, that is the first image in
 * rank order, and after it the first one of each other form: machine code behind code for the very
 * architecture, PTX behind machine code, SPIR-V behind that; and for a CPU with AMX, whose use the
 * system may refuse, the first image that does without. Machine code of unknown level for a
 * CPU is kept for CPUs of that kind.
 *
 * Fails with KDL_NO_MATCH where a device takes none of the images; one of "native" where no other
 * takes any either. `tell`, which may be NULL, is
 * called with each image and why it is kept or dropped. */
typedef void cli_keep_report(void *user, size_t index, const char *why);
kdl_status cli_keep_for_devices(const cli_args *args, const cli_input *input,
                                cli_keep_report *report, void *user, bool *kept);

/* The image that the one device of --for would choose; `kernel` may be NULL. */
kdl_status cli_choose_image_for_device(const cli_args *args, const cli_input *input,
                                       const char *kernel, size_t *out_index);

#endif
