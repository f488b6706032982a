/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Sequences are HIP graphs (lib/backends/common/graphs/graph.h).
 *
 * A kernel node holds a hipFunction_t, which the runtime accepts if no host function has that
 * address. Replayed by single launches are sequences with cooperative launches, for which HIP
 * graphs have no node, and with fills of more than a word, whose two-dimensional nodes differ
 * between releases; and all sequences on a stream that the program captures.
 */
#include "lib/backends/common/graphs/graph.h"
#include "lib/backends/common/services.h"
#include "lib/backends/hip/objects.h"

#include <stdatomic.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------ */
/* Nodes                                                                                        */

static kdl_hip_kernel_node hip_kernel_node(const kdl_backend_node *node) {
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
} hip_copy;

static hip_copy hip_copy_node(const kdl_backend_node *node) {
  void *to = (void *)(uintptr_t)(node->to + node->to_offset);
  void *from = (void *)(uintptr_t)(node->from + node->from_offset);
  if (node->kind == KDL_NODE_WRITE)
    return (hip_copy){to, node->host, KDL_HIP_COPY_TO_DEVICE};
  if (node->kind == KDL_NODE_READ)
    return (hip_copy){node->host, from, KDL_HIP_COPY_TO_HOST};
  return (hip_copy){to, from, KDL_HIP_COPY_ON_DEVICE};
}

static kdl_hip_fill_node hip_fill_node(const kdl_backend_node *node) {
  kdl_graph_fill fills[4];
  (void)kdl_graph_fills(node, fills); /* always one */
  return (kdl_hip_fill_node){.to = (void *)(uintptr_t)fills->to,
                             .element_size = fills->element_size,
                             .height = 1,
                             .value = fills->value,
                             .width = fills->width};
}

static int hip_graph_add(kdl_graph *graph, void *to, const kdl_backend_node *node,
                         void *const *after, size_t count, void **out_node, const char **out_call) {
  (void)graph;
  if (node->kind == KDL_NODE_LAUNCH) {
    kdl_hip_kernel_node params = hip_kernel_node(node);
    *out_call = "hipGraphAddKernelNode";
    return kdl_hip.graph_kernel(out_node, to, after, count, &params);
  }
  if (node->kind == KDL_NODE_FILL) {
    kdl_hip_fill_node params = hip_fill_node(node);
    *out_call = "hipGraphAddMemsetNode";
    return kdl_hip.graph_fill(out_node, to, after, count, &params);
  }
  hip_copy copy = hip_copy_node(node);
  *out_call = "hipGraphAddMemcpyNode1D";
  return kdl_hip.graph_copy(out_node, to, after, count, copy.to, copy.from, node->bytes, copy.kind);
}

static int hip_graph_set(kdl_graph *graph, void *handle, const kdl_backend_node *node,
                         const char **out_call) {
  void *instance = graph->instance;
  if (node->kind == KDL_NODE_LAUNCH) {
    kdl_hip_kernel_node params = hip_kernel_node(node);
    *out_call = "hipGraphExecKernelNodeSetParams";
    return kdl_hip.graph_kernel_set(instance, handle, &params);
  }
  if (node->kind == KDL_NODE_FILL) {
    kdl_hip_fill_node params = hip_fill_node(node);
    *out_call = "hipGraphExecMemsetNodeSetParams";
    return kdl_hip.graph_fill_set(instance, handle, &params);
  }
  if (node->kind > KDL_NODE_FILL)
    return KDL_HIP_SUCCESS;
  hip_copy copy = hip_copy_node(node);
  *out_call = "hipGraphExecMemcpyNodeSetParams1D";
  return kdl_hip.graph_copy_set(instance, handle, copy.to, copy.from, node->bytes, copy.kind);
}

static int hip_graph_instantiate(void *graph, void **out_instance, const char **out_call) {
  *out_call = "hipGraphInstantiate";
  return kdl_hip.graph_instantiate(out_instance, graph, NULL, NULL, 0);
}

/* ------------------------------------------------------------------------------------------ */
/* Support by the runtime                                                                       */

static kdl_status hip_graph_lacks(const kdl_hip_device *device, const char *what) {
  return kdl_core_services.fail(KDL_UNSUPPORTED, 0, "hip:%u: graphs of HIP have no %s here",
                                device->ordinal, what);
}

