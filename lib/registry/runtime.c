/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/registry/runtime.h"

#include "lib/device/spec.h"
#include "lib/hooks.h"
#include "lib/registry/backend.h"
#include "support/base/cancel.h"
#include "support/base/error.h"
#include "support/base/trace_phase.h"
#include "support/system/environment.h"
#include "support/system/lock.h"

#include <stddef.h>
#include <stdlib.h>

/* ------------------------------------------------------------------------------------------ */
/* Closing at exit                                                                              */

/* A driver's exit handlers were registered before those of the devices that it opened, so they run
 * later: the driver still works when libkdl closes the devices. */
static pthread_mutex_t runtimes_lock = PTHREAD_MUTEX_INITIALIZER; /* held while the list grows */
static _Atomic(kdl_runtime *) open_runtimes;

enum { is_closed = -1 };

kdl_status kdl_runtime_retain(const kdl_runtime *runtime) {
  _Atomic(int) *users = &((kdl_runtime *)(uintptr_t)runtime)->users;
  int now = atomic_load_explicit(users, memory_order_relaxed);
  while (now != is_closed && !atomic_compare_exchange_weak(users, &now, now + 1))
    ;
  return now == is_closed ? kdl_runtime_usable(runtime) : KDL_OK;
}

void kdl_runtime_release(const kdl_runtime *runtime) {
  _Atomic(int) *users = &((kdl_runtime *)(uintptr_t)runtime)->users;
  int now = atomic_load_explicit(users, memory_order_relaxed);
  while (now > 0 && !atomic_compare_exchange_weak(users, &now, now - 1))
    ;
}

/* A program that holds an object may use it in a later exit handler or in another thread: then the
 * device stays open, and its driver closes it. */
static bool is_unused(const kdl_runtime *runtime) {
  return runtime->table->device_close && kdl_runtime_usable(runtime) == KDL_OK &&
         !kdl_device_is_gone(runtime->device) && atomic_load(&runtime->users) == 0;
}

static void close_unused(kdl_runtime *runtime) {
  int none = 0;
  if (is_unused(runtime) && atomic_compare_exchange_strong(&runtime->users, &none, is_closed))
    runtime->table->device_close(runtime->handle, runtime->queue.head.queue);
}

static void *close_each(void *unused) {
  (void)unused;
  for (kdl_runtime *runtime = atomic_load(&open_runtimes); runtime; runtime = runtime->next)
    close_unused(runtime);
  return NULL;
}

/* On a new thread: the thread_local objects that drivers in C++ keep for this thread were destroyed
 * before the first exit handler ran. */
static void close_all(void) {
  kdl_runtime *runtime = atomic_load(&open_runtimes);
  while (runtime && !is_unused(runtime))
    runtime = runtime->next;
  pthread_t thread;
  if (runtime && pthread_create(&thread, NULL, close_each, NULL) == 0)
    pthread_join(thread, NULL);
}

/* Registers an exit handler for each device, after those of its driver. */
static void close_at_exit(kdl_runtime *runtime) {
  kdl_lock(&runtimes_lock);
  runtime->next = atomic_load(&open_runtimes);
  atomic_store(&open_runtimes, runtime);
  kdl_unlock(&runtimes_lock);
  if (runtime->table->device_close && atexit(close_all) != 0)
    kdl_debug(KDL_DEBUG_LOAD, "%s: it will not be closed at the end", runtime->label);
}

/* ------------------------------------------------------------------------------------------ */
/* Opening                                                                                      */

