/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Parts of `kdl run`: argument checks, Oclgrind, and recorded sequences. */
#ifndef KDL_TOOLS_KDL_COMMANDS_RUN_H
#define KDL_TOOLS_KDL_COMMANDS_RUN_H

#include "lib/inspect/metadata.h"
#include "support/base/arena.h"
#include "tools/common/options.h"
#include "tools/common/run_args.h"

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>

/* ------------------------------------------------------------------------------------------ */
/* Checks of arguments, before any code of the kernel is loaded                                 */

/* Whether an argument has a signature's type. Integers of one size are interchangeable, except
 * for a negative number for an unsigned parameter. Types that --arg cannot name are compared by
 * size. */
bool cli_run_type_fits(const kdl_param *expected, const cli_run_arg *arg);

/* The name of an argument in messages, in `room`: "buf:f32", "a negative i32", "16 bytes",
 * "f64". */
enum { CLI_RUN_TYPE_ROOM = 32 };
const char *cli_run_type_words(const cli_run_arg *arg, char room[CLI_RUN_TYPE_ROOM]);

/* Compares the arguments with the signature or, without one, their sizes with a host image; and the
 * block of `grid`, which may be NULL, with a host image. KDL_BAD_CALL where they differ; KDL_OK
 * also where nothing is known. If `grid` has no dynamic group memory, it gets that of the image's
 * metadata. */
kdl_status cli_run_check_args(kdl_library *lib, kdl_device *device, const char *kernel,
                              const kdl_select_opts *opts, kdl_launch_desc *grid,
                              const cli_run_arg *args, size_t count);

/* ------------------------------------------------------------------------------------------ */
/* --sanitize: launches in a child process, where Oclgrind is the only OpenCL driver. It interprets
 * the kernel, and reports races, barriers that not all work-items reach, and accesses beyond
 * buffers, with line numbers from #line in the image.                                          */

/* The device for the launch in that process. */
#define CLI_SANITIZER_DEVICE "opencl:0"

typedef struct cli_sanitizer {
  kdl_arena arena;
  bool is_child; /* this is the launching process */
  const char *log;
  int code; /* exit code of the child, once it has ended */
} cli_sanitizer;

/* Forks. In the parent it returns when the child has ended. KDL_UNSUPPORTED without Oclgrind. */
kdl_status cli_sanitizer_begin(cli_sanitizer *sanitizer);

/* In the child: ends it without cleanup, in which Oclgrind crashes after an error. */
_Noreturn void cli_sanitizer_leave(int code);

/* In the parent: prints the findings, each location once. *out_count is how many. */
kdl_status cli_sanitizer_report(cli_sanitizer *sanitizer, size_t *out_count);

void cli_sanitizer_end(cli_sanitizer *sanitizer);

/* ------------------------------------------------------------------------------------------ */

/* From now on, where the device is a CPU, a crash prints a line that names the kernel. The process
 * still ends by the signal. */
void cli_run_explain_crashes(kdl_device *device, const char *kernel);

/* A queue with the limit of --threads. */
kdl_status cli_run_queue(const cli_args *args, kdl_device *device, kdl_queue **out_queue);

/* --sequence: replays a recorded sequence `repeat` times, with slots bound from the command line.
 * `tolerance` is that of --check, NULL for the types' defaults. */
kdl_status cli_run_sequence(const cli_args *args, size_t repeat, const cli_tolerance *tolerance);

#endif
