/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * `kdl run --sanitize`: the launch in a process of its own, where Oclgrind is the only OpenCL
 * driver. It interprets the kernel, and notes races, barriers that not all work-items reach and
 * accesses beyond buffers, with the lines that #line gives in the image.
 */
#ifndef KDL_TOOL_RUN_SANITIZE_H
#define KDL_TOOL_RUN_SANITIZE_H

#include "base/arena.h"

#include <kdl/kdl.h>

#include <stdbool.h>

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

#endif
