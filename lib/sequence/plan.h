/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The plan of a finished recording: for each slot, what a binding changes.
 *
 * An argument that is a slot points to a *cell*. Launches that use the same slot at the same offset
 * share a cell, so binding a slot writes few cells, however many launches there are. Grids, and the
 * memory of copies and fills, are written to the nodes.
 *
 * A plan is constant. Its states have the nodes, which runs write to (state.h).
 */
#ifndef KDL_LIB_SEQUENCE_PLAN_H
#define KDL_LIB_SEQUENCE_PLAN_H

#include "lib/sequence/recording.h"

/* A use of a slot by a node. Uses are sorted by slot, then kind, then offset. */
typedef enum kdl_use_kind {
  KDL_USE_ARGUMENT,
  KDL_USE_ITEMS,
  KDL_USE_TO,
  KDL_USE_FROM,
} kdl_use_kind;

typedef struct kdl_use {
  kdl_slot slot;
  kdl_use_kind kind;
  uint64_t offset;
  uint32_t node;
  uint32_t arg; /* of an argument: its index among the pointers of all nodes */
} kdl_use;

typedef struct kdl_cell {
  uint64_t offset; /* into the slot */
  uint32_t at;     /* in the cells of a state */
} kdl_cell;

typedef struct kdl_plan_slot {
  const kdl_recorded_slot *recorded;
  uint32_t cell_begin, cell_end;
  uint32_t argument_begin, argument_end; /* of the uses */
  uint32_t other_end;                    /* end of the uses after the arguments */
} kdl_plan_slot;

/* A scalar that a node uses. */
typedef struct kdl_scalar {
  uint32_t index; /* of the slot, from 0 */
  uint32_t at;    /* in the cells of a state */
  size_t bytes;
} kdl_scalar;

typedef struct kdl_plan {
  const kdl_recording *recording;
  size_t node_count;
  size_t pointer_count; /* arguments of all nodes */
  size_t address_count; /* arguments that are a constant buffer */
  void *storage;        /* for everything below */
  kdl_use *uses;
  size_t use_count;
  kdl_cell *cells;
  size_t cell_count;
  size_t cell_bytes;
  kdl_plan_slot *slots;
  size_t slot_count;
  kdl_scalar *scalars;
  size_t scalar_count;
} kdl_plan;

/* All forks of the recording must be joined. */
kdl_status kdl_plan_create(const kdl_recording *recording, kdl_plan *out_plan);
void kdl_plan_free(kdl_plan *plan);

#endif
