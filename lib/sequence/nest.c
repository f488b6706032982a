/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Copies one recording into another and replaces its slots by operands. */
#include "lib/sequence/sequence.h"

#include "support/base/error.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  kdl_recording *outer;
  const kdl_recording *inner;
  const kdl_operand *slots; /* the operands for the inner slots */
  uint32_t base;            /* index of the first inner node in the outer recording */
  uint32_t before;          /* the node that the first inner nodes wait for */
  size_t mark_count;        /* of the outer recording before nesting */
  uint64_t *slot_bytes;     /* sizes of the outer slots before nesting */
} nesting;

/* ------------------------------------------------------------------------------------------ */
/* Checks                                                                                       */

static kdl_operand_kind constant_kind(kdl_slot_kind kind) {
  switch (kind) {
  case KDL_SLOT_BUFFER:
    break;
  case KDL_SLOT_SCALAR:
    return KDL_OPERAND_VALUE;
  case KDL_SLOT_ITEMS:
    return KDL_OPERAND_ITEMS;
  case KDL_SLOT_HOST:
    return KDL_OPERAND_HOST;
  }
  return KDL_OPERAND_BUFFER;
}

static kdl_status check_nested_slot(const nesting *nest, const kdl_recorded_slot *wanted,
                                    const kdl_operand *given) {
  const kdl_recorded_slot *slot = kdl_recording_slot(nest->outer, given->slot);
  if (!slot)
    return KDL_BAD_CALL;
  if (slot->kind != wanted->kind)
    return kdl_fail(KDL_BAD_CALL, "found " KDL_SLOT_FORMAT " of kind %s, expected %s",
                    KDL_SLOT_WORDS(given->slot, slot), kdl_slot_kind_name(slot->kind),
                    kdl_slot_kind_name(wanted->kind));
  bool is_memory = slot->kind == KDL_SLOT_BUFFER || slot->kind == KDL_SLOT_HOST;
  if (slot->kind == KDL_SLOT_SCALAR && slot->bytes != wanted->bytes)
    return kdl_fail(KDL_BAD_CALL, "found a scalar of %" PRIu64 " bytes, expected %" PRIu64,
                    slot->bytes, wanted->bytes);
  if (is_memory ? wanted->bytes > UINT64_MAX - given->offset : given->offset != 0)
    return kdl_fail(KDL_BAD_CALL, "found an offset of %" PRIu64 ", which is too much",
                    given->offset);
  return KDL_OK;
}

static kdl_status check_nested_constant(const nesting *nest, const kdl_recorded_slot *wanted,
                                        const kdl_operand *given) {
  const kdl_buffer *buffer = &given->of.buffer;
  switch (wanted->kind) {
  case KDL_SLOT_BUFFER:
    if (buffer->address && buffer->device != nest->outer->device)
      return kdl_fail(KDL_BAD_CALL, "found a buffer of %s, expected one of %s",
                      buffer->device ? buffer->device->spec_lines[0] : "no device",
                      nest->outer->runtime->label);
    if (given->offset > buffer->size || wanted->bytes > buffer->size - given->offset)
      return kdl_fail(KDL_BAD_CALL,
                      "found %" PRIu64 " bytes and an offset of %" PRIu64
                      ", expected at least %" PRIu64 " behind it",
                      buffer->size, given->offset, wanted->bytes);
    return KDL_OK;
  case KDL_SLOT_SCALAR:
    if (given->bytes != wanted->bytes || !given->of.value)
      return kdl_fail(KDL_BAD_CALL, "found a value of %" PRIu64 " bytes%s, expected %" PRIu64,
                      given->bytes, given->of.value ? "" : " at NULL", wanted->bytes);
    return KDL_OK;
  case KDL_SLOT_HOST:
    return given->of.host ? KDL_OK : kdl_fail(KDL_BAD_CALL, "found NULL, expected memory");
  default:
    return KDL_OK;
  }
}

