/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A sequence: its recording, and once it is finished its plan and the states of its runs. */
#ifndef KDL_SEQUENCE_SEQUENCE_H
#define KDL_SEQUENCE_SEQUENCE_H

#include "lib/sequence/state.h"

#include <pthread.h>
#include <stdatomic.h>

struct kdl_sequence {
  kdl_recording recording;
  kdl_plan plan;
  bool is_finished;
  _Atomic bool has_instances; /* the backend takes it; else it is replayed by launches */
  _Atomic(const char *) replay;
  /* States that no run has. One of them apart, so that the runs of one thread need no lock. */
  _Atomic(kdl_state *) cached_state;
  pthread_mutex_t lock;
  kdl_state *idle;
  size_t state_count;
  const kdl_trace_subject
      *trace_subject; /* what a run of it is in a trace; NULL where there is none */
};

/* A state for a run on the queue, of which the run has it alone: the one that ran there last where
 * it is idle. */
kdl_status kdl_sequence_acquire_state(kdl_sequence *sequence, void *queue, kdl_state **out_state);
void kdl_sequence_release_state(kdl_sequence *sequence, kdl_state *state);

/* Whether a run may bind a slot, of the number `index` from 0, to that. */
kdl_status kdl_sequence_check_binding(const kdl_plan *plan, size_t index,
                                      const kdl_binding *binding);

/* Gives a state the backend's own sequence, or settles that there is none. */
kdl_status kdl_sequence_instantiate(kdl_sequence *sequence, kdl_state *state);

#endif
