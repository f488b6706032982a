/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/sequence/plan.h"

#include "support/base/array.h"
#include "support/base/error.h"

#include <string.h>

static kdl_status plan_no_memory(void) {
  return kdl_fail(KDL_NO_MEMORY, "out of memory for a sequence");
}

void kdl_plan_free(kdl_plan *plan) {
  free(plan->storage);
}

/* ------------------------------------------------------------------------------------------ */
/* Counting                                                                                     */

static bool is_slot_operand(const kdl_operand *operand) {
  return operand->kind == KDL_OPERAND_SLOT;
}

static size_t count_uses(const kdl_recording *recording) {
  size_t uses = 0;
  for (size_t i = 0; i < recording->node_count; ++i) {
    const kdl_recorded_node *node = &recording->nodes[i];
    if (node->kind == KDL_NODE_LAUNCH) {
      const kdl_recorded_launch *launch = &node->of.launch;
      uses += is_slot_operand(&launch->items);
      for (size_t k = 0; k < launch->arg_count; ++k)
        uses += is_slot_operand(&launch->args[k]);
    } else if (node->kind <= KDL_NODE_FILL) {
      uses +=
          (size_t)is_slot_operand(&node->of.copy.to) + (size_t)is_slot_operand(&node->of.copy.from);
    } else if (node->kind == KDL_NODE_WHILE) {
      uses += is_slot_operand(&node->of.loop.condition);
    }
  }
  return uses;
}

/* ------------------------------------------------------------------------------------------ */
/* Uses                                                                                         */

static void add_use(kdl_plan *plan, kdl_use_kind kind, const kdl_operand *operand, size_t node,
                    size_t arg) {
  plan->uses[plan->use_count++] =
      (kdl_use){operand->slot, kind, operand->offset, (uint32_t)node, (uint32_t)arg};
}

static void add_slot_use(kdl_plan *plan, kdl_use_kind kind, const kdl_operand *operand,
                         size_t node) {
  if (is_slot_operand(operand))
    add_use(plan, kind, operand, node, 0);
}

static void plan_launch(kdl_plan *plan, size_t index, const kdl_recorded_launch *launch) {
  for (size_t i = 0; i < launch->arg_count; ++i) {
    const kdl_operand *operand = &launch->args[i];
    if (is_slot_operand(operand))
      add_use(plan, KDL_USE_ARGUMENT, operand, index, plan->pointer_count + i);
    plan->address_count += operand->kind == KDL_OPERAND_BUFFER;
  }
  plan->pointer_count += launch->arg_count + launch->kernel->key.hidden;
  add_slot_use(plan, KDL_USE_ITEMS, &launch->items, index);
}

static void plan_node(kdl_plan *plan, size_t index) {
  const kdl_recorded_node *recorded = &plan->recording->nodes[index];
  if (recorded->kind == KDL_NODE_LAUNCH) {
    plan_launch(plan, index, &recorded->of.launch);
  } else if (recorded->kind <= KDL_NODE_FILL) {
    add_slot_use(plan, KDL_USE_TO, &recorded->of.copy.to, index);
    add_slot_use(plan, KDL_USE_FROM, &recorded->of.copy.from, index);
  } else if (recorded->kind == KDL_NODE_WHILE) {
    add_slot_use(plan, KDL_USE_FROM, &recorded->of.loop.condition, index);
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

/* Aligns a scalar for any type of its size. */
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

/* Programs often create slots in the order of use. */
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
/* The plan                                                                                     */

/* A part of the plan's storage or, before that is allocated, only its size. */
static void *alloc_plan_part(const kdl_plan *plan, size_t *used, size_t count, size_t size) {
  enum { alignment = 16 };
  void *found = plan->storage ? (char *)plan->storage + *used : NULL;
  *used += (count * size + alignment - 1) & ~(size_t)(alignment - 1);
  return found;
}

static size_t lay_out_plan(kdl_plan *plan, size_t uses) {
  const kdl_recording *recording = plan->recording;
  size_t used = 0;
  plan->uses = alloc_plan_part(plan, &used, uses, sizeof *plan->uses);
  plan->cells = alloc_plan_part(plan, &used, uses, sizeof *plan->cells);
  plan->slots = alloc_plan_part(plan, &used, recording->slot_count, sizeof *plan->slots);
  plan->scalars = alloc_plan_part(plan, &used, recording->slot_count, sizeof *plan->scalars);
  return used;
}

static kdl_status plan_all(kdl_plan *plan) {
  const kdl_recording *recording = plan->recording;
  size_t uses = count_uses(recording);
  plan->storage = malloc(lay_out_plan(plan, uses) + 1);
  if (!plan->storage)
    return plan_no_memory();
  (void)lay_out_plan(plan, uses);
  plan->node_count = recording->node_count;
  plan->slot_count = recording->slot_count;
  for (size_t i = 0; i < plan->node_count; ++i)
    plan_node(plan, i);
  plan_slots(plan);
  return plan->cell_bytes <= UINT32_MAX ? KDL_OK : plan_no_memory();
}

kdl_status kdl_plan_create(const kdl_recording *recording, kdl_plan *out_plan) {
  kdl_plan plan = {.recording = recording};
  kdl_status status = plan_all(&plan);
  if (status == KDL_OK)
    *out_plan = plan;
  else
    kdl_plan_free(&plan);
  return status;
}
