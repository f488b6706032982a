/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The cases on CUDA, for the suite, and for a test that counts what each of them calls. */
#ifndef KDL_BENCH_SUITES_SEQUENCE_CUDA_GRAPH_H
#define KDL_BENCH_SUITES_SEQUENCE_CUDA_GRAPH_H

#include "sequence.h"

/* Those of the driver alone follow what they are compared with. */
enum {
  SEQUENCE_SAME,
  SEQUENCE_RAW_SAME,
  SEQUENCE_ONE,
  SEQUENCE_RAW_ONE,
  SEQUENCE_EVERY,
  SEQUENCE_RAW_EVERY,
  SEQUENCE_RAW_CAPTURED,
  SEQUENCE_LAUNCHES,
  SEQUENCE_RAW_LAUNCHES,
  SEQUENCE_MAKE,
  SEQUENCE_RAW_MAKE,
  SEQUENCE_CASES
};

enum { SEQUENCE_RAWS = 4 };

/* A graph that a program made without libkdl. */
typedef struct sequence_raw {
  const sequence_subject *subject;
  void *stream, *function;
  void *graph, *instance;
  void **nodes;
  unsigned turn;
} sequence_raw;

typedef struct sequence_cuda {
  sequence_subject *subject;
  void **nodes;
  sequence_raw raw[SEQUENCE_RAWS];
  bench_case cases[SEQUENCE_CASES];
} sequence_cuda;

/* Begins the subject too; KDL_UNSUPPORTED where the driver has no such graphs. The cases are for
 * the calling thread. */
kdl_status sequence_cuda_begin(sequence_subject *subject, sequence_cuda *out_cases);
void sequence_cuda_end(sequence_cuda *cases);

#endif
