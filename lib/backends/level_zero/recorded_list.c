/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/backends/level_zero/recorded_list.h"

#include <stdlib.h>
#include <string.h>

static void *ze_pointer(uint64_t address) {
  return (void *)(uintptr_t)address;
}

static uint64_t ze_memory_generation(const kdl_ze_device *device) {
  return atomic_load_explicit(&device->ranges.generation, memory_order_relaxed);
}

static const kdl_argument_list *ze_node_arguments(const kdl_backend_node *node) {
  return &((const kdl_ze_kernel *)node->kernel->context)->list;
}

/* ------------------------------------------------------------------------------------------ */
/* Changes                                                                                      */

void kdl_ze_recorded_mark_changed(kdl_ze_recorded_list *recorded, const uint32_t *changed,
                                  size_t count) {
  if (!recorded->is_closed || !count)
    return;
  recorded->has_changed = true;
  for (size_t i = 0; i < count; ++i)
    recorded->changed[changed[i]] = 1;
}

/* The driver has resolved the memory of addresses: none may have been freed since. */
bool kdl_ze_recorded_is_current(const kdl_ze_recorded_list *recorded, const kdl_ze_nodes *nodes) {
  return recorded->is_closed && !recorded->has_changed &&
         recorded->generation == ze_memory_generation(nodes->device);
}

static size_t ze_next_changed(const kdl_ze_recorded_list *recorded, size_t from, size_t count) {
  const uint8_t *found = memchr(recorded->changed + from, 1, count - from);
  return found ? (size_t)(found - recorded->changed) : count;
}

/* ------------------------------------------------------------------------------------------ */
/* Completion                                                                                   */

static void ze_clear_last_run(kdl_ze_recorded_list *recorded, kdl_ze_device *device) {
  if (recorded->fence)
    kdl_ze_timestamp_release(device, recorded->fence);
  recorded->fence = NULL;
  recorded->queue = NULL;
}

bool kdl_ze_recorded_is_done(kdl_ze_recorded_list *recorded, kdl_ze_device *device) {
  if (!recorded->queue)
    return true;
  bool is_done = recorded->fence ? kdl_ze.event_status(recorded->fence->event) == KDL_ZE_SUCCESS
                                 : kdl_ze_queue_is_done(device, recorded->queue);
  if (is_done)
    ze_clear_last_run(recorded, device);
  return is_done;
}

kdl_status kdl_ze_recorded_add_fence(kdl_ze_recorded_list *recorded, kdl_ze_queue *queue) {
  kdl_ze_timestamp *stamp;
  if (recorded->fence || recorded->queue != queue)
    return KDL_OK;
  KDL_TRY(kdl_ze_timestamp_acquire(queue->device, &stamp));
  kdl_futex_lock_acquire(&queue->lock);
  int error = kdl_ze.barrier(queue->list, stamp->event, 0, NULL);
  stamp->given = error == KDL_ZE_SUCCESS;
  kdl_futex_lock_release(&queue->lock);
  if (error == KDL_ZE_SUCCESS) {
    recorded->fence = stamp;
    return KDL_OK;
  }
  kdl_ze_timestamp_release(queue->device, stamp);
  return kdl_ze_fail(queue->device, error, "zeCommandListAppendBarrier");
}

/* ------------------------------------------------------------------------------------------ */
/* Recording                                                                                    */

static kdl_status ze_get_instance(kdl_ze_nodes *nodes, const kdl_ze_kernel *kernel,
                                  kdl_ze_instance **out_instance) {
  for (size_t i = nodes->instance_count; i > 0; --i) {
    if (nodes->instances[i - 1]->kernel == kernel) {
      *out_instance = nodes->instances[i - 1];
      return KDL_OK;
    }
  }
  KDL_TRY(kdl_ze_instance_create(kernel, out_instance));
  nodes->instances[nodes->instance_count++] = *out_instance;
  return KDL_OK;
}

