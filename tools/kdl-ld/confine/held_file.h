/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A file that kdl-ld was asked to write. The process that reads bitcode may write to none: it
 * writes to one in memory, and the one that was started saves that. */
#ifndef KDL_LD_HELD_FILE_H
#define KDL_LD_HELD_FILE_H

#include <kdl/kdl.h>

typedef struct ld_held_file {
  const char *path; /* where it shall be; NULL: it is not held */
  int fd;
  char name[32];
} ld_held_file;

/* Puts the name of a file in memory in the place of *path. Files that are open already
 * ("/proc/self/fd/5") and NULL stay. */
kdl_status ld_held_file_make(const char **path, ld_held_file *out_file);

/* In the process that works: to what came out of it. */
kdl_status ld_held_file_write(const char *name, const void *data, size_t size);

/* In the one that was started. Saves nothing where nothing was written, and frees it. */
kdl_status ld_held_file_save(ld_held_file *file);
void ld_held_file_drop(ld_held_file *file);

#endif
