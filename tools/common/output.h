/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Files to write; `-` is standard output. */
#ifndef KDL_TOOL_OUTPUT_H
#define KDL_TOOL_OUTPUT_H

#include "tools/common/options.h"

#include <kdl/kdl.h>

#include <stddef.h>

/* Writes all of it: a regular file beside and renamed, a pipe or a device directly. */
kdl_status cli_output_save(const char *path, const void *data, size_t size);

/* The same with what a file in memory holds. */
kdl_status cli_output_save_from(const char *path, int fd);

/* The same with what `write` writes to a descriptor. */
kdl_status cli_output_save_by(const char *path, kdl_status (*write)(void *user, int fd),
                              void *user);

/* Whether such a file can be made, as far as that is known before: for commands that take long. */
kdl_status cli_output_check(const char *path);

/* Saves what `print` prints on standard output. */
typedef kdl_status cli_print(void *user);
kdl_status cli_output_capture(const char *path, cli_print *print, void *user);

/* Lays out what a writer has collected, and saves it. */
kdl_status cli_output_save_writer(const char *path, kdl_writer *writer);

/* Which of the options, whose list ends with NULL, writes to standard output: nothing else does
 * then. *out_option is NULL where none does; KDL_BAD_CALL where two do. */
kdl_status cli_output_on_stdout(const cli_args *args, const char *const *options,
                                const char **out_option);

/* Flushes standard output; KDL_IO where something printed did not arrive. */
kdl_status cli_output_flush(void);

#endif
