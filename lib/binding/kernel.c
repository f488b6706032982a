/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Handles: looked up by key, created on a miss, freed with their library. */
#include "lib/binding/kernel.h"
#include "lib/binding/specialize.h"
#include "lib/binding/variants.h"

#include "lib/device/spec.h"
#include "lib/hooks.h"
#include "lib/library/library.h"
#include "support/base/cancel.h"
#include "support/base/error.h"
#include "support/base/hash.h"
#include "support/base/sized.h"
#include "support/base/text.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  kdl_device *device;
  const char *name;
  const kdl_select_opts *opts;
  const char *constants; /* as kdl_jit prints them; NULL: none */
} handle_key;

/* The result of searching the libraries in scope, on one route of the device. */
typedef struct {
  const handle_key *request;
  size_t route;
  kdl_status status;
  kdl_library *lib; /* the first that has an image that fits; NULL: none */
  const kdl_ranking *ranking;
} handle_lookup;

/* The handle's memory belongs to the library's arena. */
static void free_kernel(kdl_kernel *kernel) {
  if (kernel->variants)
    kdl_variants_destroy(kernel);
  free(kernel->failure.message);
  kdl_arena_free(&kernel->failure_arena);
  kdl_kernel_args_reset(kernel);
  free(kernel->geometry_conflict);
}

/* Kernels refer to loaded images, so they are destroyed first. */
static void destroy_bound_objects(kdl_attachment *attachment, kdl_library *lib) {
  kdl_bound_objects *bound = (kdl_bound_objects *)attachment;
  kdl_kernel *next;
  for (kdl_kernel *kernel = atomic_load(&bound->kernels); kernel; kernel = kernel->next) {
    if (kernel->specialized)
      kdl_specialized_stop(kernel->specialized);
  }
  for (kdl_kernel *kernel = atomic_load(&bound->kernels); kernel; kernel = next) {
    next = kernel->next;
    kdl_fork_remove(&kernel->fork);
    free_kernel(kernel);
  }
  kdl_images_unload(bound, lib);
}

kdl_bound_objects *kdl_bound_objects_of(kdl_library *lib) {
  kdl_attachment *known = kdl_library_find_attachment(lib, destroy_bound_objects);
  return (kdl_bound_objects *)(known ? known
                                     : kdl_library_attach(lib, sizeof(kdl_bound_objects),
                                                          destroy_bound_objects));
}

/* The handle is not yet attached to the library. NULL when out of memory. */
static kdl_kernel *create_kernel(const handle_lookup *found, const kdl_runtime *runtime) {
  kdl_container *container = found->lib->container;
  const char *given = found->request->constants;
  char *constants = NULL;
  if (given) {
    size_t size = strlen(given) + 1;
    constants = kdl_container_alloc(container, size);
    if (!constants)
      return NULL;
    memcpy(constants, given, size);
  }
  kdl_kernel *kernel = kdl_container_alloc(container, sizeof *kernel);
  if (kernel)
    *kernel = (kdl_kernel){
        .head.entry = kdl_entry_resolve,
        .items_entry = kdl_entry_resolve_items,
        .lib = found->lib,
        .runtime = runtime,
        .name = found->ranking->query.kernel.data,
        .constants = constants,
        .ranking = found->ranking,
        .end = found->ranking->count,
        .key = found->ranking->key,
    };
  return kernel;
}

void kdl_bound_objects_add(kdl_bound_objects *bound, kdl_kernel *kernel) {
  kernel->next = atomic_load_explicit(&bound->kernels, memory_order_relaxed);
  while (!atomic_compare_exchange_weak_explicit(&bound->kernels, &kernel->next, kernel,
                                                memory_order_release, memory_order_relaxed))
    ;
}

static uint64_t lookup_hash(const handle_lookup *found) {
  uint64_t hash = found->ranking->node.hash;
  return found->request->constants ? kdl_hash_add(hash, kdl_text_of(found->request->constants))
                                   : hash;
}

static kdl_kernel *kernel_of_node(const kdl_trie_node *node) {
  return node ? (kdl_kernel *)((uintptr_t)node - offsetof(kdl_kernel, node)) : NULL;
}

static inline bool is_same_handle(const kdl_trie_node *node, const void *key) {
  const kdl_kernel *kernel = kernel_of_node(node);
  const handle_lookup *found = key;
  const char *constants = found->request->constants;
  return kernel->ranking == found->ranking && !kernel->constants == !constants &&
         (!constants || strcmp(kernel->constants, constants) == 0);
}

