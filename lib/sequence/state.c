/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/sequence/state.h"

#include "lib/launch/launch.h"
#include "support/base/error.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------ */
/* Creation                                                                                     */

/* One allocation that is divided into `parts`, each aligned for any type. */
typedef struct {
  char *at;
  size_t size;
} parts;

static void *alloc_state_part(parts *from, size_t count, size_t size) {
  size_t bytes = (count * size + 63) & ~(size_t)63;
  void *found = from->at ? from->at + from->size : NULL;
  from->size += bytes;
  return found;
}

/* Parts that need no zeroing are last. */
static void lay_out_state(const kdl_plan *plan, parts *from, kdl_state *out_state) {
  out_state->cells = alloc_state_part(from, plan->cell_bytes, 1);
  out_state->changed_epochs =
      alloc_state_part(from, plan->node_count, sizeof *out_state->changed_epochs);
  out_state->nodes = alloc_state_part(from, plan->node_count, sizeof *out_state->nodes);
  out_state->node_list = alloc_state_part(from, plan->node_count, sizeof *out_state->node_list);
  out_state->pointers = alloc_state_part(from, plan->pointer_count, sizeof *out_state->pointers);
  out_state->addresses = alloc_state_part(from, plan->address_count, sizeof *out_state->addresses);
  out_state->bound = alloc_state_part(from, plan->slot_count, sizeof *out_state->bound);
  out_state->changed = alloc_state_part(from, plan->node_count, sizeof *out_state->changed);
}

static void point_to_cells(const kdl_plan *plan, const kdl_state *state) {
  for (size_t i = 0; i < plan->slot_count; ++i) {
    const kdl_plan_slot *slot = &plan->slots[i];
    const kdl_cell *cell = plan->cells + slot->cell_begin;
    for (uint32_t k = slot->argument_begin; k < slot->argument_end; ++k) {
      const kdl_use *use = &plan->uses[k];
      while (cell->offset != use->offset)
        ++cell;
      state->pointers[use->arg] = state->cells + cell->at;
    }
  }
}

kdl_status kdl_state_create(const kdl_plan *plan, kdl_state **out_state) {
  enum { alignment = 64 };
  parts measure = {NULL, 0};
  kdl_state *state, measured;
  (void)alloc_state_part(&measure, 1, sizeof *state);
  lay_out_state(plan, &measure, &measured);
  void *room = malloc(measure.size + alignment); /* faster than an aligned allocation */
  if (!room)
    return kdl_fail(KDL_NO_MEMORY, "out of memory for a run of a sequence");
  char *memory = (char *)room + (-(uintptr_t)room & (alignment - 1));
  parts from = {memory, 0};
  state = alloc_state_part(&from, 1, sizeof *state);
  lay_out_state(plan, &from, &measured);
  memset(memory, 0, (size_t)((char *)measured.nodes - memory));
  *state = (kdl_state){.storage = room,
                       .cells = measured.cells,
                       .changed_epochs = measured.changed_epochs,
                       .nodes = measured.nodes,
                       .node_list = measured.node_list,
                       .pointers = measured.pointers,
                       .addresses = measured.addresses,
                       .bound = measured.bound,
                       .changed = measured.changed};
  kdl_status status = kdl_state_build_nodes(plan, state);
  if (status != KDL_OK) {
    kdl_state_free(state);
    return status;
  }
  point_to_cells(plan, state);
  *out_state = state;
  return KDL_OK;
}

void kdl_state_free(kdl_state *state) {
  free(state->storage);
}

/* ------------------------------------------------------------------------------------------ */
/* Binding                                                                                      */

static void mark_changed(kdl_state *state, uint32_t node) {
  if (state->changed_epochs[node] == state->epoch)
    return;
  state->changed_epochs[node] = state->epoch;
  state->changed[state->changed_count++] = node;
}

static kdl_status set_items(const kdl_plan *plan, kdl_backend_node *node, uint32_t index,
                            const kdl_binding *binding) {
  const kdl_kernel *kernel = plan->recording->nodes[index].of.launch.kernel;
  const kdl_extent items = binding->to.items;
  node->is_skipped = items.x == 0 || items.y == 0 || items.z == 0;
  return node->is_skipped ? KDL_OK : kdl_items_to_grid(kernel, &items, &node->desc);
}

