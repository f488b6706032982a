/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Sequences: what a replay costs next to launches, direct calls, and the driver's own graphs. */
#ifndef KDL_BENCH_SUITES_SEQUENCE_SEQUENCE_H
#define KDL_BENCH_SUITES_SEQUENCE_SEQUENCE_H

#include "suites/cases.h"
#include "suites/suite.h"

#include <kdl/sequence.h>

/* As many launches of a kernel that takes one pointer, each with a slot of its own. */
typedef struct sequence_subject {
  kdl_device *device;
  kdl_queue *queue;
  kdl_kernel *kernel;
  size_t count;
  kdl_sequence *sequences[3]; /* one for each of the cases, so that none finds what another bound */
  kdl_buffer buffers[2];
  kdl_binding *bindings[3]; /* all the first buffer; the first slot the other one; all of them */
  unsigned turns[3];
  bool is_second; /* what a driver makes first may be slower: the driver's own graphs are made first
                     then */
} sequence_subject;

/* Records the sequences and runs each once, which makes what a backend makes of them. */
kdl_status sequence_begin(sequence_subject *at);
void sequence_end(sequence_subject *at);

/* A finished sequence of the subject's launches. */
kdl_sequence *sequence_record(const sequence_subject *at);

/* Runs of the sequence, with a wait: bound as before, one slot bound anew, every slot. */
void sequence_replay(void *subject);
void sequence_replay_one(void *subject);
void sequence_replay_every(void *subject);

/* The launches one by one, with a wait. */
void sequence_launch(void *subject);

/* Records one, finishes it, runs it once, with a wait, and destroys it. */
void sequence_make(void *subject);

/* What is measured on a device: its own cases, and what they are compared with. Begins and ends the
 * subject. */
typedef kdl_status sequence_measure(sequence_subject *subject, const char *prefix, size_t blocks,
                                    bench_results *results);
sequence_measure sequence_measure_host;
sequence_measure sequence_measure_cuda;

/* Forty launches of a kernel that works, next to direct calls of the same function. */
kdl_status sequence_measure_work(kdl_device *device, kdl_queue *queue, kdl_library *lib,
                                 size_t blocks, bench_results *results);

#endif