static kdl_status open_runtime_route(kdl_device *device, size_t route,
                                     const kdl_backend_table *table, kdl_runtime *out_runtime) {
  const kdl_device_spec *spec = &device->routes[route]->spec;
  kdl_backend_device desc = {
      .size = sizeof desc,
      .spec = device->spec_lines[route],
      .ordinal = spec->ordinal.known ? spec->ordinal.value : 0,
      .native_context = device->native_context,
      .identity = device,
  };
  kdl_runtime made = {.table = table,
                      .driver = kdl_backend_driver(table),
                      .device = device,
                      .route = route,
                      .forks = kdl_fork_count()};
  kdl_device_spec_label(spec, &(kdl_out){made.label, sizeof made.label, 0});
  kdl_device_spec_name(spec, &(kdl_out){made.name, sizeof made.name, 0});
  kdl_trace_phase_begin(KDL_TRACE_PHASE_CONTEXT);
  kdl_status status = table->device_open(&desc, &made.handle);
  if (status == KDL_OK)
    status = table->queue_create(made.handle, 0, &made.queue.head.queue);
  kdl_trace_phase_end(KDL_TRACE_PHASE_CONTEXT,
                      &(kdl_trace_phase_info){.device = made.name, .failed = status != KDL_OK});
  if (status != KDL_OK) {
    kdl_error_prefix("%s", made.label);
    return status;
  }
  if (kdl_tracing)
    made.table =
        kdl_tracing->open_device(table, made.handle, made.name, spec->backend == KDL_BACKEND_HOST);
  *out_runtime = made;
  out_runtime->queue.runtime = out_runtime;
  return KDL_OK;
}

bool kdl_runtime_next_route(const kdl_device *device, size_t from, size_t *out_route) {
  const kdl_runtime *runtime = atomic_load_explicit(&device->runtime, memory_order_acquire);
  if (runtime) {
    *out_route = runtime->route;
    return from <= runtime->route;
  }
  for (size_t i = from; i < kdl_device_route_count(device); ++i) {
    if (kdl_backend_table_for(device->routes[i]->spec.backend)) {
      *out_route = i;
      return true;
    }
  }
  return false;
}

kdl_status kdl_runtime_check_present(const kdl_device *device) {
  if (device->is_here && kdl_device_is_gone(device) && !atomic_load(&device->runtime))
    return kdl_fail(KDL_DEVICE,
                    "%s is gone: its driver showed it no longer when it was asked again",
                    device->spec_lines[0]);
  if (device->is_here)
    return KDL_OK;
  return kdl_fail(
      KDL_BAD_CALL,
      "%s is a description, expected a device of this machine: `kdl devices` lists them",
      device->spec_lines[0]);
}

/* A driver that was started before a fork cannot be used after it. */
static kdl_status check_forks(const kdl_device *device, const kdl_backend_table *table) {
  kdl_status status = kdl_fork_check();
  if (status != KDL_OK || device->forks == kdl_fork_count() || kdl_backend_survives_fork(table))
    return status;
  char label[192];
  kdl_device_spec_label(&device->routes[0]->spec, &(kdl_out){label, sizeof label, 0});
  return kdl_fail_forked(label, "found");
}

static kdl_status open_once(kdl_device *device, size_t route) {
  const kdl_backend_table *table = kdl_backend_table_for(device->routes[route]->spec.backend);
  KDL_TRY(table ? check_forks(device, table) : kdl_error_status());
  kdl_runtime *runtime = calloc(1, sizeof *runtime);
  kdl_status status = runtime ? open_runtime_route(device, route, table, runtime)
                              : kdl_fail(KDL_NO_MEMORY, "out of memory");
  if (status != KDL_OK) {
    free(runtime);
    return status;
  }
  atomic_store_explicit(&device->runtime, runtime, memory_order_release);
  close_at_exit(runtime);
  kdl_debug(KDL_DEBUG_LOAD, "opened %s", runtime->label);
  return KDL_OK;
}

static void disable_in_child(void); /* below: after a fork */

kdl_status kdl_runtime_open_route(kdl_device *device, size_t route,
                                  const kdl_runtime **out_runtime) {
  kdl_status status = KDL_OK;
  const kdl_runtime *runtime;
  while (!(runtime = atomic_load_explicit(&device->runtime, memory_order_acquire)) &&
         status == KDL_OK) {
    kdl_fork_tell(disable_in_child);
    if (kdl_work_begin(&device->opening) == KDL_WORK_WAITED)
      continue;
    if (!atomic_load_explicit(&device->runtime, memory_order_relaxed))
      status = open_once(device, route);
    kdl_work_end(&device->opening);
  }
  if (status != KDL_OK)
    return status;
  *out_runtime = runtime;
  return kdl_runtime_usable(runtime);
}

