/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Writing files without losing the user's data, and complete reads and writes. */
#ifndef KDL_SUPPORT_SYSTEM_FILE_H
#define KDL_SUPPORT_SYSTEM_FILE_H

#include <kdl/kdl.h>

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <unistd.h>

/* Writes a temporary file next to `path`, flushes it, renames it over `path` and flushes the
 * folder, so that the result survives a power failure. After any earlier failure, such as a full
 * disk, the old file is intact and no temporary is left. That also holds when the process is
 * killed, where the file system has unnamed files. Symbolic links are followed as by
 * kdl_file_resolve, and stay. An existing file keeps its mode without set-id bits, and its owner
 * and group where the caller may set them. */
kdl_status kdl_file_save(const char *path, const void *data, size_t size);

/* The same, where `write` writes to the descriptor. If it fails, the old file is intact. */
kdl_status kdl_file_save_by(const char *path, kdl_status (*write)(void *user, int fd), void *user);

/* The path without links, whether it exists or not (support/system/path_resolve.h). Links are
 * followed as Linux does with fs.protected_symlinks. A link, pipe or other special file at the end,
 * in a folder that every user may write to, is refused unless it belongs to the user or to the
 * folder's owner: another user may have planted it. */
kdl_status kdl_file_resolve(const char *path, char out_end[PATH_MAX]);

/* The same for a folder that will be created; its name may end in '/'. Messages name `step` as what
 * failed. */
kdl_status kdl_folder_resolve(const char *path, const char *step, char out_end[PATH_MAX]);

/* Opens the resolved file for writing, and nothing that replaced it since. It may have no name:
 * /dev/stdout can lead to "pipe:[7]". */
kdl_status kdl_file_open(const char *path, int flags, int *out_fd);

/* The same, malloc'ed, for a file that will be written: KDL_IO for a dangling link. */
kdl_status kdl_file_target(const char *path, char **out_target);

/* A temporary file in the folder of the file that it will replace. */
typedef struct kdl_temp_file {
  int fd;
  int folder;        /* in which it is */
  char *name;        /* NULL: linked only when complete */
  const char *shown; /* what messages call the file */
} kdl_temp_file;

/* kdl_file_save in steps. kdl_temp_file_keep flushes, closes and renames to the last part of
 * `path`, in the folder of `target`. After it, successful or not, do not call
 * kdl_temp_file_discard. */
kdl_status kdl_temp_file_create(const char *target, const char *shown, kdl_temp_file *out_temp);
kdl_status kdl_temp_file_keep(kdl_temp_file *temp, const char *path);
void kdl_temp_file_discard(kdl_temp_file *temp);

/* Makes the name of a renamed file or folder durable, as saving does. */
kdl_status kdl_file_flush_name(const char *path);

/* Opens a file or pipe that is read to its end. KDL_BAD_FILE for input that may never end:
 * character devices other than terminals and /dev/null, and a pipe without a writer after a
 * second. */
kdl_status kdl_input_open(const char *path, int *out_fd);

/* The same check for devices, on an open descriptor. */
kdl_status kdl_input_check(int fd, const char *shown);

/* Writes all bytes at the descriptor's position; false with errno. Over RLIMIT_FSIZE it fails with
 * EFBIG, without the signal that would kill the user's process. */
bool kdl_fd_write(int fd, const void *data, size_t size);

/* The failure to report after kdl_fd_write. If the bytes are in a mapped file, reading that file
 * may be what failed. */
kdl_status kdl_fd_write_failed(const char *path);

/* Reads up to `size` bytes, fewer only where the file ends; false with errno. */
bool kdl_fd_read(int fd, void *data, size_t size, size_t *out_size);

/* ------------------------------------------------------------------------------------------ */
/* Files in memory                                                                              */

/* Files in memory, without a name: nothing is written to a disk or left behind. */
typedef enum kdl_memory_file_use {
  KDL_MEMORY_FILE_DATA,      /* never executed */
  KDL_MEMORY_FILE_CODE,      /* mapped to be executed */
  KDL_MEMORY_FILE_INHERITED, /* by a subprocess, which may use it for either */
} kdl_memory_file_use;

/* A descriptor positioned after the bytes written; -1 with errno. `name` appears in /proc. */
int kdl_memory_file_create(const char *name, kdl_memory_file_use use, const void *data,
                           size_t size);

/* Reads the complete file of at most `most` bytes: malloc'ed, with a NUL after it. Messages name
 * `writer`, the program that wrote it. */
kdl_status kdl_memory_file_read(int fd, const char *writer, uint64_t most, void **out_data,
                                size_t *out_size);

/* RLIMIT_FSIZE (ulimit -f): who writes beyond it gets SIGXFSZ, whose default is to kill. */

/* Whether `size` more bytes, from the position that `whence` names in lseek, are beyond it. */
static inline bool kdl_fd_is_over_limit(int fd, int whence, uint64_t size) {
  struct rlimit limit;
  off_t at = lseek(fd, 0, whence);
  return at >= 0 && getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
         (uint64_t)at + size > limit.rlim_cur;
}

#endif
