/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/sequence/recording.h"

#include "support/base/array.h"
#include "support/base/error.h"

#include <string.h>

static kdl_status recording_no_memory(void) {
  return kdl_fail(KDL_NO_MEMORY, "out of memory for a sequence");
}

void kdl_recording_free(kdl_recording *recording) {
  kdl_close(recording->library);
  for (size_t i = 0; i < recording->library_count; ++i)
    kdl_close(recording->libraries[i]);
  free((void *)recording->libraries);
  for (size_t i = 0; i < recording->fork_count; ++i)
    free(recording->forks[i].ends);
  free(recording->forks);
  free(recording->nodes);
  free(recording->marks);
  free(recording->slots);
  kdl_arena_free(&recording->memory);
}

/* ------------------------------------------------------------------------------------------ */
/* Slots                                                                                        */

const char *kdl_slot_kind_name(kdl_slot_kind kind) {
  static const char *const names[] = {"unknown", "buffer", "scalar", "items", "host"};
  return (size_t)kind < sizeof names / sizeof *names ? names[kind] : names[0];
}

kdl_recorded_slot *kdl_recording_slot(const kdl_recording *recording, kdl_slot slot) {
  if (slot != 0 && slot <= recording->slot_count)
    return &recording->slots[slot - 1];
  (void)kdl_fail(KDL_BAD_CALL, "found slot %u, expected one of the sequence's %zu", (unsigned)slot,
                 recording->slot_count);
  return NULL;
}

kdl_status kdl_recording_add_slot(kdl_recording *recording, const kdl_recorded_slot *slot) {
  if (recording->slot_count == KDL_LIMIT_SLOTS)
    return kdl_fail(KDL_BAD_CALL, "found more than %d slots", KDL_LIMIT_SLOTS);
  for (size_t i = 0; *slot->name && i < recording->slot_count; ++i) {
    if (strcmp(recording->slots[i].name, slot->name) == 0)
      return kdl_fail(KDL_BAD_CALL, "found a second slot \"%s\", expected another name",
                      slot->name);
  }
  kdl_recorded_slot *slots = kdl_array_grow(recording->slots, recording->slot_count,
                                            &recording->slot_capacity, 8, sizeof *slots);
  if (!slots)
    return recording_no_memory();
  recording->slots = slots;
  kdl_string name = {"", 0};
  if (*slot->name)
    name = kdl_arena_string(&recording->memory, slot->name, strlen(slot->name));
  if (!name.data)
    return recording_no_memory();
  slots[recording->slot_count] = *slot;
  slots[recording->slot_count++].name = name.data;
  return KDL_OK;
}

/* Requires that memory bound to the slot has `bytes` bytes after the offset. */
static void require_slot_bytes(const kdl_recording *recording, const kdl_operand *operand,
                               uint64_t bytes) {
  if (operand->kind != KDL_OPERAND_SLOT)
    return;
  kdl_recorded_slot *slot = &recording->slots[operand->slot - 1];
  bool is_memory = slot->kind == KDL_SLOT_BUFFER || slot->kind == KDL_SLOT_HOST;
  if (is_memory && slot->bytes < operand->offset + bytes)
    slot->bytes = operand->offset + bytes;
}

/* ------------------------------------------------------------------------------------------ */
/* Nodes                                                                                        */

enum { alignment = 64 }; /* for any type */

/* The same argument of the preceding launch nearly always has the same value, and is shared. */
static kdl_status copy_value(kdl_recording *recording, kdl_operand *operand,
                             const kdl_operand *before) {
  if (operand->kind != KDL_OPERAND_VALUE)
    return KDL_OK;
  if (before && before->kind == KDL_OPERAND_VALUE && before->bytes == operand->bytes &&
      memcmp(before->of.value, operand->of.value, operand->bytes) == 0) {
    operand->of.value = before->of.value;
    return KDL_OK;
  }
  size_t aligned = operand->bytes <= 8 ? 8 : alignment;
  char *room = kdl_arena_alloc(&recording->memory, operand->bytes + aligned - 8);
  if (!room)
    return recording_no_memory();
  room += -(uintptr_t)room & (aligned - 1);
  memcpy(room, operand->of.value, operand->bytes);
  operand->of.value = room;
  return KDL_OK;
}

static kdl_status copy_launch_args(kdl_recording *recording, kdl_recorded_launch *launch) {
  if (launch->arg_count == 0)
    return KDL_OK;
  kdl_operand *args = kdl_arena_alloc(&recording->memory, launch->arg_count * sizeof *launch->args);
  if (!args)
    return recording_no_memory();
  memcpy(args, launch->args, launch->arg_count * sizeof *args);
  launch->args = args;
  const kdl_recorded_node *last =
      recording->node_count ? &recording->nodes[recording->node_count - 1] : NULL;
  const kdl_recorded_launch *before =
      last && last->kind == KDL_NODE_LAUNCH ? &last->of.launch : NULL;
  for (size_t i = 0; i < launch->arg_count; ++i) {
    bool has_before = before && i < before->arg_count;
    kdl_status status = copy_value(recording, &args[i], has_before ? &before->args[i] : NULL);
    if (status != KDL_OK)
      return status;
  }
  return KDL_OK;
}

