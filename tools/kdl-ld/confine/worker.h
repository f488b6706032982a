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

#endif
