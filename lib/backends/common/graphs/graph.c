/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/backends/common/graphs/graph.h"

#include "lib/backends/common/services.h"

#include <string.h>

static void log_graph_error(const kdl_graph *graph, int error, const char *call) {
  kdl_driver_errors_log(graph->driver->errors, graph->ordinal, error, call);
}

void kdl_graph_reset(kdl_graph *graph) {
  const kdl_graph_functions *functions = &graph->driver->functions;
  if (graph->instance)
    log_graph_error(graph, (*functions->instance_destroy)(graph->instance),
                    functions->names.instance_destroy);
  if (graph->graph)
    log_graph_error(graph, (*functions->destroy)(graph->graph), functions->names.destroy);
  graph->instance = graph->graph = NULL;
}

/* ------------------------------------------------------------------------------------------ */
/* Building                                                                                     */

/* Nodes in the body of a loop do not wait for nodes outside: the loop node does. */
static bool is_outside_loop(const kdl_graph *graph, uint32_t node) {
  return graph->loop_count && node <= graph->loops[graph->loop_count - 1].begin;
}

static int begin_graph_loop(kdl_graph *graph, size_t index, size_t count, const char **out_call) {
  void *body = NULL;
  if (graph->loop_count == KDL_GRAPH_LOOPS)
    return KDL_GRAPH_REBUILD;
  kdl_graph_loop loop = {.begin = (uint32_t)index, .outside = graph->current};
  int error =
      graph->driver->begin_loop(graph, graph->current, graph->nodes[index], graph->after, count,
                                &graph->handles[index], &body, &loop.handle, out_call);
  if (error)
    return error;
  graph->loops[graph->loop_count++] = loop;
  graph->current = body;
  return 0;
}

static int end_graph_loop(kdl_graph *graph, size_t index, size_t count, const char **out_call) {
  const kdl_graph_loop *loop = &graph->loops[--graph->loop_count];
  int error = graph->driver->end_loop(graph, graph->current, graph->nodes[loop->begin],
                                      loop->handle, graph->after, count, out_call);
  graph->handles[index] = graph->handles[loop->begin];
  graph->current = loop->outside;
  return error;
}

static int add_simple_node(kdl_graph *graph, const kdl_backend_node *node, size_t count,
                           void **out_node, const char **out_call) {
  const kdl_graph_functions *functions = &graph->driver->functions;
  switch (node->kind) {
  case KDL_NODE_RECORD:
    *out_call = functions->names.record;
    return (*functions->record)(out_node, graph->current, graph->after, count, node->event);
  case KDL_NODE_WAIT:
    *out_call = functions->names.wait;
    return (*functions->wait)(out_node, graph->current, graph->after, count, node->event);
  case KDL_NODE_JOIN:
    *out_call = functions->names.empty;
    return (*functions->empty)(out_node, graph->current, graph->after, count);
  default:
    return graph->driver->add(graph, graph->current, node, graph->after, count, out_node, out_call);
  }
}

static int add_graph_node(kdl_graph *graph, size_t index, const char **out_call) {
  const kdl_backend_node *node = graph->nodes[index];
  size_t count = 0;
  if (node->after != KDL_NO_NODE && !is_outside_loop(graph, node->after))
    graph->after[count++] = graph->handles[node->after];
  for (uint32_t i = 0; i < node->joined_count; ++i)
    graph->after[count++] = graph->handles[node->joined[i]];
  graph->is_enabled[index] = 1;
  if (node->kind == KDL_NODE_WHILE)
    return begin_graph_loop(graph, index, count, out_call);
  if (node->kind == KDL_NODE_END)
    return end_graph_loop(graph, index, count, out_call);
  return add_simple_node(graph, node, count, &graph->handles[index], out_call);
}

static int enable_node(kdl_graph *graph, size_t index, const char **out_call) {
  uint8_t wanted = !graph->nodes[index]->is_skipped;
  if (graph->is_enabled[index] == wanted)
    return 0;
  const kdl_graph_functions *functions = &graph->driver->functions;
  *out_call = functions->names.enable;
  int error = (*functions->enable)(graph->instance, graph->handles[index], wanted);
  if (!error)
    graph->is_enabled[index] = wanted;
  return error;
}

static int build_nodes(kdl_graph *graph, const char **out_call) {
  const kdl_graph_functions *functions = &graph->driver->functions;
  *out_call = functions->names.create;
  int error = (*functions->create)(&graph->graph, 0);
  graph->current = graph->graph;
  graph->loop_count = 0;
  bool any_skipped = false;
  for (size_t i = 0; i < graph->node_count && !error; ++i) {
    error = add_graph_node(graph, i, out_call);
    any_skipped |= graph->nodes[i]->is_skipped;
  }
  if (!error)
    error = graph->driver->instantiate(graph->graph, &graph->instance, out_call);
  for (size_t i = 0; i < graph->node_count && any_skipped && !error; ++i)
    error = enable_node(graph, i, out_call);
  return error;
}

int kdl_graph_build(kdl_graph *graph, const char **out_call) {
  kdl_graph_reset(graph);
  int error = build_nodes(graph, out_call);
  if (error)
    kdl_graph_reset(graph);
  return error;
}

/* ------------------------------------------------------------------------------------------ */
/* Changing                                                                                     */

int kdl_graph_update(kdl_graph *graph, const uint32_t *changed, size_t changed_count,
                     const char **out_call) {
  if (graph->has_loops)
    return KDL_GRAPH_REBUILD;
  for (size_t i = 0; i < changed_count; ++i) {
    uint32_t index = changed[i];
    const kdl_backend_node *node = graph->nodes[index];
    int error = 0;
    if (!node->is_skipped)
      error = graph->driver->set(graph, graph->handles[index], node, out_call);
    if (!error)
      error = enable_node(graph, index, out_call);
    if (error)
      return error;
  }
  return 0;
}

/* ------------------------------------------------------------------------------------------ */
/* Fills                                                                                        */

size_t kdl_graph_fills(const kdl_backend_node *node, kdl_graph_fill out_fills[4]) {
  enum { word = 4 };
  size_t size = kdl_shorten_pattern(node->pattern, node->pattern_size);
  uint64_t to = node->to + node->to_offset;
  if (size <= word) {
    out_fills[0] = (kdl_graph_fill){
        .to = to, .width = node->bytes / size, .height = 1, .element_size = (uint32_t)size};
    memcpy(&out_fills[0].value, node->pattern, size);
    return 1;
  }
  for (size_t i = 0; i < size / word; ++i) {
    out_fills[i] = (kdl_graph_fill){.to = to + i * word,
                                    .pitch = size,
                                    .width = 1,
                                    .height = node->bytes / size,
                                    .element_size = word};
    memcpy(&out_fills[i].value, node->pattern + i * word, word);
  }
  return size / word;
}
