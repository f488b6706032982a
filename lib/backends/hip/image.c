/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Images on a device. */
#include "lib/backends/common/services.h"
#include "lib/backends/hip/objects.h"

#include "lib/inspect/images.h"
#include "support/base/bytes.h"
#include "support/base/elf_file.h"
#include "support/base/error.h"
#include "support/base/magic.h"

#include <stdlib.h>
#include <string.h>

static kdl_status hip_no_memory(const kdl_hip_device *device) {
  return kdl_driver_errors_no_memory(&kdl_hip_errors, device->ordinal);
}

/* ------------------------------------------------------------------------------------------ */
/* Input of the runtime                                                                         */

/* The runtime gets the start of a code object but not its size, and follows its headers, so they
 * are checked first. */
static kdl_status hip_check_elf(const kdl_hip_device *device, const kdl_backend_image *image) {
  kdl_elf elf;
  kdl_status status = kdl_elf_open(image->data, image->data_size, &elf);
  if (status == KDL_OK)
    status = kdl_elf_check_extents(&elf);
  if (status != KDL_OK) {
    kdl_error_prefix("hip:%u: the code object is damaged", device->ordinal);
    return status;
  }
  status = kdl_amdgpu_check_symbols(image->data, image->data_size);
  if (status != KDL_OK)
    kdl_error_prefix("hip:%u", device->ordinal);
  return status;
}

/* Copies an unaligned image: the runtime reads structures. */
static kdl_status hip_align_elf(const kdl_hip_device *device, kdl_hip_loaded_image *loaded) {
  if ((uintptr_t)loaded->image.data % _Alignof(max_align_t) == 0)
    return KDL_OK;
  loaded->copy = malloc(loaded->image.size);
  if (!loaded->copy)
    return hip_no_memory(device);
  memcpy(loaded->copy, loaded->image.data, loaded->image.size);
  return KDL_OK;
}

/* The runtime takes SPIR-V only in a Clang offload bundle: a header, the entries, and the image on
 * the next page, as Clang places it. The runtime reads a page before it knows the length of the
 * header. */
enum { bundle_page = 4096 };

static uint8_t *hip_write_bundle_entry(uint8_t *at, uint64_t offset, uint64_t size,
                                       const char *target) {
  size_t length = strlen(target);
  kdl_store_u64(at, offset);
  kdl_store_u64(at + 8, size);
  kdl_store_u64(at + 16, length);
  memcpy(at + 24, target, length);
  return at + 24 + length;
}

static kdl_status hip_bundle_spirv(const kdl_hip_device *device, kdl_hip_loaded_image *loaded) {
  static const char magic[] = KDL_MAGIC_BUNDLE;
  uint8_t *bundle = calloc(1, bundle_page + loaded->image.size);
  if (!bundle)
    return hip_no_memory(device);
  memcpy(bundle, magic, sizeof magic - 1);
  uint8_t *at = bundle + sizeof magic - 1;
  kdl_store_u64(at, 2);
  at = hip_write_bundle_entry(at + 8, bundle_page, 0, "host-x86_64-unknown-linux-gnu-");
  hip_write_bundle_entry(at, bundle_page, loaded->image.size,
                         "hipv4-spirv64-amd-amdhsa--amdgcnspirv");
  memcpy(bundle + bundle_page, loaded->image.data, loaded->image.size);
  loaded->copy = bundle;
  return KDL_OK;
}

static kdl_status hip_prepare_image(const kdl_hip_device *device, const kdl_backend_image *image,
                                    kdl_hip_loaded_image *loaded) {
  KDL_TRY(kdl_image_kind_check(image, KDL_FAMILY_AMDGCN, "hip", device->ordinal));
  if (image->kind == KDL_IMAGE_SPIRV)
    return hip_bundle_spirv(device, loaded);
  kdl_status status = hip_check_elf(device, image);
  return status == KDL_OK ? hip_align_elf(device, loaded) : status;
}

/* ------------------------------------------------------------------------------------------ */
/* Loaded images                                                                              */

static kdl_status hip_load_module(const kdl_hip_device *device, kdl_hip_loaded_image *loaded) {
  kdl_hip_scope scope;
  if (kdl_hip_enter_relaxed(device, &scope) != KDL_OK)
    return scope.status;
  int error =
      kdl_hip.module_load(&loaded->handle, loaded->copy ? loaded->copy : loaded->image.data);
  return kdl_hip_leave(&scope, error, "hipModuleLoadData");
}

kdl_status kdl_hip_image_load(void *device, const kdl_backend_image *image, void **out_loaded) {
  kdl_hip_loaded_image *loaded = calloc(1, sizeof *loaded);
  if (!loaded)
    return hip_no_memory(device);
  loaded->image = kdl_image_reference_of(image);
  kdl_status status = hip_prepare_image(device, image, loaded);
  if (status == KDL_OK)
    status = hip_load_module(device, loaded);
  if (status != KDL_OK)
    free(loaded->copy);
  return kdl_return_or_free(status, loaded, out_loaded);
}

/* A lost device refuses every call; libkdl's memory is freed anyway. */
void kdl_hip_image_unload(void *handle, void *loaded_handle) {
  kdl_hip_device *device = handle;
  kdl_hip_loaded_image *loaded = loaded_handle;
  kdl_hip_scope scope;
  bool entered = kdl_hip_enter_relaxed(device, &scope) == KDL_OK;
  kdl_hip_log_error(device->ordinal, entered ? kdl_hip.device_sync() : KDL_HIP_SUCCESS,
                    "hipDeviceSynchronize");
  kdl_hip_log_error(device->ordinal, kdl_hip.module_unload(loaded->handle), "hipModuleUnload");
  if (entered)
    (void)kdl_hip_leave(&scope, KDL_HIP_SUCCESS, "hipModuleUnload");
  for (kdl_hip_kernel *kernel = loaded->kernels; kernel;) {
    kdl_hip_kernel *next = kernel->next;
    kdl_hip_kernel_free(kernel);
    kernel = next;
  }
  free(loaded->copy);
  free(loaded);
}

/* The runtime aborts if another device is current than the one that the image was loaded on. */
kdl_status kdl_hip_global_find(void *device, void *loaded_handle, const char *name,
                               uint64_t *out_address, uint64_t *out_size) {
  kdl_hip_loaded_image *loaded = loaded_handle;
  kdl_hip_scope scope;
  if (kdl_hip_enter_relaxed(device, &scope) != KDL_OK)
    return scope.status;
  void *address = NULL;
  size_t size = 0;
  int error = kdl_hip.module_global(&address, &size, loaded->handle, name);
  *out_address = (uintptr_t)address;
  *out_size = size;
  return kdl_hip_leave(&scope, error, "hipModuleGetGlobal \"%s\"", name);
}
