/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Writing files so that nothing a user owns is lost, and reading and writing whole. */
#ifndef KDL_SYSTEM_FILE_H
#define KDL_SYSTEM_FILE_H

#include <kdl/kdl.h>

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* Writes `size` bytes beside `path`, flushes them, renames the result over it and flushes the
 * folder, so that what was saved is there after a power failure. After any failure before that, a
 * full disk included, the old file is whole and nothing is left beside it; also when the process is
 * killed, where the file system has files without a name. A symbolic link is followed as
 * kdl_file_resolve does, so that the link stays; an existing file keeps its mode without set-id
 * bits, and its owner and group where the caller may set them. */
kdl_status kdl_file_save(const char *path, const void *data, size_t size);

/* The same with what `write` writes to the descriptor; where it fails, the old file is whole. */
kdl_status kdl_file_save_by(const char *path, kdl_status (*write)(void *user, int fd), void *user);

/* The path without links, whether it is there or not (support/system/path_resolve.h). Links on the
 * way are followed as Linux does with fs.protected_symlinks; a link, pipe or the like at the end,
 * in a folder that every user may write to, is refused unless it is the user's own or of the
 * folder's owner: another user may have put it there. */
kdl_status kdl_file_resolve(const char *path, char out_end[PATH_MAX]);

/* The same of a folder that is going to be made, behind whose name there may be a '/'. `step` is
 * what cannot be done, for messages. */
kdl_status kdl_folder_resolve(const char *path, const char *step, char out_end[PATH_MAX]);

/* Opens that end for writing, and nothing that has taken its place in between; it may be something
 * without a name, as /dev/stdout leads to "pipe:[7]". */
kdl_status kdl_file_open(const char *path, int flags, int *out_fd);

/* The same, malloc'ed, for a file that is to be written: KDL_IO for a link to nowhere. */
kdl_status kdl_file_target(const char *path, char **out_target);

/* A file that is being written beside the one that it shall become. */
typedef struct kdl_temp_file {
  int fd;
  int folder;        /* that it is in */
  char *name;        /* NULL: it gets one when it is whole */
  const char *shown; /* what messages call the file */
} kdl_temp_file;

/* kdl_file_save in steps. Keeping flushes, closes and renames to the last part of `path`, in the
 * folder of `target`; after that, and after a failure, nothing is to be dropped. */
kdl_status kdl_temp_file_create(const char *target, const char *shown, kdl_temp_file *out_temp);
kdl_status kdl_temp_file_keep(kdl_temp_file *temp, const char *path);
void kdl_temp_file_discard(kdl_temp_file *temp);

/* Has the name of a file or folder that was renamed outlast a power failure, as saving does. */
kdl_status kdl_file_flush_name(const char *path);

/* Opens a file or pipe to be read to its end. What need not end is refused with KDL_BAD_FILE:
 * character devices other than terminals and /dev/null, and a pipe that nothing has begun to write
 * to within a second. */
kdl_status kdl_input_open(const char *path, int *out_fd);

/* The same of devices, of what is open already. */
kdl_status kdl_input_check(int fd, const char *shown);

/* Writes all of it at the descriptor's position; false with errno. Over RLIMIT_FSIZE that is EFBIG
 * and not the signal that would end the user's process. */
bool kdl_fd_write(int fd, const void *data, size_t size);

/* What to report after kdl_fd_write: of bytes that lie in a mapped file, that this may be what
 * failed. */
kdl_status kdl_fd_write_failed(const char *path);

/* Reads up to `size` bytes, fewer only where the file ends; false with errno. */
bool kdl_fd_read(int fd, void *data, size_t size, size_t *out_size);

/* ------------------------------------------------------------------------------------------ */
/* Files in memory                                                                              */

/* Without a name: nothing is written to a disk, and nothing is left behind. */
typedef enum kdl_memory_file_use {
  KDL_MEMORY_FILE_DATA,      /* never executed */
  KDL_MEMORY_FILE_CODE,      /* mapped to be executed */
  KDL_MEMORY_FILE_INHERITED, /* by programs that are started, which may do what they want with it */
} kdl_memory_file_use;

/* A descriptor that stands behind the bytes written; -1 with errno. `name` is for /proc. */
int kdl_memory_file_create(const char *name, kdl_memory_file_use use, const void *data,
                           size_t size);

/* The whole file, which may be of at most `most` bytes: malloc'ed, a NUL follows. `writer` is the
 * program that wrote it, for messages. */
kdl_status kdl_memory_file_read(int fd, const char *writer, uint64_t most, void **out_data,
                                size_t *out_size);

#endif
