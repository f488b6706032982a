/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What a sequence has recorded, as plain data.
 *
 * A recording is a list of slots and a list of nodes. A node is one launch, copy, fill or event, a
 * join, or an end of a loop; it names its kernel, its geometry, and what it is given as operands
 * (kdl_operand), which are constants, or references to a slot with an offset. Geometry is in
 * work-items wherever the program gave it so, and is made a grid for the image that is bound when
 * the sequence is finished.
 *
 * Order. Nodes stand in an order in which they may run. Each waits for one node before it, `after`,
 * or for none; only a join waits for several. So a recording without marks is a chain, and one with
 * marks is a graph of chains between forks and joins, with as many edges as nodes have ends.
 *
 * Memory. Names, constants and lists lie in `memory`; a value is aligned for any type. The
 * libraries of kernels are retained, each once. Events and buffers are the caller's.
 *
 * recording.c appends to it, record.c is the functions of <kdl/sequence.h> that do, nest.c copies
 * one recording into another. plan.h makes of a finished one what runs.
 */
#ifndef KDL_SEQUENCE_RECORDING_H
#define KDL_SEQUENCE_RECORDING_H

#include "lib/binding/kernel.h"
#include "lib/inspect/sequences.h"
#include "support/base/arena.h"

#include <kdl/backend.h>

/* A mark, which stands before the node `at`. Edges tell what runs when; marks, how it was recorded,
 * which is what a file says. */
typedef enum kdl_mark_kind { KDL_MARK_FORK, KDL_MARK_BRANCH, KDL_MARK_JOIN } kdl_mark_kind;

typedef struct kdl_recorded_mark {
  uint32_t at;
  kdl_mark_kind kind;
} kdl_recorded_mark;

typedef struct kdl_recorded_slot {
  const char *name; /* "" where it has none */
  kdl_slot_kind kind;
  uint64_t bytes; /* of a scalar, its size; of memory, how much there must be */
} kdl_recorded_slot;

typedef struct kdl_recorded_launch {
  kdl_kernel *kernel;
  kdl_operand items;    /* ITEMS, or SLOT; kind 0 where `desc` is the caller's */
  kdl_launch_desc desc; /* where it is */
  kdl_operand *args;
  size_t arg_count;
} kdl_recorded_launch;

typedef struct kdl_recorded_copy {
  kdl_operand to;   /* also of a fill */
  kdl_operand from; /* HOST of a write, as `to` of a read, or a slot of the host's */
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
  uint32_t other; /* the node at the other end */
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
  uint32_t begin; /* the node before it */
  uint32_t *ends; /* of its branches */
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
  kdl_library **libraries; /* of the others, each once */
  size_t library_count, library_capacity;
  kdl_recorded_mark *marks;
  size_t mark_count, mark_capacity;
  uint32_t last; /* what the next node waits for */
  kdl_recorded_fork *forks;
  size_t fork_count, fork_capacity;
  struct {
    uint32_t begin;
    size_t fork_count;      /* that were open when it began */
  } loops[KDL_LIMIT_LOOPS]; /* those that are not ended yet */
  size_t loop_count;
} kdl_recording;

void kdl_recording_free(kdl_recording *recording);

/* Appends a copy of the slot; its name is copied. */
kdl_status kdl_recording_add_slot(kdl_recording *recording, const kdl_recorded_slot *slot);

/* Appends a copy of the node behind the last, with everything that it points to. `after` is set. A
 * kernel's library is retained. Slots are told how much memory they need. */
kdl_status kdl_recording_add(kdl_recording *recording, const kdl_recorded_node *node);

/* Appends the marks of another recording, whose nodes are to stand behind `base`. */
kdl_status kdl_recording_add_marks(kdl_recording *recording, const kdl_recording *other,
                                   uint32_t base);

kdl_status kdl_recording_fork(kdl_recording *recording);
kdl_status kdl_recording_branch(kdl_recording *recording);
kdl_status kdl_recording_join(kdl_recording *recording);
kdl_status kdl_recording_while(kdl_recording *recording, const kdl_operand *condition);
kdl_status kdl_recording_end_while(kdl_recording *recording);

/* The slot that an operand names; NULL after it has told that there is none such. */
kdl_recorded_slot *kdl_recording_slot(const kdl_recording *recording, kdl_slot slot);

/* "buffer", "scalar", ... */
const char *kdl_slot_kind_name(kdl_slot_kind kind);

/* slot 2 ("x") */
#define KDL_SLOT_FORMAT "slot %u%s%s%s"
#define KDL_SLOT_WORDS(number, slot)                                                               \
  (unsigned)(number), *(slot)->name ? " (\"" : "", (slot)->name, *(slot)->name ? "\")" : ""

/* A sequence that is being recorded, for the functions that record; fails where it is finished. */
kdl_status kdl_sequence_recording(kdl_sequence *sequence, const char *call,
                                  kdl_recording **out_recording);

#endif