static kdl_status copy_joined_nodes(kdl_recording *recording, kdl_recorded_join *join) {
  size_t bytes = join->joined_count * sizeof *join->joined;
  uint32_t *joined = kdl_arena_alloc(&recording->memory, bytes);
  if (!joined)
    return recording_no_memory();
  memcpy(joined, join->joined, bytes);
  join->joined = joined;
  return KDL_OK;
}

static void require_node_bytes(const kdl_recording *recording, const kdl_recorded_node *node) {
  if (node->kind == KDL_NODE_LAUNCH) {
    for (size_t i = 0; i < node->of.launch.arg_count; ++i)
      require_slot_bytes(recording, &node->of.launch.args[i],
                         node->of.launch.args[i].offset ? 1 : 0);
  } else if (node->kind <= KDL_NODE_FILL) {
    require_slot_bytes(recording, &node->of.copy.to, node->of.copy.bytes);
    require_slot_bytes(recording, &node->of.copy.from, node->of.copy.bytes);
  } else if (node->kind == KDL_NODE_WHILE) {
    require_slot_bytes(recording, &node->of.loop.condition, sizeof(uint32_t));
  }
}

/* Most sequences use kernels of one library. */
static kdl_status retain_library(kdl_recording *recording, kdl_library *lib) {
  if (!recording->library)
    recording->library = kdl_library_retain(lib);
  if (recording->library == lib)
    return KDL_OK;
  for (size_t i = recording->library_count; i > 0; --i) {
    if (recording->libraries[i - 1] == lib)
      return KDL_OK;
  }
  kdl_library **libraries =
      (kdl_library **)kdl_array_grow((void *)recording->libraries, recording->library_count,
                                     &recording->library_capacity, 2, sizeof *libraries);
  if (!libraries)
    return recording_no_memory();
  recording->libraries = libraries;
  kdl_library_retain(lib);
  libraries[recording->library_count++] = lib;
  return KDL_OK;
}

