/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Sequences are command buffers (cl_khr_command_buffer), recorded for the queue that they run on.
 *
 * With mutable dispatches, a run updates the launches that a binding changes. Changes that cannot
 * be updated run as single launches, and are recorded when they run a second time: recording costs
 * more than launching.
 *
 * A driver may keep the memory that an address or handle meant when it was recorded. So a command
 * buffer is used only while none of libkdl's memory was freed since.
 */
#include "lib/backends/common/built_in.h"
#include "lib/backends/common/replay.h"
#include "lib/backends/opencl/commands.h"

#include <stdlib.h>
#include <string.h>

enum { dimensions = 3 };

typedef struct {
  kdl_opencl_device *device;
  const kdl_backend_node *const *nodes;
  size_t node_count;
  kdl_opencl_commands commands;
  void *buffer;                    /* cl_command_buffer_khr; NULL: not recorded */
  void *queue;                     /* the driver's queue that it was recorded for */
  uint64_t generation;             /* of memory, when it was recorded */
  bool is_stale;                   /* the buffer differs from the nodes */
  void **handles;                  /* of launches that can be updated; NULL: not in the buffer */
  kdl_opencl_instance **instances; /* a cl_kernel for each kernel */
  size_t instance_count;
  /* Memory for an update. */
  kdl_cl_mutable_config *configs;
  const void **config_list;
  uint32_t *config_types;
  size_t (*sizes)[2][dimensions]; /* global and local */
  kdl_cl_mutable_arg *args;
} opencl_sequence;

static uint64_t opencl_memory_generation(const kdl_opencl_device *device) {
  return atomic_load_explicit(&device->ranges.generation, memory_order_relaxed);
}

/* ------------------------------------------------------------------------------------------ */
/* Creation                                                                                     */

static kdl_status opencl_check_node(const opencl_sequence *sequence, const kdl_backend_node *node) {
  const kdl_opencl_device *device = sequence->device;
  const char *why = NULL;
  if (node->kind == KDL_NODE_RECORD || node->kind == KDL_NODE_WAIT)
    why = "events";
  else if (node->kind == KDL_NODE_WHILE)
    why = "loops";
  else if (node->kind == KDL_NODE_LAUNCH && (node->desc.flags || node->desc.cluster[0]))
    why = "cooperative launches";
  else if (node->kind >= KDL_NODE_COPY && node->kind <= KDL_NODE_FILL &&
           !kdl_opencl_commands_have(&sequence->commands, device, node))
    why = node->kind == KDL_NODE_FILL ? "such fills" : "such copies";
  return why ? kdl_core_services.fail(KDL_UNSUPPORTED, 0,
                                      "opencl:%u: command buffers of the driver have no %s",
                                      device->ordinal, why)
             : KDL_OK;
}

static kdl_status opencl_check_nodes(const opencl_sequence *sequence) {
  for (size_t i = 0; i < sequence->node_count; ++i)
    KDL_TRY(opencl_check_node(sequence, sequence->nodes[i]));
  return KDL_OK;
}

static kdl_opencl_kernel *opencl_kernel_of_node(const kdl_backend_node *node) {
  return ((kdl_opencl_instance *)node->kernel->context)->of;
}

static size_t opencl_count_args(const opencl_sequence *sequence) {
  size_t count = 0;
  for (size_t i = 0; i < sequence->node_count; ++i) {
    if (sequence->nodes[i]->kind == KDL_NODE_LAUNCH)
      count += sequence->nodes[i]->args.count;
  }
  return count;
}

static bool opencl_alloc_sequence(opencl_sequence *sequence) {
  size_t count = sequence->node_count, args = opencl_count_args(sequence);
  sequence->instances = calloc(count, sizeof *sequence->instances);
  if (!sequence->commands.mutable_fields)
    return sequence->instances;
  sequence->handles = calloc(count, sizeof *sequence->handles);
  sequence->configs = calloc(count, sizeof *sequence->configs);
  sequence->config_list = calloc(count, sizeof *sequence->config_list);
  sequence->config_types = calloc(count, sizeof *sequence->config_types);
  sequence->sizes = calloc(count, sizeof *sequence->sizes);
  sequence->args = calloc(args + 1, sizeof *sequence->args);
  return sequence->instances && sequence->handles && sequence->configs && sequence->config_list &&
         sequence->config_types && sequence->sizes && sequence->args;
}

