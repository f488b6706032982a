/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The graph of a sequence: created with it, rebuilt if a change needs that, destroyed with it. */
#include "lib/backends/common/graphs/graph.h"

#include <stdlib.h>
#include <string.h>

/* Properties of all nodes, computed before the first is created. */
typedef struct {
  size_t max_joined;
  bool has_loops;
} node_survey;

static kdl_status survey_nodes(const kdl_graph_driver *driver, void *device,
                               const kdl_backend_sequence *sequence, node_survey *out_survey) {
  size_t loop_count = 0;
  *out_survey = (node_survey){.max_joined = 1};
  for (size_t i = 0; i < sequence->node_count; ++i) {
    const kdl_backend_node *node = sequence->nodes[i];
    kdl_status status = driver->check(device, node, loop_count);
    if (status != KDL_OK)
      return status;
    loop_count += node->kind == KDL_NODE_WHILE;
    loop_count -= node->kind == KDL_NODE_END;
    out_survey->has_loops |= node->kind == KDL_NODE_WHILE;
    if (out_survey->max_joined < node->joined_count)
      out_survey->max_joined = node->joined_count;
  }
  return KDL_OK;
}

/* One allocation with the per-node arrays, which are filled in as nodes are created. */
static kdl_graph *new_graph(const kdl_graph_driver *driver, const kdl_backend_sequence *sequence,
                            const node_survey *found) {
  size_t count = sequence->node_count, at = (driver->size + 15) & ~(size_t)15;
  size_t after = at + count * sizeof(void *);
  size_t enabled = after + found->max_joined * sizeof(void *);
  kdl_graph *graph = malloc(enabled + count + 1);
  if (!graph)
    return NULL;
  memset(graph, 0, driver->size);
  char *room = (char *)graph;
  void *handles = room + at, *waited_for = room + after, *is_enabled = room + enabled;
  graph->handles = handles;
  graph->after = waited_for;
  graph->is_enabled = is_enabled;
  graph->nodes = sequence->nodes;
  graph->node_count = count;
  graph->has_loops = found->has_loops;
  return graph;
}

/* If the driver refuses a graph with loops, the sequence is replayed by single launches. */
kdl_status kdl_graph_create(const kdl_graph_driver *driver, void *device, uint32_t ordinal,
                            kdl_backend_sequence *sequence, void **out_sequence) {
  node_survey found;
  KDL_TRY(survey_nodes(driver, device, sequence, &found));
  kdl_graph *graph = new_graph(driver, sequence, &found);
  if (!graph)
    return kdl_driver_errors_no_memory(driver->errors, ordinal);
  graph->driver = driver;
  graph->device = device;
  graph->ordinal = ordinal;
  kdl_status status = driver->build(graph);
  if (status != KDL_OK) {
    bool has_loops = graph->has_loops;
    kdl_graph_destroy(graph);
    return has_loops && status == KDL_DEVICE ? KDL_UNSUPPORTED : status;
  }
  sequence->replay = "graph";
  *out_sequence = graph;
  return KDL_OK;
}

void kdl_graph_destroy(kdl_graph *graph) {
  graph->driver->destroy(graph);
  free(graph);
}

kdl_status kdl_graph_check_capture(const kdl_graph *graph, void *queue) {
  int capturing = 0;
  KDL_TRY(graph->driver->capturing(graph->device, queue, &capturing));
  if (capturing)
    return kdl_core_services.fail(KDL_UNSUPPORTED, 0, "%s:%u: the queue is being captured",
                                  graph->driver->errors->backend, graph->ordinal);
  return KDL_OK;
}

bool kdl_graph_has_skipped(const kdl_graph *graph, const uint32_t *changed, size_t changed_count) {
  bool any = false;
  for (size_t i = 0; i < changed_count && !any; ++i)
    any = graph->nodes[changed[i]]->is_skipped;
  return any;
}

kdl_status kdl_graph_rebuild(kdl_graph *graph, int error, const char *call) {
  kdl_core_services.log("%s:%u: a graph of %zu nodes is built again: %s: %d",
                        graph->driver->errors->backend, graph->ordinal, graph->node_count,
                        error == KDL_GRAPH_REBUILD ? "a wide fill or a loop" : call, error);
  return graph->driver->build(graph);
}
