/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What `kdl run` is made of: the check of its arguments, Oclgrind, and recorded sequences. */
#ifndef KDL_TOOL_RUN_H
#define KDL_TOOL_RUN_H

#include "lib/inspect/metadata.h"
#include "support/base/arena.h"
#include "tools/common/options.h"
#include "tools/common/run_args.h"

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>

/* ------------------------------------------------------------------------------------------ */
/* Arguments against what the file says that the kernel takes, before any of its code is loaded */

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
kdl_status cli_run_check_args(kdl_library *lib, kdl_device *device, const char *kernel,
                              const kdl_select_opts *opts, kdl_launch_desc *grid,
                              const cli_run_arg *args, size_t count);

/* ------------------------------------------------------------------------------------------ */
/* --sanitize: the launch in a process of its own, where Oclgrind is the only OpenCL driver. It
 * interprets the kernel, and notes races, barriers that not all work-items reach and accesses
 * beyond buffers, with the lines that #line gives in the image.                                */

/* The device that the kernel is to be launched on there. */
#define CLI_SANITIZER_DEVICE "opencl:0"

typedef struct cli_sanitizer {
  kdl_arena arena;
  bool is_child; /* this is the process that launches */
  const char *log;
  int code; /* the other's exit code, where it has ended */
} cli_sanitizer;

/* Splits the process in two. In the first it returns when the second has ended. KDL_UNSUPPORTED
 * where there is no Oclgrind. */
kdl_status cli_sanitizer_begin(cli_sanitizer *sanitizer);

/* In the second: ends it. Oclgrind is not asked to clean up, which it does not survive after an
 * error. */
_Noreturn void cli_sanitizer_leave(int code);

/* In the first: prints what was found, each place once. *out_count is how many. */
kdl_status cli_sanitizer_report(cli_sanitizer *sanitizer, size_t *out_count);

void cli_sanitizer_end(cli_sanitizer *sanitizer);

/* ------------------------------------------------------------------------------------------ */

/* --sequence: replays a recorded sequence, its slots bound from the command line. `repeat` is how
 * often, `tolerance` that of --check, NULL for the types' own. */
kdl_status cli_run_sequence(const cli_args *args, size_t repeat, const cli_tolerance *tolerance);

#endif