/* Saves the values that the command is about to get. */
static void ze_save_command(const kdl_ze_recorded_list *recorded, const kdl_backend_node *node,
                            kdl_ze_command *command, size_t *values) {
  const kdl_argument_list *list = ze_node_arguments(node);
  command->desc = node->desc;
  command->values = *values;
  for (uint32_t i = 0; i < list->count; ++i) {
    memcpy(recorded->values + *values, node->args.pointers[i], list->arguments[i].size);
    *values += list->arguments[i].size;
  }
}

static kdl_status ze_record_launch(const kdl_ze_recorded_list *recorded, kdl_ze_nodes *nodes,
                                   size_t index, size_t *values) {
  const kdl_ze_device *device = nodes->device;
  const kdl_backend_node *node = nodes->nodes[index];
  const kdl_ze_kernel *kernel = node->kernel->context;
  const kdl_ze_mutable_desc wanted = {.type = KDL_ZE_MUTABLE_ID_DESC,
                                      .flags = KDL_ZE_MUTABLE_ARGUMENTS | KDL_ZE_MUTABLE_GROUPS};
  kdl_ze_instance *instance;
  KDL_TRY(ze_get_instance(nodes, kernel, &instance));
  KDL_TRY(kdl_ze_instance_set_group(instance, &node->desc));
  KDL_TRY(kdl_argument_cache_set(&instance->given, &kernel->list, instance->handle, &node->args,
                                 node->desc.shared));
  if (nodes->is_mutable) {
    ze_save_command(recorded, node, &recorded->commands[index], values);
    int error = kdl_ze.command_id(recorded->list, &wanted, &recorded->commands[index].id);
    if (error != KDL_ZE_SUCCESS)
      return kdl_ze_fail(device, error, "zeCommandListGetNextCommandIdExp");
  }
  int error = kdl_ze.launch(recorded->list, instance->handle, node->desc.grid, NULL, 0, NULL);
  return error == KDL_ZE_SUCCESS
             ? KDL_OK
             : kdl_ze_fail(device, error, "zeCommandListAppendLaunchKernel \"%s\", in a sequence",
                           kernel->name);
}

static kdl_status ze_record_transfer(const kdl_ze_recorded_list *recorded,
                                     const kdl_ze_device *device, const kdl_backend_node *node) {
  void *to = node->kind == KDL_NODE_READ ? node->host : ze_pointer(node->to + node->to_offset);
  const void *from =
      node->kind == KDL_NODE_WRITE ? node->host : ze_pointer(node->from + node->from_offset);
  bool is_fill = node->kind == KDL_NODE_FILL;
  int error = is_fill ? kdl_ze.fill(recorded->list, to, node->pattern, node->pattern_size,
                                    node->bytes, NULL, 0, NULL)
                      : kdl_ze.copy(recorded->list, to, from, node->bytes, NULL, 0, NULL);
  return error == KDL_ZE_SUCCESS ? KDL_OK
                                 : kdl_ze_fail(device, error, "%s of %llu bytes, in a sequence",
                                               is_fill ? "zeCommandListAppendMemoryFill"
                                                       : "zeCommandListAppendMemoryCopy",
                                               (unsigned long long)node->bytes);
}

/* The list is in order, so a join needs no command. */
static kdl_status ze_record_nodes(const kdl_ze_recorded_list *recorded, kdl_ze_nodes *nodes) {
  size_t values = 0;
  for (size_t i = 0; i < nodes->count; ++i) {
    const kdl_backend_node *node = nodes->nodes[i];
    recorded->commands[i].id = 0;
    if (node->kind == KDL_NODE_JOIN || node->is_skipped)
      continue;
    KDL_TRY(node->kind == KDL_NODE_LAUNCH ? ze_record_launch(recorded, nodes, i, &values)
                                          : ze_record_transfer(recorded, nodes->device, node));
  }
  return KDL_OK;
}

static bool ze_alloc_commands(kdl_ze_recorded_list *recorded, const kdl_ze_nodes *nodes) {
  recorded->changed = calloc(nodes->count, sizeof *recorded->changed);
  recorded->commands = calloc(nodes->count, sizeof *recorded->commands);
  recorded->values = malloc(nodes->value_bytes + 1);
  return recorded->changed && recorded->commands && recorded->values;
}

