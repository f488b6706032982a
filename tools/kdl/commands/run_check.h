/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Arguments of `kdl run` against what the file says that the kernel takes, before any of its code
 * is loaded. */
#ifndef KDL_TOOL_RUN_CHECK_H
#define KDL_TOOL_RUN_CHECK_H

#include "cli/run_args.h"

/* KDL_BAD_CALL where the number or a type of the arguments differs from the signature's, without a
 * signature a size from that in a host image, or the block of `grid`, which may be NULL, from that
 * of a host image; KDL_OK also where the image does not tell. Where `grid` has no dynamic group
 * memory it gets what the image's metadata says. */
kdl_status cli_run_checked(kdl_library *lib, kdl_device *device, const char *kernel,
                           const kdl_select_opts *opts, kdl_launch_desc *grid,
                           const cli_run_arg *args, size_t count);

#endif
