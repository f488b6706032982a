/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/binding/loaded_image.h"

#include "lib/hooks.h"
#include "lib/inspect/images.h"
#include "lib/inspect/libraries.h"
#include "support/base/error.h"
#include "support/base/trace_phase.h"
#include "support/system/environment.h"
#include "support/system/lock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void kdl_cache_failure(kdl_status status, kdl_cached_failure *out_failure) {
  out_failure->status = status;
  out_failure->code = kdl_error_code();
  out_failure->message = strdup(kdl_error_message());
}

kdl_status kdl_fail_cached(const kdl_cached_failure *failure) {
  return kdl_fail_code(failure->status, failure->code, "%s",
                       failure->message ? failure->message : "out of memory");
}

bool kdl_failure_is_transient(kdl_status status) {
  int64_t code = kdl_error_code();
  return status == KDL_NO_MEMORY && code != ETIMEDOUT && code != EFBIG;
}

static int64_t load_now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Loads the image by the backend. */
static kdl_status load_on_backend(const kdl_library *lib, kdl_loaded_image *loaded,
                                  const kdl_backend_image *image) {
  const kdl_runtime *runtime = loaded->runtime;
  bool is_logged = kdl_debug_on(KDL_DEBUG_LOAD);
  int64_t start = is_logged ? load_now_ns() : 0;
  loaded->kind = image->kind;
  KDL_TRY(kdl_runtime_retain(runtime));
  kdl_trace_phase_begin(KDL_TRACE_PHASE_LOAD);
  kdl_status status = runtime->table->image_load(runtime->handle, image, &loaded->handle);
  if (status != KDL_OK)
    kdl_runtime_release(runtime);
  if (kdl_trace_enabled())
    kdl_trace_phase_end(
        KDL_TRACE_PHASE_LOAD,
        &(kdl_trace_phase_info){.library = lib->container->name,
                                .device = runtime->name,
                                .target = image->arch,
                                .kind = kdl_image_kind_name(image->kind),
                                .variant = kdl_image_variant_tag(lib, loaded->image),
                                .has_image = true,
                                .image = loaded->image,
                                .bytes = image->data_size,
                                .failed = status != KDL_OK});
  if (is_logged && status == KDL_OK)
    kdl_debug(KDL_DEBUG_LOAD, "%s: loaded on %s in %.1f us", image->name, runtime->table->name,
              (double)(load_now_ns() - start) / 1000);
  else if (is_logged)
    kdl_debug(KDL_DEBUG_LOAD, "%s: not loaded: %s", image->name, kdl_error_message());
  return status;
}

/* The callback that ext/jit calls with the linked image. */
typedef struct linked_load {
  kdl_library *lib;
  kdl_loaded_image *loaded;
  kdl_backend_image image; /* of the bitcode */
} linked_load;

static kdl_status load_linked(void *user, kdl_image_kind kind, const void *data, size_t size) {
  const linked_load *to_load = user;
  kdl_backend_image image = to_load->image;
  image.kind = kind;
  image.data = data;
  image.data_size = size;
  return load_on_backend(to_load->lib, to_load->loaded, &image);
}

static kdl_status load_bitcode(kdl_library *lib, kdl_loaded_image *loaded,
                               const kdl_backend_image *image) {
  if (!kdl_jit)
    return kdl_fail(KDL_UNSUPPORTED,
                    "%s: found %s, expected another image: libkdl was built without ext/jit",
                    image->name, kdl_image_kind_name(image->kind));
  linked_load to_load = {lib, loaded, *image};
  const kdl_link_task task = {.lib = lib,
                              .image = loaded->image,
                              .device = loaded->runtime->device,
                              .route = loaded->runtime->route,
                              .kernel = loaded->special.kernel,
                              .constants = loaded->special.constants};
  const kdl_trace_phase_info about = {.library = lib->container->name,
                                      .kernel = task.kernel,
                                      .device = loaded->runtime->name,
                                      .target = image->arch,
                                      .has_image = true,
                                      .image = loaded->image};
  return kdl_jit->load(&task, &about, load_linked, &to_load, &loaded->linked);
}

