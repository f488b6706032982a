/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Sequences are CUDA graphs (lib/backends/common/graphs/graph.h).
 *
 * Kernel nodes hold a CUfunction, which belongs to the device's context: on a queue of another
 * context, and on a stream that the program captures, a sequence is replayed by single launches.
 * libkdl queries the capture status of a stream only if the program could have captured it.
 */
#include "lib/backends/common/graphs/graph.h"
#include "lib/backends/cuda/objects.h"

#include <stdatomic.h>
#include <string.h>

typedef struct {
  kdl_graph graph;
  void *module, *set_condition; /* for loops; NULL without loops */
} cuda_sequence;

/* ------------------------------------------------------------------------------------------ */
/* Nodes                                                                                        */

static kdl_cuda_kernel_node cuda_kernel_node(const kdl_backend_node *node) {
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

static kdl_cuda_copy_end cuda_device_memory(uint64_t address) {
  return (kdl_cuda_copy_end){.type = KDL_CUDA_MEMORY_DEVICE, .device = address};
}

static kdl_cuda_copy_end cuda_host_memory(void *host) {
  return (kdl_cuda_copy_end){.type = KDL_CUDA_MEMORY_HOST, .host = host};
}

static kdl_cuda_copy_node cuda_copy_node(const kdl_backend_node *node) {
  return (kdl_cuda_copy_node){
      .from = node->kind == KDL_NODE_WRITE ? cuda_host_memory(node->host)
                                           : cuda_device_memory(node->from + node->from_offset),
      .to = node->kind == KDL_NODE_READ ? cuda_host_memory(node->host)
                                        : cuda_device_memory(node->to + node->to_offset),
      .width = node->bytes,
      .height = 1,
      .depth = 1,
  };
}

static kdl_cuda_fill_node cuda_fill_node(const kdl_graph_fill *fill) {
  return (kdl_cuda_fill_node){.to = fill->to,
                              .pitch = fill->pitch,
                              .value = fill->value,
                              .element_size = fill->element_size,
                              .width = fill->width,
                              .height = fill->height};
}

/* ------------------------------------------------------------------------------------------ */
/* Building                                                                                     */

static int cuda_set_node_attributes(void *handle, const kdl_launch_desc *desc) {
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

static int cuda_graph_add_kernel(void *graph, const kdl_backend_node *node, void *const *after,
                                 size_t count, void **out_node, const char **out_call) {
  kdl_cuda_kernel_node params = cuda_kernel_node(node);
  *out_call = "cuGraphAddKernelNode";
  int error = kdl_cuda.graph_kernel(out_node, graph, after, count, &params);
  if (error != KDL_CUDA_SUCCESS || !(node->desc.flags || node->desc.cluster[0]))
    return error;
  *out_call = "cuGraphKernelNodeSetAttribute";
  return cuda_set_node_attributes(*out_node, &node->desc);
}

static int cuda_graph_add_fill(void *context, void *graph, const kdl_backend_node *node,
                               void *const *after, size_t count, void **out_node,
                               const char **out_call) {
  kdl_graph_fill fills[4];
  size_t parts = kdl_graph_fills(node, fills);
  int error = KDL_CUDA_SUCCESS;
  *out_call = "cuGraphAddMemsetNode";
  for (size_t i = 0; i < parts && error == KDL_CUDA_SUCCESS; ++i) {
    kdl_cuda_fill_node params = cuda_fill_node(&fills[i]);
    void *last = *out_node; /* each depends on the one before */
    error =
        kdl_cuda.graph_fill(out_node, graph, i ? &last : after, i ? 1 : count, &params, context);
  }
  return error;
}

static int cuda_graph_add(kdl_graph *graph, void *to, const kdl_backend_node *node,
                          void *const *after, size_t count, void **out_node,
                          const char **out_call) {
  const kdl_cuda_device *device = graph->device;
  if (node->kind == KDL_NODE_LAUNCH)
    return cuda_graph_add_kernel(to, node, after, count, out_node, out_call);
  if (node->kind == KDL_NODE_FILL)
    return cuda_graph_add_fill(device->context, to, node, after, count, out_node, out_call);
  kdl_cuda_copy_node copy = cuda_copy_node(node);
  *out_call = "cuGraphAddMemcpyNode";
  return kdl_cuda.graph_copy(out_node, to, after, count, &copy, device->context);
}

static int cuda_graph_set(kdl_graph *graph, void *at, const kdl_backend_node *node,
                          const char **out_call) {
  const kdl_cuda_device *device = graph->device;
  void *instance = graph->instance;
  kdl_graph_fill fills[4];
  if (node->kind == KDL_NODE_LAUNCH) {
    kdl_cuda_kernel_node params = cuda_kernel_node(node);
    *out_call = "cuGraphExecKernelNodeSetParams";
    return kdl_cuda.graph_kernel_set(instance, at, &params);
  }
  if (node->kind == KDL_NODE_FILL) {
    if (kdl_graph_fills(node, fills) > 1)
      return KDL_GRAPH_REBUILD;
    kdl_cuda_fill_node params = cuda_fill_node(fills);
    *out_call = "cuGraphExecMemsetNodeSetParams";
    return kdl_cuda.graph_fill_set(instance, at, &params, device->context);
  }
  if (node->kind > KDL_NODE_FILL)
    return KDL_CUDA_SUCCESS;
  kdl_cuda_copy_node params = cuda_copy_node(node);
  *out_call = "cuGraphExecMemcpyNodeSetParams";
  return kdl_cuda.graph_copy_set(instance, at, &params, device->context);
}

static int cuda_graph_instantiate(void *graph, void **out_instance, const char **out_call) {
  *out_call = "cuGraphInstantiateWithFlags";
  return kdl_cuda.graph_instantiate(out_instance, graph, 0);
}

/* ------------------------------------------------------------------------------------------ */
/* Loops                                                                                        */

static const char cuda_condition_ptx[] =
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

static int cuda_load_condition(cuda_sequence *sequence, const char **out_call) {
  *out_call = "cuModuleLoadDataEx";
  int error = kdl_cuda.module_load(&sequence->module, cuda_condition_ptx, 0, NULL, NULL);
  if (error != KDL_CUDA_SUCCESS)
    return error;
  *out_call = "cuModuleGetFunction";
  return kdl_cuda.module_function(&sequence->set_condition, sequence->module, "kdl_set_condition");
}

static int cuda_graph_add_condition(const cuda_sequence *sequence, void *graph,
                                    const kdl_backend_node *loop, uint64_t handle,
                                    void *const *after, size_t count, void **out_node,
                                    const char **out_call) {
  uint64_t number = loop->from + loop->from_offset;
  void *params[] = {&handle, &number};
  const kdl_cuda_kernel_node node = {
      .function = sequence->set_condition, .grid = {1, 1, 1}, .block = {1, 1, 1}, .params = params};
  *out_call = "cuGraphAddKernelNode";
  return kdl_cuda.graph_kernel(out_node, graph, after, count, &node);
}

static int cuda_graph_begin_loop(kdl_graph *graph, void *to, const kdl_backend_node *loop,
                                 void *const *after, size_t count, void **out_node, void **out_body,
                                 uint64_t *out_handle, const char **out_call) {
  const cuda_sequence *sequence = (const cuda_sequence *)graph;
  const kdl_cuda_device *device = graph->device;
  void *condition;
  kdl_cuda_loop_node node = {.type = KDL_CUDA_NODE_CONDITIONAL};
  *out_call = "cuGraphConditionalHandleCreate";
  int error = kdl_cuda.graph_condition(out_handle, graph->graph, device->context, 0, 0);
  if (error == KDL_CUDA_SUCCESS)
    error = cuda_graph_add_condition(sequence, to, loop, *out_handle, after, count, &condition,
                                     out_call);
  if (error != KDL_CUDA_SUCCESS)
    return error;
  node.of.conditional.handle = *out_handle;
  node.of.conditional.type = KDL_CUDA_CONDITION_WHILE;
  node.of.conditional.size = 1;
  node.of.conditional.context = device->context;
  *out_call = "cuGraphAddNode";
  error = kdl_cuda.graph_node(out_node, to, &condition, 1, &node);
  if (error == KDL_CUDA_SUCCESS)
    *out_body = node.of.conditional.bodies[0];
  return error;
}

static int cuda_graph_end_loop(kdl_graph *graph, void *body, const kdl_backend_node *loop,
                               uint64_t condition, void *const *after, size_t count,
                               const char **out_call) {
  void *node;
  return cuda_graph_add_condition((const cuda_sequence *)graph, body, loop, condition, after, count,
                                  &node, out_call);
}

/* ------------------------------------------------------------------------------------------ */
/* Support by the driver                                                                        */

static kdl_status cuda_graph_lacks(const kdl_cuda_device *device, const char *function,
                                   const char *release) {
  return kdl_core_services.fail(KDL_UNSUPPORTED, 0,
                                "cuda:%u: the driver has no %s, which came with CUDA %s",
                                device->ordinal, function, release);
}

static kdl_status cuda_graph_check(void *handle, const kdl_backend_node *node, size_t loop_count) {
  const kdl_cuda_device *device = handle;
  bool is_event = node->kind == KDL_NODE_RECORD || node->kind == KDL_NODE_WAIT;
  if (node->kind == KDL_NODE_WHILE && !(kdl_cuda.graph_condition && kdl_cuda.graph_node))
    return cuda_graph_lacks(device, "cuGraphConditionalHandleCreate", "12.3");
  if (node->kind == KDL_NODE_RECORD && !kdl_cuda.graph_record)
    return cuda_graph_lacks(device, "cuGraphAddEventRecordNode", "11.1");
  if (node->kind == KDL_NODE_WAIT && !kdl_cuda.graph_wait)
    return cuda_graph_lacks(device, "cuGraphAddEventWaitNode", "11.1");
  if (is_event && loop_count)
    return kdl_core_services.fail(KDL_UNSUPPORTED, 0, "cuda:%u: a loop in a graph has no events",
                                  device->ordinal);
  if (node->kind != KDL_NODE_LAUNCH)
    return KDL_OK;
  if ((node->desc.flags || node->desc.cluster[0]) && !kdl_cuda.graph_attribute)
    return cuda_graph_lacks(device, "cuGraphKernelNodeSetAttribute", "11.0");
  if (node->is_skipped && !kdl_cuda.graph_enable)
    return cuda_graph_lacks(device, "cuGraphNodeSetEnabled", "11.6");
  return kdl_cuda_kernel_prepare(node->kernel->context, &node->desc);
}

/* ------------------------------------------------------------------------------------------ */
/* Sequences                                                                                    */

static kdl_status cuda_graph_build(kdl_graph *graph) {
  cuda_sequence *sequence = (cuda_sequence *)graph;
  const char *call = "";
  kdl_cuda_scope scope;
  if (kdl_cuda_enter_relaxed(graph->device, &scope) != KDL_OK)
    return scope.status;
  int error =
      graph->has_loops && !sequence->set_condition ? cuda_load_condition(sequence, &call) : 0;
  if (error == KDL_CUDA_SUCCESS)
    error = kdl_graph_build(graph, &call);
  return kdl_cuda_leave(&scope, error, "%s, of a sequence of %zu nodes", call, graph->node_count);
}

/* The driver frees an instance that still runs when it is done; it does not keep code alive. */
static void cuda_graph_destroy(kdl_graph *graph) {
  const cuda_sequence *sequence = (const cuda_sequence *)graph;
  kdl_cuda_scope scope;
  bool entered = kdl_cuda_enter_relaxed(graph->device, &scope) == KDL_OK;
  kdl_graph_reset(graph);
  if (sequence->module) {
    kdl_cuda_log_error(graph->ordinal, kdl_cuda.context_sync(), "cuCtxSynchronize");
    kdl_cuda_log_error(graph->ordinal, kdl_cuda.module_unload(sequence->module), "cuModuleUnload");
  }
  if (entered)
    (void)kdl_cuda_leave(&scope, KDL_CUDA_SUCCESS, "cuGraphExecDestroy");
}

static const kdl_graph_driver cuda_graph_driver = {.errors = &kdl_cuda_errors,
                                                   .functions = KDL_GRAPH_FUNCTIONS(kdl_cuda, "cu"),
                                                   .size = sizeof(cuda_sequence),
                                                   .check = cuda_graph_check,
                                                   .add = cuda_graph_add,
                                                   .instantiate = cuda_graph_instantiate,
                                                   .set = cuda_graph_set,
                                                   .begin_loop = cuda_graph_begin_loop,
                                                   .end_loop = cuda_graph_end_loop,
                                                   .build = cuda_graph_build,
                                                   .destroy = cuda_graph_destroy,
                                                   .capturing = kdl_cuda_queue_capturing};

kdl_status kdl_cuda_sequence_create(void *handle, kdl_backend_sequence *sequence,
                                    void **out_sequence) {
  kdl_cuda_device *device = handle;
  kdl_driver_load_lazy_symbols(&kdl_cuda_driver);
  return KDL_GRAPH_HAS_FUNCTIONS(kdl_cuda)
             ? kdl_graph_create(&cuda_graph_driver, device, device->ordinal, sequence, out_sequence)
             : cuda_graph_lacks(device, "cuGraphInstantiateWithFlags or others of graphs", "11.4");
}

void kdl_cuda_sequence_destroy(void *device, void *sequence) {
  (void)device;
  kdl_graph_destroy(sequence);
}

static kdl_status cuda_graph_update(kdl_graph *graph, const uint32_t *changed,
                                    size_t changed_count) {
  const char *call = "";
  kdl_cuda_scope scope;
  if (!kdl_cuda.graph_enable && kdl_graph_has_skipped(graph, changed, changed_count))
    return cuda_graph_lacks(graph->device, "cuGraphNodeSetEnabled", "11.6");
  if (kdl_cuda_enter_own(graph->device, &scope) != KDL_OK)
    return scope.status;
  int error = kdl_graph_update(graph, changed, changed_count, &call);
  (void)kdl_cuda_leave(&scope, KDL_CUDA_SUCCESS, "%s", call);
  return error == KDL_CUDA_SUCCESS ? KDL_OK : kdl_graph_rebuild(graph, error, call);
}

kdl_status kdl_cuda_sequence_run(void *handle, void *sequence, void *queue_handle,
                                 const uint32_t *changed, size_t changed_count) {
  kdl_cuda_device *device = handle;
  kdl_cuda_queue *queue = queue_handle;
  kdl_graph *graph = sequence;
  kdl_cuda_scope scope;
  if (queue->context != device->context)
    return kdl_core_services.fail(KDL_UNSUPPORTED, 0, "cuda:%u: the queue is of another context",
                                  device->ordinal);
  if (atomic_load_explicit(&queue->may_be_captured, memory_order_relaxed))
    KDL_TRY(kdl_graph_check_capture(graph, queue));
  if (changed_count)
    KDL_TRY(cuda_graph_update(graph, changed, changed_count));
  KDL_TRY(kdl_cuda_enter(device, queue->context, &scope));
  int error = kdl_cuda.graph_launch(graph->instance, queue->stream);
  return kdl_cuda_leave(&scope, error, "cuGraphLaunch, of a sequence of %zu nodes",
                        graph->node_count);
}
