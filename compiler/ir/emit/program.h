/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Runs other programs over memory files, so that nothing is left behind however this one ends. */
#ifndef KDL_COMPILER_IR_EMIT_PROGRAM_H
#define KDL_COMPILER_IR_EMIT_PROGRAM_H

#include "compiler/ir/linker/linker.h"
#include "compiler/toolchain/toolchain.h"

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>

/* A memory file, which a child opens as `path`. */
typedef struct ir_file {
  int fd;
  char path[32]; /* /proc/self/fd/N */
} ir_file;

kdl_status ir_file_create(const void *data, size_t size, ir_file *out_file);

/* The complete file, in memory that the caller frees. */
kdl_status ir_file_read(const ir_file *file, void **out_data, size_t *out_size);

/* Does nothing for a descriptor of -1. */
void ir_file_close(const ir_file *file);

typedef struct ir_program {
  char path[4096];
} ir_program;

/* Finds a tool; the result depends on every path that the search tries. */
bool ir_program_find(ir_linker *linker, kdl_tool tool, ir_program *out_program);

/* Runs a program to its end; `stdout_file` may be NULL. The error contains the first lines of its
 * standard error. */
kdl_status ir_program_run(const ir_program *program, const char *const *arguments,
                          const ir_file *stdout_file);

#endif
