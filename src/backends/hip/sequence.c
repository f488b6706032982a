/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Sequences are HIP graphs (backends/common/graph.h), as they are CUDA graphs.
 *
 * A kernel node holds a hipFunction_t, which the runtime takes where it knows no host function of
 * that address. Replayed by launches are sequences with cooperative launches, which graphs of HIP
 * have no node for, and with fills of more than a word, whose nodes of two dimensions differ
 * between releases; and all of them on a stream that the program captures.
 */
#include "backends/common/graph.h"
#include "backends/common/text.h"
#include "backends/hip/objects.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------ */
/* Nodes                                                                                        */

static kdl_hip_kernel_node kernel_node(const kdl_backend_node *node) {
  const kdl_hip_kernel *kernel = node->kernel->context;
  const kdl_launch_desc *desc = &node->desc;
  return (kdl_hip_kernel_node){
      .block = {desc->block[0], desc->block[1], desc->block[2]},
      .function = kernel->head.function,
      .grid = {desc->grid[0], desc->grid[1], desc->grid[2]},
      .params = kdl_launch_pointers(&node->args),
      .shared = desc->shared,
  };
}

typedef struct {
  void *to, *from;
  int kind;
} copy_node;

static copy_node copy_of(const kdl_backend_node *node) {
  void *to = (void *)(uintptr_t)(node->to + node->to_offset);
  void *from = (void *)(uintptr_t)(node->from + node->from_offset);
  if (node->kind == KDL_NODE_WRITE)
    return (copy_node){to, node->host, KDL_HIP_COPY_TO_DEVICE};
  if (node->kind == KDL_NODE_READ)
    return (copy_node){node->host, from, KDL_HIP_COPY_TO_HOST};
  return (copy_node){to, from, KDL_HIP_COPY_ON_DEVICE};
}

static kdl_hip_fill_node fill_of(const kdl_backend_node *node) {
  kdl_graph_fill fills[4];
  (void)kdl_graph_fills(node, fills); /* one */
  return (kdl_hip_fill_node){.to = (void *)(uintptr_t)fills->to,
                             .element_size = fills->element_size,
                             .height = 1,
                             .value = fills->value,
                             .width = fills->width};
}

static int add(void *device, void *graph, const kdl_backend_node *node, void *const *after,
               size_t count, void **out_node, const char **out_call) {
  (void)device;
  switch (node->kind) {
  case KDL_NODE_LAUNCH: {
    kdl_hip_kernel_node params = kernel_node(node);
    *out_call = "hipGraphAddKernelNode";
    return kdl_hip.graph_kernel(out_node, graph, after, count, &params);
  }
  case KDL_NODE_FILL: {
    kdl_hip_fill_node params = fill_of(node);
    *out_call = "hipGraphAddMemsetNode";
    return kdl_hip.graph_fill(out_node, graph, after, count, &params);
  }
  case KDL_NODE_RECORD:
    *out_call = "hipGraphAddEventRecordNode";
    return kdl_hip.graph_record(out_node, graph, after, count, node->event);
  case KDL_NODE_WAIT:
    *out_call = "hipGraphAddEventWaitNode";
    return kdl_hip.graph_wait(out_node, graph, after, count, node->event);
  case KDL_NODE_JOIN:
    *out_call = "hipGraphAddEmptyNode";
    return kdl_hip.graph_empty(out_node, graph, after, count);
  default: {
    copy_node copy = copy_of(node);
    *out_call = "hipGraphAddMemcpyNode1D";
    return kdl_hip.graph_copy(out_node, graph, after, count, copy.to, copy.from, node->bytes,
                              copy.kind);
  }
  }
}

