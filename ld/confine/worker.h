/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The process that reads bitcode is a child of the one that was started: that one keeps its rights,
 * reads nothing, waits, and writes the files that come out. The child is the second process of a
 * PID namespace, where the system lets one be made, so that it sees no other process and nothing
 * that it starts outlives it.
 */
#ifndef KDL_LD_WORKER_H
#define KDL_LD_WORKER_H

#include <kdl/kdl.h>

#include <stdbool.h>

/* Where this process works. */
typedef struct ld_worker {
  bool has_pids;  /* its PID namespace is its own */
  bool has_users; /* its user namespace too, in which it is nobody */
  int problem;    /* errno of what kept it from a PID namespace; 0 where none was wanted */
} ld_worker;

/* Runs `work` in the child, whose exit status it returns; a child that dies of a signal is followed
 * by this process. `is_apart` asks for the namespace. */
kdl_status ld_worker_run(bool is_apart, int (*work)(void *user), void *user, int *out_code);

/* In the child. */
ld_worker ld_worker_here(void);

/* A file that kdl-ld was asked to write. The child may write to none: it writes to one in memory,
 * and the process that was started saves that. */
typedef struct ld_held_file {
  const char *path; /* where it shall be; NULL: it is not held */
  int fd;
  char name[32];
} ld_held_file;

/* Puts the name of a file in memory in the place of *path. Files that are open already
 * ("/proc/self/fd/5") and NULL stay. */
kdl_status ld_held_file_make(const char **path, ld_held_file *out_file);

/* In the child: to what came out of it. */
kdl_status ld_held_file_write(const char *name, const void *data, size_t size);

/* In the process that was started. Saves nothing where nothing was written, and frees it. */
kdl_status ld_held_file_save(ld_held_file *file);
void ld_held_file_drop(ld_held_file *file);

#endif
