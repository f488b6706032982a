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

typedef struct {
  kdl_graph graph;
  kdl_cuda_device *device;
  void *module, *set_condition; /* of loops; NULL where there are none */
} cuda_sequence;

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
  const kdl_cuda_device *device = ((const cuda_sequence *)handle)->device;
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
  const kdl_cuda_device *device = ((const cuda_sequence *)handle)->device;
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
  const kdl_cuda_device *device = ((const cuda_sequence *)handle)->device;
  kdl_cuda_note(device->ordinal, kdl_cuda.graph_destroy(graph), "cuGraphDestroy");
}

static void destroy_instance(void *handle, void *instance) {
  const kdl_cuda_device *device = ((const cuda_sequence *)handle)->device;
  kdl_cuda_note(device->ordinal, kdl_cuda.graph_instance_destroy(instance), "cuGraphExecDestroy");
}

/* ------------------------------------------------------------------------------------------ */
/* Loops                                                                                        */

static const char condition_ptx[] =
    ".version 7.0\n"
    ".target sm_70\n"
    ".address_size 64\n"
    ".extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);\n"
    ".visible .entry kdl_set_condition(.param .u64 handle, .param .u64 number) {\n"
    "  .reg .pred %p<2>;\n"
    "  .reg .b32 %r<3>;\n"
    "  .reg .b64 %rd<4>;\n"
    "  ld.param.u64 %rd1, [handle];\n"
    "  ld.param.u64 %rd2, [number];\n"
    "  cvta.to.global.u64 %rd3, %rd2;\n"
    "  ld.volatile.global.u32 %r1, [%rd3];\n"
    "  setp.ne.u32 %p1, %r1, 0;\n"
    "  selp.u32 %r2, 1, 0, %p1;\n"
    "  {\n"
    "    .param .b64 p0;\n"
    "    st.param.b64 [p0], %rd1;\n"
    "    .param .b32 p1;\n"
    "    st.param.b32 [p1], %r2;\n"
    "    call.uni cudaGraphSetConditional, (p0, p1);\n"
    "  }\n"
    "  ret;\n"
    "}\n";

static int load_condition(cuda_sequence *sequence, const char **out_call) {
  *out_call = "cuModuleLoadDataEx";
  int error = kdl_cuda.module_load(&sequence->module, condition_ptx, 0, NULL, NULL);
  if (error != KDL_CUDA_SUCCESS)
    return error;
  *out_call = "cuModuleGetFunction";
  return kdl_cuda.module_function(&sequence->set_condition, sequence->module, "kdl_set_condition");
}

static int add_condition(const cuda_sequence *sequence, void *graph, const kdl_backend_node *loop,
                         uint64_t handle, void *const *after, size_t count, void **out_node,
                         const char **out_call) {
  uint64_t number = loop->from + loop->from_offset;
  void *params[] = {&handle, &number};
  const kdl_cuda_kernel_node node = {
      .function = sequence->set_condition, .grid = {1, 1, 1}, .block = {1, 1, 1}, .params = params};
  *out_call = "cuGraphAddKernelNode";
  return kdl_cuda.graph_kernel(out_node, graph, after, count, &node);
}

static int begin_loop(void *handle, void *graph, const kdl_backend_node *loop, void *const *after,
                      size_t count, void **out_node, void **out_body, uint64_t *out_handle,
                      const char **out_call) {
  const cuda_sequence *sequence = handle;
  void *condition;
  kdl_cuda_loop_node node = {.type = KDL_CUDA_NODE_CONDITIONAL};
  *out_call = "cuGraphConditionalHandleCreate";
  int error =
      kdl_cuda.graph_condition(out_handle, sequence->graph.graph, sequence->device->context, 0, 0);
  if (error == KDL_CUDA_SUCCESS)
    error = add_condition(sequence, graph, loop, *out_handle, after, count, &condition, out_call);
  if (error != KDL_CUDA_SUCCESS)
    return error;
  node.of.conditional.handle = *out_handle;
  node.of.conditional.type = KDL_CUDA_CONDITION_WHILE;
  node.of.conditional.size = 1;
  node.of.conditional.context = sequence->device->context;
  *out_call = "cuGraphAddNode";
  error = kdl_cuda.graph_node(out_node, graph, &condition, 1, &node);
  if (error == KDL_CUDA_SUCCESS)
    *out_body = node.of.conditional.bodies[0];
  return error;
}

static int end_loop(void *handle, void *body, const kdl_backend_node *loop, uint64_t condition,
                    void *const *after, size_t count, const char **out_call) {
  void *node;
  return add_condition(handle, body, loop, condition, after, count, &node, out_call);
}