static int set(void *device, void *instance, void *handle, const kdl_backend_node *node,
               const char **out_call) {
  (void)device;
  if (node->kind == KDL_NODE_LAUNCH) {
    kdl_hip_kernel_node params = kernel_node(node);
    *out_call = "hipGraphExecKernelNodeSetParams";
    return kdl_hip.graph_kernel_set(instance, handle, &params);
  }
  if (node->kind == KDL_NODE_FILL) {
    kdl_hip_fill_node params = fill_of(node);
    *out_call = "hipGraphExecMemsetNodeSetParams";
    return kdl_hip.graph_fill_set(instance, handle, &params);
  }
  if (node->kind > KDL_NODE_FILL)
    return KDL_HIP_SUCCESS;
  copy_node copy = copy_of(node);
  *out_call = "hipGraphExecMemcpyNodeSetParams1D";
  return kdl_hip.graph_copy_set(instance, handle, copy.to, copy.from, node->bytes, copy.kind);
}

static int create(void **out_graph, const char **out_call) {
  *out_call = "hipGraphCreate";
  return kdl_hip.graph_create(out_graph, 0);
}

static int instantiate(void *graph, void **out_instance, const char **out_call) {
  *out_call = "hipGraphInstantiate";
  return kdl_hip.graph_instantiate(out_instance, graph, NULL, NULL, 0);
}

static int enable(void *instance, void *handle, unsigned is_enabled, const char **out_call) {
  *out_call = "hipGraphNodeSetEnabled";
  return kdl_hip.graph_enable(instance, handle, is_enabled);
}

static void destroy(void *handle, void *graph) {
  const kdl_hip_device *device = handle;
  kdl_hip_note(device->ordinal, kdl_hip.graph_destroy(graph), "hipGraphDestroy");
}

static void destroy_instance(void *handle, void *instance) {
  const kdl_hip_device *device = handle;
  kdl_hip_note(device->ordinal, kdl_hip.graph_instance_destroy(instance), "hipGraphExecDestroy");
}

static const kdl_graph_driver driver = {.create = create,
                                        .add = add,
                                        .instantiate = instantiate,
                                        .set = set,
                                        .enable = enable,
                                        .destroy = destroy,
                                        .destroy_instance = destroy_instance};

/* ------------------------------------------------------------------------------------------ */
/* What the runtime has                                                                         */

static kdl_status lacks(const kdl_hip_device *device, const char *what) {
  return kdl_own_services.fail(KDL_UNSUPPORTED, 0, "hip:%u: graphs of HIP have no %s here",
                               device->ordinal, what);
}

static bool has_graphs(void) {
  return kdl_hip.graph_create && kdl_hip.graph_destroy && kdl_hip.graph_instantiate &&
         kdl_hip.graph_instance_destroy && kdl_hip.graph_launch && kdl_hip.graph_empty &&
         kdl_hip.graph_kernel && kdl_hip.graph_copy && kdl_hip.graph_fill &&
         kdl_hip.graph_kernel_set && kdl_hip.graph_copy_set && kdl_hip.graph_fill_set &&
         kdl_hip.graph_record && kdl_hip.graph_wait;
}

static kdl_status check_node(const kdl_hip_device *device, const kdl_backend_node *node) {
  if (node->kind == KDL_NODE_WHILE)
    return kdl_own_services.fail(KDL_UNSUPPORTED, 0, "hip:%u: a graph has no loops here",
                                 device->ordinal);
  if (node->kind == KDL_NODE_FILL && kdl_shorten_pattern(node->pattern, node->pattern_size) > 4)
    return lacks(device, "fill of more than a word");
  if (node->kind != KDL_NODE_LAUNCH)
    return KDL_OK;
  if (node->desc.flags || node->desc.cluster[0])
    return lacks(device, "cooperative launch and no cluster");
  return node->is_skipped && !kdl_hip.graph_enable ? lacks(device, "hipGraphNodeSetEnabled")
                                                   : KDL_OK;
}

