/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Files to write; `-` is standard output. */
#ifndef KDL_TOOLS_COMMON_OUTPUT_H
#define KDL_TOOLS_COMMON_OUTPUT_H

#include "tools/common/options.h"

#include <kdl/kdl.h>

#include <stddef.h>

/* Files that no output of this process may replace: inputs, by device and inode. `-` is standard
 * input. A command that replaces its input does not call it. */
void cli_output_protect(const char *const *paths, size_t count);

/* Writes all bytes: to a regular file by a temporary and a rename, to a pipe or device directly. */
kdl_status cli_output_save(const char *path, const void *data, size_t size);

/* The same with the contents of a memory file. */
kdl_status cli_output_save_from(const char *path, int fd);

/* The same, where `write` writes to a descriptor. */
kdl_status cli_output_save_by(const char *path, kdl_status (*write)(void *user, int fd),
                              void *user);

/* Fails where such a file cannot be created, as far as that is known in advance: for commands that
 * take long. */
kdl_status cli_output_check(const char *path);

/* Saves what `print` prints to standard output. */
typedef kdl_status cli_print(void *user);
kdl_status cli_output_capture(const char *path, cli_print *print, void *user);

/* Saves the output of a writer. */
kdl_status cli_output_save_writer(const char *path, kdl_writer *writer);

/* Which of the options, a NULL-terminated list, writes to standard output; nothing else may then.
 * *out_option is NULL where none does; KDL_BAD_CALL where two do, or write the same file. */
kdl_status cli_output_on_stdout(const cli_args *args, const char *const *options,
                                const char **out_option);

/* Flushes standard output; KDL_IO where output was lost. */
kdl_status cli_output_flush(void);

#endif
