/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* This program once more, exec'ed, for what must not be measured in a process that did other things
 * before. It tells its parent what it found through a pipe. */
#ifndef KDL_BENCH_SUITES_PROCESS_H
#define KDL_BENCH_SUITES_PROCESS_H

#include "measure/exchange.h"

#include <kdl/kdl.h>

#include <sys/types.h>

typedef struct process {
  pid_t id;
  int from;
  int to; /* its standard input, where it was started to be talked to; else -1 */
} process;

/* Before any driver was opened: processes start with the environment as it is now, as from a shell,
 * and not with what drivers put into it. */
void process_save_environment(void);

/* Starts `kdl bench child WORDS...`, NULL behind the last. False, with peer_error(), where that
 * fails. */
bool process_start(const char *const words[], process *out_process);

/* The same with settings ("NAME=value", NULL behind the last) before those of the environment, and
 * with an input. */
bool process_start_interactive(const char *const words[], const char *const settings[],
                               process *out_process);

/* Waits for its end. False, with peer_error(), where it died. */
bool process_finish(process *what);

/* Likewise, and adds the results that it sends. */
kdl_status process_collect_results(const char *const words[], bench_results *results);

/* In the process: where to tell. What libraries print goes to standard error from then on. */
int process_result_fd(void);

#endif
