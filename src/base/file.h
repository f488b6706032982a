/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Writing files so that nothing a user owns is lost, and reading and writing whole. */
#ifndef KDL_BASE_FILE_H
#define KDL_BASE_FILE_H

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>

/* Writes `size` bytes beside `path`, flushes them and renames the result over it. After any
 * failure, a full disk included, the old file is whole and nothing is left beside it. A symbolic
 * link is followed, so that the link stays; an existing file keeps its mode, and its owner and
 * group where the caller may set them. */
kdl_status kdl_file_save(const char *path, const void *data, size_t size);

/* The file that a path leads to: the end of a chain of links, or the path itself where nothing is
 * there yet. malloc'ed; NULL with errno for a link to nowhere, or out of memory. */
char *kdl_file_target(const char *path);

/* A file that is being written beside the one that it shall become. */
typedef struct kdl_file_draft {
  int fd;
  char *path;
  const char *shown; /* what messages call the file */
} kdl_file_draft;

/* kdl_file_save in steps. Keeping flushes, closes and renames to `name`, which is in the folder of
 * `target`; after that, and after a failure, nothing is to be dropped. */
kdl_status kdl_file_draft_begin(const char *target, const char *shown, kdl_file_draft *out_draft);
kdl_status kdl_file_draft_keep(kdl_file_draft *draft, const char *name);
void kdl_file_draft_drop(kdl_file_draft *draft);

/* Writes all of it at the descriptor's position; false with errno. Over RLIMIT_FSIZE that is EFBIG
 * and not the signal that would end the user's process. */
bool kdl_fd_write(int fd, const void *data, size_t size);

/* Reads up to `size` bytes, fewer only where the file ends; false with errno. */
bool kdl_fd_read(int fd, void *data, size_t size, size_t *out_size);

#endif