static kdl_status check(const kdl_hip_device *device, const kdl_backend_sequence *sequence) {
  kdl_driver_later(&kdl_hip_driver);
  if (!has_graphs())
    return lacks(device, "hipGraphExecKernelNodeSetParams or others of its functions");
  for (size_t i = 0; i < sequence->node_count; ++i) {
    kdl_status status = check_node(device, sequence->nodes[i]);
    if (status != KDL_OK)
      return status;
  }
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Sequences                                                                                    */

static kdl_status build(const kdl_hip_device *device, kdl_graph *graph) {
  const char *call = "";
  kdl_hip_scope scope;
  if (kdl_hip_enter_relaxed(device, &scope) != KDL_OK)
    return scope.status;
  int error = kdl_graph_build(graph, &call);
  return kdl_hip_leave(&scope, error, "%s, of a sequence of %zu nodes", call, graph->node_count);
}

kdl_status kdl_hip_sequence_create(void *handle, kdl_backend_sequence *sequence,
                                   void **out_sequence) {
  kdl_hip_device *device = handle;
  kdl_status status = check(device, sequence);
  if (status != KDL_OK)
    return status;
  kdl_graph *graph = malloc(sizeof *graph);
  if (!graph)
    return kdl_driver_errors_no_memory(&kdl_hip_errors, device->ordinal);
  if (kdl_graph_begin(graph, &driver, device, sequence))
    status = build(device, graph);
  else
    status = kdl_driver_errors_no_memory(&kdl_hip_errors, device->ordinal);
  if (status != KDL_OK) {
    kdl_graph_end(graph);
    free(graph);
    return status;
  }
  sequence->replay = "graph";
  *out_sequence = graph;
  return KDL_OK;
}

void kdl_hip_sequence_destroy(void *handle, void *sequence) {
  kdl_hip_device *device = handle;
  kdl_hip_scope scope;
  bool entered = kdl_hip_enter_relaxed(device, &scope) == KDL_OK;
  kdl_graph_end(sequence);
  if (entered)
    (void)kdl_hip_leave(&scope, KDL_HIP_SUCCESS, "hipGraphExecDestroy");
  free(sequence);
}

static kdl_status check_run(kdl_hip_device *device, kdl_hip_queue *queue, const kdl_graph *graph,
                            const uint32_t *changed, size_t changed_count) {
  int capturing = 0;
  for (size_t i = 0; i < changed_count && !kdl_hip.graph_enable; ++i) {
    if (graph->nodes[changed[i]]->is_skipped)
      return lacks(device, "hipGraphNodeSetEnabled");
  }
  if (!atomic_load_explicit(&queue->may_be_captured, memory_order_relaxed))
    return KDL_OK;
  kdl_status status = kdl_hip_queue_capturing(device, queue, &capturing);
  if (status == KDL_OK && capturing)
    status = kdl_own_services.fail(KDL_UNSUPPORTED, 0, "hip:%u: the queue is being captured",
                                   device->ordinal);
  return status;
}

/* What the runtime refuses to set is built anew. */
static kdl_status update(const kdl_hip_device *device, kdl_graph *graph, const uint32_t *changed,
                         size_t changed_count) {
  const char *call = "";
  kdl_hip_scope scope;
  if (kdl_hip_enter(device, &scope) != KDL_OK)
    return scope.status;
  int error = kdl_graph_update(graph, changed, changed_count, &call);
  if (error != KDL_HIP_SUCCESS)
    (void)kdl_hip.last_error();
  (void)kdl_hip_leave(&scope, KDL_HIP_SUCCESS, "%s", call);
  if (error == KDL_HIP_SUCCESS)
    return KDL_OK;
  kdl_own_services.log("hip:%u: a graph of %zu nodes is built again: %s: %d", device->ordinal,
                       graph->node_count, call, error);
  return build(device, graph);
}

kdl_status kdl_hip_sequence_run(void *handle, void *sequence, void *queue_handle,
                                const uint32_t *changed, size_t changed_count) {
  kdl_hip_device *device = handle;
  kdl_hip_queue *queue = queue_handle;
  kdl_graph *graph = sequence;
  kdl_hip_scope scope;
  kdl_status status = check_run(device, queue, graph, changed, changed_count);
  if (status == KDL_OK && changed_count)
    status = update(device, graph, changed, changed_count);
  if (status == KDL_OK)
    status = kdl_hip_enter(device, &scope);
  if (status != KDL_OK)
    return status;
  int error = kdl_hip.graph_launch(graph->instance, queue->stream);
  return kdl_hip_leave(&scope, error, "hipGraphLaunch, of a sequence of %zu nodes",
                       graph->node_count);
}
