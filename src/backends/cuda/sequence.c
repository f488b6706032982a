/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Sequences are CUDA graphs (backends/common/graph.h).
 *
 * Kernel nodes hold a CUfunction, which belongs to the device's context: on a queue of another one,
 * and on a stream that the program captures, a sequence is replayed by launches. Whether a stream
 * is captured is asked only where the program can have done that.
 */
#include "backends/common/graph.h"
#include "backends/cuda/objects.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------ */
/* Nodes                                                                                        */

static kdl_cuda_kernel_node kernel_node(const kdl_backend_node *node) {
  const kdl_cuda_kernel *kernel = node->kernel->context;
  const kdl_launch_desc *desc = &node->desc;
  return (kdl_cuda_kernel_node){
      .function = kernel->head.function,
      .grid = {desc->grid[0], desc->grid[1], desc->grid[2]},
      .block = {desc->block[0], desc->block[1], desc->block[2]},
      .shared = desc->shared,
      .params = kdl_launch_pointers(&node->args),
  };
}

static kdl_cuda_copied memory_of_device(uint64_t address) {
  return (kdl_cuda_copied){.type = KDL_CUDA_MEMORY_DEVICE, .device = address};
}

static kdl_cuda_copied memory_of_host(void *host) {
  return (kdl_cuda_copied){.type = KDL_CUDA_MEMORY_HOST, .host = host};
}

static kdl_cuda_copy_node copy_node(const kdl_backend_node *node) {
  return (kdl_cuda_copy_node){
      .from = node->kind == KDL_NODE_WRITE ? memory_of_host(node->host)
                                           : memory_of_device(node->from + node->from_offset),
      .to = node->kind == KDL_NODE_READ ? memory_of_host(node->host)
                                        : memory_of_device(node->to + node->to_offset),
      .width = node->bytes,
      .height = 1,
      .depth = 1,
  };
}

static kdl_cuda_fill_node fill_node(const kdl_graph_fill *fill) {
  return (kdl_cuda_fill_node){.to = fill->to,
                              .pitch = fill->pitch,
                              .value = fill->value,
                              .element_size = fill->element_size,
                              .width = fill->width,
                              .height = fill->height};
}

/* ------------------------------------------------------------------------------------------ */
/* Building                                                                                     */

static int set_attributes(void *handle, const kdl_launch_desc *desc) {
  kdl_cuda_launch_attribute attribute;
  int error = KDL_CUDA_SUCCESS;
  memset(&attribute, 0, sizeof attribute);
  if (desc->flags & KDL_LAUNCH_COOPERATIVE) {
    attribute.value.cooperative = 1;
    error = kdl_cuda.graph_attribute(handle, KDL_CUDA_LAUNCH_COOPERATIVE, &attribute.value);
  }
  if (desc->cluster[0] && error == KDL_CUDA_SUCCESS) {
    for (int i = 0; i < 3; ++i)
      attribute.value.cluster[i] = desc->cluster[i] ? desc->cluster[i] : 1;
    error = kdl_cuda.graph_attribute(handle, KDL_CUDA_LAUNCH_CLUSTER_DIMENSION, &attribute.value);
  }
  return error;
}

static int add_kernel(void *graph, const kdl_backend_node *node, void *const *after, size_t count,
                      void **out_node, const char **out_call) {
  kdl_cuda_kernel_node params = kernel_node(node);
  *out_call = "cuGraphAddKernelNode";
  int error = kdl_cuda.graph_kernel(out_node, graph, after, count, &params);
  if (error != KDL_CUDA_SUCCESS || !(node->desc.flags || node->desc.cluster[0]))
    return error;
  *out_call = "cuGraphKernelNodeSetAttribute";
  return set_attributes(*out_node, &node->desc);
}

static int add_fill(void *context, void *graph, const kdl_backend_node *node, void *const *after,
                    size_t count, void **out_node, const char **out_call) {
  kdl_graph_fill fills[4];
  size_t parts = kdl_graph_fills(node, fills);
  int error = KDL_CUDA_SUCCESS;
  *out_call = "cuGraphAddMemsetNode";
  for (size_t i = 0; i < parts && error == KDL_CUDA_SUCCESS; ++i) {
    kdl_cuda_fill_node params = fill_node(&fills[i]);
    void *last = *out_node; /* each behind the one before it */
    error =
        kdl_cuda.graph_fill(out_node, graph, i ? &last : after, i ? 1 : count, &params, context);
  }
  return error;
}

static int add(void *handle, void *graph, const kdl_backend_node *node, void *const *after,
               size_t count, void **out_node, const char **out_call) {
  const kdl_cuda_device *device = handle;
  kdl_cuda_copy_node copy;
  switch (node->kind) {
  case KDL_NODE_LAUNCH:
    return add_kernel(graph, node, after, count, out_node, out_call);
  case KDL_NODE_FILL:
    return add_fill(device->context, graph, node, after, count, out_node, out_call);
  case KDL_NODE_RECORD:
    *out_call = "cuGraphAddEventRecordNode";
    return kdl_cuda.graph_record(out_node, graph, after, count, node->event);
  case KDL_NODE_WAIT:
    *out_call = "cuGraphAddEventWaitNode";
    return kdl_cuda.graph_wait(out_node, graph, after, count, node->event);
  case KDL_NODE_JOIN:
    *out_call = "cuGraphAddEmptyNode";
    return kdl_cuda.graph_empty(out_node, graph, after, count);
  default:
    copy = copy_node(node);
    *out_call = "cuGraphAddMemcpyNode";
    return kdl_cuda.graph_copy(out_node, graph, after, count, &copy, device->context);
  }
}