/* Sets operands other than arguments. */
static kdl_status set_operand(const kdl_plan *plan, kdl_state *state, const kdl_use *use,
                              const kdl_binding *binding) {
  kdl_backend_node *node = &state->nodes[use->node];
  mark_changed(state, use->node);
  if (use->kind == KDL_USE_ITEMS)
    return set_items(plan, node, use->node, binding);
  if (plan->slots[use->slot - 1].recorded->kind == KDL_SLOT_HOST)
    node->host = (char *)binding->to.host.data + use->offset;
  else if (use->kind == KDL_USE_TO)
    node->to = binding->to.buffer.address;
  else
    node->from = binding->to.buffer.address;
  return KDL_OK;
}

static kdl_status set_cells(const kdl_plan *plan, kdl_state *state, const kdl_plan_slot *slot,
                            const kdl_binding *binding) {
  for (uint32_t i = slot->cell_begin; i < slot->cell_end; ++i) {
    const kdl_cell *cell = &plan->cells[i];
    char *at = state->cells + cell->at;
    uint64_t address;
    if (slot->recorded->kind == KDL_SLOT_SCALAR) {
      memcpy(at, binding->to.value.data, slot->recorded->bytes);
      continue;
    }
    kdl_status status = kdl_state_address(plan->recording->runtime, binding->to.buffer.address,
                                          cell->offset, &address);
    if (status != KDL_OK)
      return status;
    memcpy(at, &address, sizeof address);
  }
  return KDL_OK;
}

/* Whether the binding differs from the slot's last one. */
static bool is_binding_changed(const kdl_plan *plan, const kdl_state *state, size_t index,
                               const kdl_binding *binding) {
  const kdl_plan_slot *slot = &plan->slots[index];
  const kdl_binding *bound = &state->bound[index];
  if (!state->is_bound)
    return true;
  switch (slot->recorded->kind) {
  case KDL_SLOT_SCALAR:
    return slot->cell_begin < slot->cell_end &&
           memcmp(state->cells + plan->cells[slot->cell_begin].at, binding->to.value.data,
                  slot->recorded->bytes) != 0;
  case KDL_SLOT_ITEMS:
    return memcmp(&bound->to.items, &binding->to.items, sizeof binding->to.items) != 0;
  case KDL_SLOT_BUFFER:
    return bound->to.buffer.address != binding->to.buffer.address;
  default:
    return bound->to.host.data != binding->to.host.data;
  }
}

static kdl_status bind_slot(const kdl_plan *plan, kdl_state *state, size_t index,
                            const kdl_binding *binding) {
  const kdl_plan_slot *slot = &plan->slots[index];
  kdl_status status = set_cells(plan, state, slot, binding);
  if (state->tracks_arguments) {
    for (uint32_t i = slot->argument_begin; i < slot->argument_end; ++i)
      mark_changed(state, plan->uses[i].node);
  }
  for (uint32_t i = slot->argument_end; i < slot->other_end && status == KDL_OK; ++i)
    status = set_operand(plan, state, &plan->uses[i], binding);
  return status;
}

static void mark_all_changed(const kdl_plan *plan, kdl_state *state) {
  for (size_t i = 0; i < plan->node_count; ++i)
    mark_changed(state, (uint32_t)i);
}

kdl_status kdl_state_bind(const kdl_plan *plan, kdl_state *state, const kdl_binding *bindings) {
  state->changed_count = 0;
  if (++state->epoch == 0) { /* wrapped around: reset all stamps */
    memset(state->changed_epochs, 0, plan->node_count * sizeof *state->changed_epochs);
    state->epoch = 1;
  }
  for (size_t i = 0; i < plan->slot_count; ++i) {
    if (!is_binding_changed(plan, state, i, &bindings[i]))
      continue;
    kdl_status status = bind_slot(plan, state, i, &bindings[i]);
    if (status != KDL_OK) {
      state->is_bound = state->is_instance_current = false;
      const kdl_recorded_slot *slot = plan->slots[i].recorded;
      kdl_error_prefix(KDL_SLOT_FORMAT, KDL_SLOT_WORDS(i + 1, slot));
      return status;
    }
  }
  if (plan->slot_count)
    memcpy(state->bound, bindings, plan->slot_count * sizeof *bindings);
  state->is_bound = true;
  if (!state->is_instance_current && state->instance)
    mark_all_changed(plan, state);
  return KDL_OK;
}