kdl_status kdl_runtime_open(kdl_device *device, const kdl_runtime **out_runtime) {
  size_t route;
  kdl_status status = kdl_runtime_check_present(device);
  if (status == KDL_OK && !kdl_runtime_next_route(device, 0, &route))
    status = kdl_error_status();
  return status == KDL_OK ? kdl_runtime_open_route(device, route, out_runtime) : status;
}

void *kdl_runtime_create_object(kdl_device *device, const char *what, size_t size,
                                const kdl_runtime **out_runtime) {
  if (kdl_runtime_open(device, out_runtime) != KDL_OK)
    return NULL;
  void *made = calloc(1, size);
  if (!made) {
    (void)kdl_fail(KDL_NO_MEMORY, "out of memory for %s", what);
  } else if (kdl_runtime_retain(*out_runtime) != KDL_OK) {
    free(made);
    made = NULL;
  }
  return made;
}

kdl_status kdl_runtime_usable(const kdl_runtime *runtime) {
  if (atomic_load_explicit(&runtime->users, memory_order_relaxed) == is_closed)
    return kdl_fail(KDL_DEVICE, "%s: it was closed: the process is ending", runtime->label);
  if (runtime->driver && atomic_load_explicit(&runtime->driver->has_ended, memory_order_relaxed))
    return kdl_fail(KDL_DEVICE, "%s: its driver has ended: the process is ending", runtime->label);
  if (runtime->forks == kdl_fork_count())
    return KDL_OK;
  if (!kdl_backend_survives_fork(runtime->table))
    return kdl_fail_forked(runtime->label, "opened");
  return kdl_fork_check();
}

kdl_status kdl_device_adopt(kdl_device *device, void *native_context) {
  KDL_NOT_CANCELLED;
  kdl_status status = KDL_GIVEN(device);
  if (status != KDL_OK)
    return status;
  while (kdl_work_begin(&device->opening) == KDL_WORK_WAITED)
    ;
  if (atomic_load(&device->runtime))
    status = kdl_fail(KDL_BAD_CALL,
                      "kdl_device_adopt: %s is in use already; adopt its context before anything "
                      "else",
                      device->spec_lines[0]);
  else
    device->native_context = native_context;
  kdl_work_end(&device->opening);
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* After a fork                                                                                 */

static pthread_mutex_t fork_links_lock = PTHREAD_MUTEX_INITIALIZER;
static kdl_fork_link *fork_links;

/* The child has one thread, and no thread held a lock at the fork: the list is consistent. */
static void disable_in_child(void) {
  for (kdl_fork_link *link = fork_links; link; link = link->next)
    link->disable(link);
  kdl_backend_after_fork();
}

void kdl_fork_add(kdl_fork_link *link, kdl_fork_visitor *visit, void *user) {
  kdl_lock(&fork_links_lock);
  if (!link->is_added) {
    link->is_added = true;
    link->previous = NULL;
    link->next = fork_links;
    if (fork_links)
      fork_links->previous = link;
    fork_links = link;
  }
  visit(link, user);
  kdl_unlock(&fork_links_lock);
}

void kdl_fork_disable(const kdl_driver *driver) {
  kdl_lock(&fork_links_lock);
  for (kdl_fork_link *link = fork_links; link; link = link->next) {
    if (link->driver == driver)
      link->disable(link);
  }
  kdl_unlock(&fork_links_lock);
}

void kdl_fork_visit(kdl_fork_visitor *visit, void *user) {
  kdl_lock(&fork_links_lock);
  for (kdl_fork_link *link = fork_links; link; link = link->next)
    visit(link, user);
  kdl_unlock(&fork_links_lock);
}

void kdl_fork_remove(kdl_fork_link *link) {
  kdl_lock(&fork_links_lock);
  if (link->is_added) {
    if (link->previous)
      link->previous->next = link->next;
    else
      fork_links = link->next;
    if (link->next)
      link->next->previous = link->previous;
    link->is_added = false;
  }
  kdl_unlock(&fork_links_lock);
}

kdl_status kdl_fail_forked(const char *device, const char *what) {
  return kdl_fail(KDL_DEVICE,
                  "%s was %s before this process forked, and its driver does not survive a fork: "
                  "use it first in the child, or start the child with exec",
                  device, what);
}