/* Images with a kernel index were not read before. */
static kdl_status sniff_kind(kdl_library *lib, uint32_t index, kdl_image_kind *out_kind) {
  const void *data;
  size_t size;
  *out_kind = lib->container->images[index].kind;
  if (*out_kind == KDL_IMAGE_UNKNOWN) {
    KDL_TRY(kdl_container_bytes(lib->container, index, &data, &size));
    *out_kind = kdl_image_sniff(data, size);
  }
  return KDL_OK;
}

/* Whether kdl-ld has to make the image: of bitcode, and of SPIR-V where the driver does not take
 * it. */
static kdl_status needs_link(kdl_library *lib, const kdl_runtime *runtime, uint32_t index,
                             kdl_image_kind kind, bool *out_needed) {
  kdl_catalog *catalog;
  *out_needed = kind == KDL_IMAGE_BITCODE;
  if (kind != KDL_IMAGE_SPIRV)
    return KDL_OK;
  KDL_TRY(kdl_library_catalog(lib, &catalog));
  *out_needed = kdl_match_translates(kdl_catalog_rule(catalog, index),
                                     &kdl_device_route(runtime->device, runtime->route)->rule);
  return KDL_OK;
}

static kdl_status load(kdl_library *lib, kdl_loaded_image *loaded) {
  const kdl_image *source = &lib->container->images[loaded->image];
  char name[512];
  kdl_image_name_in_library(lib, loaded->image, name, sizeof name);
  if (lib->flags & KDL_OPEN_NO_HOST &&
      kdl_device_is_process(loaded->runtime->device, loaded->runtime->route))
    return kdl_fail(KDL_UNSUPPORTED, "the library was opened with KDL_OPEN_NO_HOST, and what runs "
                                     "on this device runs in this process");
  kdl_backend_image image = {.size = sizeof image, .arch = source->arch.data, .name = name};
  if (!(loaded->runtime->table->flags & KDL_BACKEND_READS_NO_PAIRS)) {
    image.pairs = kdl_image_pairs(source);
    image.pair_count = source->pair_count;
  }
  KDL_TRY(
      kdl_container_verified_bytes(lib->container, loaded->image, &image.data, &image.data_size));
  image.kind = source->kind;
  if (image.kind == KDL_IMAGE_UNKNOWN) /* images with a kernel index were not read before */
    image.kind = kdl_image_sniff(image.data, image.data_size);
  bool is_linked;
  KDL_TRY(needs_link(lib, loaded->runtime, loaded->image, image.kind, &is_linked));
  return is_linked ? load_bitcode(lib, loaded, &image) : load_on_backend(lib, loaded, &image);
}

/* ------------------------------------------------------------------------------------------ */
/* The library's loaded images                                                                  */

