/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Other programs: what they write, and a folder for their files. */
#ifndef KDL_TOOL_CC_PROCESS_H
#define KDL_TOOL_CC_PROCESS_H

#include "support/base/string_list.h"

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>

/* How a program ended, and what it wrote. */
typedef struct cc_process_result {
  int code;            /* its exit code, or 256 and the signal that ended it */
  kdl_string output;   /* on standard output, where that went to no file */
  kdl_string messages; /* on standard error */
} cc_process_result;

/* Runs a program and waits for it. Its standard output goes to `out_path`, which may be NULL. What
 * it writes otherwise is held in memory, where a full disk takes nothing away, and then in the
 * arena. KDL_IO where it cannot be started. */
kdl_status cc_run_process(kdl_arena *arena, const kdl_string_list *words, const char *out_path,
                          cc_process_result *out_result);

/* "exit code 1", or "signal 11", into `room`. */
enum { CC_EXIT_TEXT_SIZE = 32 };
const char *cc_format_exit(int code, char room[CC_EXIT_TEXT_SIZE]);

/* The last line of a text that is not blank, in the arena; "" where there is none. */
const char *cc_last_line(kdl_arena *arena, kdl_string text);

/* Ends the programs that are running now. May be called from a signal handler. */
void cc_kill_processes(void);

/* The path of a program: as it is where it has a '/', else the first on PATH. NULL where there is
 * none. In the arena. */
const char *cc_find_program(kdl_arena *arena, const char *name);

/* A folder for temporary files: a new one below TMPDIR, which temp_folder_remove
 * (tools/common/temp_folder.h) removes; or OUTPUT.temps for those that stay. */
kdl_status cc_folder_create(kdl_arena *arena, const char *output, const char **out_path);

/* The whole of a file as text, in the arena. A file that is not there is empty. */
kdl_status cc_read_text_file(kdl_arena *arena, const char *path, kdl_string *out_text);

#endif
