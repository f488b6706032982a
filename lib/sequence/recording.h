/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The recording of a sequence: a list of slots and a list of nodes.
 *
 * A node is one launch, copy, fill or event, a join, or an end of a loop. It has its kernel, its
 * geometry, and operands (kdl_operand): constants, or a slot with an offset. Geometry is in
 * work-items if the program recorded it so; finishing the sequence converts it to a grid for the
 * bound image.
 *
 * Order. Nodes are in topological order. Each waits for one earlier node, `after`, or for none;
 * only a join waits for several. So a recording without marks is a chain, and one with marks is a
 * graph of chains between forks and joins.
 *
 * Memory. Names, constants and lists are in `memory`; values are aligned for any type. Each library
 * of a kernel is retained once. Events and buffers belong to the caller.
 *
 * recording.c appends to a recording, record_calls.c has the public functions that record, nest.c
 * copies one recording into another, plan.c makes the plan of a finished one.
 */
#ifndef KDL_LIB_SEQUENCE_RECORDING_H
#define KDL_LIB_SEQUENCE_RECORDING_H

#include "lib/binding/kernel.h"
#include "lib/inspect/sequences.h"
#include "support/base/arena.h"

#include <kdl/backend.h>

/* A mark before the node `at`. Edges define what runs when; marks show how it was recorded, which
 * files store. */
typedef enum kdl_mark_kind { KDL_MARK_FORK, KDL_MARK_BRANCH, KDL_MARK_JOIN } kdl_mark_kind;

typedef struct kdl_recorded_mark {
  uint32_t at;
  kdl_mark_kind kind;
} kdl_recorded_mark;

typedef struct kdl_recorded_slot {
  const char *name; /* "" where it has none */
  kdl_slot_kind kind;
  uint64_t bytes; /* size of a scalar; least size of memory */
} kdl_recorded_slot;

typedef struct kdl_recorded_launch {
  kdl_kernel *kernel;
  kdl_operand items;    /* ITEMS or SLOT; kind 0: explicit grid */
  kdl_launch_desc desc; /* of an explicit grid */
  kdl_operand *args;
  size_t arg_count;
} kdl_recorded_launch;

typedef struct kdl_recorded_copy {
  kdl_operand to;   /* also of a fill */
  kdl_operand from; /* of a write: HOST or a host slot, as `to` of a read */
  uint64_t bytes;
  uint8_t pattern[16];
  size_t pattern_size;
} kdl_recorded_copy;

typedef struct kdl_recorded_join {
  uint32_t *joined;
  uint32_t joined_count;
} kdl_recorded_join;

typedef struct kdl_recorded_loop {
  kdl_operand condition;
  uint32_t other; /* the node at the other end of the loop */
} kdl_recorded_loop;

typedef struct kdl_recorded_node {
  kdl_node_kind kind;
  uint32_t after;
  union {
    kdl_recorded_launch launch;
    kdl_recorded_copy copy; /* COPY, WRITE, READ and FILL */
    kdl_event *event;       /* RECORD and WAIT */
    kdl_recorded_join join;
    kdl_recorded_loop loop; /* WHILE, and END without a condition */
  } of;
} kdl_recorded_node;

/* A fork that is not joined yet. */
typedef struct kdl_recorded_fork {
  uint32_t begin; /* the node before the fork */
  uint32_t *ends; /* last nodes of its branches */
  size_t end_count, end_capacity;
} kdl_recorded_fork;

typedef struct kdl_recording {
  kdl_device *device;
  const kdl_runtime *runtime;
  kdl_arena memory;
  kdl_recorded_slot *slots;
  size_t slot_count, slot_capacity;
  kdl_recorded_node *nodes;
  size_t node_count, node_capacity;
  size_t launch_count;
  kdl_library *library;    /* of the first kernel */
  kdl_library **libraries; /* of the other kernels, without duplicates */
  size_t library_count, library_capacity;
  kdl_recorded_mark *marks;
  size_t mark_count, mark_capacity;
  uint32_t last; /* the node that the next one waits for */
  kdl_recorded_fork *forks;
  size_t fork_count, fork_capacity;
  struct {
    uint32_t begin;
    size_t fork_count;      /* open forks when the loop began */
  } loops[KDL_LIMIT_LOOPS]; /* open loops */
  size_t loop_count;
} kdl_recording;

void kdl_recording_free(kdl_recording *recording);

/* Appends a copy of the slot; its name is copied. */
kdl_status kdl_recording_add_slot(kdl_recording *recording, const kdl_recorded_slot *slot);

/* Appends a copy of the node and everything that it points to. Sets `after`, retains the kernel's
 * library, and updates the sizes that slots need. */
kdl_status kdl_recording_add(kdl_recording *recording, const kdl_recorded_node *node);

/* Appends the marks of another recording, whose nodes start at `base`. */
kdl_status kdl_recording_add_marks(kdl_recording *recording, const kdl_recording *other,
                                   uint32_t base);

kdl_status kdl_recording_fork(kdl_recording *recording);
kdl_status kdl_recording_branch(kdl_recording *recording);
kdl_status kdl_recording_join(kdl_recording *recording);
kdl_status kdl_recording_while(kdl_recording *recording, const kdl_operand *condition);
kdl_status kdl_recording_end_while(kdl_recording *recording);

/* The slot of an operand; NULL, with the error recorded, where there is none. */
kdl_recorded_slot *kdl_recording_slot(const kdl_recording *recording, kdl_slot slot);

/* "buffer", "scalar", ... */
const char *kdl_slot_kind_name(kdl_slot_kind kind);

/* slot 2 ("x") */
#define KDL_SLOT_FORMAT "slot %u%s%s%s"
#define KDL_SLOT_WORDS(number, slot)                                                               \
  (unsigned)(number), *(slot)->name ? " (\"" : "", (slot)->name, *(slot)->name ? "\")" : ""

/* The recording of a sequence, for the recording functions; fails if the sequence is finished. */
kdl_status kdl_sequence_recording(kdl_sequence *sequence, const char *call,
                                  kdl_recording **out_recording);

#endif
