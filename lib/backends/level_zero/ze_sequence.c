/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Sequences are recorded command lists (recorded_list.h), each appended to its queue by one call.
 *
 * A list cannot change while the device works on it. So a sequence has two lists, which alternate
 * if each run binds other values. If the device is busy with both, a run uses single launches,
 * which wait for nothing. So does the first run with bindings that cannot be updated: recording
 * costs more than launches, and is done when the same bindings come a second time.
 */
#include "lib/backends/common/built_in.h"
#include "lib/backends/common/replay.h"
#include "lib/backends/level_zero/recorded_list.h"

#include <stdlib.h>
#include <string.h>

enum { list_count = 2 };

typedef struct {
  kdl_ze_nodes nodes;
  kdl_ze_recorded_list lists[list_count];
  unsigned last; /* the list that ran last */
} ze_sequence;

/* ------------------------------------------------------------------------------------------ */
/* Support by the driver                                                                        */

/* Bits of kdl_ze_device.recording. */
enum { is_known = 1, has_lists = 2, has_mutable_lists = 4 };

static kdl_status ze_find_extensions(const kdl_ze_device *device, uint32_t *out_found) {
  uint32_t count = 0;
  int error = kdl_ze.extensions(device->driver, &count, NULL);
  kdl_ze_extension *all = calloc(count + (size_t)1, sizeof *all);
  if (!all)
    return kdl_ze_no_memory(device);
  if (error == KDL_ZE_SUCCESS && count)
    error = kdl_ze.extensions(device->driver, &count, all);
  for (uint32_t i = 0; i < count && error == KDL_ZE_SUCCESS; ++i) {
    if (strcmp(all[i].name, KDL_ZE_LISTS_IN_LISTS) == 0)
      *out_found |= has_lists;
    if (strcmp(all[i].name, KDL_ZE_MUTABLE_LISTS) == 0)
      *out_found |= has_mutable_lists;
  }
  free(all);
  return error == KDL_ZE_SUCCESS ? KDL_OK
                                 : kdl_ze_fail(device, error, "zeDriverGetExtensionProperties");
}

/* The device reports what mutable lists can change. */
static kdl_status ze_check_mutability(const kdl_ze_device *device, uint32_t *out_found) {
  enum { needed = KDL_ZE_MUTABLE_ARGUMENTS | KDL_ZE_MUTABLE_GROUPS };
  kdl_ze_mutable_properties mutability = {.type = KDL_ZE_MUTABLE_LIST_PROPERTIES};
  kdl_ze_device_properties properties = {.type = KDL_ZE_DEVICE_PROPERTIES_1_2, .next = &mutability};
  int error = kdl_ze.device_properties(device->handle, &properties);
  if (error != KDL_ZE_SUCCESS)
    return kdl_ze_fail(device, error, "zeDeviceGetProperties");
  if ((mutability.command_flags & needed) != needed || !kdl_ze.command_id || !kdl_ze.commands_set)
    *out_found &= ~(uint32_t)has_mutable_lists;
  return KDL_OK;
}

/* Both may lack it: the loader may be older than the driver, or the driver older than the
 * loader. */
static kdl_status ze_query_recording(const kdl_ze_device *device, uint32_t *out_found) {
  *out_found = is_known;
  kdl_driver_load_lazy_symbols(&kdl_ze_driver);
  if (device->version < KDL_ZE_HAS_LISTS_IN_LISTS || !kdl_ze.list_sync || !kdl_ze.extensions ||
      !kdl_ze.recorded_create || !kdl_ze.recorded_close || !kdl_ze.recorded_reset ||
      !kdl_ze.recorded_append)
    return KDL_OK;
  KDL_TRY(ze_find_extensions(device, out_found));
  if ((*out_found & has_mutable_lists))
    KDL_TRY(ze_check_mutability(device, out_found));
  return KDL_OK;
}

static kdl_status ze_check_driver(kdl_ze_device *device, bool *out_mutable) {
  uint32_t found = atomic_load(&device->recording);
  if (!found) {
    kdl_status status = ze_query_recording(device, &found);
    if (status != KDL_OK)
      return status;
    atomic_store(&device->recording, found);
  }
  *out_mutable = found & has_mutable_lists;
  return found & has_lists
             ? KDL_OK
             : kdl_core_services.fail(KDL_UNSUPPORTED, 0, "level_zero:%u: the driver has no %s",
                                      device->ordinal, KDL_ZE_LISTS_IN_LISTS);
}