static void opencl_reset_sequence(opencl_sequence *sequence) {
  if (sequence->buffer)
    kdl_opencl_log_error(sequence->device->ordinal, sequence->commands.release(sequence->buffer),
                         "clReleaseCommandBufferKHR");
  sequence->buffer = NULL;
  for (size_t i = 0; i < sequence->instance_count; ++i)
    kdl_opencl_instance_free(sequence->instances[i]->of, sequence->instances[i]);
  sequence->instance_count = 0;
}

void kdl_opencl_sequence_destroy(void *device, void *handle) {
  (void)device;
  opencl_sequence *sequence = handle;
  opencl_reset_sequence(sequence);
  free((void *)sequence->instances);
  free((void *)sequence->handles);
  free(sequence->configs);
  free((void *)sequence->config_list);
  free(sequence->config_types);
  free(sequence->sizes);
  free(sequence->args);
  free(sequence);
}

/* Memory in the program's own context may be the program's, which libkdl does not see freed. */
static kdl_status opencl_init_sequence(opencl_sequence *sequence) {
  const kdl_opencl_device *device = sequence->device;
  if (device->adopted)
    return kdl_core_services.fail(KDL_UNSUPPORTED, 0, "opencl:%u: the context is the program's",
                                  device->ordinal);
  KDL_TRY(kdl_opencl_commands_find(device, &sequence->commands));
  KDL_TRY(opencl_check_nodes(sequence));
  return opencl_alloc_sequence(sequence) ? KDL_OK : kdl_opencl_no_memory(device->ordinal);
}

