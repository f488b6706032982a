/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* HIP graphs of the fake libamdhip64, built node by node. */
#include "fake_graph.h"
#include "fake_hip_state.h"

/* ------------------------------------------------------------------------------------------ */
/* Graphs                                                                                       */

int hipGraphCreate(void **graph, unsigned flags) {
  HIP_ENTER();
  fake_object *device = fake_hip_current();
  int error = flags ? invalid_value : fake_hip_lost(device);
  if (!error)
    *graph = fake_new(FAKE_GRAPH, device);
  return hip_leave(error);
}

int hipGraphInstantiate(void **instance, void *handle, void **wrong,
                        char *log, // NOLINT(readability-non-const-parameter): HIP's
                        size_t log_size) {
  (void)wrong, (void)log, (void)log_size;
  HIP_ENTER();
  fake_object *graph = fake_live(handle, FAKE_GRAPH);
  int error = graph ? fake_unsafe() : invalid_value;
  if (!error)
    error = fake_hip_lost(graph->context);
  if (!error)
    *instance = fake_graph_instantiate(graph);
  return hip_leave(error);
}

int hipGraphLaunch(void *instance, void *handle) {
  HIP_ENTER();
  fake_object *graph = fake_live(instance, FAKE_GRAPH);
  fake_object *stream = fake_live(handle, FAKE_STREAM);
  bool is_special = (uintptr_t)handle <= KDL_HIP_STREAM_LAST_SPECIAL;
  if (!graph || (!is_special && (!stream || stream->context != graph->context)))
    return hip_leave(invalid_value);
  if (stream && stream->capture != capture_none) {
    stream->capture = capture_broken;
    return hip_leave(capture_unsupported);
  }
  int error = fake_hip_lost(graph->context);
  if (!error && !fake_graph_run(graph))
    graph->context->sticky = illegal_address;
  return hip_leave(error);
}

/* Destroys also where a fault is injected. */
static int destroy(void *handle, int fault) {
  pthread_mutex_lock(&fake_lock);
  fake_object *graph = fake_live(handle, FAKE_GRAPH);
  if (!graph)
    return hip_leave(invalid_value);
  fake_graph_delete(graph);
  return hip_leave(fault);
}

int hipGraphDestroy(void *graph) {
  return destroy(graph, fake_enter(__func__));
}

int hipGraphExecDestroy(void *instance) {
  return destroy(instance, fake_enter(__func__));
}

/* ------------------------------------------------------------------------------------------ */
/* Nodes                                                                                        */

static int add(void **handle, void *to, const fake_node *node, void *const *after, size_t count) {
  fake_object *graph = fake_live(to, FAKE_GRAPH);
  fake_object *made = graph ? fake_graph_add(graph, node, after, count) : NULL;
  if (made)
    *handle = made;
  return made ? fake_hip_lost(graph->context) : invalid_value;
}

static int read_kernel(const kdl_hip_kernel_node *params, const fake_object *graph,
                       fake_node *out_node) {
  const fake_object *function = fake_live(params->function, FAKE_FUNCTION);
  if (!function || !graph || function->context != graph->context)
    return invalid_value;
  int error = params->extra ? invalid_value
                            : fake_hip_check_launch(function, params->grid, params->block,
                                                    params->shared, params->params);
  if (error)
    return error;
  out_node->kind = FAKE_NODE_KERNEL;
  out_node->kernel = function;
  out_node->shared = params->shared;
  memcpy(out_node->grid, params->grid, sizeof out_node->grid);
  memcpy(out_node->block, params->block, sizeof out_node->block);
  fake_node_keep(out_node, params->params);
  return KDL_HIP_SUCCESS;
}

static int read_copy(void *to, const void *from, size_t size, int kind, fake_node *out_node) {
  bool to_device = kind == KDL_HIP_COPY_TO_DEVICE || kind == KDL_HIP_COPY_ON_DEVICE;
  bool from_device = kind == KDL_HIP_COPY_TO_HOST || kind == KDL_HIP_COPY_ON_DEVICE;
  if (!to || !from || !size || (!to_device && !from_device) ||
      (to_device && !fake_memory_at((uintptr_t)to, size)) ||
      (from_device && !fake_memory_at((uintptr_t)from, size)))
    return invalid_value;
  *out_node = (fake_node){
      .kind = FAKE_NODE_COPY, .to = (uintptr_t)to, .from = (uintptr_t)from, .bytes = size};
  return KDL_HIP_SUCCESS;
}

