/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * SELECT, the syntax that names images on the command line:
 *
 *     SELECT = INDEX | TERM { "," TERM }
 *     TERM   = KEY "=" VALUE
 *
 * INDEX is the number that `kdl ls` prints. `kind` is the offload kind and `image_kind` the image
 * kind; any other key, such as triple and arch, is a metadata key, whose value must be equal. An
 * empty VALUE also matches images without the key. All terms must match.
 */
#ifndef KDL_TOOLS_COMMON_IMAGES_SELECT_H
#define KDL_TOOLS_COMMON_IMAGES_SELECT_H

#include "tools/common/options.h"

#include <kdl/kdl.h>

#include <stdbool.h>

/* The images that match at least one SELECT of a repeatable option; every image where the option is
 * not given. *out_chosen has one flag per image and is freed by the caller. `file` is for messages.
 * KDL_NO_MATCH where one of the SELECTs matches nothing. */
kdl_status cli_select_images(const cli_args *args, const char *option, const kdl_library *lib,
                             const char *file, bool **out_chosen);

#endif
