/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "link/runtime.h"

#include "base/environment.h"
#include "base/error.h"
#include "base/layer.h"
#include "device/spec_label.h"
#include "link/fork.h"

#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;

static kdl_status open_route(kdl_device *device, size_t route, kdl_runtime *out_runtime) {
  const kdl_device_spec *spec = &device->routes[route]->spec;
  const kdl_backend_table *table = kdl_backend_serving(spec->backend);
  if (!table)
    return kdl_error_status();
  kdl_backend_device desc = {
      .size = sizeof desc,
      .spec = device->lines[route],
      .ordinal = spec->ordinal.known ? spec->ordinal.value : 0,
      .native_context = device->native_context,
  };
  kdl_runtime made = {.table = table, .device = device, .route = route, .forks = kdl_fork_count()};
  kdl_device_spec_label(spec, &(kdl_out){made.label, sizeof made.label, 0});
  kdl_layer_enter(KDL_LAYER_CONTEXT, made.label);
  kdl_status status = table->device_open(&desc, &made.handle);
  if (status == KDL_OK)
    status = table->queue_create(made.handle, 0, &made.queue);
  kdl_layer_leave(KDL_LAYER_CONTEXT);
  if (status != KDL_OK)
    kdl_error_prefix("%s", made.label);
  else
    *out_runtime = made;
  return status;
}

bool kdl_runtime_next_route(const kdl_device *device, size_t from, size_t *out_route) {
  const kdl_runtime *runtime = atomic_load_explicit(&device->runtime, memory_order_acquire);
  if (runtime) {
    *out_route = runtime->route;
    return from <= runtime->route;
  }
  for (size_t i = from; i < kdl_device_route_count(device); ++i) {
    if (kdl_backend_serving(device->routes[i]->spec.backend)) {
      *out_route = i;
      return true;
    }
  }
  return false;
}

kdl_status kdl_runtime_check_here(const kdl_device *device) {
  if (device->here)
    return KDL_OK;
  return kdl_fail(
      KDL_BAD_CALL,
      "%s is a description, expected a device of this machine: `kdl devices` lists them",
      device->lines[0]);
}

kdl_status kdl_runtime_open_route(kdl_device *device, size_t route,
                                  const kdl_runtime **out_runtime) {
  kdl_runtime *runtime = atomic_load_explicit(&device->runtime, memory_order_acquire);
  if (runtime) {
    *out_runtime = runtime;
    return kdl_runtime_usable(runtime);
  }
  kdl_fork_watch();
  kdl_status status = KDL_OK;
  pthread_mutex_lock(&open_lock);
  runtime = atomic_load_explicit(&device->runtime, memory_order_relaxed);
  if (!runtime) {
    runtime = calloc(1, sizeof *runtime);
    status =
        runtime ? open_route(device, route, runtime) : kdl_fail(KDL_NO_MEMORY, "out of memory");
    if (status == KDL_OK) {
      atomic_store_explicit(&device->runtime, runtime, memory_order_release);
      kdl_debug(KDL_DEBUG_LOAD, "opened %s", runtime->label);
    } else {
      free(runtime);
    }
  }
  pthread_mutex_unlock(&open_lock);
  if (status == KDL_OK)
    *out_runtime = runtime;
  return status;
}

kdl_status kdl_runtime_open(kdl_device *device, const kdl_runtime **out_runtime) {
  size_t route;
  kdl_status status = kdl_runtime_check_here(device);
  if (status == KDL_OK && !kdl_runtime_next_route(device, 0, &route))
    status = kdl_error_status();
  return status == KDL_OK ? kdl_runtime_open_route(device, route, out_runtime) : status;
}

kdl_status kdl_runtime_usable(const kdl_runtime *runtime) {
  if (runtime->forks == kdl_fork_count() || kdl_backend_survives_fork(runtime->table))
    return KDL_OK;
  return kdl_fail_forked(runtime->label);
}

kdl_status kdl_device_adopt(kdl_device *device, void *native_context) {
  kdl_status status = KDL_OK;
  pthread_mutex_lock(&open_lock);
  if (atomic_load(&device->runtime))
    status = kdl_fail(KDL_BAD_CALL,
                      "kdl_device_adopt: %s is in use already; adopt its context before anything "
                      "else",
                      device->lines[0]);
  else
    device->native_context = native_context;
  pthread_mutex_unlock(&open_lock);
  return status;
}
