/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Devices: those of this machine (lib/registry/registry.h), and those that were described. */
#ifndef KDL_REGISTRY_DEVICE_H
#define KDL_REGISTRY_DEVICE_H

#include "lib/inspect/devices.h"
#include "lib/select/ranking.h"
#include "support/system/lock.h"

#include <kdl/kdl.h>

#include <stdatomic.h>

typedef enum kdl_amx_permission {
  KDL_AMX_NOT_REQUESTED,
  KDL_AMX_GRANTED,
  KDL_AMX_REFUSED,
} kdl_amx_permission;

/* Devices that were described: they are never freed. */
enum { KDL_LIMIT_DESCRIBED = 1 << 14 };

struct kdl_device {
  _Atomic(kdl_device *) next; /* of those that are here, or of those that were described */
  bool is_here;               /* found on this machine, not described */
  bool from_plugin;           /* by a backend of KDL_BACKEND_PATH */
  _Atomic(bool) is_gone;      /* its driver was asked again and did not show it */
  _Atomic(kdl_device *)
      primary;                 /* has it as a further route (lib/registry/registry.h); NULL: none */
  unsigned enumeration_round;  /* of asking, in which its driver last showed it */
  _Atomic(size_t) route_count; /* at least 1; routes are added and stay as they are */
  kdl_select_device *routes[KDL_LIMIT_ROUTES]; /* the vendor's own driver before OpenCL */
  char *spec_lines[KDL_LIMIT_ROUTES];          /* each route's spec as text */
  const char *labels[KDL_LIMIT_ROUTES];        /* "cuda:sm_90"; in the memory of the line */
  char *joined_spec_lines; /* of one that was described with several routes: its lines, with '|'
                              between */
  kdl_amx_permission amx;  /* lib/registry/amx_permission.h */
  kdl_select_device without_amx;         /* the host's route once AMX was refused ... */
  _Atomic(bool) amx_denied;              /* ... which this says */
  _Atomic(struct kdl_runtime *) runtime; /* lib/registry/runtime.h: NULL until the device is used */
  kdl_work opening;
  unsigned forks;       /* kdl_fork_count when it was made */
  void *native_context; /* the caller's own, for when it is opened */
};

/* What a route is matched by: its spec, and bitcode where there is a kdl-ld. */
kdl_status kdl_device_route_init(const kdl_device_spec *spec, kdl_select_device *out_route);

/* A device with one route; neither here nor in any list. */
kdl_status kdl_device_create(const kdl_device_spec *spec, kdl_device **out_device);

/* One more route, behind those that it has. One thread at a time. */
kdl_status kdl_device_add_route(kdl_device *device, const kdl_device_spec *spec);

static inline kdl_device *kdl_device_next(const kdl_device *device) {
  return atomic_load_explicit(&device->next, memory_order_acquire);
}

static inline bool kdl_device_is_gone(const kdl_device *device) {
  return atomic_load_explicit(&device->is_gone, memory_order_acquire);
}

/* Whether it is another's further route, and that one is there. */
static inline bool kdl_device_is_route(const kdl_device *device) {
  const kdl_device *primary = atomic_load_explicit(&device->primary, memory_order_acquire);
  return primary && !kdl_device_is_gone(primary);
}

/* A route as it is now. */
static inline const kdl_select_device *kdl_device_route(const kdl_device *device, size_t index) {
  bool denied = atomic_load_explicit(&device->amx_denied, memory_order_acquire);
  if (denied && device->routes[index]->spec.backend == KDL_BACKEND_HOST)
    return &device->without_amx;
  return device->routes[index];
}

/* Fails where this process's CPU is not among the devices since KDL_CPU cannot be obeyed. Comes
 * after the CPU was asked for. */
kdl_status kdl_device_check_host(void);

/* Whether what runs on the device runs in this process, as far as is known: on its CPUs, or behind
 * OpenCL on what is no GPU, as emulators of FPGAs are. */
static inline bool kdl_device_is_process(const kdl_device *device, size_t route) {
  kdl_device_class kind = kdl_device_spec_class(&device->routes[route]->spec);
  return kind != KDL_DEVICE_DISCRETE && kind != KDL_DEVICE_INTEGRATED;
}

#endif
