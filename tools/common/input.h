/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Files to read; `-` is standard input. Pipes are read into memory, regular files are mapped. */
#ifndef KDL_TOOLS_COMMON_INPUT_H
#define KDL_TOOLS_COMMON_INPUT_H

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>

typedef struct cli_bytes {
  const void *data;
  size_t size;
  void *owned; /* a mapping, or malloc'ed */
  bool mapped;
} cli_bytes;

/* A complete file. The caller frees *out_bytes. */
kdl_status cli_bytes_read(const char *path, cli_bytes *out_bytes);
/* The same for an open descriptor, which stays open. */
kdl_status cli_bytes_read_open(const char *path, int fd, cli_bytes *out_bytes);
/* The same for regular files only: never blocks on a pipe. */
kdl_status cli_bytes_read_file(const char *path, cli_bytes *out_bytes);
void cli_bytes_free(cli_bytes *bytes);

typedef struct cli_input {
  kdl_library *lib;
  const char *name; /* for messages */
  cli_bytes bytes;  /* of a pipe */
} cli_input;

/* Opens a library. The caller closes *out_input. */
kdl_status cli_input_open(const char *path, cli_input *out_input);
/* The same for bytes that were read; *out_input takes them over from *bytes. */
kdl_status cli_input_take(const char *path, cli_bytes *bytes, cli_input *out_input);
void cli_input_close(cli_input *input);

/* KDL_NO_MATCH with similar names where no image has the kernel. An image that does not list its
 * kernels may have it. */
kdl_status cli_kernel_check(const cli_input *input, const char *kernel);

#endif
