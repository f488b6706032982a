/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A sequence: its recording, and, once finished, its plan and the states of its runs. */
#ifndef KDL_LIB_SEQUENCE_SEQUENCE_H
#define KDL_LIB_SEQUENCE_SEQUENCE_H

#include "lib/sequence/state.h"

#include <kdl/sequence.h>

#include <pthread.h>
#include <stdatomic.h>

struct kdl_sequence {
  kdl_recording recording;
  kdl_plan plan;
  bool is_finished;
  _Atomic bool has_instances; /* the backend runs it; else single launches */
  _Atomic(const char *) replay;
  /* Idle states. One is kept separately, so that the runs of one thread need no lock. */
  _Atomic(kdl_state *) cached_state;
  pthread_mutex_t lock;
  kdl_state *idle;
  size_t state_count;
  const kdl_trace_subject *trace_subject; /* NULL: not traced */
};

/* Acquires a state for a run on the queue, for exclusive use: the one that last ran there, if
 * idle. */
kdl_status kdl_sequence_acquire_state(kdl_sequence *sequence, void *queue, kdl_state **out_state);
void kdl_sequence_release_state(kdl_sequence *sequence, kdl_state *state);

/* Checks a binding of slot number `index`, from 0. */
kdl_status kdl_sequence_check_binding(const kdl_plan *plan, size_t index,
                                      const kdl_binding *binding);

/* Creates the backend's sequence of a state, or records that there is none. */
kdl_status kdl_sequence_instantiate(kdl_sequence *sequence, kdl_state *state);

/* Serializes a sequence into memory that the caller frees. Reading and writing again gives the same
 * bytes. */
kdl_status kdl_seqfile_write(const kdl_seqfile *saved, void **out_data, size_t *out_size);

#endif
