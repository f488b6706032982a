/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Files without a name, in memory: nothing is written to a disk, and nothing is left behind. */
#ifndef KDL_SYSTEM_MEMORY_FILE_H
#define KDL_SYSTEM_MEMORY_FILE_H

#include <kdl/kdl.h>

#include <stddef.h>

typedef enum kdl_memory_file_use {
  KDL_MEMORY_FILE_DATA,      /* never executed */
  KDL_MEMORY_FILE_CODE,      /* mapped to be executed */
  KDL_MEMORY_FILE_INHERITED, /* by programs that are started, which may do what they want with it */
} kdl_memory_file_use;

/* A descriptor that stands behind the bytes written; -1 with errno. `name` is for /proc. */
int kdl_memory_file_make(const char *name, kdl_memory_file_use use, const void *data, size_t size);

/* The whole file, which may be of at most `most` bytes: malloc'ed, a NUL follows. `writer` is the
 * program that wrote it, for messages. */
kdl_status kdl_memory_file_read(int fd, const char *writer, uint64_t most, void **out_data,
                                size_t *out_size);

#endif
