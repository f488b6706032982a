/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * An open device: its backend, and the backend's handle.
 *
 * A device with several routes is used through one of them, which all its memory, queues and
 * kernels belong to. It is the first route that has a backend or, if kdl_sym is the first use, the
 * first of these that an image fits.
 */
#ifndef KDL_LIB_REGISTRY_RUNTIME_H
#define KDL_LIB_REGISTRY_RUNTIME_H

#include "lib/registry/backend.h"
#include "lib/registry/device.h"

#include <kdl/kdl.h>

#include <stdbool.h>

typedef struct kdl_runtime kdl_runtime;

struct kdl_queue {
  kdl_queue_head head;
  const kdl_runtime *runtime;
  bool is_adopted;
};

struct kdl_runtime {
  const kdl_backend_table *table;
  kdl_device *device;
  size_t route;
  void *handle;             /* the backend's device */
  const kdl_driver *driver; /* NULL for plug-ins and backends without a driver */
  kdl_queue queue;          /* the device's own, for launches without a queue */
  unsigned forks;           /* kdl_fork_count when it was opened */
  char label[192];          /* the route's label: "cuda:sm_90" */
  char name[208];           /* the same with its number: "cuda:0 sm_90 (NVIDIA H200)" */
  kdl_runtime *next;        /* in the list of open devices */
  _Atomic(int) users;       /* number of its objects; -1: closed */
};

/* Opens the device unless it is open; one thread does it while others wait. A failure is not
 * cached. */
kdl_status kdl_runtime_open(kdl_device *device, const kdl_runtime **out_runtime);

/* The same through that route. A device that is open keeps its route. */
kdl_status kdl_runtime_open_route(kdl_device *device, size_t route,
                                  const kdl_runtime **out_runtime);

/* Iterates over the usable routes of a device, starting at `from`: of an open device, its own
 * route; else those that have a backend. False at the end, with the reason recorded if there was
 * none. */
bool kdl_runtime_next_route(const kdl_device *device, size_t from, size_t *out_route);

/* KDL_BAD_CALL for described devices. */
kdl_status kdl_runtime_check_present(const kdl_device *device);

/* The route's spec as text. */
static inline const char *kdl_runtime_spec_line(const kdl_runtime *runtime) {
  return runtime->device->spec_lines[runtime->route];
}

/* Fails where the device can no longer be used: in the child of a fork, unless its backend
 * survives, once it is closed, and when its driver has ended. */
kdl_status kdl_runtime_usable(const kdl_runtime *runtime);

/* Queues, events, memory and loaded images each hold a reference, which keeps the device open. So
 * do native handles, whose references are never released. */
kdl_status kdl_runtime_retain(const kdl_runtime *runtime);
void kdl_runtime_release(const kdl_runtime *runtime);

/* Opens the device for an object and retains it. `what` is "a queue" or the like. Returns `size`
 * zeroed bytes; the caller frees them and releases the runtime. NULL on failure, which is
 * recorded. */
void *kdl_runtime_create_object(kdl_device *device, const char *what, size_t size,
                                const kdl_runtime **out_runtime);

/* ------------------------------------------------------------------------------------------ */
/* After a fork                                                                                 */

/*
 * Devices in the child of a fork. Drivers do not survive a fork: a call would hang or corrupt the
 * parent's device. So the child replaces the entries of bound kernels, at no cost to launches, and
 * every other call checks kdl_runtime_usable. support/system/lock.h handles libkdl's own locks.
 */

/* List link of a kernel whose entry must change in the child of a fork, and when its driver ends.
 * Initially zero. */
typedef struct kdl_fork_link {
  struct kdl_fork_link *next, *previous;
  bool is_added;
  const kdl_driver *driver; /* of the kernel's runtime */
  void (*disable)(struct kdl_fork_link *link);
} kdl_fork_link;

typedef void kdl_fork_visitor(kdl_fork_link *link, void *user);

/* Adds the link unless it is added, and calls `visit` for it with the lock held that also guards
 * `disable`. Removing a link that was not added does nothing. */
void kdl_fork_add(kdl_fork_link *link, kdl_fork_visitor *visit, void *user);
void kdl_fork_remove(kdl_fork_link *link);

/* Calls `visit` for each link, with that lock held. */
void kdl_fork_visit(kdl_fork_visitor *visit, void *user);

/* Disables all kernels of a driver that has ended. */
void kdl_fork_disable(const kdl_driver *driver);

/* Records that `device`, which was "opened" or "found" before, cannot be used after a fork; returns
 * KDL_DEVICE. */
kdl_status kdl_fail_forked(const char *device, const char *what);

#endif
