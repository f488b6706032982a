/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Results on their way from a process that measured them to the one that asked for them. Both are
 * the same program, so that bytes go as they lie in memory. */
#ifndef KDL_BENCH_MEASURE_EXCHANGE_H
#define KDL_BENCH_MEASURE_EXCHANGE_H

#include "results.h"

/* Everything but the machine, of which only the CPU that was pinned to. False where it cannot be
 * written. */
bool bench_results_send(const bench_results *results, int to);

/* Instead: why there are none. */
bool bench_error_send(const char *words, int to);

typedef enum bench_received {
  BENCH_RECEIVED,
  BENCH_RECEIVED_ERROR,   /* `error` says why there is nothing */
  BENCH_RECEIVED_NOTHING, /* the other side went away */
} bench_received;

enum { BENCH_ERROR_SIZE = 512 };

/* Adds what comes to what there is. */
bench_received bench_results_receive(bench_results *results, int from,
                                     char error[BENCH_ERROR_SIZE]);

#endif