static int set(void *handle, void *instance, void *at, const kdl_backend_node *node,
               const char **out_call) {
  const kdl_cuda_device *device = handle;
  kdl_graph_fill fills[4];
  if (node->kind == KDL_NODE_LAUNCH) {
    kdl_cuda_kernel_node params = kernel_node(node);
    *out_call = "cuGraphExecKernelNodeSetParams";
    return kdl_cuda.graph_kernel_set(instance, at, &params);
  }
  if (node->kind == KDL_NODE_FILL) {
    if (kdl_graph_fills(node, fills) > 1)
      return KDL_GRAPH_REBUILD;
    kdl_cuda_fill_node params = fill_node(fills);
    *out_call = "cuGraphExecMemsetNodeSetParams";
    return kdl_cuda.graph_fill_set(instance, at, &params, device->context);
  }
  if (node->kind > KDL_NODE_FILL)
    return KDL_CUDA_SUCCESS;
  kdl_cuda_copy_node params = copy_node(node);
  *out_call = "cuGraphExecMemcpyNodeSetParams";
  return kdl_cuda.graph_copy_set(instance, at, &params, device->context);
}

static int create(void **out_graph, const char **out_call) {
  *out_call = "cuGraphCreate";
  return kdl_cuda.graph_create(out_graph, 0);
}

static int instantiate(void *graph, void **out_instance, const char **out_call) {
  *out_call = "cuGraphInstantiateWithFlags";
  return kdl_cuda.graph_instantiate(out_instance, graph, 0);
}

static int enable(void *instance, void *handle, unsigned is_enabled, const char **out_call) {
  *out_call = "cuGraphNodeSetEnabled";
  return kdl_cuda.graph_enable(instance, handle, is_enabled);
}

static void destroy(void *handle, void *graph) {
  const kdl_cuda_device *device = handle;
  kdl_cuda_note(device->ordinal, kdl_cuda.graph_destroy(graph), "cuGraphDestroy");
}

static void destroy_instance(void *handle, void *instance) {
  const kdl_cuda_device *device = handle;
  kdl_cuda_note(device->ordinal, kdl_cuda.graph_instance_destroy(instance), "cuGraphExecDestroy");
}

static const kdl_graph_driver driver = {create, add,     instantiate,     set,
                                        enable, destroy, destroy_instance};

/* ------------------------------------------------------------------------------------------ */
/* What the driver has                                                                          */

static kdl_status lacks(const kdl_cuda_device *device, const char *function, const char *release) {
  return kdl_own_services.fail(KDL_UNSUPPORTED, 0,
                               "cuda:%u: the driver has no %s, which came with CUDA %s",
                               device->ordinal, function, release);
}

static bool has_graphs(void) {
  return kdl_cuda.graph_create && kdl_cuda.graph_destroy && kdl_cuda.graph_instantiate &&
         kdl_cuda.graph_instance_destroy && kdl_cuda.graph_launch && kdl_cuda.graph_empty &&
         kdl_cuda.graph_kernel && kdl_cuda.graph_copy && kdl_cuda.graph_fill &&
         kdl_cuda.graph_kernel_set && kdl_cuda.graph_copy_set && kdl_cuda.graph_fill_set;
}

static kdl_status check_node(const kdl_cuda_device *device, const kdl_backend_node *node) {
  if (node->kind == KDL_NODE_WHILE)
    return kdl_own_services.fail(KDL_UNSUPPORTED, 0, "cuda:%u: a graph has no loops here",
                                 device->ordinal);
  if (node->kind == KDL_NODE_RECORD && !kdl_cuda.graph_record)
    return lacks(device, "cuGraphAddEventRecordNode", "11.1");
  if (node->kind == KDL_NODE_WAIT && !kdl_cuda.graph_wait)
    return lacks(device, "cuGraphAddEventWaitNode", "11.1");
  if (node->kind != KDL_NODE_LAUNCH)
    return KDL_OK;
  if ((node->desc.flags || node->desc.cluster[0]) && !kdl_cuda.graph_attribute)
    return lacks(device, "cuGraphKernelNodeSetAttribute", "11.0");
  if (node->is_skipped && !kdl_cuda.graph_enable)
    return lacks(device, "cuGraphNodeSetEnabled", "11.6");
  return kdl_cuda_kernel_prepare(node->kernel->context, &node->desc);
}