static kdl_status ze_check_node(const kdl_ze_device *device, const kdl_backend_node *node) {
  const char *why = NULL;
  if (node->kind == KDL_NODE_RECORD || node->kind == KDL_NODE_WAIT)
    why = "events";
  else if (node->kind == KDL_NODE_WHILE)
    why = "loops";
  else if (node->kind == KDL_NODE_LAUNCH && (node->desc.flags || node->desc.cluster[0]))
    why = "cooperative launches";
  return why ? kdl_core_services.fail(KDL_UNSUPPORTED, 0,
                                      "level_zero:%u: recorded lists have no %s", device->ordinal,
                                      why)
             : KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Creation                                                                                     */

static kdl_status ze_check_nodes(kdl_ze_nodes *nodes) {
  for (size_t i = 0; i < nodes->count; ++i) {
    const kdl_backend_node *node = nodes->nodes[i];
    kdl_status status = ze_check_node(nodes->device, node);
    if (status != KDL_OK)
      return status;
    if (node->kind != KDL_NODE_LAUNCH)
      continue;
    const kdl_argument_list *list = &((const kdl_ze_kernel *)node->kernel->context)->list;
    for (uint32_t k = 0; k < list->count; ++k)
      nodes->value_bytes += list->arguments[k].size;
  }
  return KDL_OK;
}

/* Memory in the program's own context may be the program's, which libkdl does not see freed. */
static kdl_status ze_init_sequence(ze_sequence *sequence) {
  kdl_ze_nodes *nodes = &sequence->nodes;
  kdl_ze_device *device = nodes->device;
  if (device->adopted)
    return kdl_core_services.fail(KDL_UNSUPPORTED, 0, "level_zero:%u: the context is the program's",
                                  device->ordinal);
  KDL_TRY(ze_check_driver(device, &nodes->is_mutable));
  KDL_TRY(ze_check_nodes(nodes));
  nodes->instances = calloc(nodes->count, sizeof *nodes->instances);
  if (!nodes->instances)
    return kdl_ze_no_memory(device);
  return kdl_ze_recorded_record(&sequence->lists[0], nodes);
}

void kdl_ze_sequence_destroy(void *device, void *handle) {
  ze_sequence *sequence = handle;
  for (unsigned i = 0; i < list_count; ++i)
    kdl_ze_recorded_free(&sequence->lists[i], device);
  for (size_t i = 0; i < sequence->nodes.instance_count; ++i)
    kdl_ze_instance_free(sequence->nodes.instances[i]);
  free(sequence->nodes.instances);
  free(sequence);
}

kdl_status kdl_ze_sequence_create(void *device, kdl_backend_sequence *desc, void **out_sequence) {
  ze_sequence *sequence = calloc(1, sizeof *sequence);
  if (!sequence)
    return kdl_ze_no_memory(device);
  sequence->nodes =
      (kdl_ze_nodes){.device = device, .nodes = desc->nodes, .count = desc->node_count};
  kdl_status status = ze_init_sequence(sequence);
  if (status != KDL_OK) {
    kdl_ze_sequence_destroy(device, sequence);
    return status;
  }
  desc->replay = "commands";
  *out_sequence = sequence;
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Running                                                                                      */

/* On one queue, runs of a list are ordered; on two they would overlap. */
static bool ze_can_run(kdl_ze_recorded_list *list, const kdl_ze_nodes *nodes,
                       const kdl_ze_queue *queue) {
  return kdl_ze_recorded_is_current(list, nodes) &&
         (list->queue == queue || kdl_ze_recorded_is_done(list, nodes->device));
}

/* A list that can be changed; NULL: the device is busy with both. */
static kdl_status ze_find_idle_list(ze_sequence *sequence, kdl_ze_queue *queue,
                                    kdl_ze_recorded_list **out_list) {
  *out_list = NULL;
  for (unsigned i = 0; i < list_count; ++i) {
    kdl_ze_recorded_list *list = &sequence->lists[(sequence->last + i) % list_count];
    if (kdl_ze_recorded_is_done(list, sequence->nodes.device)) {
      *out_list = list;
      return KDL_OK;
    }
    kdl_status status = kdl_ze_recorded_add_fence(list, queue);
    if (status != KDL_OK)
      return status;
  }
  return KDL_OK;
}

static kdl_status ze_run_list(ze_sequence *sequence, kdl_ze_recorded_list *list,
                              kdl_ze_queue *queue) {
  sequence->last = (unsigned)(list - sequence->lists);
  return kdl_ze_recorded_run(list, &sequence->nodes, queue);
}

kdl_status kdl_ze_sequence_run(void *device, void *handle, void *queue, const uint32_t *changed,
                               size_t changed_count) {
  ze_sequence *sequence = handle;
  kdl_ze_nodes *nodes = &sequence->nodes;
  kdl_ze_recorded_list *list;
  for (unsigned i = 0; i < list_count; ++i)
    kdl_ze_recorded_mark_changed(&sequence->lists[i], changed, changed_count);
  for (unsigned i = 0; i < list_count; ++i) {
    list = &sequence->lists[(sequence->last + i) % list_count];
    if (ze_can_run(list, nodes, queue))
      return ze_run_list(sequence, list, queue);
  }
  kdl_status status = ze_find_idle_list(sequence, queue, &list);
  if (status == KDL_OK && list && kdl_ze_recorded_update(list, nodes))
    return ze_run_list(sequence, list, queue);
  bool is_new = list && !list->list; /* the second list */
  if (status == KDL_OK && list && (!changed_count || (is_new && nodes->is_mutable))) {
    status = kdl_ze_recorded_record(list, nodes);
    if (status == KDL_OK)
      return ze_run_list(sequence, list, queue);
  }
  return status == KDL_OK ? kdl_replay_nodes(kdl_built_in_level_zero.table, device, queue,
                                             nodes->nodes, nodes->count)
                          : status;
}