kdl_status kdl_opencl_sequence_create(void *handle, kdl_backend_sequence *desc,
                                      void **out_sequence) {
  kdl_opencl_device *device = handle;
  opencl_sequence *sequence = calloc(1, sizeof *sequence);
  if (!sequence)
    return kdl_opencl_no_memory(device->ordinal);
  sequence->device = device;
  sequence->nodes = desc->nodes;
  sequence->node_count = desc->node_count;
  kdl_status status = opencl_init_sequence(sequence);
  if (status != KDL_OK) {
    kdl_opencl_sequence_destroy(device, sequence);
    return status;
  }
  desc->replay = "commands";
  *out_sequence = sequence;
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Recording                                                                                    */

/* A cl_kernel whose arguments no launch sets. PoCL 3.1, which has 0.9.0, uses the arguments at the
 * time the command buffer runs: there each launch has its own cl_kernel. */
static kdl_status opencl_get_instance(opencl_sequence *sequence, kdl_opencl_kernel *kernel,
                                      kdl_opencl_instance **out_instance) {
  for (size_t i = sequence->instance_count; i > 0 && sequence->commands.keeps_arguments; --i) {
    if (sequence->instances[i - 1]->of == kernel) {
      *out_instance = sequence->instances[i - 1];
      return KDL_OK;
    }
  }
  KDL_TRY(kdl_opencl_instance_create(kernel, out_instance));
  sequence->instances[sequence->instance_count++] = *out_instance;
  return KDL_OK;
}

static void opencl_launch_sizes(const kdl_backend_node *node, size_t global[dimensions],
                                size_t local[dimensions]) {
  for (int i = 0; i < dimensions; ++i) {
    local[i] = node->desc.block[i];
    global[i] = (size_t)node->desc.grid[i] * node->desc.block[i];
  }
}

static kdl_status opencl_record_launch(opencl_sequence *sequence, size_t index) {
  const kdl_backend_node *node = sequence->nodes[index];
  kdl_opencl_kernel *kernel = opencl_kernel_of_node(node);
  uint64_t fields = sequence->commands.mutable_fields;
  const uint64_t properties[] = {KDL_CL_MUTABLE_UPDATABLE_FIELDS, fields, 0};
  size_t global[dimensions], local[dimensions];
  kdl_opencl_instance *instance;
  KDL_TRY(opencl_get_instance(sequence, kernel, &instance));
  KDL_TRY(kdl_argument_cache_set(&instance->given, &kernel->list, instance->kernel, &node->args,
                                 node->desc.shared));
  opencl_launch_sizes(node, global, local);
  int32_t error = sequence->commands.launch(sequence->buffer, NULL, fields ? properties : NULL,
                                            instance->kernel, dimensions, NULL, global, local, 0,
                                            NULL, NULL, fields ? &sequence->handles[index] : NULL);
  return error == KDL_CL_SUCCESS
             ? KDL_OK
             : kdl_opencl_fail(sequence->device->ordinal, error, "clCommandNDRangeKernelKHR \"%s\"",
                               kernel->name);
}

static kdl_status opencl_record_node(opencl_sequence *sequence, size_t index) {
  const kdl_backend_node *node = sequence->nodes[index];
  const char *call;
  if (sequence->handles)
    sequence->handles[index] = NULL;
  if (node->kind == KDL_NODE_JOIN || node->is_skipped)
    return KDL_OK; /* a queue is in order */
  if (node->kind == KDL_NODE_LAUNCH)
    return opencl_record_launch(sequence, index);
  int32_t error = node->kind == KDL_NODE_FILL
                      ? kdl_opencl_commands_fill(&sequence->commands, sequence->device,
                                                 sequence->buffer, node, &call)
                      : kdl_opencl_commands_copy(&sequence->commands, sequence->device,
                                                 sequence->buffer, node, &call);
  return error == KDL_CL_SUCCESS ? KDL_OK
                                 : kdl_opencl_fail(sequence->device->ordinal, error, "%s", call);
}

static kdl_status opencl_record_nodes(opencl_sequence *sequence) {
  for (size_t i = 0; i < sequence->node_count; ++i)
    KDL_TRY(opencl_record_node(sequence, i));
  int32_t error = sequence->commands.finalize(sequence->buffer);
  return error == KDL_CL_SUCCESS
             ? KDL_OK
             : kdl_opencl_fail(sequence->device->ordinal, error, "clFinalizeCommandBufferKHR");
}

/* The driver decides which queues it supports. */
static kdl_status opencl_record_sequence(opencl_sequence *sequence, void *queue) {
  const kdl_opencl_device *device = sequence->device;
  const uint64_t properties[] = {KDL_CL_COMMAND_BUFFER_FLAGS, sequence->commands.flags, 0};
  int32_t error = KDL_CL_SUCCESS;
  opencl_reset_sequence(sequence);
  sequence->is_stale = true;
  sequence->generation = opencl_memory_generation(device);
  sequence->queue = queue;
  sequence->buffer =
      sequence->commands.create(1, &queue, sequence->commands.flags ? properties : NULL, &error);
  if (!sequence->buffer) {
    kdl_status status = kdl_opencl_fail(device->ordinal, error, "clCreateCommandBufferKHR");
    return error == KDL_CL_INCOMPATIBLE_COMMAND_QUEUE_KHR ? KDL_UNSUPPORTED : status;
  }
  kdl_status status = opencl_record_nodes(sequence);
  sequence->is_stale = status != KDL_OK;
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* Updates                                                                                      */

/* Adds values as arguments, and memory in the form of its kind. */
static void opencl_add_args(const opencl_sequence *sequence, const kdl_backend_node *node,
                            kdl_cl_mutable_config *config, kdl_cl_mutable_arg **room) {
  const kdl_argument_list *list = &opencl_kernel_of_node(node)->list;
  const bool is_svm = strcmp(sequence->device->memory->name, "buffer") != 0;
  config->args = *room;
  for (uint32_t i = 0; i < list->count; ++i) {
    const kdl_argument *argument = &list->arguments[i];
    if (argument->kind == KDL_ARGUMENT_MEMORY && is_svm)
      continue;
    *(*room)++ = (kdl_cl_mutable_arg){argument->index, argument->size, node->args.pointers[i]};
    ++config->arg_count;
  }
  config->svm_args = *room;
  for (uint32_t i = 0; i < list->count && is_svm; ++i) {
    const kdl_argument *argument = &list->arguments[i];
    void *address;
    if (argument->kind != KDL_ARGUMENT_MEMORY)
      continue;
    memcpy(&address, node->args.pointers[i], sizeof address);
    *(*room)++ = (kdl_cl_mutable_arg){argument->index, sizeof address, address};
    ++config->svm_count;
  }
}

/* Whether all changes can be updated: launches with a handle in the buffer, and arguments of known
 * sizes; grids only if the driver supports it. */
static bool opencl_can_update(const opencl_sequence *sequence, const uint32_t *changed,
                              size_t count) {
  uint64_t all = KDL_CL_MUTABLE_GLOBAL_SIZE | KDL_CL_MUTABLE_LOCAL_SIZE | KDL_CL_MUTABLE_ARGUMENTS;
  bool is_usm = strcmp(sequence->device->memory->name, "usm") == 0;
  if (sequence->commands.mutable_fields != all || is_usm)
    return false;
  for (size_t i = 0; i < count; ++i) {
    const kdl_backend_node *node = sequence->nodes[changed[i]];
    if (node->kind == KDL_NODE_JOIN)
      continue;
    if (node->kind != KDL_NODE_LAUNCH || !sequence->handles[changed[i]] || node->is_skipped)
      return false;
    const kdl_argument_list *list = &opencl_kernel_of_node(node)->list;
    for (uint32_t k = 0; k < list->count; ++k) {
      if (!list->arguments[k].size)
        return false;
    }
  }
  return true;
}

static int32_t opencl_update_commands(const opencl_sequence *sequence, const uint32_t *changed,
                                      size_t count) {
  kdl_cl_mutable_arg *room = sequence->args;
  uint32_t configs = 0;
  for (size_t i = 0; i < count; ++i) {
    const kdl_backend_node *node = sequence->nodes[changed[i]];
    if (node->kind != KDL_NODE_LAUNCH)
      continue;
    kdl_cl_mutable_config *config = &sequence->configs[configs];
    size_t (*sizes)[dimensions] = sequence->sizes[configs];
    opencl_launch_sizes(node, sizes[0], sizes[1]);
    *config = (kdl_cl_mutable_config){.command = sequence->handles[changed[i]],
                                      .dimensions = dimensions,
                                      .global = sizes[0],
                                      .local = sizes[1]};
    opencl_add_args(sequence, node, config, &room);
    sequence->config_types[configs] = KDL_CL_MUTABLE_CONFIG;
    sequence->config_list[configs++] = config;
  }
  return configs ? sequence->commands.update(sequence->buffer, configs, sequence->config_types,
                                             sequence->config_list)
                 : KDL_CL_SUCCESS;
}

/* If the driver refuses an update, the sequence is recorded again. */
static void opencl_apply_changes(opencl_sequence *sequence, const uint32_t *changed, size_t count) {
  if (sequence->is_stale)
    return;
  sequence->is_stale = true;
  if (!opencl_can_update(sequence, changed, count))
    return;
  int32_t error = opencl_update_commands(sequence, changed, count);
  sequence->is_stale = error != KDL_CL_SUCCESS;
  kdl_opencl_log_error(sequence->device->ordinal, error, "clUpdateMutableCommandsKHR");
}

/* ------------------------------------------------------------------------------------------ */
/* Running                                                                                      */

/* Flushes the device's own queue, as after a launch. */
static kdl_status opencl_enqueue_commands(const opencl_sequence *sequence,
                                          const kdl_opencl_queue *queue) {
  uint32_t ordinal = sequence->device->ordinal;
  void *native = queue->queue;
  int32_t error = sequence->commands.enqueue(1, &native, sequence->buffer, 0, NULL, NULL);
  if (error != KDL_CL_SUCCESS)
    return kdl_opencl_fail(ordinal, error, "clEnqueueCommandBufferKHR, of a sequence of %zu nodes",
                           sequence->node_count);
  if (queue->launch == kdl_opencl.launch)
    return KDL_OK;
  error = kdl_opencl.flush(queue->queue);
  return error == KDL_CL_SUCCESS ? KDL_OK : kdl_opencl_fail(ordinal, error, "clFlush");
}

kdl_status kdl_opencl_sequence_run(void *handle, void *sequence_handle, void *queue_handle,
                                   const uint32_t *changed, size_t changed_count) {
  kdl_opencl_device *device = handle;
  opencl_sequence *sequence = sequence_handle;
  kdl_opencl_queue *queue = queue_handle;
  bool is_other = !sequence->buffer || sequence->queue != queue->queue ||
                  sequence->generation != opencl_memory_generation(device);
  if (changed_count && !is_other)
    opencl_apply_changes(sequence, changed, changed_count);
  if (changed_count && !is_other && sequence->is_stale)
    return kdl_replay_nodes(kdl_built_in_opencl.table, device, queue, sequence->nodes,
                            sequence->node_count);
  if (is_other || sequence->is_stale) {
    kdl_status status = opencl_record_sequence(sequence, queue->queue);
    if (status != KDL_OK)
      return status;
  }
  return opencl_enqueue_commands(sequence, queue);
}
