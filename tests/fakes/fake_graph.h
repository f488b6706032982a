/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Graphs that are built node by node, as CUDA's and HIP's drivers keep them. */
#ifndef KDL_TESTS_FAKES_FAKE_GRAPH_H
#define KDL_TESTS_FAKES_FAKE_GRAPH_H

#include "fake_objects.h"

typedef enum fake_node_kind {
  FAKE_NODE_EMPTY,
  FAKE_NODE_KERNEL,
  FAKE_NODE_COPY,
  FAKE_NODE_FILL,
  FAKE_NODE_RECORD,
  FAKE_NODE_WAIT,
  FAKE_NODE_WHILE,
} fake_node_kind;

typedef struct fake_node {
  fake_node_kind kind;
  bool is_disabled;
  const fake_object *kernel;
  unsigned grid[3], block[3];
  uint64_t shared;
  char values[most_params][16]; /* arguments */
  uint64_t to, from, bytes;     /* of a copy */
  uint64_t pitch, width, height;
  uint32_t value, element_size; /* of a fill */
  fake_object *event;
  fake_object *condition, *body; /* of a loop: a graph each; instances share them */
  uint64_t number;               /* the same in instances */
  size_t after_count;
  uint64_t after[]; /* numbers */
} fake_node;

/* Copies the arguments. */
void fake_node_keep(fake_node *node, void **params);

/* Adds a node; NULL where something that it is to wait for is no node of the graph. */
fake_object *fake_graph_add(fake_object *graph, const fake_node *node, void *const *after,
                            size_t count);

fake_object *fake_graph_instantiate(fake_object *graph);

/* The instance's own of a node of its graph; NULL where it has none. */
fake_node *fake_graph_node(const fake_object *instance, const void *handle, fake_node_kind kind);

/* The condition of a loop: a number that a kernel sets. */
fake_object *fake_condition_new(fake_object *graph);

/* Runs every node behind those that it waits for, otherwise the last one first. False as
 * fake_program_run. */
bool fake_graph_run(fake_object *instance);

void fake_graph_delete(fake_object *graph);

#endif
