/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A device that is in use: which backend serves it, and the backend's own handle of it.
 *
 * A device with several routes is used through one of them: memory, queues and kernels all belong
 * to that one. It is the first that a backend serves, or, where a kernel is the first thing to be
 * asked for, the first of these that an image fits.
 */
#ifndef KDL_REGISTRY_RUNTIME_H
#define KDL_REGISTRY_RUNTIME_H

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
  const kdl_driver *driver; /* NULL where the backend has none, or brings its own */
  kdl_queue queue;          /* the device's own: for launches that name none */
  unsigned forks;           /* kdl_fork_count when it was opened */
  char label[192];          /* the route's spec in a few words */
  char name[208];           /* the same with its number: "cuda:0 sm_90 (NVIDIA H200)" */
  kdl_runtime *next;        /* of those that are open */
  _Atomic(int) users;       /* things that were made on it; -1: it is closed */
};

/* Opens the device where that has not happened yet, once however many threads ask. A failure is not
 * remembered. */
kdl_status kdl_runtime_open(kdl_device *device, const kdl_runtime **out_runtime);

/* The same through that route; where the device is open, it stays so through the one it has. */
kdl_status kdl_runtime_open_route(kdl_device *device, size_t route,
                                  const kdl_runtime **out_runtime);

/* The routes that the device can be used through, from `from` on: that of its runtime alone where
 * it is open, else those that a backend serves. False where there is no more; the reason is
 * recorded where there was none at all. */
bool kdl_runtime_next_route(const kdl_device *device, size_t from, size_t *out_route);

/* KDL_BAD_CALL for devices that are not here. */
kdl_status kdl_runtime_check_present(const kdl_device *device);

/* The route's spec as text. */
static inline const char *kdl_runtime_spec_line(const kdl_runtime *runtime) {
  return runtime->device->spec_lines[runtime->route];
}

/* Whether the device may still be used: not in the child of a fork, unless its backend survives,
 * not once it is closed, and not when its driver has ended. */
kdl_status kdl_runtime_usable(const kdl_runtime *runtime);

/* Things that are made on the device keep it open until they are gone: queues, events, memory,
 * modules, and the driver's handles, which are never known to be. */
kdl_status kdl_runtime_retain(const kdl_runtime *runtime);
void kdl_runtime_release(const kdl_runtime *runtime);

/* Opens the device for one of them, "a queue" or what it is, and holds it: `size` bytes of zeros,
 * to be freed when the runtime is dropped. NULL where that fails, which is recorded. */
void *kdl_runtime_create_object(kdl_device *device, const char *what, size_t size,
                                const kdl_runtime **out_runtime);

/* ------------------------------------------------------------------------------------------ */
/* After a fork                                                                                 */

/*
 * What becomes of devices in the child of a fork. Drivers do not survive one: a call would hang or
 * corrupt the parent's device. So the entries of bound kernels are replaced in the child, at no
 * cost to the launches of other threads, and every other call asks kdl_runtime_usable.
 * support/system/lock.h sees to what is libkdl's own.
 */

/* A link of a kernel whose entry must change in the child, and when its driver has ended. All zero
 * at first. */
typedef struct kdl_fork_link {
  struct kdl_fork_link *next, *previous;
  bool is_added;
  const kdl_driver *driver; /* as of the kernel's runtime */
  void (*disable)(struct kdl_fork_link *link);
} kdl_fork_link;

typedef void kdl_fork_visitor(kdl_fork_link *link, void *user);

/* Adds it where it was not, and calls `visit` for it, with the lock held that `disable` is called
 * with. Removing what was not added does nothing. */
void kdl_fork_add(kdl_fork_link *link, kdl_fork_visitor *visit, void *user);
void kdl_fork_remove(kdl_fork_link *link);

/* Calls `visit` for each, with that lock held. */
void kdl_fork_visit(kdl_fork_visitor *visit, void *user);

/* Disables what is of a driver that has ended. */
void kdl_fork_disable(const kdl_driver *driver);

/* Records that `device`, which was "opened" or "found" before, cannot be used after a fork; returns
 * KDL_DEVICE. */
kdl_status kdl_fail_forked(const char *device, const char *what);

#endif
