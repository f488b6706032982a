/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* CUDA graphs of the fake libcuda: captured, or built node by node. */
#include "fake_cuda_state.h"
#include "fake_graph.h"

static unsigned nodes_set;

unsigned fake_cuda_nodes_set(void) {
  pthread_mutex_lock(&fake_lock);
  unsigned count = nodes_set;
  pthread_mutex_unlock(&fake_lock);
  return count;
}

/* ------------------------------------------------------------------------------------------ */
/* Graphs                                                                                       */

int cuGraphCreate(void **graph, unsigned flags) {
  FAKE_ENTER();
  fake_object *current = fake_current();
  if (!current || flags)
    return fake_leave(current ? KDL_CUDA_ERROR_INVALID_VALUE : KDL_CUDA_ERROR_INVALID_CONTEXT);
  *graph = fake_new(FAKE_GRAPH, current);
  return fake_leave(current->sticky);
}

int cuGraphInstantiateWithFlags(void **instance, void *handle, uint64_t flags) {
  (void)flags;
  FAKE_ENTER();
  fake_object *graph = fake_live(handle, FAKE_GRAPH);
  if (!graph)
    return fake_leave(KDL_CUDA_ERROR_INVALID_HANDLE);
  int error = fake_unsafe();
  if (error == KDL_CUDA_SUCCESS)
    error = graph->context->sticky;
  if (error == KDL_CUDA_SUCCESS)
    *instance = fake_graph_instantiate(graph);
  return fake_leave(error);
}

int cuGraphLaunch(void *instance, void *handle) {
  FAKE_ENTER();
  fake_object *graph = fake_live(instance, FAKE_GRAPH);
  fake_object *stream = fake_live(handle, FAKE_STREAM);
  bool is_special = (uintptr_t)handle <= KDL_CUDA_STREAM_LAST_SPECIAL;
  if (!graph || (!is_special && (!stream || stream->context != graph->context)))
    return fake_leave(KDL_CUDA_ERROR_INVALID_HANDLE);
  if (stream && stream->capture != capture_none) {
    stream->capture = capture_broken;
    return fake_leave(capture_unsupported);
  }
  if (graph->context->sticky == KDL_CUDA_SUCCESS && !fake_graph_run(graph))
    graph->context->sticky = illegal_address;
  return fake_leave(graph->context->sticky);
}

/* Takes any graph, and leaves the instance as it is: for benchmarks. */
int cuGraphExecUpdate_v2(void *instance, void *graph, void *result) {
  FAKE_ENTER();
  bool is_there = fake_live(instance, FAKE_GRAPH) && fake_live(graph, FAKE_GRAPH) && result;
  return fake_leave(is_there ? KDL_CUDA_SUCCESS : KDL_CUDA_ERROR_INVALID_VALUE);
}

/* Destroys also where a fault is injected. */
static int destroy(void *handle, int fault) {
  pthread_mutex_lock(&fake_lock);
  fake_object *graph = fake_live(handle, FAKE_GRAPH);
  if (!graph)
    return fake_leave(KDL_CUDA_ERROR_INVALID_HANDLE);
  fake_graph_delete(graph);
  return fake_leave(fault);
}

int cuGraphDestroy(void *graph) {
  return destroy(graph, fake_enter(__func__));
}

int cuGraphExecDestroy(void *instance) {
  return destroy(instance, fake_enter(__func__));
}

/* ------------------------------------------------------------------------------------------ */
/* Checks                                                                                       */

static int add(void **handle, void *to, const fake_node *node, void *const *after, size_t count) {
  fake_object *graph = fake_live(to, FAKE_GRAPH);
  fake_object *made = graph ? fake_graph_add(graph, node, after, count) : NULL;
  if (made)
    *handle = made;
  return made ? graph->context->sticky : KDL_CUDA_ERROR_INVALID_VALUE;
}

/* What a kernel node is; the function must be of the graph's context. */
static int read_kernel(const kdl_cuda_kernel_node *params, const fake_object *graph,
                       fake_node *out_node) {
  const fake_object *kernel = fake_live(params->function, FAKE_FUNCTION);
  if (!kernel || !graph || kernel->context != graph->context)
    return KDL_CUDA_ERROR_INVALID_HANDLE;
  kdl_cuda_launch_config config = {.shared = params->shared};
  memcpy(config.grid, params->grid, sizeof config.grid);
  memcpy(config.block, params->block, sizeof config.block);
  int error = params->extra ? KDL_CUDA_ERROR_INVALID_VALUE
                            : fake_cuda_check_launch(kernel, &config, params->params);
  if (error != KDL_CUDA_SUCCESS)
    return error;
  out_node->kind = FAKE_NODE_KERNEL;
  out_node->kernel = kernel;
  out_node->shared = params->shared;
  memcpy(out_node->grid, params->grid, sizeof out_node->grid);
  memcpy(out_node->block, params->block, sizeof out_node->block);
  fake_node_keep(out_node, params->params);
  return KDL_CUDA_SUCCESS;
}

