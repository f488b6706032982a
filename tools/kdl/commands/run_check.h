/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Arguments of `kdl run` against what the file says that the kernel takes, before any of its code
 * is loaded. */
#ifndef KDL_TOOL_RUN_CHECK_H
#define KDL_TOOL_RUN_CHECK_H

#include "cli/run_args.h"
#include "target/kernel_key.h"

/* Whether an argument is of a signature's type. Integers of one size stand for each other, but for
 * a negative number where the signature has an unsigned one; for what --arg has no type, sizes are
 * compared. */
bool cli_run_type_fits(const kdl_param *expected, const cli_run_arg *arg);

/* What messages call an argument, in `room`: "buf:f32", "a negative i32", "16 bytes", "f64". */
enum { CLI_RUN_TYPE_ROOM = 32 };
const char *cli_run_type_words(const cli_run_arg *arg, char room[CLI_RUN_TYPE_ROOM]);

/* KDL_BAD_CALL where the number or a type of the arguments differs from the signature's, without a
 * signature a size from that in a host image, or the block of `grid`, which may be NULL, from that
 * of a host image; KDL_OK also where neither is known. Where `grid` has no dynamic group
 * memory it gets that of the image's metadata. */
kdl_status cli_run_checked(kdl_library *lib, kdl_device *device, const char *kernel,
                           const kdl_select_opts *opts, kdl_launch_desc *grid,
                           const cli_run_arg *args, size_t count);

#endif
