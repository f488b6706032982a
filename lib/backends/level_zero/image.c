/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Images on a device: SPIR-V, which the driver compiles, and its own machine code. */
#include "lib/backends/common/services.h"
#include "lib/backends/level_zero/objects.h"

#include "support/system/variables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------ */
/* Messages of the compiler                                                                     */

/* Joins its lines into one; "" without any. Destroys the log. */
static void ze_read_log(const kdl_ze_device *device, void *log, char *text, size_t size) {
  size_t length = 0;
  text[0] = '\0';
  if (!log)
    return;
  char *lines = NULL;
  if (kdl_ze.log_text(log, &length, NULL) == KDL_ZE_SUCCESS && length)
    lines = calloc(1, length + 1);
  if (lines && kdl_ze.log_text(log, &length, lines) == KDL_ZE_SUCCESS)
    kdl_join_lines(lines, text, size);
  free(lines);
  kdl_ze_log_error(device, kdl_ze.log_destroy(log), "zeModuleBuildLogDestroy");
}

/* Flags are the driver's own; KDL_LEVEL_ZERO_BUILD_FLAGS adds to them. */
static void ze_build_flags(char *flags, size_t size) {
  const char *more = kdl_environment(KDL_VARIABLE_LEVEL_ZERO_BUILD_FLAGS);
  const char *large = kdl_ze_large_buffers() ? "-ze-opt-greater-than-4GB-buffer-required" : "";
  snprintf(flags, size, "%s%s%s", large, *large && more ? " " : "", more ? more : "");
}

/* ------------------------------------------------------------------------------------------ */
/* Loading                                                                                      */

static kdl_status ze_create_module(const kdl_ze_device *device, const kdl_backend_image *image,
                                   const void *data, void **out_handle) {
  char flags[512];
  char said[900];
  void *log = NULL;
  ze_build_flags(flags, sizeof flags);
  bool is_spirv = image->kind == KDL_IMAGE_SPIRV;
  kdl_ze_module_desc desc = {.type = KDL_ZE_MODULE_DESC,
                             .format = is_spirv ? KDL_ZE_FORMAT_SPIRV : KDL_ZE_FORMAT_NATIVE,
                             .size = image->data_size,
                             .input = data,
                             .build_flags = is_spirv && flags[0] ? flags : NULL};
  int error = kdl_ze.module_create(device->context, device->handle, &desc, out_handle, &log);
  ze_read_log(device, log, said, sizeof said);
  if (error != KDL_ZE_SUCCESS)
    return kdl_ze_fail(device, error, "zeModuleCreate%s%s", *said ? ": " : "", said);
  if (*said)
    kdl_core_services.log("%s: compiled by the driver: %s", image->name, said);
  return KDL_OK;
}

/* Copies unaligned images: drivers read words and structures. They keep no pointer to them. */
static kdl_status ze_create_aligned_module(const kdl_ze_device *device,
                                           const kdl_backend_image *image, void **out_handle) {
  if ((uintptr_t)image->data % _Alignof(max_align_t) == 0)
    return ze_create_module(device, image, image->data, out_handle);
  void *copy = malloc(image->data_size);
  if (!copy)
    return kdl_ze_no_memory(device);
  memcpy(copy, image->data, image->data_size);
  kdl_status status = ze_create_module(device, image, copy, out_handle);
  free(copy);
  return status;
}

kdl_status kdl_ze_image_load(void *handle, const kdl_backend_image *image, void **out_loaded) {
  kdl_ze_device *device = handle;
  KDL_TRY(kdl_image_kind_check(image, KDL_FAMILY_INTEL, "level_zero", device->ordinal));
  kdl_ze_loaded_image *loaded = calloc(1, sizeof *loaded);
  if (!loaded)
    return kdl_ze_no_memory(device);
  loaded->image = kdl_image_reference_of(image);
  kdl_status status = ze_create_aligned_module(device, image, &loaded->handle);
  return kdl_return_or_free(status, loaded, out_loaded);
}

/* Every queue may have a handle of each kernel. A lost device refuses every call; libkdl's memory
 * is freed anyway. */
void kdl_ze_image_unload(void *handle, void *loaded_handle) {
  kdl_ze_device *device = handle;
  kdl_ze_loaded_image *loaded = loaded_handle;
  pthread_mutex_lock(&device->lock);
  kdl_ze_queues_drain(device);
  for (kdl_ze_queue *queue = device->queues; queue; queue = queue->next) {
    kdl_futex_lock_acquire(&queue->lock);
    for (kdl_ze_kernel *kernel = loaded->kernels; kernel; kernel = kernel->next)
      kdl_ze_queue_forget(queue, kernel->number);
    kdl_futex_lock_release(&queue->lock);
  }
  pthread_mutex_unlock(&device->lock);
  for (kdl_ze_kernel *kernel = loaded->kernels; kernel;) {
    kdl_ze_kernel *next = kernel->next;
    kdl_ze_kernel_free(kernel);
    kernel = next;
  }
  kdl_ze_log_error(device, kdl_ze.module_destroy(loaded->handle), "zeModuleDestroy");
  free(loaded);
}

kdl_status kdl_ze_global_find(void *device, void *loaded, const char *name, uint64_t *out_address,
                              uint64_t *out_size) {
  void *address = NULL;
  size_t size = 0;
  int error = kdl_ze.module_global(((kdl_ze_loaded_image *)loaded)->handle, name, &size, &address);
  if (error != KDL_ZE_SUCCESS)
    return kdl_ze_fail(device, error, "zeModuleGetGlobalPointer \"%s\"", name);
  *out_address = (uintptr_t)address;
  *out_size = size;
  return KDL_OK;
}
