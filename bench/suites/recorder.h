/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The clock between the layers: what runs while a layer is the innermost one counts as its own. */
#ifndef KDL_BENCH_SUITES_RECORDER_H
#define KDL_BENCH_SUITES_RECORDER_H

#include "support/base/trace_phase.h"

typedef struct phase_times {
  double ns[KDL_TRACE_PHASE_COUNT];
  double marks[KDL_TRACE_PHASE_COUNT]; /* readings of the clock that the time holds */
} phase_times;

/* Between the two, libkdl's own marks are listened to as well. One recording at a time; the time
 * outside every layer is lost. */
void recorder_begin(phase_times *times);
void recorder_end(void);

/* For steps that the caller runs. */
void recorder_enter(kdl_trace_phase phase);
void recorder_exit(void);

#endif
