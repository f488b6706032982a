/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The process-wide registry of devices: those of this machine, and those that were described. */
#ifndef KDL_LINK_DEVICE_H
#define KDL_LINK_DEVICE_H

#include "select/ranking.h"

#include <kdl/kdl.h>

#include <stdatomic.h>

typedef enum kdl_amx_permission {
  KDL_AMX_UNASKED,
  KDL_AMX_GRANTED,
  KDL_AMX_REFUSED,
} kdl_amx_permission;

struct kdl_device {
  kdl_device *next;                      /* of those that were described */
  bool here;                             /* found on this machine, not described */
  size_t route_count;                    /* at least 1 */
  kdl_select_device *routes;             /* the vendor's own driver before OpenCL */
  char **lines;                          /* each route's spec as text */
  kdl_amx_permission amx;                /* link/permission.h */
  kdl_select_device without_amx;         /* the host's route once AMX was refused ... */
  _Atomic(bool) denied;                  /* ... which this says */
  _Atomic(struct kdl_runtime *) runtime; /* link/runtime.h: NULL until the device is used */
  void *native_context;                  /* the caller's own, for when it is opened */
};

/* A route as it is now. */
static inline const kdl_select_device *kdl_device_route(const kdl_device *device, size_t index) {
  bool denied = atomic_load_explicit(&device->denied, memory_order_acquire);
  if (denied && device->routes[index].spec.backend == KDL_BACKEND_HOST)
    return &device->without_amx;
  return &device->routes[index];
}

#endif
