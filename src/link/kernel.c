/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Handles: found by their question, made where there is none, freed with their library. */
#include "link/kernel.h"

#include "base/error.h"
#include "link/scope.h"
#include "target/text.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  const kdl_runtime *runtime;
  const char *name;
  const kdl_select_opts *opts;
  kdl_status status;
  kdl_kernel *kernel;
} question;

static void free_kernel(kdl_kernel *kernel) {
  pthread_mutex_destroy(&kernel->lock);
  free(kernel->name);
  free(kernel->failure.story);
  free(kernel->param_sizes);
  free(kernel->disagreement);
  free(kernel);
}

static kdl_kernel *make(kdl_library *lib, const question *asked, const kdl_ranked *ranked) {
  kdl_kernel *kernel = calloc(1, sizeof *kernel);
  if (!kernel)
    return NULL;
  pthread_mutex_init(&kernel->lock, NULL);
  kernel->lib = lib;
  kernel->runtime = asked->runtime;
  kernel->ranked = *ranked;
  kernel->name = strdup(asked->name);
  kernel->head.entry = kdl_entry_resolve;
  atomic_init(&kernel->counted, kdl_entry_resolve_counted);
  if (!kernel->name) {
    free_kernel(kernel);
    return NULL;
  }
  kernel->next = lib->kernels;
  lib->kernels = kernel;
  return kernel;
}

/* A selection stands for one kernel on one route of one device under one policy and tag: so it has
 * one handle. */
static kdl_kernel *handle_of(kdl_library *lib, const question *asked, const kdl_ranked *ranked) {
  _Atomic(kdl_kernel *) *slot = &((kdl_selection *)(uintptr_t)ranked->selection)->handle;
  kdl_kernel *kernel = atomic_load_explicit(slot, memory_order_acquire);
  if (kernel)
    return kernel;
  pthread_mutex_lock(&lib->lock);
  kernel = atomic_load_explicit(slot, memory_order_relaxed);
  if (!kernel) {
    kernel = make(lib, asked, ranked);
    atomic_store_explicit(slot, kernel, memory_order_release);
  }
  pthread_mutex_unlock(&lib->lock);
  return kernel;
}

static bool ask(void *user, kdl_library *lib) {
  question *asked = user;
  kdl_ranked ranked;
  asked->status = kdl_library_rank(lib, asked->runtime->device, asked->runtime->route, asked->name,
                                   asked->opts, &ranked);
  if (asked->status != KDL_OK || !ranked.selection)
    return asked->status != KDL_OK;
  asked->kernel = handle_of(lib, asked, &ranked);
  if (!asked->kernel)
    asked->status = kdl_fail(KDL_NO_MEMORY, "%s: out of memory", asked->name);
  return true;
}

kdl_status kdl_sym(kdl_library *lib, kdl_device *device, const char *name,
                   const kdl_select_opts *opts, kdl_kernel **out_kernel) {
  question asked = {.name = name, .opts = opts};
  if (!name || !*name)
    return kdl_fail(KDL_BAD_CALL, "kdl_sym: found no name, expected that of a kernel");
  kdl_status status = kdl_runtime_open(device, &asked.runtime);
  if (status == KDL_OK)
    status = kdl_scope_visit(lib, ask, &asked);
  if (status == KDL_OK)
    status = asked.status;
  if (status != KDL_OK)
    return status;
  if (asked.kernel) {
    *out_kernel = asked.kernel;
    return KDL_OK;
  }
  if (lib)
    return kdl_library_tell_why(lib, device, name, opts);
  return kdl_fail(KDL_NO_MATCH,
                  "%s: no library that was opened with KDL_OPEN_GLOBAL has an image for %s", name,
                  asked.runtime->label);
}

kdl_kernel *kdl_kernel_retain(kdl_kernel *kernel) {
  kdl_retain(kernel->lib);
  return kernel;
}

void kdl_kernel_release(kdl_kernel *kernel) {
  if (kernel)
    kdl_close(kernel->lib);
}

void kdl_kernels_free(kdl_library *lib) {
  while (lib->kernels) {
    kdl_kernel *kernel = lib->kernels;
    lib->kernels = kernel->next;
    if (atomic_load(&kernel->binding) == KDL_BOUND)
      kdl_fork_remove(&kernel->fork);
    free_kernel(kernel);
  }
}

kdl_status kdl_prefetch(kdl_kernel *kernel) {
  return kdl_kernel_bind(kernel);
}

kdl_status kdl_kernel_get(kdl_kernel *kernel, kdl_kernel_info *out_info) {
  if (out_info->size != sizeof *out_info)
    return kdl_fail(KDL_BAD_CALL, "kdl_kernel_get: info.size is %zu, expected %zu", out_info->size,
                    sizeof *out_info);
  kdl_status status = kdl_kernel_bind(kernel);
  if (status != KDL_OK)
    return status;
  const kdl_runtime *runtime = kernel->runtime;
  uint32_t image = kdl_kernel_image(kernel);
  kdl_kernel_info info = {
      .size = sizeof info,
      .name = kernel->name,
      .library = kernel->lib->container->name,
      .device = kdl_runtime_line(runtime),
      .fit = kdl_match_fit(kdl_catalog_rule(kernel->ranked.catalog, image),
                           &kdl_device_route(runtime->device, runtime->route)->rule),
      .image = image,
      .place = kernel->place,
      .image_count = kernel->ranked.selection->count,
      .kind = kernel->module->kind,
      .param_count = kernel->param_count,
      .params = kernel->loaded.params,
  };
  memcpy(info.block, kernel->block, sizeof info.block);
  memcpy(info.tile, kernel->tile, sizeof info.tile);
  *out_info = info;
  return KDL_OK;
}

kdl_status kdl_global(kdl_kernel *kernel, const char *name, kdl_buffer *out_buffer) {
  kdl_buffer buffer = {.device = kernel->runtime->device};
  kdl_status status = kdl_kernel_bind(kernel);
  if (status == KDL_OK)
    status = kdl_runtime_usable(kernel->runtime);
  if (status != KDL_OK)
    return status;
  status = kernel->runtime->table->global_find(kernel->runtime->handle, kernel->module->handle,
                                               name, &buffer.address, &buffer.size);
  if (status == KDL_OK)
    *out_buffer = buffer;
  else
    kdl_error_prefix("%s: image %u", kernel->lib->container->name,
                     (unsigned)kdl_kernel_image(kernel));
  return status;
}

kdl_status kdl_kernel_native(kdl_kernel *kernel, void **out_handle) {
  kdl_status status = kdl_kernel_bind(kernel);
  if (status == KDL_OK)
    *out_handle =
        kernel->runtime->table->kernel_native(kernel->runtime->handle, kernel->loaded.context);
  return status;
}
