/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Sequences are HIP graphs (lib/backends/common/graphs/graph.h), as they are CUDA graphs.
 *
 * A kernel node holds a hipFunction_t, which the runtime takes where it knows no host function of
 * that address. Replayed by launches are sequences with cooperative launches, which graphs of HIP
 * have no node for, and with fills of more than a word, whose nodes of two dimensions differ
 * between releases; and all of them on a stream that the program captures.
 */
#include "lib/backends/common/graphs/graph.h"
#include "lib/backends/common/text.h"
#include "lib/backends/hip/objects.h"

#include <stdatomic.h>
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

static int add(kdl_graph *graph, void *to, const kdl_backend_node *node, void *const *after,
               size_t count, void **out_node, const char **out_call) {
  (void)graph;
  if (node->kind == KDL_NODE_LAUNCH) {
    kdl_hip_kernel_node params = kernel_node(node);
    *out_call = "hipGraphAddKernelNode";
    return kdl_hip.graph_kernel(out_node, to, after, count, &params);
  }
  if (node->kind == KDL_NODE_FILL) {
    kdl_hip_fill_node params = fill_of(node);
    *out_call = "hipGraphAddMemsetNode";
    return kdl_hip.graph_fill(out_node, to, after, count, &params);
  }
  copy_node copy = copy_of(node);
  *out_call = "hipGraphAddMemcpyNode1D";
  return kdl_hip.graph_copy(out_node, to, after, count, copy.to, copy.from, node->bytes, copy.kind);
}

static int set(kdl_graph *graph, void *handle, const kdl_backend_node *node,
               const char **out_call) {
  void *instance = graph->instance;
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

static int instantiate(void *graph, void **out_instance, const char **out_call) {
  *out_call = "hipGraphInstantiate";
  return kdl_hip.graph_instantiate(out_instance, graph, NULL, NULL, 0);
}

/* ------------------------------------------------------------------------------------------ */
/* What the runtime has                                                                         */

static kdl_status lacks(const kdl_hip_device *device, const char *what) {
  return kdl_own_services.fail(KDL_UNSUPPORTED, 0, "hip:%u: graphs of HIP have no %s here",
                               device->ordinal, what);
}

static kdl_status check(void *handle, const kdl_backend_node *node, size_t loop_count) {
  const kdl_hip_device *device = handle;
  (void)loop_count; /* there are none */
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

/* ------------------------------------------------------------------------------------------ */
/* Sequences                                                                                    */

static kdl_status build(kdl_graph *graph) {
  const char *call = "";
  kdl_hip_scope scope;
  if (kdl_hip_enter_relaxed(graph->device, &scope) != KDL_OK)
    return scope.status;
  int error = kdl_graph_build(graph, &call);
  return kdl_hip_leave(&scope, error, "%s, of a sequence of %zu nodes", call, graph->node_count);
}

static void end(kdl_graph *graph) {
  kdl_hip_scope scope;
  bool entered = kdl_hip_enter_relaxed(graph->device, &scope) == KDL_OK;
  kdl_graph_drop(graph);
  if (entered)
    (void)kdl_hip_leave(&scope, KDL_HIP_SUCCESS, "hipGraphExecDestroy");
}

static const kdl_graph_driver driver = {.errors = &kdl_hip_errors,
                                        .functions = KDL_GRAPH_FUNCTIONS(kdl_hip, "hip"),
                                        .size = sizeof(kdl_graph),
                                        .check = check,
                                        .add = add,
                                        .instantiate = instantiate,
                                        .set = set,
                                        .build = build,
                                        .end = end,
                                        .capturing = kdl_hip_queue_capturing};

kdl_status kdl_hip_sequence_create(void *handle, kdl_backend_sequence *sequence,
                                   void **out_sequence) {
  kdl_hip_device *device = handle;
  kdl_driver_later(&kdl_hip_driver);
  return KDL_GRAPH_HAS_FUNCTIONS(kdl_hip) && kdl_hip.graph_record && kdl_hip.graph_wait
             ? kdl_graph_create(&driver, device, device->ordinal, sequence, out_sequence)
             : lacks(device, "hipGraphExecKernelNodeSetParams or others of its functions");
}

void kdl_hip_sequence_destroy(void *device, void *sequence) {
  (void)device;
  kdl_graph_destroy(sequence);
}

static kdl_status change(kdl_graph *graph, const uint32_t *changed, size_t changed_count) {
  const char *call = "";
  kdl_hip_scope scope;
  if (!kdl_hip.graph_enable && kdl_graph_skips(graph, changed, changed_count))
    return lacks(graph->device, "hipGraphNodeSetEnabled");
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
    KDL_TRY(change(graph, changed, changed_count));
  KDL_TRY(kdl_hip_enter(device, &scope));
  int error = kdl_hip.graph_launch(graph->instance, queue->stream);
  return kdl_hip_leave(&scope, error, "hipGraphLaunch, of a sequence of %zu nodes",
                       graph->node_count);
}
