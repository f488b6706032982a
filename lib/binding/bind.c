/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Binding: tries the ranked images in order until one loads and has the kernel. Keeps the failure
 * of each image for the message if all fail.
 */
#include "lib/binding/geometry.h"
#include "lib/binding/specialize.h"
#include "lib/inspect/images.h"
#include "lib/inspect/libraries.h"
#include "lib/registry/device.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "support/base/trace_phase.h"
#include "support/system/environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------ */
/* One image                                                                                    */

static kdl_status try_image(kdl_kernel *kernel, size_t position) {
  const kdl_runtime *runtime = kernel->runtime;
  uint32_t image = kernel->ranking->candidates[position].image;
  if (!kdl_device_permit(runtime->device, runtime->route, &kernel->ranking->candidates[position]))
    return kdl_fail(KDL_DEVICE, "it needs AMX, and the system refused permission to use it");
  kdl_specialization special = {kernel->constants ? kernel->name : NULL, kernel->constants};
  KDL_TRY(kdl_image_load(kernel->lib, runtime, image, special, &kernel->loaded_image));
  if (position) /* the first image's key was read by the ranking */
    kdl_geometry_read_key(kernel, position, &kernel->key);
  kdl_image_geometry key = kdl_geometry_of_key(&kernel->key);
  kdl_kernel_request request = {.size = sizeof request,
                                .name = kernel->name,
                                .shared = kernel->key.shared,
                                .hidden = kernel->key.hidden};
  if (kdl_kernel_has(&kernel->key, KDL_KERNEL_SIG))
    request.sig = kernel->key.sig;
  memcpy(request.block, key.block, sizeof request.block);
  memcpy(request.tile, key.tile, sizeof request.tile);
  kernel->loaded = (kdl_backend_kernel){.size = sizeof kernel->loaded};
  kdl_trace_phase_begin(KDL_TRACE_PHASE_RESOLVE);
  kdl_status status = runtime->table->kernel_find(runtime->handle, kernel->loaded_image->handle,
                                                  &request, &kernel->loaded);
  kdl_trace_phase_end(KDL_TRACE_PHASE_RESOLVE,
                      &(kdl_trace_phase_info){.library = kernel->lib->container->name,
                                              .kernel = kernel->name,
                                              .device = runtime->name,
                                              .has_image = true,
                                              .image = image,
                                              .failed = status != KDL_OK});
  if (status == KDL_OK)
    status = kdl_geometry_resolve(kernel);
  if (status == KDL_OK)
    status = kdl_kernel_args_resolve(kernel);
  if (status == KDL_OK)
    kernel->position = position;
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* All images                                                                                   */

static void log_bound(const kdl_kernel *kernel) {
  char name[128];
  if (!kdl_debug_on(KDL_DEBUG_LOAD))
    return;
  kdl_image_name(kernel->lib, kdl_kernel_image(kernel), name, sizeof name);
  kdl_debug(KDL_DEBUG_LOAD, "%s: bound to %s of %s, %s %zu of %zu", kernel->name, name,
            kernel->lib->container->name,
            kernel->position > kernel->first ? "fallback: choice" : "choice", kernel->position + 1,
            kernel->ranking->count);
}

/* For kdl_kernel_get. Omits a failure for which there is no memory. */
static void add_failure(kdl_kernel *kernel, size_t position, const char *name, kdl_status status) {
  size_t max_count = kernel->end - kernel->first;
  if (!kernel->failures)
    kernel->failures =
        kdl_arena_alloc(&kernel->failure_arena, max_count * sizeof *kernel->failures);
  kdl_load_failure failure = {
      .image = kernel->ranking->candidates[position].image,
      .name = kdl_arena_format(&kernel->failure_arena, "%s", name),
      .message = kdl_arena_format(&kernel->failure_arena, "%s", kdl_error_message()),
      .status = status,
      .code = kdl_error_code()};
  if (kernel->failures && failure.name && failure.message)
    kernel->failures[kernel->failure_count++] = failure;
}

/* Lack of memory may be transient, so that the next launch tries again: forgets these failures. */
static void clear_failures(kdl_kernel *kernel) {
  kdl_arena_free(&kernel->failure_arena);
  kernel->failures = NULL;
  kernel->failure_count = 0;
}

/* Status and code are those of the best image. *out_is_transient: memory ran out for one of
 * them. */
static kdl_status try_images(kdl_kernel *kernel, bool *out_is_transient) {
  const kdl_ranking *ranking = kernel->ranking;
  char tried[1536];
  kdl_out out = {tried, sizeof tried, 0};
  kdl_status first_status = KDL_OK;
  int64_t first_code = 0;
  for (size_t i = kernel->first; i < kernel->end; ++i) {
    kdl_status status = try_image(kernel, i);
    if (status == KDL_OK) {
      log_bound(kernel);
      return KDL_OK;
    }
    *out_is_transient |= kdl_failure_is_transient(status);
    char name[128];
    kdl_image_name(kernel->lib, ranking->candidates[i].image, name, sizeof name);
    if (i == kernel->first) {
      first_status = status;
      first_code = kdl_error_code();
    }
    add_failure(kernel, i, name, status);
    kdl_out_format(&out, "%s%s: %s", i > kernel->first ? "; " : "", name, kdl_error_message());
    kdl_debug(KDL_DEBUG_LOAD, "%s: %s failed: %s%s", kernel->name, name, kdl_error_message(),
              i + 1 < kernel->end ? "; trying the next" : "");
  }
  return kdl_fail_code(first_status, first_code,
                       "%s: %s: none of %zu images could be loaded on %s: %s",
                       kernel->lib->container->name, kernel->name, kernel->end - kernel->first,
                       kernel->runtime->table->name, tried);
}

static void disable_kernel(kdl_fork_link *link);

static kdl_status bind_kernel(kdl_kernel *kernel) {
  bool is_transient = false;
  kdl_status status = try_images(kernel, &is_transient);
  if (status != KDL_OK && is_transient) {
    clear_failures(kernel);
    return status;
  }
  if (status != KDL_OK) {
    kdl_cache_failure(status, &kernel->failure);
    atomic_store_explicit(&kernel->bind_state, KDL_UNBINDABLE, memory_order_release);
    return status;
  }
  kernel->geometry_conflict = kdl_geometry_conflict(kernel);
  kernel->fork.disable = disable_kernel;
  kernel->fork.driver = kernel->runtime->driver;
  if (kdl_specializing && kernel->loaded_image->linked && !kernel->values)
    kdl_specialized_create(kernel);
  kdl_entry_publish(kernel);
  return KDL_OK;
}

kdl_status kdl_kernel_bind(kdl_kernel *kernel) {
  kdl_bound_state binding = atomic_load_explicit(&kernel->bind_state, memory_order_acquire);
  if (binding == KDL_BOUND)
    return KDL_OK;
  if (binding == KDL_UNBINDABLE)
    return kdl_fail_cached(&kernel->failure);
  kdl_status status = kdl_runtime_usable(kernel->runtime);
  if (status != KDL_OK || kdl_work_begin(&kernel->work) == KDL_WORK_WAITED)
    return status == KDL_OK ? kdl_kernel_bind(kernel) : status;
  binding = atomic_load_explicit(&kernel->bind_state, memory_order_relaxed);
  if (binding == KDL_UNBOUND)
    status = bind_kernel(kernel);
  else if (binding == KDL_UNBINDABLE)
    status = kdl_fail_cached(&kernel->failure);
  kdl_work_end(&kernel->work);
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* After a fork, and when the driver has ended                                                  */

static void disable_kernel(kdl_fork_link *link) {
  kdl_kernel *kernel = (kdl_kernel *)((char *)link - offsetof(kdl_kernel, fork));
  if (!kdl_backend_survives_fork(kernel->runtime->table))
    kdl_entry_disable(kernel);
}
