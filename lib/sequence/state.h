/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What one run of a sequence writes: cells, grids, addresses, and the backend's sequence. A run
 * uses a state exclusively; the next one updates only what differs. */
#ifndef KDL_LIB_SEQUENCE_STATE_H
#define KDL_LIB_SEQUENCE_STATE_H

#include "lib/sequence/plan.h"

#include <string.h>

typedef struct kdl_state {
  void *storage;           /* the allocation of the state and of all that it points to */
  struct kdl_state *next;  /* in the list of idle states */
  void *queue;             /* the backend's queue of the last run */
  void *instance;          /* the backend's sequence; NULL: launches */
  kdl_backend_node *nodes; /* with the values of the next run */
  const kdl_backend_node **node_list;
  const void **pointers; /* of all arguments */
  uint64_t *addresses;   /* of arguments that are a constant buffer */
  char *cells;
  kdl_binding *bound; /* the last bindings; values of scalars are in their cells */
  uint32_t *changed;  /* nodes that differ from the instance */
  size_t changed_count;
  uint32_t *changed_epochs; /* per node: the epoch in which it was added to `changed` */
  uint32_t epoch;
  bool is_bound;            /* `bound` is valid */
  bool is_instance_current; /* the instance is current except for `changed` */
  bool tracks_arguments;
} kdl_state;

kdl_status kdl_state_create(const kdl_plan *plan, kdl_state **out_state);
void kdl_state_free(kdl_state *state);

/* Writes the nodes, and all pointers except those of slots. */
kdl_status kdl_state_build_nodes(const kdl_plan *plan, kdl_state *state);

/* The kernel argument for memory at an offset. */
kdl_status kdl_state_address(const kdl_runtime *runtime, uint64_t address, uint64_t offset,
                             uint64_t *out_address);

/* Whether the bindings equal the last ones, so that nothing must be written. */
static inline bool kdl_state_is_bound(const kdl_plan *plan, const kdl_state *state,
                                      const kdl_binding *bindings, size_t count) {
  if (!state->is_bound || !state->is_instance_current || count != plan->slot_count ||
      (count && memcmp(bindings, state->bound, count * sizeof *bindings) != 0))
    return false;
  for (size_t i = 0; i < plan->scalar_count; ++i) {
    const kdl_scalar *scalar = &plan->scalars[i];
    if (memcmp(state->cells + scalar->at, bindings[scalar->index].to.value.data, scalar->bytes) !=
        0)
      return false;
  }
  return true;
}

/* Binds the slots; `bindings` is checked and has one per slot, in their order. */
kdl_status kdl_state_bind(const kdl_plan *plan, kdl_state *state, const kdl_binding *bindings);

/* Enqueues the nodes one by one, each traced as a launch if tracing is on. */
kdl_status kdl_state_replay(const kdl_plan *plan, const kdl_state *state, void *queue);

#endif
