/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Runs other programs over memory files, so that nothing is left behind however this one ends. */
#ifndef KDL_LD_PROGRAM_H
#define KDL_LD_PROGRAM_H

#include "compiler/toolchain/toolchain.h"
#include "ld/linker/linker.h"

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>

/* A memory file, which a child opens as `path`. */
typedef struct ld_file {
  int fd;
  char path[32]; /* /proc/self/fd/N */
} ld_file;

kdl_status ld_file_create(const void *data, size_t size, ld_file *out_file);

/* The complete file, in memory that the caller frees. */
kdl_status ld_file_read(const ld_file *file, void **out_data, size_t *out_size);

/* Does nothing for a descriptor of -1. */
void ld_file_close(const ld_file *file);

typedef struct ld_program {
  char path[4096];
} ld_program;

/* Finds a tool; the result depends on every path that the search tries. */
bool ld_program_find(ld_linker *linker, kdl_tool tool, ld_program *out_program);

/* Runs a program to its end; `stdout_file` may be NULL. The error contains the first lines of its
 * standard error. */
kdl_status ld_program_run(const ld_program *program, const char *const *arguments,
                          const ld_file *stdout_file);

#endif
