/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Builds the nodes of a state for the backend, with all constants. */
#include "lib/launch/launch.h"
#include "lib/sequence/state.h"

kdl_status kdl_state_address(const kdl_runtime *runtime, uint64_t address, uint64_t offset,
                             uint64_t *out_address) {
  if (offset && runtime->table->address_at)
    return runtime->table->address_at(runtime->handle, address, offset, out_address);
  *out_address = address + offset;
  return KDL_OK;
}

/* The position of the next arguments. */
typedef struct {
  const kdl_runtime *runtime;
  const void **pointers;
  uint64_t *addresses;
} node_builder;

static bool is_slot_operand(const kdl_operand *operand) {
  return operand->kind == KDL_OPERAND_SLOT;
}

/* The pointer of a slot is set later, to its cell. */
static kdl_status build_argument(node_builder *m, const kdl_operand *operand) {
  const void **pointer = m->pointers++;
  if (operand->kind == KDL_OPERAND_VALUE)
    *pointer = operand->of.value;
  if (operand->kind != KDL_OPERAND_BUFFER)
    return KDL_OK;
  *pointer = m->addresses;
  return kdl_state_address(m->runtime, operand->of.buffer.address, operand->offset, m->addresses++);
}

/* Sets the block of an explicit grid that has none. */
static void resolve_block(const kdl_kernel *kernel, kdl_launch_desc *desc) {
  if (!desc->block[0])
    memcpy(desc->block, kernel->loaded.block[0] ? kernel->loaded.block : kernel->block,
           sizeof desc->block);
}

static kdl_status build_launch(node_builder *m, const kdl_recorded_launch *launch,
                               kdl_backend_node *node) {
  static void *const nothing = NULL;
  const kdl_extent one = {1, 1, 1}, *items = &launch->items.of.items;
  const kdl_kernel *kernel = launch->kernel;
  node->launch = kernel->loaded.launch;
  node->kernel = &kernel->head;
  node->args = (kdl_args){.count = launch->arg_count + kernel->key.hidden, .pointers = m->pointers};
  if (kernel->loaded.launched)
    __atomic_store_n(kernel->loaded.launched, 1, __ATOMIC_RELAXED);
  for (size_t i = 0; i < launch->arg_count; ++i)
    KDL_TRY(build_argument(m, &launch->args[i]));
  for (size_t i = 0; i < kernel->key.hidden; ++i)
    *m->pointers++ = &nothing;
  if (!launch->items.kind) {
    node->desc = launch->desc;
    resolve_block(kernel, &node->desc);
    if (node->desc.shared < kernel->key.shared)
      node->desc.shared = (uint32_t)kernel->key.shared;
    return KDL_OK;
  }
  if (is_slot_operand(&launch->items))
    items = &one; /* until it is bound */
  node->is_skipped = items->x == 0 || items->y == 0 || items->z == 0;
  return kdl_items_to_grid(kernel, node->is_skipped ? &one : items, &node->desc);
}

static void build_copy(const kdl_recorded_copy *copy, kdl_backend_node *node) {
  node->bytes = copy->bytes;
  node->to_offset = copy->to.offset;
  node->from_offset = copy->from.offset;
  memcpy(node->pattern, copy->pattern, sizeof node->pattern);
  node->pattern_size = copy->pattern_size;
  if (copy->to.kind == KDL_OPERAND_HOST)
    node->host = (char *)copy->to.of.host + copy->to.offset;
  else if (copy->to.kind == KDL_OPERAND_BUFFER)
    node->to = copy->to.of.buffer.address;
  if (copy->from.kind == KDL_OPERAND_HOST)
    node->host = (char *)copy->from.of.host + copy->from.offset;
  else if (copy->from.kind == KDL_OPERAND_BUFFER)
    node->from = copy->from.of.buffer.address;
}

static void build_loop(const kdl_recorded_loop *loop, kdl_backend_node *node) {
  node->other = loop->other;
  node->from_offset = loop->condition.offset;
  if (loop->condition.kind == KDL_OPERAND_BUFFER)
    node->from = loop->condition.of.buffer.address;
}

static kdl_status build_node(node_builder *m, const kdl_recorded_node *recorded,
                             kdl_backend_node *node) {
  *node =
      (kdl_backend_node){.size = sizeof *node, .kind = recorded->kind, .after = recorded->after};
  switch (recorded->kind) {
  case KDL_NODE_LAUNCH:
    return build_launch(m, &recorded->of.launch, node);
  case KDL_NODE_RECORD:
  case KDL_NODE_WAIT:
    node->event = recorded->of.event->handle;
    return KDL_OK;
  case KDL_NODE_WHILE:
  case KDL_NODE_END:
    build_loop(&recorded->of.loop, node);
    return KDL_OK;
  case KDL_NODE_JOIN:
    node->joined = recorded->of.join.joined;
    node->joined_count = recorded->of.join.joined_count;
    return KDL_OK;
  default:
    build_copy(&recorded->of.copy, node);
    return KDL_OK;
  }
}

kdl_status kdl_state_build_nodes(const kdl_plan *plan, kdl_state *state) {
  const kdl_recording *recording = plan->recording;
  node_builder m = {recording->runtime, state->pointers, state->addresses};
  for (size_t i = 0; i < plan->node_count; ++i) {
    kdl_status status = build_node(&m, &recording->nodes[i], &state->nodes[i]);
    if (status != KDL_OK)
      return status;
    state->node_list[i] = &state->nodes[i];
  }
  return KDL_OK;
}
