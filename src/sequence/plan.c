/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "sequence/plan.h"

#include "base/array.h"
#include "base/error.h"
#include "launch/launch.h"

#include <string.h>

static kdl_status no_memory(void) {
  return kdl_fail(KDL_NO_MEMORY, "out of memory for a sequence");
}

void kdl_plan_free(kdl_plan *plan) {
  kdl_arena_free(&plan->memory);
  free(plan->room);
}

kdl_status kdl_plan_address(const kdl_runtime *runtime, uint64_t address, uint64_t offset,
                            uint64_t *out_address) {
  if (offset && runtime->table->address_at)
    return runtime->table->address_at(runtime->handle, address, offset, out_address);
  *out_address = address + offset;
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Counting                                                                                     */

typedef struct {
  size_t uses, pointers;
} counts;

static bool is_slot(const kdl_operand *operand) {
  return operand->kind == KDL_OPERAND_SLOT;
}

static counts count(const kdl_recording *recording) {
  counts total = {0, 0};
  for (size_t i = 0; i < recording->node_count; ++i) {
    const kdl_recorded_node *node = &recording->nodes[i];
    if (node->kind == KDL_NODE_LAUNCH) {
      const kdl_recorded_launch *launch = &node->of.launch;
      total.pointers += launch->arg_count + launch->kernel->key.hidden;
      total.uses += is_slot(&launch->items);
      for (size_t k = 0; k < launch->arg_count; ++k)
        total.uses += is_slot(&launch->args[k]);
    } else if (node->kind <= KDL_NODE_FILL) {
      total.uses += (size_t)is_slot(&node->of.copy.to) + (size_t)is_slot(&node->of.copy.from);
    } else if (node->kind == KDL_NODE_WHILE) {
      total.uses += is_slot(&node->of.loop.condition);
    }
  }
  return total;
}

/* ------------------------------------------------------------------------------------------ */
/* Nodes                                                                                        */

static void add_use(kdl_plan *plan, kdl_use_kind kind, const kdl_operand *operand, size_t node,
                    size_t arg) {
  plan->uses[plan->use_count++] =
      (kdl_use){operand->slot, kind, operand->offset, (uint32_t)node, (uint32_t)arg};
}

/* What is constant of an argument. */
static kdl_status plan_argument(kdl_plan *plan, size_t node, const kdl_operand *operand) {
  const void **pointer = &plan->pointers[plan->pointer_count];
  if (is_slot(operand)) {
    add_use(plan, KDL_USE_ARGUMENT, operand, node, plan->pointer_count);
  } else if (operand->kind == KDL_OPERAND_VALUE) {
    *pointer = operand->of.value;
  } else {
    uint64_t *address = kdl_arena_alloc(&plan->memory, sizeof *address);
    if (!address)
      return no_memory();
    kdl_status status = kdl_plan_address(plan->recording->runtime, operand->of.buffer.address,
                                         operand->offset, address);
    if (status != KDL_OK)
      return status;
    *pointer = address;
  }
  ++plan->pointer_count;
  return KDL_OK;
}

/* The block that a launch with the caller's grid leaves open. */
static void settle_block(const kdl_kernel *kernel, kdl_launch_desc *desc) {
  if (!desc->block[0])
    memcpy(desc->block, kernel->loaded.block[0] ? kernel->loaded.block : kernel->block,
           sizeof desc->block);
}

static kdl_status plan_launch(kdl_plan *plan, size_t index, const kdl_recorded_launch *launch,
                              kdl_backend_node *node) {
  static void *const nothing = NULL;
  const kdl_extent one = {1, 1, 1}, *items = &launch->items.of.items;
  const kdl_kernel *kernel = launch->kernel;
  kdl_status status = KDL_OK;
  node->launch = kernel->loaded.launch;
  node->kernel = &kernel->head;
  node->args = (kdl_args){.count = launch->arg_count + kernel->key.hidden,
                          .pointers = plan->pointers + plan->pointer_count};
  if (kernel->loaded.launched)
    __atomic_store_n(kernel->loaded.launched, 1, __ATOMIC_RELAXED);
  for (size_t i = 0; i < launch->arg_count && status == KDL_OK; ++i)
    status = plan_argument(plan, index, &launch->args[i]);
  for (size_t i = 0; i < kernel->key.hidden && status == KDL_OK; ++i)
    plan->pointers[plan->pointer_count++] = &nothing;
  if (status != KDL_OK)
    return status;
  if (!launch->items.kind) {
    node->desc = launch->desc;
    settle_block(kernel, &node->desc);
    if (node->desc.shared < kernel->key.shared)
      node->desc.shared = (uint32_t)kernel->key.shared;
    return KDL_OK;
  }
  if (is_slot(&launch->items)) {
    add_use(plan, KDL_USE_ITEMS, &launch->items, index, 0);
    items = &one; /* until it is bound */
  }
  node->is_skipped = items->x == 0 || items->y == 0 || items->z == 0;
  return kdl_launch_shape(kernel, node->is_skipped ? &one : items, &node->desc);
}

static void plan_copy(kdl_plan *plan, size_t index, const kdl_recorded_copy *copy,
                      kdl_backend_node *node) {
  node->bytes = copy->bytes;
  node->to_offset = copy->to.offset;
  node->from_offset = copy->from.offset;
  memcpy(node->pattern, copy->pattern, sizeof node->pattern);
  node->pattern_size = copy->pattern_size;
  if (is_slot(&copy->to))
    add_use(plan, KDL_USE_TO, &copy->to, index, 0);
  else if (copy->to.kind == KDL_OPERAND_HOST)
    node->host = (char *)copy->to.of.host + copy->to.offset;
  else
    node->to = copy->to.of.buffer.address;
  if (is_slot(&copy->from))
    add_use(plan, KDL_USE_FROM, &copy->from, index, 0);
  else if (copy->from.kind == KDL_OPERAND_HOST)
    node->host = (char *)copy->from.of.host + copy->from.offset;
  else if (copy->from.kind == KDL_OPERAND_BUFFER)
    node->from = copy->from.of.buffer.address;
}

static void plan_loop(kdl_plan *plan, size_t index, const kdl_recorded_loop *loop,
                      kdl_backend_node *node) {
  node->other = loop->other;
  node->from_offset = loop->condition.offset;
  if (is_slot(&loop->condition))
    add_use(plan, KDL_USE_FROM, &loop->condition, index, 0);
  else
    node->from = loop->condition.of.buffer.address;
}

static kdl_status plan_node(kdl_plan *plan, size_t index) {
  const kdl_recorded_node *recorded = &plan->recording->nodes[index];
  kdl_backend_node *node = &plan->nodes[index];
  *node =
      (kdl_backend_node){.size = sizeof *node, .kind = recorded->kind, .after = recorded->after};
  switch (recorded->kind) {
  case KDL_NODE_LAUNCH:
    return plan_launch(plan, index, &recorded->of.launch, node);
  case KDL_NODE_RECORD:
  case KDL_NODE_WAIT:
    node->event = recorded->of.event->handle;
    return KDL_OK;
  case KDL_NODE_WHILE:
  case KDL_NODE_END:
    plan_loop(plan, index, &recorded->of.loop, node);
    return KDL_OK;
  case KDL_NODE_JOIN:
    node->joined = recorded->of.join.joined;
    node->joined_count = recorded->of.join.joined_count;
    return KDL_OK;
  default:
    plan_copy(plan, index, &recorded->of.copy, node);
    return KDL_OK;
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Slots                                                                                        */

static int compare_numbers(uint64_t left, uint64_t right) {
  return (left > right) - (left < right);
}

static int compare_uses(const void *left, const void *right) {
  const kdl_use *a = left, *b = right;
  int order = compare_numbers(a->slot, b->slot);
  if (!order)
    order = compare_numbers(a->kind, b->kind);
  if (!order)
    order = compare_numbers(a->offset, b->offset);
  return order ? order : compare_numbers(a->arg ? a->arg : a->node, b->arg ? b->arg : b->node);
}

/* A scalar is aligned for whatever type its size may have. */
static uint32_t cell_alignment(uint64_t bytes) {
  uint32_t alignment = 8;
  while (alignment < bytes && alignment < 64)
    alignment *= 2;
  return alignment;
}

static void add_cell(kdl_plan *plan, const kdl_plan_slot *slot, uint64_t offset) {
  uint64_t bytes = slot->recorded->kind == KDL_SLOT_SCALAR ? slot->recorded->bytes : 8;
  uint32_t alignment = cell_alignment(bytes);
  size_t at = (plan->cell_bytes + alignment - 1) & ~((size_t)alignment - 1);
  plan->cells[plan->cell_count++] = (kdl_cell){offset, (uint32_t)at};
  plan->cell_bytes = at + bytes;
}

static void plan_slot(kdl_plan *plan, kdl_slot number, uint32_t *use) {
  kdl_plan_slot *slot = &plan->slots[number - 1];
  slot->recorded = &plan->recording->slots[number - 1];
  slot->cell_begin = (uint32_t)plan->cell_count;
  slot->argument_begin = *use;
  for (; *use < plan->use_count; ++*use) {
    const kdl_use *at = &plan->uses[*use];
    if (at->slot != number || at->kind != KDL_USE_ARGUMENT)
      break;
    if (*use == slot->argument_begin || at->offset != plan->uses[*use - 1].offset)
      add_cell(plan, slot, at->offset);
  }
  slot->cell_end = (uint32_t)plan->cell_count;
  if (slot->recorded->kind == KDL_SLOT_SCALAR && slot->cell_begin < slot->cell_end)
    plan->scalars[plan->scalar_count++] =
        (kdl_scalar){number - 1, plan->cells[slot->cell_begin].at, slot->recorded->bytes};
  slot->argument_end = *use;
  while (*use < plan->use_count && plan->uses[*use].slot == number)
    ++*use;
  slot->other_end = *use;
}

/* Programs often make slots in the order in which they use them. */
static bool are_sorted(const kdl_plan *plan) {
  for (size_t i = 1; i < plan->use_count; ++i) {
    if (compare_uses(&plan->uses[i - 1], &plan->uses[i]) > 0)
      return false;
  }
  return true;
}

static void plan_slots(kdl_plan *plan) {
  uint32_t use = 0;
  if (!are_sorted(plan))
    kdl_sort(plan->uses, plan->use_count, sizeof *plan->uses, compare_uses);
  for (size_t i = 0; i < plan->slot_count; ++i)
    plan_slot(plan, (kdl_slot)(i + 1), &use);
}

/* ------------------------------------------------------------------------------------------ */
/* All of it                                                                                    */

/* A part of the plan's room, or where there is none yet, how much it takes. */
static void *part(const kdl_plan *plan, size_t *used, size_t count, size_t size) {
  enum { alignment = 16 };
  void *found = plan->room ? (char *)plan->room + *used : NULL;
  *used += (count * size + alignment - 1) & ~(size_t)(alignment - 1);
  return found;
}

static size_t lay_out(kdl_plan *plan, const counts *total) {
  const kdl_recording *recording = plan->recording;
  size_t used = 0;
  plan->nodes = part(plan, &used, recording->node_count, sizeof *plan->nodes);
  plan->pointers = part(plan, &used, total->pointers, sizeof *plan->pointers);
  plan->uses = part(plan, &used, total->uses, sizeof *plan->uses);
  plan->cells = part(plan, &used, total->uses, sizeof *plan->cells);
  plan->slots = part(plan, &used, recording->slot_count, sizeof *plan->slots);
  plan->scalars = part(plan, &used, recording->slot_count, sizeof *plan->scalars);
  return used;
}

static kdl_status plan_all(kdl_plan *plan) {
  const kdl_recording *recording = plan->recording;
  counts total = count(recording);
  plan->room = calloc(1, lay_out(plan, &total) + 1);
  if (!plan->room)
    return no_memory();
  (void)lay_out(plan, &total);
  plan->node_count = recording->node_count;
  plan->slot_count = recording->slot_count;
  for (size_t i = 0; i < plan->node_count; ++i) {
    kdl_status status = plan_node(plan, i);
    if (status != KDL_OK)
      return status;
  }
  plan_slots(plan);
  return plan->cell_bytes <= UINT32_MAX ? KDL_OK : no_memory();
}

kdl_status kdl_plan_make(const kdl_recording *recording, kdl_plan *out_plan) {
  kdl_plan plan = {.recording = recording};
  kdl_status status = plan_all(&plan);
  if (status == KDL_OK)
    *out_plan = plan;
  else
    kdl_plan_free(&plan);
  return status;
}