/* A ranking is for one kernel on one route of one device under one policy and tag, so it has one
 * handle per set of constants. If another thread adds the same handle first, that one is used. The
 * handle is attached to the library before the caller gets it, so that closing the library in the
 * child of a fork finds it. NULL when out of memory. */
static kdl_kernel *get_handle(const handle_lookup *found, const kdl_runtime *runtime) {
  kdl_bound_objects *bound = kdl_bound_objects_of(found->lib);
  if (!bound)
    return NULL;
  uint64_t hash = lookup_hash(found);
  kdl_kernel *kernel = kernel_of_node(kdl_trie_find(&bound->handles, hash, is_same_handle, found));
  kdl_kernel *made = kernel ? NULL : create_kernel(found, runtime);
  if (!made)
    return kernel;
  made->node.hash = hash;
  if (kdl_variants_needed(found->ranking) && !kdl_variants_create(made, bound))
    return NULL;
  kdl_bound_objects_add(bound, made);
  return kernel_of_node(kdl_trie_add(&bound->handles, &made->node, is_same_handle, found));
}

static bool rank_in_library(void *user, kdl_library *lib) {
  handle_lookup *found = user;
  const handle_key *request = found->request;
  found->status = kdl_library_rank(lib, request->device, found->route, request->name, request->opts,
                                   &found->ranking);
  if (found->status == KDL_OK && found->ranking)
    found->lib = lib;
  return found->status != KDL_OK || found->lib;
}

/* The first usable route that an image fits as it is, else the first for which one is translated;
 * where none does, the first usable route. */
static kdl_status find_route(kdl_library *lib, const handle_key *request,
                             handle_lookup *out_found) {
  size_t route;
  if (!kdl_runtime_next_route(request->device, 0, &route))
    return kdl_error_status();
  *out_found = (handle_lookup){.request = request, .route = route};
  do {
    handle_lookup found = {.request = request, .route = route};
    kdl_status status = kdl_scope_visit(lib, rank_in_library, &found);
    if (status != KDL_OK || found.status != KDL_OK)
      return status != KDL_OK ? status : found.status;
    if (found.lib && (!out_found->lib || kdl_ranking_is_settled(found.ranking)))
      *out_found = found;
  } while ((!out_found->lib || !kdl_ranking_is_settled(out_found->ranking)) &&
           kdl_runtime_next_route(request->device, route + 1, &route));
  return KDL_OK;
}

static kdl_status fail_no_image(kdl_library *lib, const handle_lookup *found) {
  const handle_key *request = found->request;
  if (lib)
    return kdl_library_fail_no_match(lib, request->device, found->route, request->name,
                                     request->opts);
  char label[192];
  kdl_device_spec_label(&request->device->routes[found->route]->spec,
                        &(kdl_out){label, sizeof label, 0});
  return kdl_fail(KDL_NO_MATCH,
                  "%s: no library that was opened with KDL_OPEN_GLOBAL has an image for %s",
                  request->name, label);
}

static kdl_status find_handle(kdl_library *lib, const handle_key *request,
                              kdl_kernel **out_kernel) {
  const kdl_runtime *runtime;
  handle_lookup found = {.request = request};
  KDL_TRY(find_route(lib, request, &found));
  if (!found.lib)
    return fail_no_image(lib, &found);
  KDL_TRY(kdl_runtime_open_route(request->device, found.route, &runtime));
  /* Another thread opened the device through another route, which is now the only one. */
  if (runtime->route != found.route)
    return find_handle(lib, request, out_kernel);
  kdl_kernel *kernel = get_handle(&found, runtime);
  if (!kernel)
    return kdl_fail(KDL_NO_MEMORY, "%s: out of memory", request->name);
  *out_kernel = kernel;
  return KDL_OK;
}

