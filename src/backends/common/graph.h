/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Sequences as graphs of a driver: what CUDA's and HIP's have in common.
 *
 * A graph is built node by node, with what each waits for, and instantiated. A run sets anew what
 * changed and launches the instance. What a driver refuses to set (memory of another kind, a fill
 * of two dimensions) has the graph built again.
 */
#ifndef KDL_BACKENDS_COMMON_GRAPH_H
#define KDL_BACKENDS_COMMON_GRAPH_H

#include <kdl/backend.h>

#include <stdbool.h>

/* A driver's functions return its errors, 0 for none, and leave the name of what failed in
 * *out_call. */
typedef struct kdl_graph_driver {
  int (*create)(void **out_graph, const char **out_call);
  /* Adds the node behind `count` others; what comes later waits for *out_node. */
  int (*add)(void *device, void *graph, const kdl_backend_node *node, void *const *after,
             size_t count, void **out_node, const char **out_call);
  int (*instantiate)(void *graph, void **out_instance, const char **out_call);
  /* Sets what may change of a node. KDL_GRAPH_REBUILD where it cannot. */
  int (*set)(void *device, void *instance, void *handle, const kdl_backend_node *node,
             const char **out_call);
  int (*enable)(void *instance, void *handle, unsigned is_enabled, const char **out_call);
  /* Optional: loops. `begin_loop` adds a node that repeats *out_body, to which what lies in the
   * loop is added; `end_loop` adds what decides on another pass, behind the others. */
  int (*begin_loop)(void *device, void *graph, const kdl_backend_node *loop, void *const *after,
                    size_t count, void **out_node, void **out_body, uint64_t *out_handle,
                    const char **out_call);
  int (*end_loop)(void *device, void *body, const kdl_backend_node *loop, uint64_t handle,
                  void *const *after, size_t count, const char **out_call);
  void (*destroy)(void *device, void *graph);
  void (*destroy_instance)(void *device, void *instance);
} kdl_graph_driver;

enum { KDL_GRAPH_REBUILD = -1 }; /* no error of a driver */

/* A loop whose body is being built. */
typedef struct kdl_graph_loop {
  uint32_t begin; /* its node */
  void *outside;  /* the graph around it */
  uint64_t handle;
} kdl_graph_loop;

enum { KDL_GRAPH_LOOPS = 8 };

typedef struct kdl_graph {
  const kdl_graph_driver *driver;
  void *device; /* the backend's */
  const kdl_backend_node *const *nodes;
  size_t node_count;
  void *graph, *instance; /* the driver's */
  void **handles;         /* the driver's node of each */
  void **after;           /* room for what a join waits for */
  uint8_t *is_enabled;
  void *current; /* the graph that nodes are added to */
  kdl_graph_loop loops[KDL_GRAPH_LOOPS];
  size_t loop_count;
  bool has_loops; /* whose nodes are not set, but built again */
} kdl_graph;

/* Takes memory; false when there is none. kdl_graph_end gives it back. */
bool kdl_graph_begin(kdl_graph *graph, const kdl_graph_driver *driver, void *device,
                     const kdl_backend_sequence *sequence);

/* With the driver's context current. Building drops what was built before. Updating may leave it
 * half done where it fails: then it is to be built again. */
int kdl_graph_build(kdl_graph *graph, const char **out_call);
int kdl_graph_update(kdl_graph *graph, const uint32_t *changed, size_t changed_count,
                     const char **out_call);
void kdl_graph_end(kdl_graph *graph);

/* What a fill is made of: patterns of one word, or of several, as columns one word wide. */
typedef struct kdl_graph_fill {
  uint64_t to;
  uint64_t pitch; /* bytes from one to the next */
  uint64_t width; /* elements next to each other */
  uint64_t height;
  uint32_t value, element_size;
} kdl_graph_fill;

/* How many fills a node is, at most 4, and each of them. */
size_t kdl_graph_fills(const kdl_backend_node *node, kdl_graph_fill out_fills[4]);

#endif
