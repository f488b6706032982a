/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Sequences as graphs of a driver: the common part of CUDA and HIP.
 *
 * A graph is built node by node with its dependencies, and instantiated. A run updates the nodes
 * that changed and launches the instance. If the driver refuses an update (memory of another kind,
 * a two-dimensional fill), the graph is built again.
 */
#ifndef KDL_LIB_BACKENDS_COMMON_GRAPHS_GRAPH_H
#define KDL_LIB_BACKENDS_COMMON_GRAPHS_GRAPH_H

#include "lib/backends/common/driver.h"

#include <kdl/backend.h>

#include <stdbool.h>

typedef struct kdl_graph kdl_graph;

/* The functions that have the same parameters in CUDA and HIP, from the driver's table; looked up
 * when the first sequence is created. */
typedef struct kdl_graph_functions {
  int (**create)(void **graph, unsigned flags);
  int (**destroy)(void *graph);
  int (**instance_destroy)(void *instance);
  int (**empty)(void **node, void *graph, void *const *after, size_t count);
  int (**record)(void **node, void *graph, void *const *after, size_t count, void *event);
  int (**wait)(void **node, void *graph, void *const *after, size_t count, void *event);
  int (**enable)(void *instance, void *node, unsigned is_enabled);
  struct {
    const char *create, *destroy, *instance_destroy, *empty, *record, *wait, *enable;
  } names;
} kdl_graph_functions;

/* Fills them from kdl_cuda with "cu", or from kdl_hip with "hip". */
#define KDL_GRAPH_FUNCTIONS(api, prefix)                                                           \
  {.create = &(api).graph_create,                                                                  \
   .destroy = &(api).graph_destroy,                                                                \
   .instance_destroy = &(api).graph_instance_destroy,                                              \
   .empty = &(api).graph_empty,                                                                    \
   .record = &(api).graph_record,                                                                  \
   .wait = &(api).graph_wait,                                                                      \
   .enable = &(api).graph_enable,                                                                  \
   .names = {.create = prefix "GraphCreate",                                                       \
             .destroy = prefix "GraphDestroy",                                                     \
             .instance_destroy = prefix "GraphExecDestroy",                                        \
             .empty = prefix "GraphAddEmptyNode",                                                  \
             .record = prefix "GraphAddEventRecordNode",                                           \
             .wait = prefix "GraphAddEventWaitNode",                                               \
             .enable = prefix "GraphNodeSetEnabled"}}

/* Whether the driver has the functions that every graph needs. */
#define KDL_GRAPH_HAS_FUNCTIONS(api)                                                               \
  ((api).graph_create && (api).graph_destroy && (api).graph_instantiate &&                         \
   (api).graph_instance_destroy && (api).graph_launch && (api).graph_empty &&                      \
   (api).graph_kernel && (api).graph_copy && (api).graph_fill && (api).graph_kernel_set &&         \
   (api).graph_copy_set && (api).graph_fill_set)

/* The functions that differ. Those that return an int return the driver's error, 0 for none, and
 * set *out_call to the call that failed. */
typedef struct kdl_graph_driver {
  const kdl_driver_errors *errors;
  kdl_graph_functions functions;
  size_t size; /* of the backend's sequence: a kdl_graph, then zeroed members */

  /* Checks whether graphs of the driver support the node, in so many loops. */
  kdl_status (*check)(void *device, const kdl_backend_node *node, size_t loop_count);
  /* Adds a launch, a copy or a fill that depends on `count` nodes; later nodes depend on
   * *out_node. */
  int (*add)(kdl_graph *graph, void *to, const kdl_backend_node *node, void *const *after,
             size_t count, void **out_node, const char **out_call);
  int (*instantiate)(void *graph, void **out_instance, const char **out_call);
  /* Updates what may change in a node. KDL_GRAPH_REBUILD if it cannot. */
  int (*set)(kdl_graph *graph, void *handle, const kdl_backend_node *node, const char **out_call);
  /* Optional: loops. `begin_loop` adds a node that repeats *out_body, which gets the nodes of the
   * loop; `end_loop` adds the node that decides on another pass, after the others. */
  int (*begin_loop)(kdl_graph *graph, void *to, const kdl_backend_node *loop, void *const *after,
                    size_t count, void **out_node, void **out_body, uint64_t *out_handle,
                    const char **out_call);
  int (*end_loop)(kdl_graph *graph, void *body, const kdl_backend_node *loop, uint64_t handle,
                  void *const *after, size_t count, const char **out_call);

  /* kdl_graph_build and kdl_graph_reset with the device's context current. */
  kdl_status (*build)(kdl_graph *graph);
  void (*destroy)(kdl_graph *graph);

  kdl_status (*capturing)(void *device, void *queue, int *out_capturing);
} kdl_graph_driver;

enum { KDL_GRAPH_REBUILD = -1 }; /* not a driver's error */

/* A loop whose body is being built. */
typedef struct kdl_graph_loop {
  uint32_t begin; /* its WHILE node */
  void *outside;  /* the enclosing graph */
  uint64_t handle;
} kdl_graph_loop;

enum { KDL_GRAPH_LOOPS = 8 };

struct kdl_graph {
  const kdl_graph_driver *driver;
  void *device; /* the backend's */
  uint32_t ordinal;
  const kdl_backend_node *const *nodes;
  size_t node_count;
  void *graph, *instance; /* the driver's */
  void **handles;         /* the driver's handle of each node */
  void **after;           /* memory for the dependencies of a join */
  uint8_t *is_enabled;
  void *current; /* the graph that nodes are added to */
  kdl_graph_loop loops[KDL_GRAPH_LOOPS];
  size_t loop_count;
  bool has_loops; /* changes rebuild the graph */
};

/* ------------------------------------------------------------------------------------------ */
/* Sequences                                                                                    */

/* Creates a sequence, if the driver supports its nodes, and builds its graph. */
kdl_status kdl_graph_create(const kdl_graph_driver *driver, void *device, uint32_t ordinal,
                            kdl_backend_sequence *sequence, void **out_sequence);
void kdl_graph_destroy(kdl_graph *graph);

/* Before a run: fails with KDL_UNSUPPORTED if the program captures the queue. */
kdl_status kdl_graph_check_capture(const kdl_graph *graph, void *queue);

/* Whether a node that changed is skipped from now on. */
bool kdl_graph_has_skipped(const kdl_graph *graph, const uint32_t *changed, size_t changed_count);

/* Builds the graph again after kdl_graph_update failed. */
kdl_status kdl_graph_rebuild(kdl_graph *graph, int error, const char *call);

/* ------------------------------------------------------------------------------------------ */
/* Graphs, with the driver's context current                                                    */

/* Building replaces an earlier graph. A failed update may be partial; the graph must then be built
 * again. */
int kdl_graph_build(kdl_graph *graph, const char **out_call);
int kdl_graph_update(kdl_graph *graph, const uint32_t *changed, size_t changed_count,
                     const char **out_call);
void kdl_graph_reset(kdl_graph *graph);

/* A part of a fill: patterns of one word, or columns of one word each for longer ones. */
typedef struct kdl_graph_fill {
  uint64_t to;
  uint64_t pitch; /* bytes between rows */
  uint64_t width; /* adjacent elements */
  uint64_t height;
  uint32_t value, element_size;
} kdl_graph_fill;

/* The number of driver fills of a node, at most 4, and each of them. */
size_t kdl_graph_fills(const kdl_backend_node *node, kdl_graph_fill out_fills[4]);

#endif