static int read_fill(const kdl_hip_fill_node *params, fake_node *out_node) {
  unsigned size = params->element_size;
  if ((size != 1 && size != 2 && size != 4) || !params->width || params->height != 1 ||
      !fake_memory_at((uintptr_t)params->to, params->width * size) || (uintptr_t)params->to % size)
    return invalid_value;
  *out_node = (fake_node){.kind = FAKE_NODE_FILL,
                          .to = (uintptr_t)params->to,
                          .width = params->width,
                          .height = 1,
                          .value = params->value,
                          .element_size = size};
  return KDL_HIP_SUCCESS;
}

int hipGraphAddEmptyNode(void **node, void *graph, void *const *after, size_t count) {
  HIP_ENTER();
  fake_node made = {.kind = FAKE_NODE_EMPTY};
  return hip_leave(add(node, graph, &made, after, count));
}

int hipGraphAddKernelNode(void **node, void *graph, void *const *after, size_t count,
                          const kdl_hip_kernel_node *params) {
  HIP_ENTER();
  fake_node made = {0};
  int error = read_kernel(params, fake_live(graph, FAKE_GRAPH), &made);
  return hip_leave(error ? error : add(node, graph, &made, after, count));
}

int hipGraphAddMemcpyNode1D(void **node, void *graph, void *const *after, size_t count, void *to,
                            const void *from, size_t size, int kind) {
  HIP_ENTER();
  fake_node made = {0};
  int error = read_copy(to, from, size, kind, &made);
  return hip_leave(error ? error : add(node, graph, &made, after, count));
}

int hipGraphAddMemsetNode(void **node, void *graph, void *const *after, size_t count,
                          const kdl_hip_fill_node *params) {
  HIP_ENTER();
  fake_node made = {0};
  int error = read_fill(params, &made);
  return hip_leave(error ? error : add(node, graph, &made, after, count));
}

static int add_event(void **node, void *graph, void *const *after, size_t count, void *event,
                     fake_node_kind kind) {
  fake_node made = {.kind = kind, .event = fake_live(event, FAKE_EVENT)};
  return made.event ? add(node, graph, &made, after, count) : invalid_value;
}

int hipGraphAddEventRecordNode(void **node, void *graph, void *const *after, size_t count,
                               void *event) {
  HIP_ENTER();
  return hip_leave(add_event(node, graph, after, count, event, FAKE_NODE_RECORD));
}

int hipGraphAddEventWaitNode(void **node, void *graph, void *const *after, size_t count,
                             void *event) {
  HIP_ENTER();
  return hip_leave(add_event(node, graph, after, count, event, FAKE_NODE_WAIT));
}

/* ------------------------------------------------------------------------------------------ */
/* Instances                                                                                    */

/* What stays of a node that is set. */
static int set(void *instance, void *handle, const fake_node *changed) {
  const fake_object *graph = fake_live(instance, FAKE_GRAPH);
  fake_node *node = graph ? fake_graph_node(graph, handle, changed->kind) : NULL;
  if (!node)
    return invalid_value;
  fake_node kept = *changed;
  kept.is_disabled = node->is_disabled;
  kept.number = node->number;
  kept.after_count = node->after_count;
  memcpy(node, &kept, sizeof kept);
  return fake_hip_lost(graph->context);
}

int hipGraphExecKernelNodeSetParams(void *instance, void *node, const kdl_hip_kernel_node *params) {
  HIP_ENTER();
  fake_node made = {0};
  int error = read_kernel(params, fake_live(instance, FAKE_GRAPH), &made);
  return hip_leave(error ? error : set(instance, node, &made));
}

int hipGraphExecMemcpyNodeSetParams1D(void *instance, void *node, void *to, const void *from,
                                      size_t size, int kind) {
  HIP_ENTER();
  fake_node made = {0};
  int error = read_copy(to, from, size, kind, &made);
  return hip_leave(error ? error : set(instance, node, &made));
}

int hipGraphExecMemsetNodeSetParams(void *instance, void *node, const kdl_hip_fill_node *params) {
  HIP_ENTER();
  fake_node made = {0};
  int error = read_fill(params, &made);
  return hip_leave(error ? error : set(instance, node, &made));
}

#ifndef FAKE_OLD
int hipGraphNodeSetEnabled(void *instance, void *handle, unsigned is_enabled) {
  HIP_ENTER();
  const fake_object *graph = fake_live(instance, FAKE_GRAPH);
  fake_node *node = graph ? fake_graph_node(graph, handle, FAKE_NODE_KERNEL) : NULL;
  if (!node)
    return hip_leave(invalid_value);
  node->is_disabled = !is_enabled;
  return hip_leave(KDL_HIP_SUCCESS);
}
#endif
