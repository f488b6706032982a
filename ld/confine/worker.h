/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A child process reads the bitcode. The parent keeps its rights, reads nothing, waits, and writes
 * the output files. Where the system allows it, the child is the second process of a new PID
 * namespace: it sees no other process, and nothing that it starts outlives it.
 */
#ifndef KDL_LD_CONFINE_WORKER_H
#define KDL_LD_CONFINE_WORKER_H

#include <kdl/kdl.h>

#include <stdbool.h>

/* The isolation of this process. */
typedef struct ld_worker {
  bool has_pids;  /* it has a PID namespace */
  bool has_users; /* it has a user namespace, in which it is nobody */
  int problem;    /* errno that prevented a PID namespace; 0 where none was wanted */
} ld_worker;

/* Runs `work` in the child and returns its exit status. Where the child dies of a signal, this
 * process kills itself with the same one. `is_apart` asks for the namespace. */
kdl_status ld_worker_run(bool is_apart, int (*work)(void *user), void *user, int *out_code);

/* In the child. */
ld_worker ld_worker_here(void);

/* An output file. The child may not write files: it writes to a memory file, and the parent saves
 * that. */
typedef struct ld_held_file {
  const char *path; /* the user's path; NULL: the file is written directly */
  int fd;
  char name[32];
} ld_held_file;

/* Replaces *path by the name of a memory file. Inherited descriptors ("/proc/self/fd/5") and NULL
 * are unchanged. */
kdl_status ld_held_file_make(const char **path, ld_held_file *out_file);

/* In the child: writes an output file by its name. */
kdl_status ld_held_file_write(const char *name, const void *data, size_t size);

/* In the parent: saves the file unless it is empty, and frees it. */
kdl_status ld_held_file_save(ld_held_file *file);
void ld_held_file_drop(ld_held_file *file);

#endif
