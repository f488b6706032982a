/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Starts another program and waits for its end. */
#ifndef KDL_SUPPORT_SYSTEM_PROCESS_H
#define KDL_SUPPORT_SYSTEM_PROCESS_H

#include <kdl/kdl.h>

#include <stdbool.h>
#include <sys/types.h>

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