kdl_status kdl_recording_add(kdl_recording *recording, const kdl_recorded_node *node) {
  if (recording->node_count == KDL_LIMIT_NODES)
    return kdl_fail(KDL_BAD_CALL, "found more than %d nodes in a sequence", KDL_LIMIT_NODES);
  kdl_recorded_node *nodes = kdl_array_grow(recording->nodes, recording->node_count,
                                            &recording->node_capacity, 7, sizeof *nodes);
  if (!nodes)
    return recording_no_memory();
  recording->nodes = nodes;
  kdl_recorded_node *copy = &nodes[recording->node_count]; /* part of the recording once counted */
  *copy = *node;
  if (copy->kind == KDL_NODE_LAUNCH) {
    KDL_TRY(retain_library(recording, copy->of.launch.kernel->lib));
    KDL_TRY(copy_launch_args(recording, &copy->of.launch));
  } else if (copy->kind == KDL_NODE_JOIN) {
    KDL_TRY(copy_joined_nodes(recording, &copy->of.join));
  }
  recording->launch_count += copy->kind == KDL_NODE_LAUNCH;
  require_node_bytes(recording, copy);
  copy->after = copy->kind == KDL_NODE_JOIN ? KDL_NO_NODE : recording->last;
  recording->last = (uint32_t)recording->node_count++;
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Marks                                                                                        */

/* Reserves memory for a mark, which exists once the caller increments `mark_count`. */
static kdl_status reserve_mark_at(kdl_recording *recording, uint32_t at, kdl_mark_kind kind) {
  if (recording->mark_count == KDL_LIMIT_MARKS)
    return kdl_fail(KDL_BAD_CALL, "found more than %d marks in a sequence", KDL_LIMIT_MARKS);
  kdl_recorded_mark *marks = kdl_array_grow(recording->marks, recording->mark_count,
                                            &recording->mark_capacity, 16, sizeof *marks);
  if (!marks)
    return recording_no_memory();
  recording->marks = marks;
  marks[recording->mark_count] = (kdl_recorded_mark){at, kind};
  return KDL_OK;
}

kdl_status kdl_recording_add_marks(kdl_recording *recording, const kdl_recording *other,
                                   uint32_t base) {
  size_t count = recording->mark_count;
  for (size_t i = 0; i < other->mark_count; ++i) {
    kdl_status status = reserve_mark_at(recording, other->marks[i].at + base, other->marks[i].kind);
    if (status != KDL_OK) {
      recording->mark_count = count;
      return status;
    }
    ++recording->mark_count;
  }
  return KDL_OK;
}

static kdl_status reserve_mark(kdl_recording *recording, kdl_mark_kind kind) {
  return reserve_mark_at(recording, (uint32_t)recording->node_count, kind);
}

kdl_status kdl_recording_fork(kdl_recording *recording) {
  if (recording->fork_count == KDL_LIMIT_FORKS)
    return kdl_fail(KDL_BAD_CALL, "found forks more than %d deep", KDL_LIMIT_FORKS);
  kdl_recorded_fork *forks = kdl_array_grow(recording->forks, recording->fork_count,
                                            &recording->fork_capacity, 4, sizeof *forks);
  if (!forks)
    return recording_no_memory();
  recording->forks = forks;
  KDL_TRY(reserve_mark(recording, KDL_MARK_FORK));
  ++recording->mark_count;
  recording->forks[recording->fork_count++] = (kdl_recorded_fork){.begin = recording->last};
  return KDL_OK;
}

/* The innermost fork that was begun in the innermost loop. */
static kdl_status innermost_fork(kdl_recording *recording, kdl_recorded_fork **out_fork) {
  size_t outside =
      recording->loop_count ? recording->loops[recording->loop_count - 1].fork_count : 0;
  if (recording->fork_count == outside)
    return kdl_fail(KDL_BAD_CALL, "found no fork that is open");
  *out_fork = &recording->forks[recording->fork_count - 1];
  return KDL_OK;
}

/* The innermost fork, with memory reserved for a mark. */
static kdl_status reserve_mark_in_fork(kdl_recording *recording, kdl_mark_kind kind,
                                       kdl_recorded_fork **out_fork) {
  kdl_status status = innermost_fork(recording, out_fork);
  return status == KDL_OK ? reserve_mark(recording, kind) : status;
}

/* An empty branch has no end node. */
static kdl_status end_branch(const kdl_recording *recording, kdl_recorded_fork *fork) {
  if (recording->last == fork->begin)
    return KDL_OK;
  uint32_t *ends =
      kdl_array_grow(fork->ends, fork->end_count, &fork->end_capacity, 8, sizeof *ends);
  if (!ends)
    return recording_no_memory();
  fork->ends = ends;
  ends[fork->end_count++] = recording->last;
  return KDL_OK;
}

kdl_status kdl_recording_branch(kdl_recording *recording) {
  kdl_recorded_fork *fork;
  KDL_TRY(reserve_mark_in_fork(recording, KDL_MARK_BRANCH, &fork));
  KDL_TRY(end_branch(recording, fork));
  ++recording->mark_count;
  recording->last = fork->begin;
  return KDL_OK;
}

kdl_status kdl_recording_join(kdl_recording *recording) {
  kdl_recorded_fork *fork;
  KDL_TRY(reserve_mark_in_fork(recording, KDL_MARK_JOIN, &fork));
  size_t count = fork->end_count;
  uint32_t last = recording->last;
  kdl_status status = end_branch(recording, fork);
  if (status == KDL_OK && fork->end_count > 1) {
    kdl_recorded_node join = {.kind = KDL_NODE_JOIN,
                              .of.join = {fork->ends, (uint32_t)fork->end_count}};
    status = kdl_recording_add(recording, &join);
  } else if (status == KDL_OK) {
    recording->last = fork->end_count ? fork->ends[0] : fork->begin;
  }
  if (status != KDL_OK) { /* restore */
    fork->end_count = count;
    recording->last = last;
    return status;
  }
  ++recording->mark_count;
  free(fork->ends);
  --recording->fork_count;
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Loops                                                                                        */

kdl_status kdl_recording_while(kdl_recording *recording, const kdl_operand *condition) {
  if (recording->fork_count)
    return kdl_fail(KDL_BAD_CALL, "found a fork that is open: a loop cannot lie in a branch");
  if (recording->loop_count == KDL_LIMIT_LOOPS)
    return kdl_fail(KDL_BAD_CALL, "found loops more than %d deep", KDL_LIMIT_LOOPS);
  kdl_recorded_node node = {.kind = KDL_NODE_WHILE, .of.loop = {.condition = *condition}};
  KDL_TRY(kdl_recording_add(recording, &node));
  recording->loops[recording->loop_count].begin = recording->last;
  recording->loops[recording->loop_count++].fork_count = recording->fork_count;
  return KDL_OK;
}

kdl_status kdl_recording_end_while(kdl_recording *recording) {
  if (recording->loop_count == 0)
    return kdl_fail(KDL_BAD_CALL, "found no loop that is open");
  if (recording->fork_count != recording->loops[recording->loop_count - 1].fork_count)
    return kdl_fail(KDL_BAD_CALL, "found a fork that is not joined");
  uint32_t begin = recording->loops[recording->loop_count - 1].begin;
  kdl_recorded_node node = {.kind = KDL_NODE_END, .of.loop = {.other = begin}};
  KDL_TRY(kdl_recording_add(recording, &node));
  recording->nodes[begin].of.loop.other = recording->last;
  --recording->loop_count;
  return KDL_OK;
}