static const kdl_graph_driver driver = {.create = create,
                                        .add = add,
                                        .instantiate = instantiate,
                                        .set = set,
                                        .enable = enable,
                                        .begin_loop = begin_loop,
                                        .end_loop = end_loop,
                                        .destroy = destroy,
                                        .destroy_instance = destroy_instance};

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
  if (node->kind == KDL_NODE_WHILE && !(kdl_cuda.graph_condition && kdl_cuda.graph_node))
    return lacks(device, "cuGraphConditionalHandleCreate", "12.3");
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
  kdl_driver_later(&kdl_cuda_driver);
  if (!has_graphs())
    return lacks(device, "cuGraphInstantiateWithFlags or others of graphs", "11.4");
  size_t depth = 0; /* of loops */
  for (size_t i = 0; i < sequence->node_count; ++i) {
    const kdl_backend_node *node = sequence->nodes[i];
    kdl_status status = check_node(device, node);
    if (status == KDL_OK && depth && (node->kind == KDL_NODE_RECORD || node->kind == KDL_NODE_WAIT))
      status = kdl_own_services.fail(KDL_UNSUPPORTED, 0, "cuda:%u: a loop in a graph has no events",
                                     device->ordinal);
    if (status != KDL_OK)
      return status;
    depth += node->kind == KDL_NODE_WHILE;
    depth -= node->kind == KDL_NODE_END;
  }
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Sequences                                                                                    */

static kdl_status build(cuda_sequence *sequence) {
  const char *call = "";
  kdl_cuda_scope scope;
  kdl_graph *graph = &sequence->graph;
  if (kdl_cuda_enter_relaxed(sequence->device, &scope) != KDL_OK)
    return scope.status;
  int error = graph->has_loops && !sequence->set_condition ? load_condition(sequence, &call) : 0;
  if (error == KDL_CUDA_SUCCESS)
    error = kdl_graph_build(graph, &call);
  return kdl_cuda_leave(&scope, error, "%s, of a sequence of %zu nodes", call, graph->node_count);
}

/* An instance that still runs is the driver's to free when it is done; code is not. */
void kdl_cuda_sequence_destroy(void *handle, void *sequence_handle) {
  kdl_cuda_device *device = handle;
  cuda_sequence *sequence = sequence_handle;
  kdl_cuda_scope scope;
  bool entered = kdl_cuda_enter_relaxed(device, &scope) == KDL_OK;
  kdl_graph_end(&sequence->graph);
  if (sequence->module) {
    kdl_cuda_note(device->ordinal, kdl_cuda.context_sync(), "cuCtxSynchronize");
    kdl_cuda_note(device->ordinal, kdl_cuda.module_unload(sequence->module), "cuModuleUnload");
  }
  if (entered)
    (void)kdl_cuda_leave(&scope, KDL_CUDA_SUCCESS, "cuGraphExecDestroy");
  free(sequence);
}

kdl_status kdl_cuda_sequence_create(void *handle, kdl_backend_sequence *desc, void **out_sequence) {
  kdl_cuda_device *device = handle;
  kdl_status status = check(device, desc);
  if (status != KDL_OK)
    return status;
  cuda_sequence *sequence = calloc(1, sizeof *sequence);
  if (!sequence)
    return kdl_driver_errors_no_memory(&kdl_cuda_errors, device->ordinal);
  sequence->device = device;
  if (kdl_graph_begin(&sequence->graph, &driver, sequence, desc))
    status = build(sequence);
  else
    status = kdl_driver_errors_no_memory(&kdl_cuda_errors, device->ordinal);
  if (status != KDL_OK) {
    bool has_loops = sequence->graph.has_loops;
    kdl_cuda_sequence_destroy(device, sequence);
    return has_loops && status == KDL_DEVICE ? KDL_UNSUPPORTED : status;
  }
  desc->replay = "graph";
  *out_sequence = sequence;
  return KDL_OK;
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
static kdl_status update(cuda_sequence *sequence, const uint32_t *changed, size_t changed_count) {
  const kdl_cuda_device *device = sequence->device;
  kdl_graph *graph = &sequence->graph;
  const char *call = "";
  kdl_cuda_scope scope;
  if (kdl_cuda_enter_own(device, &scope) != KDL_OK)
    return scope.status;
  int error = kdl_graph_update(graph, changed, changed_count, &call);
  (void)kdl_cuda_leave(&scope, KDL_CUDA_SUCCESS, "%s", call);
  if (error == KDL_CUDA_SUCCESS)
    return KDL_OK;
  kdl_own_services.log("cuda:%u: a graph of %zu nodes is built again: %s: %d", device->ordinal,
                       graph->node_count,
                       error == KDL_GRAPH_REBUILD ? "a wide fill or a loop" : call, error);
  return build(sequence);
}

kdl_status kdl_cuda_sequence_run(void *handle, void *sequence_handle, void *queue_handle,
                                 const uint32_t *changed, size_t changed_count) {
  kdl_cuda_device *device = handle;
  kdl_cuda_queue *queue = queue_handle;
  cuda_sequence *sequence = sequence_handle;
  kdl_graph *graph = &sequence->graph;
  kdl_cuda_scope scope;
  kdl_status status = check_queue(device, queue);
  if (status == KDL_OK && changed_count) {
    status = check_changed(device, graph, changed, changed_count);
    if (status == KDL_OK)
      status = update(sequence, changed, changed_count);
  }
  if (status == KDL_OK)
    status = kdl_cuda_enter(device, queue->context, &scope);
  if (status != KDL_OK)
    return status;
  int error = kdl_cuda.graph_launch(graph->instance, queue->stream);
  return kdl_cuda_leave(&scope, error, "cuGraphLaunch, of a sequence of %zu nodes",
                        graph->node_count);
}