static kdl_status ze_reset_list(kdl_ze_recorded_list *recorded, const kdl_ze_nodes *nodes) {
  kdl_ze_device *device = nodes->device;
  const kdl_ze_mutable_desc mutability = {.type = KDL_ZE_MUTABLE_LIST_DESC};
  const kdl_ze_list_desc desc = {.type = KDL_ZE_COMMAND_LIST_DESC,
                                 .next = nodes->is_mutable ? &mutability : NULL,
                                 .ordinal = device->queue_group,
                                 .flags = KDL_ZE_LIST_IN_ORDER};
  if (recorded->list) {
    int error = kdl_ze.recorded_reset(recorded->list);
    return error == KDL_ZE_SUCCESS ? KDL_OK : kdl_ze_fail(device, error, "zeCommandListReset");
  }
  if (!recorded->changed && !ze_alloc_commands(recorded, nodes))
    return kdl_ze_no_memory(device);
  int error = kdl_ze.recorded_create(device->context, device->handle, &desc, &recorded->list);
  if (error == KDL_ZE_SUCCESS)
    return KDL_OK;
  recorded->list = NULL;
  return kdl_ze_fail(device, error, "zeCommandListCreate");
}

kdl_status kdl_ze_recorded_record(kdl_ze_recorded_list *recorded, kdl_ze_nodes *nodes) {
  recorded->is_closed = false;
  KDL_TRY(ze_reset_list(recorded, nodes));
  recorded->generation = ze_memory_generation(nodes->device);
  recorded->has_changed = false;
  memset(recorded->changed, 0, nodes->count);
  KDL_TRY(ze_record_nodes(recorded, nodes));
  int error = kdl_ze.recorded_close(recorded->list);
  if (error != KDL_ZE_SUCCESS)
    return kdl_ze_fail(nodes->device, error, "zeCommandListClose");
  recorded->is_closed = true;
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Updates                                                                                      */

/* A batch of updates. */
typedef struct {
  void *list;
  int error;
  size_t count;
  union {
    kdl_ze_mutable_argument argument;
    kdl_ze_mutable_groups groups;
  } rows[32];
} update_batch;

/* Does nothing after an error. */
static void ze_flush_updates(update_batch *p) {
  if (p->count && !p->error) {
    const kdl_ze_mutable_desc all = {.type = KDL_ZE_MUTABLE_COMMANDS_DESC,
                                     .next = &p->rows[p->count - 1]};
    p->error = kdl_ze.commands_set(p->list, &all);
  }
  p->count = 0;
}

/* Links each update to the preceding one. */
static const void *ze_next_update(update_batch *p) {
  if (p->count == sizeof p->rows / sizeof *p->rows)
    ze_flush_updates(p);
  return p->count ? &p->rows[p->count - 1] : NULL;
}

static void ze_update_launch(update_batch *p, const kdl_ze_recorded_list *recorded,
                             const kdl_backend_node *node, kdl_ze_command *command) {
  const kdl_argument_list *list = ze_node_arguments(node);
  char *value = recorded->values + command->values;
  if (memcmp(command->desc.grid, node->desc.grid, sizeof node->desc.grid) != 0) {
    memcpy(command->desc.grid, node->desc.grid, sizeof node->desc.grid);
    const void *next = ze_next_update(p);
    p->rows[p->count++].groups = (kdl_ze_mutable_groups){.type = KDL_ZE_MUTABLE_GROUPS_DESC,
                                                         .next = next,
                                                         .command = command->id,
                                                         .groups = command->desc.grid};
  }
  for (uint32_t i = 0; i < list->count; value += list->arguments[i++].size) {
    size_t size = list->arguments[i].size;
    if (memcmp(value, node->args.pointers[i], size) == 0)
      continue;
    memcpy(value, node->args.pointers[i], size);
    const void *next = ze_next_update(p);
    p->rows[p->count++].argument = (kdl_ze_mutable_argument){.type = KDL_ZE_MUTABLE_ARGUMENT_DESC,
                                                             .next = next,
                                                             .command = command->id,
                                                             .index = list->arguments[i].index,
                                                             .size = size,
                                                             .value = value};
  }
}

/* Only launches that are in the list, with the same group size and group memory, and arguments of
 * known sizes. */
static bool ze_can_update(const kdl_ze_recorded_list *recorded, const kdl_ze_nodes *nodes) {
  if (!recorded->is_closed || !nodes->is_mutable ||
      recorded->generation != ze_memory_generation(nodes->device))
    return false;
  for (size_t i = ze_next_changed(recorded, 0, nodes->count); i < nodes->count;
       i = ze_next_changed(recorded, i + 1, nodes->count)) {
    const kdl_backend_node *node = nodes->nodes[i];
    const kdl_ze_command *command = &recorded->commands[i];
    if (node->kind == KDL_NODE_JOIN || (node->is_skipped && !command->id))
      continue;
    if (node->kind != KDL_NODE_LAUNCH || node->is_skipped || !command->id ||
        memcmp(command->desc.block, node->desc.block, sizeof node->desc.block) != 0 ||
        command->desc.shared != node->desc.shared)
      return false;
    const kdl_argument_list *list = ze_node_arguments(node);
    for (uint32_t k = 0; k < list->count; ++k) {
      if (!list->arguments[k].size)
        return false;
    }
  }
  return true;
}

bool kdl_ze_recorded_update(kdl_ze_recorded_list *recorded, const kdl_ze_nodes *nodes) {
  update_batch p;
  if (!ze_can_update(recorded, nodes))
    return false;
  p.list = recorded->list;
  p.error = KDL_ZE_SUCCESS;
  p.count = 0;
  recorded->is_closed = false;
  for (size_t i = ze_next_changed(recorded, 0, nodes->count); i < nodes->count;
       i = ze_next_changed(recorded, i + 1, nodes->count)) {
    recorded->changed[i] = 0;
    if (recorded->commands[i].id)
      ze_update_launch(&p, recorded, nodes->nodes[i], &recorded->commands[i]);
  }
  ze_flush_updates(&p);
  const char *call = "zeCommandListUpdateMutableCommandsExp";
  if (p.error == KDL_ZE_SUCCESS) {
    call = "zeCommandListClose";
    p.error = kdl_ze.recorded_close(recorded->list);
  }
  kdl_ze_log_error(nodes->device, p.error, call);
  recorded->has_changed = false;
  recorded->is_closed = p.error == KDL_ZE_SUCCESS;
  return recorded->is_closed;
}

/* ------------------------------------------------------------------------------------------ */
/* Running                                                                                      */

kdl_status kdl_ze_recorded_run(kdl_ze_recorded_list *recorded, const kdl_ze_nodes *nodes,
                               kdl_ze_queue *queue) {
  const char *call = "zeCommandListImmediateAppendCommandListsExp";
  if (recorded->fence) /* it no longer marks the last run */
    ze_clear_last_run(recorded, nodes->device);
  recorded->queue = queue;
  kdl_futex_lock_acquire(&queue->lock);
  int error = kdl_ze.recorded_append(queue->list, 1, &recorded->list, NULL, 0, NULL);
  error = kdl_ze_queue_append_barrier(queue, error, &call);
  kdl_futex_lock_release(&queue->lock);
  return error == KDL_ZE_SUCCESS
             ? KDL_OK
             : kdl_ze_fail(nodes->device, error, "%s, of a sequence of %zu nodes", call,
                           nodes->count);
}

void kdl_ze_recorded_free(kdl_ze_recorded_list *recorded, kdl_ze_device *device) {
  if (recorded->list) {
    if (!kdl_ze_recorded_is_done(recorded, device)) {
      kdl_ze_queue_wait(device, recorded->queue);
      ze_clear_last_run(recorded, device);
    }
    kdl_ze_log_error(device, kdl_ze.list_destroy(recorded->list), "zeCommandListDestroy");
  }
  free(recorded->changed);
  free(recorded->commands);
  free(recorded->values);
}
