/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What a finished recording needs to be run: for each slot what a binding changes.
 *
 * An argument that is a slot points to a *cell*, which launches that use the same slot at the same
 * offset share. So binding a slot writes its few cells, however many launches there are. Grids, and
 * memory that copies and fills name, are written to the nodes themselves.
 *
 * A plan does not change. The nodes themselves, which runs write to, are its states' (state.h).
 */
#ifndef KDL_SEQUENCE_PLAN_H
#define KDL_SEQUENCE_PLAN_H

#include "lib/sequence/recording.h"

/* A slot is used by a node. Sorted by slot, then by kind, then by offset. */
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
  uint32_t arg; /* of an argument: its place among the pointers of all nodes */
} kdl_use;

typedef struct kdl_cell {
  uint64_t offset; /* into the slot */
  uint32_t at;     /* in the cells of a state */
} kdl_cell;

typedef struct kdl_plan_slot {
  const kdl_recorded_slot *recorded;
  uint32_t cell_begin, cell_end;
  uint32_t argument_begin, argument_end; /* of the uses */
  uint32_t other_end;                    /* those behind the arguments */
} kdl_plan_slot;

/* A scalar that something uses. */
typedef struct kdl_scalar {
  uint32_t index; /* of the slot, from 0 */
  uint32_t at;    /* in the cells of a state */
  size_t bytes;
} kdl_scalar;

typedef struct kdl_plan {
  const kdl_recording *recording;
  size_t node_count;
  size_t pointer_count; /* of the arguments of all nodes */
  size_t address_count; /* of those that are a constant buffer */
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

/* Takes a recording whose forks are joined. */
kdl_status kdl_plan_create(const kdl_recording *recording, kdl_plan *out_plan);
void kdl_plan_free(kdl_plan *plan);

#endif