kdl_status kdl_sym(kdl_library *lib, kdl_device *device, const char *name,
                   const kdl_select_opts *opts, kdl_kernel **out_kernel) {
  KDL_NOT_CANCELLED;
  kdl_select_opts full_opts;
  char *constants = NULL;
  kdl_status status = KDL_GIVEN(device, name, out_kernel);
  if (status == KDL_OK && !*name)
    status = kdl_fail(KDL_BAD_CALL, "kdl_sym: found no name, expected that of a kernel");
  if (status == KDL_OK)
    status = kdl_runtime_check_present(device);
  if (status == KDL_OK)
    status = kdl_select_opts_read(opts, &full_opts);
  if (status == KDL_OK && full_opts.constant_count && !full_opts.constants)
    status = kdl_fail_null("kdl_sym", "opts->constants");
  if (status == KDL_OK && full_opts.constant_count)
    status = kdl_jit ? kdl_jit->print_constants(full_opts.constants, full_opts.constant_count,
                                                &constants)
                     : kdl_fail(KDL_UNSUPPORTED, "kdl_sym: found constants, expected none: libkdl "
                                                 "was built without ext/jit, which binds them");
  if (status == KDL_OK) {
    const handle_key request = {device, name, opts, constants};
    status = find_handle(lib, &request, out_kernel);
    free(constants);
  }
  return status;
}

kdl_kernel *kdl_kernel_retain(kdl_kernel *kernel) {
  if (KDL_GIVEN(kernel) != KDL_OK)
    return NULL;
  kdl_library_retain(kernel->lib);
  return kernel;
}

void kdl_kernel_release(kdl_kernel *kernel) {
  if (kernel)
    kdl_close(kernel->lib);
}

kdl_status kdl_prefetch(kdl_kernel *kernel) {
  KDL_NOT_CANCELLED;
  KDL_TRY(KDL_GIVEN(kernel));
  return kernel->variants ? kdl_variants_prefetch(kernel) : kdl_kernel_bind(kernel);
}

kdl_status kdl_kernel_get(kdl_kernel *kernel, kdl_kernel_info *out_info) {
  KDL_NOT_CANCELLED;
  KDL_TRY(KDL_GIVEN(kernel, out_info));
  const kdl_sized what = {"kdl_kernel_get", "info", offsetof(kdl_kernel_info, route),
                          sizeof *out_info};
  KDL_TRY(kdl_sized_check(what, out_info));
  KDL_TRY(kdl_kernel_bind_general(&kernel));
  const kdl_runtime *runtime = kernel->runtime;
  const kdl_candidate *candidate = &kernel->ranking->candidates[kernel->position];
  kdl_kernel_info info = {
      .name = kernel->name,
      .library = kernel->lib->container->name,
      .device = kdl_runtime_spec_line(runtime),
      .fit = candidate->fit,
      .image = candidate->image,
      .position = kernel->position,
      .image_count = kernel->ranking->count,
      .kind = kernel->loaded_image->kind,
      .param_count = kernel->param_count,
      .params = kernel->loaded.params,
      .route = runtime->route,
      .failures = kernel->failures,
      .failure_count = kernel->failure_count,
  };
  memcpy(info.block, kernel->block, sizeof info.block);
  memcpy(info.tile, kernel->tile, sizeof info.tile);
  kdl_sized_write(what, &info, out_info);
  return KDL_OK;
}

kdl_status kdl_global(kdl_kernel *kernel, const char *name, kdl_buffer *out_buffer) {
  KDL_NOT_CANCELLED;
  kdl_status status = KDL_GIVEN(kernel, name, out_buffer);
  if (status == KDL_OK)
    status = kdl_kernel_bind_general(&kernel);
  if (status == KDL_OK)
    status = kdl_runtime_usable(kernel->runtime);
  if (status != KDL_OK)
    return status;
  kdl_buffer buffer = {.device = kernel->runtime->device};
  status = kernel->runtime->table->global_find(
      kernel->runtime->handle, kernel->loaded_image->handle, name, &buffer.address, &buffer.size);
  if (status == KDL_OK)
    *out_buffer = buffer;
  else
    kdl_error_prefix("%s: image %u", kernel->lib->container->name,
                     (unsigned)kdl_kernel_image(kernel));
  return status;
}

kdl_status kdl_kernel_native(kdl_kernel *kernel, void **out_handle) {
  KDL_NOT_CANCELLED;
  KDL_TRY(KDL_GIVEN(kernel, out_handle));
  kdl_kernel *pinned = kernel;
  KDL_TRY(kdl_kernel_bind_general(&pinned));
  if (pinned != kernel)
    kdl_variants_pin(kernel, pinned);
  kernel = pinned;
  *out_handle =
      kernel->runtime->table->kernel_native(kernel->runtime->handle, kernel->loaded.context);
  return KDL_OK;
}