static kdl_status check_slots(const nesting *nest) {
  for (size_t i = 0; i < nest->inner->slot_count; ++i) {
    const kdl_recorded_slot *wanted = &nest->inner->slots[i];
    const kdl_operand *given = &nest->slots[i];
    kdl_status status;
    if (given->kind == KDL_OPERAND_SLOT)
      status = check_nested_slot(nest, wanted, given);
    else if (given->kind == constant_kind(wanted->kind))
      status = check_nested_constant(nest, wanted, given);
    else
      status = kdl_fail(KDL_BAD_CALL, "found an operand of kind %d, expected %d or a slot",
                        (int)given->kind, (int)constant_kind(wanted->kind));
    if (status != KDL_OK) {
      kdl_error_prefix("kdl_sequence_nest: for " KDL_SLOT_FORMAT, KDL_SLOT_WORDS(i + 1, wanted));
      return status;
    }
  }
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Copying                                                                                      */

static void substitute_slot(const nesting *nest, kdl_operand *operand) {
  if (operand->kind != KDL_OPERAND_SLOT)
    return;
  uint64_t offset = operand->offset;
  *operand = nest->slots[operand->slot - 1];
  operand->offset += offset;
}

static kdl_status copy_launch(const nesting *nest, const kdl_recorded_node *from) {
  kdl_recorded_node node = *from;
  kdl_operand args[KDL_LIMIT_ARGS];
  memcpy(args, node.of.launch.args, node.of.launch.arg_count * sizeof *args);
  for (size_t i = 0; i < node.of.launch.arg_count; ++i)
    substitute_slot(nest, &args[i]);
  substitute_slot(nest, &node.of.launch.items);
  node.of.launch.args = args;
  return kdl_recording_add(nest->outer, &node);
}

static kdl_status copy_join(const nesting *nest, const kdl_recorded_node *from) {
  KDL_TRY(kdl_recording_add(nest->outer, from));
  kdl_recorded_join *join = &nest->outer->nodes[nest->outer->node_count - 1].of.join;
  for (uint32_t i = 0; i < join->joined_count; ++i)
    join->joined[i] += nest->base;
  return KDL_OK;
}

/* Checks again, because offsets were added. */
static kdl_status check_alignment(const kdl_recorded_node *node) {
  if (node->kind == KDL_NODE_FILL && node->of.copy.to.offset % node->of.copy.pattern_size)
    return kdl_fail(KDL_BAD_CALL,
                    "kdl_sequence_nest: found a fill at offset %" PRIu64
                    ", expected a multiple of its pattern's %zu bytes",
                    node->of.copy.to.offset, node->of.copy.pattern_size);
  if (node->kind == KDL_NODE_WHILE && node->of.loop.condition.offset % sizeof(uint32_t))
    return kdl_fail(KDL_BAD_CALL,
                    "kdl_sequence_nest: found a condition at offset %" PRIu64
                    ", expected a multiple of 4",
                    node->of.loop.condition.offset);
  return KDL_OK;
}

static kdl_status copy_nested_node(const nesting *nest, const kdl_recorded_node *from) {
  kdl_recorded_node node = *from;
  nest->outer->last = from->after == KDL_NO_NODE ? nest->before : from->after + nest->base;
  if (node.kind == KDL_NODE_LAUNCH)
    return copy_launch(nest, from);
  if (node.kind == KDL_NODE_JOIN)
    return copy_join(nest, from);
  if (node.kind == KDL_NODE_WHILE || node.kind == KDL_NODE_END) {
    substitute_slot(nest, &node.of.loop.condition);
    node.of.loop.other += nest->base;
  }
  if (node.kind <= KDL_NODE_FILL) {
    substitute_slot(nest, &node.of.copy.to);
    substitute_slot(nest, &node.of.copy.from);
  }
  kdl_status status = check_alignment(&node);
  return status == KDL_OK ? kdl_recording_add(nest->outer, &node) : status;
}

static kdl_status save_slot_bytes(nesting *nest) {
  const kdl_recording *outer = nest->outer;
  nest->slot_bytes = calloc(outer->slot_count + 1, sizeof *nest->slot_bytes);
  if (!nest->slot_bytes)
    return kdl_fail(KDL_NO_MEMORY, "kdl_sequence_nest: out of memory");
  for (size_t i = 0; i < outer->slot_count; ++i)
    nest->slot_bytes[i] = outer->slots[i].bytes;
  return KDL_OK;
}

/* Restores the outer recording. */
static void roll_back(const nesting *nest) {
  kdl_recording *outer = nest->outer;
  while (outer->node_count > nest->base) {
    const kdl_recorded_node *node = &outer->nodes[--outer->node_count];
    outer->launch_count -= node->kind == KDL_NODE_LAUNCH;
  }
  outer->last = nest->before;
  outer->mark_count = nest->mark_count;
  for (size_t i = 0; i < outer->slot_count; ++i)
    outer->slots[i].bytes = nest->slot_bytes[i];
}

/* Applies the declared sizes of inner slots to the outer ones. */
static void require_slot_memory(const nesting *nest) {
  for (size_t i = 0; i < nest->inner->slot_count; ++i) {
    const kdl_operand *given = &nest->slots[i];
    kdl_slot_kind kind = nest->inner->slots[i].kind;
    if (given->kind != KDL_OPERAND_SLOT || (kind != KDL_SLOT_BUFFER && kind != KDL_SLOT_HOST))
      continue;
    kdl_recorded_slot *slot = &nest->outer->slots[given->slot - 1];
    uint64_t bytes = given->offset + nest->inner->slots[i].bytes;
    slot->bytes = slot->bytes < bytes ? bytes : slot->bytes;
  }
}

static kdl_status copy_nodes(const nesting *nest) {
  const kdl_recording *inner = nest->inner;
  if (inner->node_count > KDL_LIMIT_NODES - nest->outer->node_count)
    return kdl_fail(KDL_BAD_CALL, "kdl_sequence_nest: found more than %d nodes in a sequence",
                    KDL_LIMIT_NODES);
  kdl_status status = kdl_recording_add_marks(nest->outer, inner, nest->base);
  for (size_t i = 0; i < inner->node_count && status == KDL_OK; ++i)
    status = copy_nested_node(nest, &inner->nodes[i]);
  if (status != KDL_OK) {
    roll_back(nest);
    return status;
  }
  nest->outer->last = inner->last == KDL_NO_NODE ? nest->before : inner->last + nest->base;
  require_slot_memory(nest);
  return KDL_OK;
}

static bool has_loops(const kdl_recording *recording) {
  for (size_t i = 0; i < recording->node_count; ++i) {
    if (recording->nodes[i].kind == KDL_NODE_WHILE)
      return true;
  }
  return false;
}

kdl_status kdl_sequence_nest(kdl_sequence *sequence, const kdl_sequence *inner,
                             const kdl_operand *slots, size_t slot_count) {
  kdl_recording *recording;
  kdl_status status = KDL_GIVEN(sequence, inner);
  if (status == KDL_OK && slot_count)
    status = KDL_GIVEN(slots);
  if (status == KDL_OK)
    status = kdl_sequence_recording(sequence, __func__, &recording);
  if (status != KDL_OK)
    return status;
  if (!inner->is_finished)
    return kdl_fail(KDL_BAD_CALL, "%s: found a sequence that is not finished", __func__);
  if (inner->recording.runtime != recording->runtime)
    return kdl_fail(KDL_BAD_CALL, "%s: found a sequence of %s, expected one of %s", __func__,
                    inner->recording.runtime->label, recording->runtime->label);
  if (slot_count != inner->recording.slot_count)
    return kdl_fail(KDL_BAD_CALL, "%s: found %zu operands, expected one for each of %zu slots",
                    __func__, slot_count, inner->recording.slot_count);
  nesting nest = {recording,       &inner->recording,     slots, (uint32_t)recording->node_count,
                  recording->last, recording->mark_count, NULL};
  status = check_slots(&nest);
  if (status == KDL_OK && recording->fork_count && has_loops(&inner->recording))
    status = kdl_fail(KDL_BAD_CALL, "%s: found a fork that is open: a loop cannot lie in a branch",
                      __func__);
  if (status == KDL_OK)
    status = save_slot_bytes(&nest);
  if (status == KDL_OK)
    status = copy_nodes(&nest);
  free(nest.slot_bytes);
  return status;
}
