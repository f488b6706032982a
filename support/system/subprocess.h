/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Runs another program for one piece of work, with limits on time, memory and file size. It has its
 * own process group, so that it can be killed with everything it started. It gets the given open
 * files and no others; its standard error is captured.
 */
#ifndef KDL_SUPPORT_SYSTEM_SUBPROCESS_H
#define KDL_SUPPORT_SYSTEM_SUBPROCESS_H

#include <kdl/kdl.h>

#include <stdbool.h>
#include <sys/types.h>

typedef struct kdl_subprocess {
  const char *path;
  const char *const *arguments; /* argv, NULL-terminated */
  const char *const *environment;
  const int *files; /* become its descriptors 3, 4, ...: "/proc/self/fd/3" */
  size_t file_count;
  int64_t milliseconds;  /* killed after that time */
  uint64_t memory;       /* bytes of address space per process; 0: unlimited */
  uint64_t largest_file; /* bytes */
  bool awaits_limits;    /* waits for a byte on standard input before it starts others */
} kdl_subprocess;

typedef enum kdl_subprocess_end {
  KDL_SUBPROCESS_EXITED,
  KDL_SUBPROCESS_KILLED,    /* by a signal that we did not send */
  KDL_SUBPROCESS_OVERRAN,   /* its time */
  KDL_SUBPROCESS_CANCELLED, /* kdl_subprocess_cancel_on */
  KDL_SUBPROCESS_UNKNOWN,   /* the caller ignores SIGCHLD, or reaps children that are not its own */
} kdl_subprocess_end;

typedef struct kdl_subprocess_outcome {
  kdl_subprocess_end end;
  int code; /* exit status or signal */
  size_t used;
  char words[8192]; /* the beginning of its standard error, with a NUL */
} kdl_subprocess_outcome;

/* Programs that this thread runs are killed as soon as the descriptor can be read; -1: never. Other
 * long waits of the thread end early too, if they call kdl_subprocess_is_cancelled. */
void kdl_subprocess_cancel_on(int fd);
bool kdl_subprocess_is_cancelled(void);

/* Returns when the program has ended. Fails where it cannot be started. */
kdl_status kdl_subprocess_run(const kdl_subprocess *subprocess,
                              kdl_subprocess_outcome *out_outcome);

/* ------------------------------------------------------------------------------------------ */
/* Starting another program, and waiting for its end                                            */

typedef struct kdl_process {
  const char *path;
  const char *const *arguments;   /* argv, NULL-terminated */
  const char *const *environment; /* NULL: ours */
  int standard[3];                /* its input, output and errors; -1: /dev/null */
  const int *files;               /* become its descriptors 3, 4, ...: "/proc/self/fd/3" */
  size_t file_count;
  bool is_isolated; /* own process group, default signals, no other descriptor */
} kdl_process;

/* 0, or an errno. */
int kdl_process_start(const kdl_process *process, pid_t *out_child);

/* Waits for the end. *out_state is as from waitpid. 0, or an errno. */
int kdl_process_wait(pid_t child, int *out_state);

#endif
