/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A sequence as a command list that is recorded once, closed, and given to queues as often as it
 * runs. A device may still be at work on it: then it must be left alone.
 *
 * Where the driver has mutable lists, arguments and grids of its launches are set anew; anything
 * else that differs has it recorded again.
 */
#ifndef KDL_BACKENDS_LEVEL_ZERO_RECORDED_H
#define KDL_BACKENDS_LEVEL_ZERO_RECORDED_H

#include "lib/backends/level_zero/objects.h"

/* What is recorded: the nodes, as they are now, and a handle of each of their kernels, which lists
 * may share, since what it was given is kept by the command. */
typedef struct kdl_ze_nodes {
  kdl_ze_device *device;
  const kdl_backend_node *const *nodes;
  size_t count;
  size_t value_bytes; /* of all arguments */
  bool is_mutable;
  kdl_ze_instance **instances;
  size_t instance_count;
} kdl_ze_nodes;

/* A launch as it stands in the list. */
typedef struct kdl_ze_command {
  uint64_t id; /* the driver's number of it; 0: it is not in the list */
  size_t values;
  kdl_launch_desc desc;
} kdl_ze_command;

typedef struct kdl_ze_recorded_list {
  void *list;          /* the driver's; NULL: none was made yet */
  bool is_closed;      /* it is closed, and may be run */
  bool has_changed;    /* a node of it did, since */
  uint64_t generation; /* of memory, when it was recorded */
  uint8_t *changed;    /* of each node */
  kdl_ze_command *commands;
  char *values; /* of the arguments */
  /* Where it ran last, and may run still: a queue, and behind its last run a stamp, or NULL. */
  kdl_ze_queue *queue;
  kdl_ze_timestamp *fence;
} kdl_ze_recorded_list;

/* Marks nodes that have changed. */
void kdl_ze_recorded_mark_changed(kdl_ze_recorded_list *recorded, const uint32_t *changed,
                                  size_t count);

/* Whether it may be run as it is. */
bool kdl_ze_recorded_is_current(const kdl_ze_recorded_list *recorded, const kdl_ze_nodes *nodes);

/* Whether the device has done what it was given. Where not, `mark` has that be known although more
 * is given to the queue. */
bool kdl_ze_recorded_is_done(kdl_ze_recorded_list *recorded, kdl_ze_device *device);
kdl_status kdl_ze_recorded_add_fence(kdl_ze_recorded_list *recorded, kdl_ze_queue *queue);

/* Of one that is done: sets what changed, which is false where that cannot be set, and the driver's
 * list not to be run; or records it all. */
bool kdl_ze_recorded_update(kdl_ze_recorded_list *recorded, const kdl_ze_nodes *nodes);
kdl_status kdl_ze_recorded_record(kdl_ze_recorded_list *recorded, kdl_ze_nodes *nodes);

/* Gives it to a queue. */
kdl_status kdl_ze_recorded_run(kdl_ze_recorded_list *recorded, const kdl_ze_nodes *nodes,
                               kdl_ze_queue *queue);

/* Waits until it is done. */
void kdl_ze_recorded_free(kdl_ze_recorded_list *recorded, kdl_ze_device *device);

#endif
