/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Subprocesses, their output, and a folder for their files. */
#ifndef KDL_CC_JOB_PROCESS_H
#define KDL_CC_JOB_PROCESS_H

#include "support/base/string_list.h"

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>

/* How a process ended, and what it wrote. */
typedef struct cc_process_result {
  int code;            /* its exit code, or 256 + the signal that ended it */
  kdl_string output;   /* of standard output, unless it went to a file */
  kdl_string messages; /* of standard error */
} cc_process_result;

/* Runs a program and waits for it. Its standard output goes to `out_path`, which may be NULL. Other
 * output is collected in memory, so that a full disk loses nothing, and copied into the arena.
 * KDL_IO if the program cannot be started. */
kdl_status cc_run_process(kdl_arena *arena, const kdl_string_list *words, const char *out_path,
                          cc_process_result *out_result);

/* Writes "exit code 1" or "signal 11". */
enum { CC_EXIT_TEXT_SIZE = 32 };
const char *cc_format_exit(int code, char room[CC_EXIT_TEXT_SIZE]);

/* The last nonblank line of a text, in the arena; "" if there is none. */
const char *cc_last_line(kdl_arena *arena, kdl_string text);

/* Kills the running programs. May be called from a signal handler. */
void cc_kill_processes(void);

/* A folder for temporary files: a new one in TMPDIR, which temp_folder_remove
 * (tools/common/temp_folder.h) removes; or OUTPUT.temps, which stays. */
kdl_status cc_folder_create(kdl_arena *arena, const char *output, const char **out_path);

/* Reads a file as text into the arena. A missing file is empty. */
kdl_status cc_read_text_file(kdl_arena *arena, const char *path, kdl_string *out_text);

#endif
