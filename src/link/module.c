/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "link/module.h"

#include "base/environment.h"
#include "base/error.h"
#include "image/image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void kdl_remember(kdl_status status, kdl_remembered *out_failure) {
  out_failure->status = status;
  out_failure->code = kdl_error_code();
  out_failure->story = strdup(kdl_error_message());
}

kdl_status kdl_fail_again(const kdl_remembered *failure) {
  return kdl_fail_code(failure->status, failure->code, "%s",
                       failure->story ? failure->story : "out of memory");
}

void kdl_module_name(const kdl_library *lib, uint32_t image, char *buffer, size_t size) {
  const kdl_image *what = &lib->container->images[image];
  /* An indexed image was not looked at, and producers often declare no kind. */
  const char *kind = what->kind == KDL_IMAGE_UNKNOWN ? "" : kdl_image_kind_name(what->kind);
  snprintf(buffer, size, "image %u (%s%s%s)", (unsigned)image, kind,
           *kind && what->arch.length ? " " : "", what->arch.data);
}

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static kdl_status load(kdl_library *lib, kdl_module *module) {
  const kdl_runtime *runtime = module->runtime;
  const kdl_image *source = &lib->container->images[module->image];
  char what[128], name[512];
  kdl_module_name(lib, module->image, what, sizeof what);
  snprintf(name, sizeof name, "%s: %s", lib->container->name, what);
  if (lib->flags & KDL_OPEN_NO_HOST && strcmp(runtime->table->name, "host") == 0)
    return kdl_fail(KDL_UNSUPPORTED, "the library was opened with KDL_OPEN_NO_HOST");
  kdl_backend_image image = {.size = sizeof image,
                             .kind = source->kind,
                             .arch = source->arch.data,
                             .name = name,
                             .pairs = source->pairs,
                             .pair_count = source->pair_count};
  kdl_status status =
      kdl_container_bytes(lib->container, module->image, &image.data, &image.data_size);
  if (status != KDL_OK)
    return status;
  if (image.kind == KDL_IMAGE_UNKNOWN)
    image.kind = kdl_image_sniff(image.data, image.data_size);
  module->kind = image.kind;
  int64_t start = now_ns();
  status = runtime->table->module_load(runtime->handle, &image, &module->handle);
  if (status == KDL_OK)
    kdl_debug(KDL_DEBUG_LOAD, "%s: loaded on %s in %.1f us", name, runtime->table->name,
              (double)(now_ns() - start) / 1000);
  else
    kdl_debug(KDL_DEBUG_LOAD, "%s: not loaded: %s", name, kdl_error_message());
  return status;
}

static kdl_module *find(kdl_library *lib, const kdl_runtime *runtime, uint32_t image) {
  pthread_mutex_lock(&lib->lock);
  kdl_module *module = lib->modules;
  while (module && (module->runtime != runtime || module->image != image))
    module = module->next;
  if (!module) {
    module = calloc(1, sizeof *module);
    if (module) {
      module->runtime = runtime;
      module->image = image;
      pthread_mutex_init(&module->lock, NULL);
      module->next = lib->modules;
      lib->modules = module;
    }
  }
  pthread_mutex_unlock(&lib->lock);
  return module;
}

kdl_status kdl_module_load(kdl_library *lib, const kdl_runtime *runtime, uint32_t image,
                           kdl_module **out_module) {
  kdl_module *module = find(lib, runtime, image);
  if (!module)
    return kdl_fail(KDL_NO_MEMORY, "out of memory");
  pthread_mutex_lock(&module->lock);
  if (!module->tried) {
    kdl_status status = load(lib, module);
    if (status != KDL_OK)
      kdl_remember(status, &module->failure);
    module->tried = true;
  }
  pthread_mutex_unlock(&module->lock);
  if (module->failure.status != KDL_OK)
    return kdl_fail_again(&module->failure);
  *out_module = module;
  return KDL_OK;
}

void kdl_modules_unload(kdl_library *lib) {
  while (lib->modules) {
    kdl_module *module = lib->modules;
    lib->modules = module->next;
    const kdl_runtime *runtime = module->runtime;
    if (module->handle && kdl_runtime_usable(runtime) == KDL_OK) {
      runtime->table->module_unload(runtime->handle, module->handle);
      char name[128];
      kdl_module_name(lib, module->image, name, sizeof name);
      kdl_debug(KDL_DEBUG_LOAD, "%s: %s: unloaded", lib->container->name, name);
    }
    pthread_mutex_destroy(&module->lock);
    free(module->failure.story);
    free(module);
  }
}
