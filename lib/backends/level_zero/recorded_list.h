/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A recorded list: a sequence as a command list that is recorded once, closed, and appended to
 * queues at each run. It must not change while the device works on it.
 *
 * With mutable lists, arguments and grids of its launches can be updated; other changes need a new
 * recording.
 */
#ifndef KDL_LIB_BACKENDS_LEVEL_ZERO_RECORDED_LIST_H
#define KDL_LIB_BACKENDS_LEVEL_ZERO_RECORDED_LIST_H

#include "lib/backends/level_zero/objects.h"

/* The nodes to record, and a handle of each of their kernels, which lists may share, because a
 * command keeps the values it was appended with. */
typedef struct kdl_ze_nodes {
  kdl_ze_device *device;
  const kdl_backend_node *const *nodes;
  size_t count;
  size_t value_bytes; /* size of all arguments */
  bool is_mutable;
  kdl_ze_instance **instances;
  size_t instance_count;
} kdl_ze_nodes;

/* A launch in the list. */
typedef struct kdl_ze_command {
  uint64_t id; /* the driver's number; 0: not in the list */
  size_t values;
  kdl_launch_desc desc;
} kdl_ze_command;

typedef struct kdl_ze_recorded_list {
  void *list;          /* the driver's; NULL: not created */
  bool is_closed;      /* closed, and ready to run */
  bool has_changed;    /* a node changed since recording */
  uint64_t generation; /* of memory, when it was recorded */
  uint8_t *changed;    /* per node */
  kdl_ze_command *commands;
  char *values; /* values of the arguments */
  /* Where it last ran, and may still run: a queue, and a timestamp after its last run, or NULL. */
  kdl_ze_queue *queue;
  kdl_ze_timestamp *fence;
} kdl_ze_recorded_list;

/* Marks nodes that have changed. */
void kdl_ze_recorded_mark_changed(kdl_ze_recorded_list *recorded, const uint32_t *changed,
                                  size_t count);

/* Whether it can run without changes. */
bool kdl_ze_recorded_is_current(const kdl_ze_recorded_list *recorded, const kdl_ze_nodes *nodes);

/* Whether the device is done with it. If not, adds a timestamp, so that this can be known although
 * the queue gets more work. */
bool kdl_ze_recorded_is_done(kdl_ze_recorded_list *recorded, kdl_ze_device *device);
kdl_status kdl_ze_recorded_add_fence(kdl_ze_recorded_list *recorded, kdl_ze_queue *queue);

/* For a list that is done: updates what changed, or records all again. False if it cannot be
 * updated; the list must then not run. */
bool kdl_ze_recorded_update(kdl_ze_recorded_list *recorded, const kdl_ze_nodes *nodes);
kdl_status kdl_ze_recorded_record(kdl_ze_recorded_list *recorded, kdl_ze_nodes *nodes);

/* Appends it to a queue. */
kdl_status kdl_ze_recorded_run(kdl_ze_recorded_list *recorded, const kdl_ze_nodes *nodes,
                               kdl_ze_queue *queue);

/* Waits until it is done. */
void kdl_ze_recorded_free(kdl_ze_recorded_list *recorded, kdl_ze_device *device);

#endif
