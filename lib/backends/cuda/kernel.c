/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Finding kernels and preparing them for launches. */
#include "lib/backends/cuda/objects.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

void kdl_cuda_kernel_free(kdl_cuda_kernel *kernel) {
  kdl_params_free(&kernel->params);
  free(kernel);
}

void *kdl_cuda_kernel_native(void *device, void *context) {
  (void)device;
  return ((kdl_cuda_kernel *)context)->head.function;
}

/* ------------------------------------------------------------------------------------------ */
/* Looking up                                                                                   */

/* A CUkernel is loaded into a context at its first launch there. Getting its function loads it now,
 * so that a launch neither fails because of it nor breaks a capture. */
static kdl_status cuda_find_library_kernel(kdl_cuda_kernel *kernel, const kdl_cuda_code *code,
                                           const char *name) {
  uint32_t ordinal = kernel->device->ordinal;
  int error = kdl_cuda.library_kernel(&kernel->free, code->handle, name);
  if (error == KDL_CUDA_ERROR_NOT_FOUND)
    return kdl_cuda_fail(ordinal, error, "cuLibraryGetKernel \"%s\"", name);
  if (error != KDL_CUDA_SUCCESS)
    return kdl_cuda_code_fail(ordinal, error, "cuLibraryGetKernel", code->jit);
  error = kdl_cuda.kernel_function(&kernel->head.function, kernel->free);
  if (error != KDL_CUDA_SUCCESS)
    return kdl_cuda_code_fail(ordinal, error, "cuKernelGetFunction", code->jit);
  return KDL_OK;
}

static kdl_status cuda_find_module_function(kdl_cuda_kernel *kernel, const kdl_cuda_code *code,
                                            const char *name) {
  int error = kdl_cuda.module_function(&kernel->head.function, code->handle, name);
  if (error != KDL_CUDA_SUCCESS)
    return kdl_cuda_fail(kernel->device->ordinal, error, "cuModuleGetFunction \"%s\"", name);
  return KDL_OK;
}

static kdl_status cuda_params_no_memory(const kdl_cuda_kernel *kernel) {
  return kdl_core_services.fail(KDL_NO_MEMORY, 0, "cuda:%u: no memory for parameters",
                                kernel->device->ordinal);
}

static int cuda_query_param(const kdl_cuda_kernel *kernel, uint32_t index, size_t *out_offset,
                            size_t *out_size) {
  return kernel->free ? kdl_cuda.kernel_param(kernel->free, index, out_offset, out_size)
                      : kdl_cuda.function_param(kernel->head.function, index, out_offset, out_size);
}

/* The driver has no count of parameters: it refuses the index after the last. */
static kdl_status cuda_query_params(kdl_cuda_kernel *kernel) {
  kdl_params *params = &kernel->params;
  bool has_memory = kdl_params_begin(params);
  while (has_memory) {
    size_t offset, size;
    int error = cuda_query_param(kernel, params->count, &offset, &size);
    if (error == KDL_CUDA_ERROR_INVALID_VALUE)
      return KDL_OK;
    if (error != KDL_CUDA_SUCCESS)
      return kdl_cuda_fail(kernel->device->ordinal, error, "%s",
                           kernel->free ? "cuKernelGetParamInfo" : "cuFuncGetParamInfo");
    has_memory = kdl_params_add(params, (uint32_t)offset, (uint32_t)size);
  }
  return cuda_params_no_memory(kernel);
}

/* Whether the driver agrees with the image on the last parameter. */
static bool cuda_params_match_driver(const kdl_cuda_kernel *kernel) {
  const kdl_params *params = &kernel->params;
  size_t offset, size;
  if (params->count == 0 ||
      cuda_query_param(kernel, params->count - 1, &offset, &size) != KDL_CUDA_SUCCESS)
    return false;
  const kdl_param_info *last = &params->list[params->count - 1];
  return offset == last->offset && size == last->size;
}

/* Drivers before CUDA 12.4 do not report parameters; later ones take 1.5 us to refuse an index, as
 * long as everything else here. So the cubin is read, and the driver is queried only if it
 * disagrees. */
static kdl_status cuda_resolve_params(kdl_cuda_kernel *kernel, const kdl_cuda_loaded_image *loaded,
                                      const char *name) {
  bool tells = kernel->free ? kdl_cuda.kernel_param : kdl_cuda.function_param;
  if (!tells || loaded->image.kind == KDL_IMAGE_CUBIN) {
    if (!kdl_params_read(&kernel->params, &loaded->image, name))
      return cuda_params_no_memory(kernel);
    if (!tells || cuda_params_match_driver(kernel))
      return KDL_OK;
    kdl_params_free(&kernel->params);
  }
  return cuda_query_params(kernel);
}

/* 0 if the driver suggests none. */
static uint32_t cuda_suggest_block(const kdl_cuda_kernel *kernel, uint64_t shared) {
  int grid = 0, block = 0;
  int error = kdl_cuda.occupancy(&grid, &block, kernel->head.function, NULL, (size_t)shared, 0);
  return error == KDL_CUDA_SUCCESS && block > 0 ? (uint32_t)block : 0;
}