static bool is_same_text(const char *a, const char *b) {
  return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool is_same(const kdl_loaded_image *loaded, const kdl_runtime *runtime, uint32_t image,
                    const kdl_specialization *special) {
  return loaded->runtime == runtime && loaded->image == image &&
         is_same_text(loaded->special.constants, special->constants) &&
         is_same_text(loaded->special.kernel, special->kernel);
}

/* Its memory belongs to the library's arena. */
static void free_loaded(kdl_loaded_image *loaded) {
  free(loaded->failure.message);
  free(loaded->linked);
}

/* A copy that lives as long as the library; NULL for NULL, and when out of memory. */
static const char *copy_to_container(kdl_container *container, const char *text) {
  size_t size = text ? strlen(text) + 1 : 0;
  char *copy = text ? kdl_container_alloc(container, size) : NULL;
  return copy ? memcpy(copy, text, size) : NULL;
}

static kdl_loaded_image *create_loaded(kdl_library *lib, const kdl_runtime *runtime, uint32_t image,
                                       const kdl_specialization *special) {
  kdl_specialization own = {copy_to_container(lib->container, special->kernel),
                            copy_to_container(lib->container, special->constants)};
  kdl_loaded_image *loaded = kdl_container_alloc(lib->container, sizeof *loaded);
  if (!loaded || !own.kernel != !special->kernel || !own.constants != !special->constants)
    return NULL;
  *loaded = (kdl_loaded_image){.runtime = runtime, .image = image, .special = own};
  return loaded;
}

static kdl_loaded_image *find_loaded(kdl_loaded_image *newest, const kdl_runtime *runtime,
                                     uint32_t image, const kdl_specialization *special) {
  while (newest && !is_same(newest, runtime, image, special))
    newest = newest->next;
  return newest;
}

/* If another thread adds the same one first, returns that one. NULL when out of memory. */
static kdl_loaded_image *find_or_add_loaded(kdl_library *lib, const kdl_runtime *runtime,
                                            uint32_t image, const kdl_specialization *special) {
  kdl_bound_objects *bound = kdl_bound_objects_of(lib);
  if (!bound)
    return NULL;
  kdl_loaded_image *newest = atomic_load_explicit(&bound->loaded, memory_order_acquire);
  kdl_loaded_image *known = find_loaded(newest, runtime, image, special);
  kdl_loaded_image *made = known ? NULL : create_loaded(lib, runtime, image, special);
  while (made && !known) {
    made->next = newest;
    if (atomic_compare_exchange_weak_explicit(&bound->loaded, &newest, made, memory_order_acq_rel,
                                              memory_order_acquire))
      return made;
    known = find_loaded(newest, runtime, image, special);
  }
  return known;
}

kdl_status kdl_image_load(kdl_library *lib, const kdl_runtime *runtime, uint32_t image,
                          kdl_specialization special, kdl_loaded_image **out_loaded) {
  kdl_image_kind kind = KDL_IMAGE_UNKNOWN;
  bool is_linked = false;
  if (special.constants) {
    kdl_status status = sniff_kind(lib, image, &kind);
    if (status == KDL_OK)
      status = needs_link(lib, runtime, image, kind, &is_linked);
    if (status != KDL_OK)
      return status;
  }
  if (!is_linked)
    special = (kdl_specialization){NULL, NULL};
  kdl_loaded_image *loaded = find_or_add_loaded(lib, runtime, image, &special);
  if (!loaded)
    return kdl_fail(KDL_NO_MEMORY, "out of memory");
  while (!atomic_load_explicit(&loaded->tried, memory_order_acquire)) {
    if (kdl_work_begin(&loaded->loading) == KDL_WORK_WAITED)
      continue;
    kdl_status status = KDL_OK;
    bool is_transient = false;
    if (!atomic_load_explicit(&loaded->tried, memory_order_relaxed)) {
      status = load(lib, loaded);
      is_transient = status != KDL_OK && kdl_failure_is_transient(status);
      if (status != KDL_OK && !is_transient)
        kdl_cache_failure(status, &loaded->failure);
      atomic_store_explicit(&loaded->tried, !is_transient, memory_order_release);
    }
    kdl_work_end(&loaded->loading);
    if (is_transient)
      return status;
  }
  if (loaded->failure.status != KDL_OK)
    return kdl_fail_cached(&loaded->failure);
  *out_loaded = loaded;
  return KDL_OK;
}

void kdl_images_unload(kdl_bound_objects *bound, const kdl_library *lib) {
  kdl_loaded_image *next;
  for (kdl_loaded_image *loaded = atomic_load(&bound->loaded); loaded; loaded = next) {
    const kdl_runtime *runtime = loaded->runtime;
    next = loaded->next;
    if (loaded->handle && kdl_runtime_usable(runtime) == KDL_OK) {
      runtime->table->image_unload(runtime->handle, loaded->handle);
      if (kdl_debug_on(KDL_DEBUG_LOAD)) {
        char name[128];
        kdl_image_name(lib, loaded->image, name, sizeof name);
        kdl_debug(KDL_DEBUG_LOAD, "%s: %s: unloaded", lib->container->name, name);
      }
    }
    if (loaded->handle)
      kdl_runtime_release(runtime);
    free_loaded(loaded);
  }
}
