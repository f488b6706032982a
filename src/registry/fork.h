/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What becomes of devices in the child of a fork. Drivers do not survive one: a call would hang or
 * corrupt the parent's device. So the entries of bound kernels are replaced in the child, at no
 * cost to the launches of anybody else, and every other call asks kdl_runtime_usable. system/lock.h
 * sees to what is libkdl's own.
 */
#ifndef KDL_REGISTRY_FORK_H
#define KDL_REGISTRY_FORK_H

#include <kdl/kdl.h>

#include <stdbool.h>

/* Starts watching; the first call counts. */
void kdl_fork_watch(void);

/* A link of a kernel whose entry must change in the child. All zero at first. */
typedef struct kdl_fork_link {
  struct kdl_fork_link *next, *previous;
  bool is_added;
  void (*disable)(struct kdl_fork_link *link);
} kdl_fork_link;

/* Once added it stays; removing what was not added does nothing. */
void kdl_fork_add(kdl_fork_link *link);
void kdl_fork_remove(kdl_fork_link *link);

/* Records that `device`, which was "opened" or "found" before, cannot be used after a fork; returns
 * KDL_DEVICE. */
kdl_status kdl_fail_forked(const char *device, const char *what);

#endif
