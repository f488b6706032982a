/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Does the metadata claim more than the image can keep? */
#ifndef KDL_TOOL_VERIFY_TARGET_H
#define KDL_TOOL_VERIFY_TARGET_H

#include "image/image.h"

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>

/* Compares triple, arch and required features of the metadata with what the image says of itself. A
 * narrower claim is fine: sm_90a for code that runs on any sm_90, gfx90a:xnack+ for code that runs
 * either way. True where they contradict, with the reason in `out_reason`. */
bool cli_target_contradicts(kdl_image_kind kind, const kdl_image_info *claim,
                            const kdl_image_target *image, char *out_reason, size_t room);

#endif
