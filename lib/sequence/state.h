/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What one run of a sequence writes: cells, grids, addresses, and the backend's own of it. A run
 * has a state to itself; the next one finds it as it was left, and changes what differs. */
#ifndef KDL_SEQUENCE_STATE_H
#define KDL_SEQUENCE_STATE_H

#include "lib/sequence/plan.h"

#include <string.h>

typedef struct kdl_state {
  void *storage;           /* that it lies in, with everything it points to */
  struct kdl_state *next;  /* of those that are idle */
  void *queue;             /* the backend's: of the last run */
  void *instance;          /* the backend's sequence; NULL: launches */
  kdl_backend_node *nodes; /* as the next run has them */
  const kdl_backend_node **node_list;
  const void **pointers; /* of all arguments */
  uint64_t *addresses;   /* of arguments that are a constant buffer */
  char *cells;
  kdl_binding *bound; /* what slots are bound to; the values of scalars are in their cells */
  uint32_t *changed;  /* nodes that the instance does not know as they are */
  size_t changed_count;
  uint32_t *changed_epochs; /* of each node, when it was last added to `changed` */
  uint32_t epoch;
  bool is_bound;            /* to what it was last */
  bool is_instance_current; /* the instance knows everything but what is in `changed` */
  bool tracks_arguments;
} kdl_state;

kdl_status kdl_state_create(const kdl_plan *plan, kdl_state **out_state);
void kdl_state_free(kdl_state *state);

/* Writes the nodes, and all pointers but those of slots. */
kdl_status kdl_state_build_nodes(const kdl_plan *plan, kdl_state *state);

/* The address of memory behind an offset, as kernels are given it. */
kdl_status kdl_state_address(const kdl_runtime *runtime, uint64_t address, uint64_t offset,
                             uint64_t *out_address);

/* Whether the state is bound to exactly that, and nothing has to be written. */
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

/* Binds the slots, which were checked; `bindings` has one for each, in their order. */
kdl_status kdl_state_bind(const kdl_plan *plan, kdl_state *state, const kdl_binding *bindings);

/* Gives the nodes to the queue one by one, as launches that a trace shows where there is one. */
kdl_status kdl_state_replay(const kdl_plan *plan, const kdl_state *state, void *queue);

#endif