static kdl_status cuda_prepare_kernel(kdl_cuda_kernel *kernel, kdl_cuda_loaded_image *loaded,
                                      const kdl_kernel_request *request,
                                      kdl_backend_kernel *out_kernel) {
  const kdl_cuda_code *code = loaded->code;
  KDL_TRY(kdl_cuda_has_libraries() ? cuda_find_library_kernel(kernel, code, request->name)
                                   : cuda_find_module_function(kernel, code, request->name));
  if (request->shared)
    KDL_TRY(kdl_cuda_kernel_allow_shared(kernel, request->shared));
  KDL_TRY(cuda_resolve_params(kernel, loaded, request->name));
  memcpy(kernel->head.block, request->block, sizeof kernel->head.block);
  if (!kernel->head.block[0]) {
    uint32_t suggested = cuda_suggest_block(kernel, request->shared);
    kernel->head.block[0] = suggested ? suggested : KDL_DEFAULT_BLOCK;
    kernel->head.block[1] = kernel->head.block[2] = 1;
  }
  memcpy(request->block[0] ? out_kernel->block : out_kernel->suggested, kernel->head.block,
         sizeof kernel->head.block);
  memcpy(out_kernel->tile, request->tile, sizeof out_kernel->tile);
  out_kernel->launch = kdl_cuda_launch;
  out_kernel->context = kernel;
  out_kernel->params = kernel->params.list;
  out_kernel->param_count = kernel->params.count;
  out_kernel->launched = &loaded->launched;
  return KDL_OK;
}

kdl_status kdl_cuda_kernel_find(void *handle, void *loaded_handle,
                                const kdl_kernel_request *request, kdl_backend_kernel *out_kernel) {
  kdl_cuda_device *device = handle;
  kdl_cuda_loaded_image *loaded = loaded_handle;
  kdl_cuda_kernel *kernel = malloc(sizeof *kernel);
  if (!kernel)
    return kdl_core_services.fail(KDL_NO_MEMORY, 0, "cuda:%u: no memory", device->ordinal);
  *kernel = (kdl_cuda_kernel){.device = device, .head.launch = kdl_cuda.launch};
  kdl_cuda_scope scope;
  kdl_status status = kdl_cuda_enter_relaxed(device, &scope);
  if (status == KDL_OK) {
    status = cuda_prepare_kernel(kernel, loaded, request, out_kernel);
    (void)kdl_cuda_leave(&scope, KDL_CUDA_SUCCESS, "cuKernelGetFunction");
  }
  if (status != KDL_OK) {
    kdl_cuda_kernel_free(kernel);
    return status;
  }
  kernel->next = atomic_load(&loaded->kernels);
  while (!atomic_compare_exchange_weak(&loaded->kernels, &kernel->next, kernel))
    ;
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Attributes                                                                                   */

static kdl_status cuda_get_kernel_attribute(const kdl_cuda_kernel *kernel, int attribute,
                                            int *out_value) {
  const kdl_cuda_device *device = kernel->device;
  int error = kernel->free
                  ? kdl_cuda.kernel_attribute(out_value, attribute, kernel->free, device->number)
                  : kdl_cuda.function_attribute(out_value, attribute, kernel->head.function);
  if (error != KDL_CUDA_SUCCESS)
    return kdl_cuda_fail(device->ordinal, error, "%s %d",
                         kernel->free ? "cuKernelGetAttribute" : "cuFuncGetAttribute", attribute);
  return KDL_OK;
}

/* Sets it on both handles, because either may be launched. */
static kdl_status cuda_set_kernel_attribute(const kdl_cuda_kernel *kernel, int attribute,
                                            int value) {
  const kdl_cuda_device *device = kernel->device;
  const char *call = "cuKernelSetAttribute";
  int error = KDL_CUDA_SUCCESS;
  if (kernel->free)
    error = kdl_cuda.kernel_set(attribute, value, kernel->free, device->number);
  if (error == KDL_CUDA_SUCCESS) {
    call = "cuFuncSetAttribute";
    error = kdl_cuda.function_set(kernel->head.function, attribute, value);
  }
  if (error != KDL_CUDA_SUCCESS)
    return kdl_cuda_fail(device->ordinal, error, "%s %d to %d", call, attribute, value);
  return KDL_OK;
}

/* Up to 48 KiB of group memory, minus the kernel's static part, need no attribute. Beyond that the
 * kernel opts in to all that the device has, once. */
enum { shared_unasked = 48 << 10 };

kdl_status kdl_cuda_kernel_allow_shared(kdl_cuda_kernel *kernel, uint64_t size) {
  const kdl_cuda_device *device = kernel->device;
  int own = 0;
  KDL_TRY(cuda_get_kernel_attribute(kernel, KDL_CUDA_FUNC_SHARED_SIZE_BYTES, &own));
  uint64_t used = own > 0 ? (uint64_t)own : 0;
  if (used + size <= shared_unasked) {
    atomic_store(&kernel->shared_ready, (uint32_t)(shared_unasked - used));
    return KDL_OK;
  }
  int most = 0;
  int error =
      kdl_cuda.device_attribute(&most, KDL_CUDA_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, device->number);
  if (error != KDL_CUDA_SUCCESS)
    return kdl_cuda_fail(device->ordinal, error, "cuDeviceGetAttribute %d",
                         KDL_CUDA_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  uint64_t limit = most > shared_unasked ? (uint64_t)most : shared_unasked;
  if (used + size > limit)
    return kdl_core_services.fail(KDL_BAD_CALL, 0,
                                  "cuda:%u: %llu bytes of dynamic group memory and %llu of the "
                                  "kernel's own are more than the %llu that the device has",
                                  device->ordinal, (unsigned long long)size,
                                  (unsigned long long)used, (unsigned long long)limit);
  KDL_TRY(cuda_set_kernel_attribute(kernel, KDL_CUDA_FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                    (int)(limit - used)));
  atomic_store(&kernel->shared_ready, (uint32_t)(limit - used));
  return KDL_OK;
}

kdl_status kdl_cuda_kernel_allow_wide_clusters(kdl_cuda_kernel *kernel) {
  if (atomic_load(&kernel->wide_clusters))
    return KDL_OK;
  KDL_TRY(cuda_set_kernel_attribute(kernel, KDL_CUDA_FUNC_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
  atomic_store(&kernel->wide_clusters, true);
  return KDL_OK;
}