/* Where a side of a copy lies; 0 where there is nothing. */
static uint64_t place_of(const kdl_cuda_copy_end *side, size_t size) {
  if (side->x || side->y || side->z || side->lod || side->array || side->reserved)
    return 0;
  if (side->type == KDL_CUDA_MEMORY_HOST)
    return side->device ? 0 : (uintptr_t)side->host;
  bool is_there = side->type == KDL_CUDA_MEMORY_DEVICE && fake_memory_at(side->device, size);
  return is_there && !side->host ? side->device : 0;
}

static int read_copy(const kdl_cuda_copy_node *params, const void *context, fake_node *out_node) {
  uint64_t from = place_of(&params->from, params->width);
  uint64_t to = place_of(&params->to, params->width);
  if (!from || !to || !params->width || params->height != 1 || params->depth != 1 ||
      !fake_live(context, FAKE_CONTEXT))
    return KDL_CUDA_ERROR_INVALID_VALUE;
  out_node->kind = FAKE_NODE_COPY;
  out_node->from = from;
  out_node->to = to;
  out_node->bytes = params->width;
  return KDL_CUDA_SUCCESS;
}

static int read_fill(const kdl_cuda_fill_node *params, const void *context, fake_node *out_node) {
  unsigned size = params->element_size;
  if ((size != 1 && size != 2 && size != 4) || !params->width || !params->height ||
      !fake_memory_at(params->to, params->width * size) || !fake_live(context, FAKE_CONTEXT) ||
      params->to % size || (params->height > 1 && params->pitch < params->width * size))
    return KDL_CUDA_ERROR_INVALID_VALUE;
  out_node->kind = FAKE_NODE_FILL;
  out_node->to = params->to;
  out_node->pitch = params->pitch;
  out_node->width = params->width;
  out_node->height = params->height;
  out_node->value = params->value;
  out_node->element_size = size;
  return KDL_CUDA_SUCCESS;
}

/* ------------------------------------------------------------------------------------------ */
/* Nodes                                                                                        */

int cuGraphAddEmptyNode(void **node, void *graph, void *const *after, size_t count) {
  FAKE_ENTER();
  fake_node made = {.kind = FAKE_NODE_EMPTY};
  return fake_leave(add(node, graph, &made, after, count));
}

int cuGraphAddKernelNode(void **node, void *graph, void *const *after, size_t count,
                         const kdl_cuda_kernel_node *params) {
  FAKE_ENTER();
  fake_node made = {0};
  int error = read_kernel(params, fake_live(graph, FAKE_GRAPH), &made);
  return fake_leave(error ? error : add(node, graph, &made, after, count));
}

int cuGraphAddMemcpyNode(void **node, void *graph, void *const *after, size_t count,
                         const kdl_cuda_copy_node *params, void *context) {
  FAKE_ENTER();
  fake_node made = {0};
  int error = read_copy(params, context, &made);
  return fake_leave(error ? error : add(node, graph, &made, after, count));
}

int cuGraphAddMemsetNode(void **node, void *graph, void *const *after, size_t count,
                         const kdl_cuda_fill_node *params, void *context) {
  FAKE_ENTER();
  fake_node made = {0};
  int error = read_fill(params, context, &made);
  return fake_leave(error ? error : add(node, graph, &made, after, count));
}

static int add_event(void **node, void *graph, void *const *after, size_t count, void *event,
                     fake_node_kind kind) {
  fake_node made = {.kind = kind, .event = fake_live(event, FAKE_EVENT)};
  return made.event ? add(node, graph, &made, after, count) : KDL_CUDA_ERROR_INVALID_HANDLE;
}

int cuGraphAddEventRecordNode(void **node, void *graph, void *const *after, size_t count,
                              void *event) {
  FAKE_ENTER();
  return fake_leave(add_event(node, graph, after, count, event, FAKE_NODE_RECORD));
}

int cuGraphAddEventWaitNode(void **node, void *graph, void *const *after, size_t count,
                            void *event) {
  FAKE_ENTER();
  return fake_leave(add_event(node, graph, after, count, event, FAKE_NODE_WAIT));
}

