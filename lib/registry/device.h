/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Devices: those of this machine (lib/registry/registry.h), and described ones. */
#ifndef KDL_LIB_REGISTRY_DEVICE_H
#define KDL_LIB_REGISTRY_DEVICE_H

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

/* The limit of described devices, which are never freed. */
enum { KDL_LIMIT_DESCRIBED = 1 << 14 };

struct kdl_device {
  _Atomic(kdl_device *) next;    /* in the list of this machine's devices, or of described ones */
  bool is_here;                  /* found on this machine, not described */
  bool from_plugin;              /* listed by a plug-in */
  _Atomic(bool) is_gone;         /* its driver was queried again and did not list it */
  _Atomic(kdl_device *) primary; /* the device that has this one as a further route
                                    (lib/registry/registry.h); NULL: none */
  unsigned enumeration_round;    /* the last round in which its driver listed it */
  _Atomic(size_t) route_count;   /* at least 1; routes are added and never change */
  kdl_select_device *routes[KDL_LIMIT_ROUTES]; /* the vendor's own driver before OpenCL */
  char *spec_lines[KDL_LIMIT_ROUTES];          /* each route's spec as text */
  const char *labels[KDL_LIMIT_ROUTES];        /* "cuda:sm_90"; part of the line's allocation */
  char *joined_spec_lines; /* of a described device with several routes: its lines, joined by '|' */
  kdl_amx_permission amx;  /* see kdl_device_permit */
  kdl_select_device without_amx;         /* the host's route without AMX ... */
  _Atomic(bool) amx_denied;              /* ... used once the permission was refused */
  _Atomic(struct kdl_runtime *) runtime; /* lib/registry/runtime.h: NULL until the device is used */
  kdl_work opening;
  unsigned forks;       /* kdl_fork_count when it was created */
  void *native_context; /* of kdl_device_adopt, used when the device is opened */
};

/* The device that selection matches: the spec, with what its tools make images of. */
kdl_status kdl_device_route_init(const kdl_device_spec *spec, kdl_select_device *out_route);

/* Creates a device with one route, in no list. */
kdl_status kdl_device_create(const kdl_device_spec *spec, kdl_device **out_device);

/* Appends a route. One thread at a time. */
kdl_status kdl_device_add_route(kdl_device *device, const kdl_device_spec *spec);

static inline kdl_device *kdl_device_next(const kdl_device *device) {
  return atomic_load_explicit(&device->next, memory_order_acquire);
}

static inline bool kdl_device_is_gone(const kdl_device *device) {
  return atomic_load_explicit(&device->is_gone, memory_order_acquire);
}

/* Whether it is a further route of another device that still exists. */
static inline bool kdl_device_is_route(const kdl_device *device) {
  const kdl_device *primary = atomic_load_explicit(&device->primary, memory_order_acquire);
  return primary && !kdl_device_is_gone(primary);
}

/* The current route: for the host, without AMX if that was refused. */
static inline const kdl_select_device *kdl_device_route(const kdl_device *device, size_t index) {
  bool denied = atomic_load_explicit(&device->amx_denied, memory_order_acquire);
  if (denied && device->routes[index]->spec.backend == KDL_BACKEND_HOST)
    return &device->without_amx;
  return device->routes[index];
}

/* Fails where there is no host device because KDL_CPU names features that this CPU lacks. Call it
 * after the host was enumerated. */
kdl_status kdl_device_check_host(void);

/* Whether kernels on the device run in this process, as far as is known: on its CPUs, or behind
 * OpenCL on devices other than GPUs, such as emulators of FPGAs. */
static inline bool kdl_device_is_process(const kdl_device *device, size_t route) {
  kdl_device_class kind = kdl_device_spec_class(&device->routes[route]->spec);
  return kind != KDL_DEVICE_DISCRETE && kind != KDL_DEVICE_INTEGRATED;
}

size_t kdl_device_route_count(const kdl_device *device);

/* ------------------------------------------------------------------------------------------ */
/* Permission for AMX                                                                           */

/*
 * Linux kills a process at its first use of AMX, even where XCR0 enables it, unless the process has
 * requested the permission. Linux may refuse it, for instance where a signal stack is too small for
 * the larger frame. So libkdl requests the permission when it is about to select an image that
 * needs AMX on this machine's CPU. A refusal becomes a reason like any other.
 */

/* Whether the device may run an image that its route admits. Asks the operating system at most once
 * per process. After a refusal, kdl_device_route gives a route without AMX, and the caller ranks
 * again. */
bool kdl_device_permit(kdl_device *device, size_t route, const kdl_candidate *candidate);

/* Requests the permission for AMX tiles; true if granted. Tests replace it. */
extern bool (*kdl_request_amx)(void);

#endif
