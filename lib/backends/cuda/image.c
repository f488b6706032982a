/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Images on a device: as a CUlibrary if the driver has them, else as a CUmodule of its context. */
#include "lib/backends/common/services.h"
#include "lib/backends/cuda/objects.h"

#include <stdlib.h>

kdl_status kdl_cuda_code_fail(uint32_t ordinal, int error, const char *call,
                              const kdl_cuda_jit *jit) {
  char said[900];
  kdl_cuda_jit_errors(jit, said, sizeof said);
  return kdl_cuda_fail(ordinal, error, "%s%s%s", call, *said ? ": " : "", said);
}

/* ------------------------------------------------------------------------------------------ */
/* CUmodule                                                                                     */

static kdl_status cuda_load_module(uint32_t ordinal, const kdl_backend_image *image,
                                   kdl_cuda_code *code) {
  kdl_cuda_jit_input input;
  kdl_status status = kdl_cuda_jit_begin(image, &code->jit, &input);
  if (status != KDL_OK)
    return status;
  int error = kdl_cuda.module_load(&code->handle, input.data, input.option_count, input.options,
                                   input.values);
  if (error == KDL_CUDA_SUCCESS)
    kdl_cuda_jit_log(code->jit, image->name);
  else
    status = kdl_cuda_code_fail(ordinal, error, "cuModuleLoadDataEx", code->jit);
  if (status != KDL_OK)
    kdl_cuda_jit_destroy(code->jit);
  return status;
}

static void cuda_unload_module(uint32_t ordinal, kdl_cuda_code *code) {
  int error = kdl_cuda.module_unload(code->handle);
  if (error != KDL_CUDA_SUCCESS)
    kdl_cuda_log_error(ordinal, error, "cuModuleUnload");
  kdl_cuda_jit_destroy(code->jit);
}

/* ------------------------------------------------------------------------------------------ */
/* Both kinds                                                                                   */

static kdl_status cuda_load_image(kdl_cuda_device *device, const kdl_backend_image *image,
                                  kdl_cuda_loaded_image *loaded) {
  kdl_cuda_scope scope;
  KDL_TRY(kdl_cuda_enter_relaxed(device, &scope));
  kdl_status status = kdl_cuda_has_libraries()
                          ? kdl_cuda_library_acquire(device->ordinal, image, &loaded->code)
                          : cuda_load_module(device->ordinal, image, &loaded->own);
  (void)kdl_cuda_leave(&scope, KDL_CUDA_SUCCESS, "cuModuleLoadDataEx");
  return status;
}

kdl_status kdl_cuda_image_load(void *handle, const kdl_backend_image *image, void **out_loaded) {
  kdl_cuda_device *device = handle;
  KDL_TRY(kdl_image_kind_check(image, KDL_FAMILY_NVPTX, "cuda", device->ordinal));
  kdl_cuda_loaded_image *loaded = malloc(sizeof *loaded);
  if (!loaded)
    return kdl_core_services.fail(KDL_NO_MEMORY, 0, "cuda:%u: no memory", device->ordinal);
  *loaded = (kdl_cuda_loaded_image){.code = &loaded->own, .image = kdl_image_reference_of(image)};
  kdl_status status = cuda_load_image(device, image, loaded);
  if (status != KDL_OK) {
    free(loaded);
    return status;
  }
  *out_loaded = loaded;
  return KDL_OK;
}

/* A lost device refuses every call; libkdl's memory is freed anyway. */
void kdl_cuda_image_unload(void *handle, void *loaded_handle) {
  kdl_cuda_device *device = handle;
  kdl_cuda_loaded_image *loaded = loaded_handle;
  kdl_cuda_scope scope;
  kdl_status entered = kdl_cuda_enter_relaxed(device, &scope);
  bool may_run = __atomic_load_n(&loaded->launched, __ATOMIC_RELAXED) != 0;
  int error = entered == KDL_OK && may_run ? kdl_cuda.context_sync() : KDL_CUDA_SUCCESS;
  if (error != KDL_CUDA_SUCCESS)
    kdl_cuda_log_error(device->ordinal, error, "cuCtxSynchronize");
  if (kdl_cuda_has_libraries())
    kdl_cuda_library_release(device->ordinal, loaded->code);
  else
    cuda_unload_module(device->ordinal, loaded->code);
  if (entered == KDL_OK)
    (void)kdl_cuda_leave(&scope, KDL_CUDA_SUCCESS, "cuModuleUnload");
  for (kdl_cuda_kernel *kernel = loaded->kernels; kernel;) {
    kdl_cuda_kernel *next = kernel->next;
    kdl_cuda_kernel_free(kernel);
    kernel = next;
  }
  free(loaded);
}

kdl_status kdl_cuda_global_find(void *handle, void *loaded_handle, const char *name,
                                uint64_t *out_address, uint64_t *out_size) {
  kdl_cuda_device *device = handle;
  kdl_cuda_loaded_image *loaded = loaded_handle;
  kdl_cuda_scope scope;
  KDL_TRY(kdl_cuda_enter_relaxed(device, &scope));
  bool free_of_contexts = kdl_cuda_has_libraries();
  size_t size = 0;
  int error = free_of_contexts
                  ? kdl_cuda.library_global(out_address, &size, loaded->code->handle, name)
                  : kdl_cuda.module_global(out_address, &size, loaded->code->handle, name);
  *out_size = size;
  return kdl_cuda_leave(&scope, error, "%s \"%s\"",
                        free_of_contexts ? "cuLibraryGetGlobal" : "cuModuleGetGlobal_v2", name);
}