static kdl_status hip_graph_check(void *handle, const kdl_backend_node *node, size_t loop_count) {
  const kdl_hip_device *device = handle;
  (void)loop_count; /* loops are not supported */
  if (node->kind == KDL_NODE_WHILE)
    return kdl_core_services.fail(KDL_UNSUPPORTED, 0, "hip:%u: a graph has no loops here",
                                  device->ordinal);
  if (node->kind == KDL_NODE_FILL && kdl_shorten_pattern(node->pattern, node->pattern_size) > 4)
    return hip_graph_lacks(device, "fill of more than a word");
  if (node->kind != KDL_NODE_LAUNCH)
    return KDL_OK;
  if (node->desc.flags || node->desc.cluster[0])
    return hip_graph_lacks(device, "cooperative launch and no cluster");
  return node->is_skipped && !kdl_hip.graph_enable
             ? hip_graph_lacks(device, "hipGraphNodeSetEnabled")
             : KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Sequences                                                                                    */

static kdl_status hip_graph_build(kdl_graph *graph) {
  const char *call = "";
  kdl_hip_scope scope;
  if (kdl_hip_enter_relaxed(graph->device, &scope) != KDL_OK)
    return scope.status;
  int error = kdl_graph_build(graph, &call);
  return kdl_hip_leave(&scope, error, "%s, of a sequence of %zu nodes", call, graph->node_count);
}

static void hip_graph_destroy(kdl_graph *graph) {
  kdl_hip_scope scope;
  bool entered = kdl_hip_enter_relaxed(graph->device, &scope) == KDL_OK;
  kdl_graph_reset(graph);
  if (entered)
    (void)kdl_hip_leave(&scope, KDL_HIP_SUCCESS, "hipGraphExecDestroy");
}

static const kdl_graph_driver hip_graph_driver = {.errors = &kdl_hip_errors,
                                                  .functions = KDL_GRAPH_FUNCTIONS(kdl_hip, "hip"),
                                                  .size = sizeof(kdl_graph),
                                                  .check = hip_graph_check,
                                                  .add = hip_graph_add,
                                                  .instantiate = hip_graph_instantiate,
                                                  .set = hip_graph_set,
                                                  .build = hip_graph_build,
                                                  .destroy = hip_graph_destroy,
                                                  .capturing = kdl_hip_queue_capturing};

kdl_status kdl_hip_sequence_create(void *handle, kdl_backend_sequence *sequence,
                                   void **out_sequence) {
  kdl_hip_device *device = handle;
  kdl_driver_load_lazy_symbols(&kdl_hip_driver);
  return KDL_GRAPH_HAS_FUNCTIONS(kdl_hip) && kdl_hip.graph_record && kdl_hip.graph_wait
             ? kdl_graph_create(&hip_graph_driver, device, device->ordinal, sequence, out_sequence)
             : hip_graph_lacks(device,
                               "hipGraphExecKernelNodeSetParams or others of its functions");
}

void kdl_hip_sequence_destroy(void *device, void *sequence) {
  (void)device;
  kdl_graph_destroy(sequence);
}

static kdl_status hip_graph_update(kdl_graph *graph, const uint32_t *changed,
                                   size_t changed_count) {
  const char *call = "";
  kdl_hip_scope scope;
  if (!kdl_hip.graph_enable && kdl_graph_has_skipped(graph, changed, changed_count))
    return hip_graph_lacks(graph->device, "hipGraphNodeSetEnabled");
  if (kdl_hip_enter(graph->device, &scope) != KDL_OK)
    return scope.status;
  int error = kdl_graph_update(graph, changed, changed_count, &call);
  if (error != KDL_HIP_SUCCESS)
    (void)kdl_hip.last_error();
  (void)kdl_hip_leave(&scope, KDL_HIP_SUCCESS, "%s", call);
  return error == KDL_HIP_SUCCESS ? KDL_OK : kdl_graph_rebuild(graph, error, call);
}

kdl_status kdl_hip_sequence_run(void *handle, void *sequence, void *queue_handle,
                                const uint32_t *changed, size_t changed_count) {
  kdl_hip_device *device = handle;
  kdl_hip_queue *queue = queue_handle;
  kdl_graph *graph = sequence;
  kdl_hip_scope scope;
  if (atomic_load_explicit(&queue->may_be_captured, memory_order_relaxed))
    KDL_TRY(kdl_graph_check_capture(graph, queue));
  if (changed_count)
    KDL_TRY(hip_graph_update(graph, changed, changed_count));
  KDL_TRY(kdl_hip_enter(device, &scope));
  int error = kdl_hip.graph_launch(graph->instance, queue->stream);
  return kdl_hip_leave(&scope, error, "hipGraphLaunch, of a sequence of %zu nodes",
                       graph->node_count);
}