int cuGraphKernelNodeSetAttribute(void *handle, int attribute, const void *value) {
  FAKE_ENTER();
  const fake_object *object = fake_live(handle, FAKE_NODE);
  const fake_node *node = object ? object->state : NULL;
  if (!node || node->kind != FAKE_NODE_KERNEL || !value ||
      (attribute != KDL_CUDA_LAUNCH_COOPERATIVE && attribute != KDL_CUDA_LAUNCH_CLUSTER_DIMENSION))
    return fake_leave(KDL_CUDA_ERROR_INVALID_VALUE);
  if (attribute == KDL_CUDA_LAUNCH_COOPERATIVE)
    return fake_leave(KDL_CUDA_SUCCESS);
  kdl_cuda_launch_attribute cluster = {.id = attribute};
  memcpy(&cluster.value, value, sizeof cluster.value);
  kdl_cuda_launch_config config = {.attributes = &cluster, .attribute_count = 1};
  memcpy(config.grid, node->grid, sizeof config.grid);
  memcpy(config.block, node->block, sizeof config.block);
  void *params[most_params];
  for (unsigned i = 0; i < most_params; ++i)
    params[i] = (void *)(uintptr_t)node->values[i];
  return fake_leave(fake_cuda_check_launch(node->kernel, &config, params));
}

/* ------------------------------------------------------------------------------------------ */
/* Instances                                                                                    */

/* What stays of a node that is set. */
static int set(void *instance, void *handle, const fake_node *changed) {
  const fake_object *graph = fake_live(instance, FAKE_GRAPH);
  fake_node *node = graph ? fake_graph_node(graph, handle, changed->kind) : NULL;
  if (!node)
    return KDL_CUDA_ERROR_INVALID_VALUE;
  fake_node kept = *changed;
  kept.is_disabled = node->is_disabled;
  kept.number = node->number;
  kept.after_count = node->after_count;
  memcpy(node, &kept, sizeof kept);
  ++nodes_set;
  return graph->context->sticky;
}

int cuGraphExecKernelNodeSetParams(void *instance, void *node, const kdl_cuda_kernel_node *params) {
  FAKE_ENTER();
  fake_node made = {0};
  int error = read_kernel(params, fake_live(instance, FAKE_GRAPH), &made);
  return fake_leave(error ? error : set(instance, node, &made));
}

#ifndef FAKE_OLD
int cuGraphConditionalHandleCreate(uint64_t *handle, void *to, void *context, unsigned value,
                                   unsigned flags) {
  FAKE_ENTER();
  fake_object *graph = fake_live(to, FAKE_GRAPH);
  if (!graph || graph->context != context || value || flags)
    return fake_leave(KDL_CUDA_ERROR_INVALID_VALUE);
  *handle = (uintptr_t)fake_condition_new(graph);
  return fake_leave(KDL_CUDA_SUCCESS);
}

int cuGraphAddNode(void **node, void *graph, void *const *after, size_t count,
                   kdl_cuda_loop_node *params) {
  static void *body;
  FAKE_ENTER();
  const fake_object *live = fake_live(graph, FAKE_GRAPH);
  fake_object *condition = fake_live((void *)(uintptr_t)params->of.conditional.handle, FAKE_NODE);
  if (!live || !condition || params->type != KDL_CUDA_NODE_CONDITIONAL ||
      params->of.conditional.type != KDL_CUDA_CONDITION_WHILE || params->of.conditional.size != 1 ||
      params->of.conditional.context != live->context)
    return fake_leave(KDL_CUDA_ERROR_INVALID_VALUE);
  fake_node made = {
      .kind = FAKE_NODE_WHILE, .condition = condition, .body = fake_new(FAKE_GRAPH, live->context)};
  int error = add(node, graph, &made, after, count);
  if (error != KDL_CUDA_SUCCESS)
    fake_delete(made.body);
  body = made.body;
  params->of.conditional.bodies = &body;
  return fake_leave(error);
}

int cuGraphExecMemcpyNodeSetParams(void *instance, void *node, const kdl_cuda_copy_node *params,
                                   void *context) {
  FAKE_ENTER();
  fake_node made = {0};
  int error = read_copy(params, context, &made);
  return fake_leave(error ? error : set(instance, node, &made));
}

/* Fills of two dimensions cannot be set. */
int cuGraphExecMemsetNodeSetParams(void *instance, void *node, const kdl_cuda_fill_node *params,
                                   void *context) {
  FAKE_ENTER();
  fake_node made = {0};
  int error = params->height > 1 ? KDL_CUDA_ERROR_INVALID_VALUE : read_fill(params, context, &made);
  return fake_leave(error ? error : set(instance, node, &made));
}

int cuGraphNodeSetEnabled(void *instance, void *handle, unsigned is_enabled) {
  FAKE_ENTER();
  const fake_object *graph = fake_live(instance, FAKE_GRAPH);
  fake_node *node = graph ? fake_graph_node(graph, handle, FAKE_NODE_KERNEL) : NULL;
  if (!node)
    return fake_leave(KDL_CUDA_ERROR_INVALID_VALUE);
  node->is_disabled = !is_enabled;
  return fake_leave(KDL_CUDA_SUCCESS);
}
#endif
