/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Another program, started for one piece of work, with limits on time, memory and what it may
 * write; in a process group of its own, so that it goes with everything it started. It is given
 * open files and inherits no other; what it says on standard error is kept.
 */
#ifndef KDL_SYSTEM_SUBPROCESS_H
#define KDL_SYSTEM_SUBPROCESS_H

#include <kdl/kdl.h>

#include <stdbool.h>

typedef struct kdl_subprocess {
  const char *path;
  const char *const *arguments; /* the first is its name; NULL ends them */
  const char *const *environment;
  const int *files; /* become its descriptors 3, 4, ...: "/proc/self/fd/3" */
  size_t file_count;
  int64_t milliseconds;  /* it is killed after that */
  uint64_t memory;       /* bytes of address space, of each process; 0: as much as there is */
  uint64_t largest_file; /* bytes */
  bool awaits_limits;    /* reads a byte from its standard input before it starts others */
} kdl_subprocess;

typedef enum kdl_subprocess_end {
  KDL_SUBPROCESS_EXITED,
  KDL_SUBPROCESS_KILLED,  /* by a signal that was not ours */
  KDL_SUBPROCESS_OVERRAN, /* the time */
  KDL_SUBPROCESS_UNKNOWN, /* the program ignores SIGCHLD, or waits for children that are not its own
                           */
} kdl_subprocess_end;

typedef struct kdl_subprocess_outcome {
  kdl_subprocess_end end;
  int code; /* exit status or signal */
  size_t used;
  char words[8192]; /* the first it said on standard error, with a NUL */
} kdl_subprocess_outcome;

/* Returns when it has ended. Fails where it cannot be started. */
kdl_status kdl_subprocess_run(const kdl_subprocess *subprocess,
                              kdl_subprocess_outcome *out_outcome);

#endif