static kdl_status check(const kdl_cuda_device *device, const kdl_backend_sequence *sequence) {
  if (!has_graphs())
    return lacks(device, "cuGraphInstantiateWithFlags or others of graphs", "11.4");
  for (size_t i = 0; i < sequence->node_count; ++i) {
    kdl_status status = check_node(device, sequence->nodes[i]);
    if (status != KDL_OK)
      return status;
  }
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Sequences                                                                                    */

static kdl_status build(const kdl_cuda_device *device, kdl_graph *graph) {
  const char *call = "";
  kdl_cuda_scope scope;
  if (kdl_cuda_enter_relaxed(device, &scope) != KDL_OK)
    return scope.status;
  int error = kdl_graph_build(graph, &call);
  return kdl_cuda_leave(&scope, error, "%s, of a sequence of %zu nodes", call, graph->node_count);
}

kdl_status kdl_cuda_sequence_create(void *handle, kdl_backend_sequence *sequence,
                                    void **out_sequence) {
  kdl_cuda_device *device = handle;
  kdl_status status = check(device, sequence);
  if (status != KDL_OK)
    return status;
  kdl_graph *graph = malloc(sizeof *graph);
  if (!graph)
    return kdl_driver_errors_no_memory(&kdl_cuda_errors, device->ordinal);
  if (kdl_graph_begin(graph, &driver, device, sequence))
    status = build(device, graph);
  else
    status = kdl_driver_errors_no_memory(&kdl_cuda_errors, device->ordinal);
  if (status != KDL_OK) {
    kdl_graph_end(graph);
    free(graph);
    return status;
  }
  sequence->replay = "graph";
  *out_sequence = graph;
  return KDL_OK;
}

/* An instance that still runs is the driver's to free when it is done. */
void kdl_cuda_sequence_destroy(void *handle, void *sequence) {
  kdl_cuda_device *device = handle;
  kdl_cuda_scope scope;
  bool entered = kdl_cuda_enter_relaxed(device, &scope) == KDL_OK;
  kdl_graph_end(sequence);
  if (entered)
    (void)kdl_cuda_leave(&scope, KDL_CUDA_SUCCESS, "cuGraphExecDestroy");
  free(sequence);
}

/* Whether a graph may be launched there now. */
static kdl_status check_queue(kdl_cuda_device *device, kdl_cuda_queue *queue) {
  int capturing = 0;
  if (queue->context != device->context)
    return kdl_own_services.fail(KDL_UNSUPPORTED, 0, "cuda:%u: the queue is of another context",
                                 device->ordinal);
  if (!atomic_load_explicit(&queue->may_be_captured, memory_order_relaxed))
    return KDL_OK;
  kdl_status status = kdl_cuda_queue_capturing(device, queue, &capturing);
  if (status == KDL_OK && capturing)
    status = kdl_own_services.fail(KDL_UNSUPPORTED, 0, "cuda:%u: the queue is being captured",
                                   device->ordinal);
  return status;
}

static kdl_status check_changed(const kdl_cuda_device *device, const kdl_graph *graph,
                                const uint32_t *changed, size_t changed_count) {
  for (size_t i = 0; i < changed_count && !kdl_cuda.graph_enable; ++i) {
    if (graph->nodes[changed[i]]->is_skipped)
      return lacks(device, "cuGraphNodeSetEnabled", "11.6");
  }
  return KDL_OK;
}

/* Sets what changed. What the driver refuses to set is built anew, where no capture of other
 * streams is in the way. */
static kdl_status update(const kdl_cuda_device *device, kdl_graph *graph, const uint32_t *changed,
                         size_t changed_count) {
  const char *call = "";
  kdl_cuda_scope scope;
  if (kdl_cuda_enter_own(device, &scope) != KDL_OK)
    return scope.status;
  int error = kdl_graph_update(graph, changed, changed_count, &call);
  (void)kdl_cuda_leave(&scope, KDL_CUDA_SUCCESS, "%s", call);
  if (error == KDL_CUDA_SUCCESS)
    return KDL_OK;
  kdl_own_services.log("cuda:%u: a graph of %zu nodes is built again: %s: %d", device->ordinal,
                       graph->node_count, error == KDL_GRAPH_REBUILD ? "a wide fill" : call, error);
  return build(device, graph);
}

kdl_status kdl_cuda_sequence_run(void *handle, void *sequence, void *queue_handle,
                                 const uint32_t *changed, size_t changed_count) {
  kdl_cuda_device *device = handle;
  kdl_cuda_queue *queue = queue_handle;
  kdl_graph *graph = sequence;
  kdl_cuda_scope scope;
  kdl_status status = check_queue(device, queue);
  if (status == KDL_OK && changed_count) {
    status = check_changed(device, graph, changed, changed_count);
    if (status == KDL_OK)
      status = update(device, graph, changed, changed_count);
  }
  if (status == KDL_OK)
    status = kdl_cuda_enter(device, queue->context, &scope);
  if (status != KDL_OK)
    return status;
  int error = kdl_cuda.graph_launch(graph->instance, queue->stream);
  return kdl_cuda_leave(&scope, error, "cuGraphLaunch, of a sequence of %zu nodes",
                        graph->node_count);
}
