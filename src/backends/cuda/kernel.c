/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Kernels, ready to be launched. */
#include "backends/cuda/objects.h"

#include "image/params.h"
#include "target/text.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { default_block = 256, params_at_once = 16 };

void kdl_cuda_kernel_free(kdl_cuda_kernel *kernel) {
  free(kernel->params);
  free(kernel);
}

void *kdl_cuda_kernel_native(void *device, void *context) {
  (void)device;
  return ((kdl_cuda_kernel *)context)->function;
}

/* ------------------------------------------------------------------------------------------ */
/* Looking up                                                                                   */

/* A CUkernel is loaded into a context when it is first launched there. Asking for its function does
 * that now, so that the launch neither fails for it nor breaks a capture. */
static kdl_status find_free(kdl_cuda_kernel *kernel, const kdl_cuda_code *code, const char *name) {
  uint32_t ordinal = kernel->device->ordinal;
  int error = kdl_cuda.library_kernel(&kernel->function, code->handle, name);
  if (error == KDL_CUDA_ERROR_NOT_FOUND)
    return kdl_cuda_fail(ordinal, error, "cuLibraryGetKernel \"%s\"", name);
  if (error != KDL_CUDA_SUCCESS)
    return kdl_cuda_code_fail(ordinal, error, "cuLibraryGetKernel", code->jit);
  void *function;
  error = kdl_cuda.kernel_function(&function, kernel->function);
  if (error != KDL_CUDA_SUCCESS)
    return kdl_cuda_code_fail(ordinal, error, "cuKernelGetFunction", code->jit);
  return KDL_OK;
}

static kdl_status find_bound(kdl_cuda_kernel *kernel, const kdl_cuda_code *code, const char *name) {
  int error = kdl_cuda.module_function(&kernel->function, code->handle, name);
  if (error != KDL_CUDA_SUCCESS)
    return kdl_cuda_fail(kernel->device->ordinal, error, "cuModuleGetFunction \"%s\"", name);
  return KDL_OK;
}

/* Also called once with nothing to add, so that no parameters are told from unknown ones. */
static bool grow_params(kdl_cuda_kernel *kernel) {
  if (kernel->param_count % params_at_once != 0)
    return true;
  size_t wanted = kernel->param_count + params_at_once;
  kdl_param_info *more = realloc(kernel->params, wanted * sizeof *more);
  if (more)
    kernel->params = more;
  return more != NULL;
}

static kdl_status out_of_memory(const kdl_cuda_kernel *kernel) {
  return kdl_cuda_host->fail(KDL_NO_MEMORY, 0, "cuda:%u: no memory for parameters",
                             kernel->device->ordinal);
}

/* The driver has no count: it refuses the index behind the last. */
static kdl_status ask_params(kdl_cuda_kernel *kernel) {
  bool bound = !kdl_cuda_has_libraries();
  for (;;) {
    size_t offset, size;
    int error = bound
                    ? kdl_cuda.function_param(kernel->function, kernel->param_count, &offset, &size)
                    : kdl_cuda.kernel_param(kernel->function, kernel->param_count, &offset, &size);
    if (error != KDL_CUDA_SUCCESS && error != KDL_CUDA_ERROR_INVALID_VALUE)
      return kdl_cuda_fail(kernel->device->ordinal, error, "%s",
                           bound ? "cuFuncGetParamInfo" : "cuKernelGetParamInfo");
    if (!grow_params(kernel))
      return out_of_memory(kernel);
    if (error == KDL_CUDA_ERROR_INVALID_VALUE)
      return KDL_OK;
    kernel->params[kernel->param_count++] = (kdl_param_info){(uint32_t)offset, (uint32_t)size};
  }
}

static int add_param(void *user, const kdl_image_param *param) {
  kdl_cuda_kernel *kernel = user;
  if (!grow_params(kernel))
    return 1;
  kernel->params[kernel->param_count++] = (kdl_param_info){param->offset, param->size};
  return 0;
}

/* For drivers before CUDA 12.4. What the image does not tell stays unknown. */
static kdl_status read_params(kdl_cuda_kernel *kernel, const kdl_cuda_module *module,
                              const char *name) {
  if (!grow_params(kernel))
    return out_of_memory(kernel);
  if (kdl_image_read_params(module->kind, module->data, module->data_size, kdl_text_of(name),
                            add_param, kernel) != KDL_OK) {
    free(kernel->params);
    kernel->params = NULL;
    kernel->param_count = 0;
  }
  return KDL_OK;
}

static kdl_status learn_params(kdl_cuda_kernel *kernel, const kdl_cuda_module *module,
                               const char *name) {
  bool tells = kdl_cuda_has_libraries() ? kdl_cuda.kernel_param : kdl_cuda.function_param;
  return tells ? ask_params(kernel) : read_params(kernel, module, name);
}

static uint32_t packed_size(const kdl_cuda_kernel *kernel) {
  uint32_t size = 0;
  for (uint32_t i = 0; i < kernel->param_count; ++i) {
    uint32_t end = kernel->params[i].offset + kernel->params[i].size;
    size = end > size ? end : size;
  }
  return size;
}

/* 0 where the driver does not say. */
static uint32_t suggest_block(const kdl_cuda_kernel *kernel, uint64_t shared) {
  int grid = 0, block = 0;
  int error = kdl_cuda.occupancy(&grid, &block, kernel->function, NULL, (size_t)shared, 0);
  return error == KDL_CUDA_SUCCESS && block > 0 ? (uint32_t)block : 0;
}

static kdl_status prepare(kdl_cuda_kernel *kernel, const kdl_cuda_module *module,
                          const kdl_backend_wish *wish, kdl_backend_kernel *out_kernel) {
  const kdl_cuda_code *code = module->code;
  kdl_status status = kdl_cuda_has_libraries() ? find_free(kernel, code, wish->name)
                                               : find_bound(kernel, code, wish->name);
  if (status == KDL_OK && wish->shared)
    status = kdl_cuda_kernel_allow_shared(kernel, wish->shared);
  if (status == KDL_OK)
    status = learn_params(kernel, module, wish->name);
  if (status != KDL_OK)
    return status;
  memcpy(kernel->block, wish->block, sizeof kernel->block);
  if (!kernel->block[0]) {
    uint32_t suggested = suggest_block(kernel, wish->shared);
    kernel->block[0] = suggested ? suggested : default_block;
    kernel->block[1] = kernel->block[2] = 1;
  }
  memcpy(wish->block[0] ? out_kernel->block : out_kernel->suggested, kernel->block,
         sizeof kernel->block);
  memcpy(out_kernel->tile, wish->tile, sizeof out_kernel->tile);
  out_kernel->launch = kdl_cuda_launch;
  out_kernel->context = kernel;
  out_kernel->params = kernel->params;
  out_kernel->param_count = kernel->param_count;
  out_kernel->packed_size = packed_size(kernel);
  return KDL_OK;
}

kdl_status kdl_cuda_kernel_find(void *handle, void *module_handle, const kdl_backend_wish *wish,
                                kdl_backend_kernel *out_kernel) {
  kdl_cuda_device *device = handle;
  kdl_cuda_module *module = module_handle;
  kdl_cuda_kernel *kernel = calloc(1, sizeof *kernel);
  if (!kernel)
    return kdl_cuda_host->fail(KDL_NO_MEMORY, 0, "cuda:%u: no memory", device->ordinal);
  kernel->device = device;
  kernel->launch = kdl_cuda.launch;
  kdl_cuda_scope scope;
  kdl_status status = kdl_cuda_enter_relaxed(device, &scope);
  if (status == KDL_OK) {
    status = prepare(kernel, module, wish, out_kernel);
    kdl_cuda_leave(&scope);
  }
  if (status != KDL_OK) {
    kdl_cuda_kernel_free(kernel);
    return status;
  }
  kernel->next = atomic_load(&module->kernels);
  while (!atomic_compare_exchange_weak(&module->kernels, &kernel->next, kernel))
    ;
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Attributes                                                                                   */

static kdl_status get_attribute(const kdl_cuda_kernel *kernel, int attribute, int *out_value) {
  const kdl_cuda_device *device = kernel->device;
  bool free_of_contexts = kdl_cuda_has_libraries();
  int error =
      free_of_contexts
          ? kdl_cuda.kernel_attribute(out_value, attribute, kernel->function, device->number)
          : kdl_cuda.function_attribute(out_value, attribute, kernel->function);
  if (error != KDL_CUDA_SUCCESS)
    return kdl_cuda_fail(device->ordinal, error, "%s %d",
                         free_of_contexts ? "cuKernelGetAttribute" : "cuFuncGetAttribute",
                         attribute);
  return KDL_OK;
}

static kdl_status set_attribute(const kdl_cuda_kernel *kernel, int attribute, int value) {
  const kdl_cuda_device *device = kernel->device;
  bool free_of_contexts = kdl_cuda_has_libraries();
  int error = free_of_contexts
                  ? kdl_cuda.kernel_set(attribute, value, kernel->function, device->number)
                  : kdl_cuda.function_set(kernel->function, attribute, value);
  if (error != KDL_CUDA_SUCCESS)
    return kdl_cuda_fail(device->ordinal, error, "%s %d to %d",
                         free_of_contexts ? "cuKernelSetAttribute" : "cuFuncSetAttribute",
                         attribute, value);
  return KDL_OK;
}

/* 48 KiB, less what the kernel has of its own, are had without asking. Beyond that all that the
 * device has is asked for, once, so that no later launch has to ask again. */
enum { shared_unasked = 48 << 10 };

kdl_status kdl_cuda_kernel_allow_shared(kdl_cuda_kernel *kernel, uint64_t size) {
  const kdl_cuda_device *device = kernel->device;
  int own = 0;
  kdl_status status = get_attribute(kernel, KDL_CUDA_FUNC_SHARED_SIZE_BYTES, &own);
  if (status != KDL_OK)
    return status;
  uint64_t limit = device->shared_limit > shared_unasked ? device->shared_limit : shared_unasked;
  uint64_t used = own > 0 ? (uint64_t)own : 0;
  if (used + size <= shared_unasked) {
    atomic_store(&kernel->shared_ready, (uint32_t)(shared_unasked - used));
    return KDL_OK;
  }
  if (used + size > limit)
    return kdl_cuda_host->fail(KDL_BAD_CALL, 0,
                               "cuda:%u: %llu bytes of dynamic group memory and %llu of the "
                               "kernel's own are more than the %llu that the device has",
                               device->ordinal, (unsigned long long)size, (unsigned long long)used,
                               (unsigned long long)limit);
  status = set_attribute(kernel, KDL_CUDA_FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)(limit - used));
  if (status == KDL_OK)
    atomic_store(&kernel->shared_ready, (uint32_t)(limit - used));
  return status;
}

kdl_status kdl_cuda_kernel_allow_wide_clusters(kdl_cuda_kernel *kernel) {
  if (atomic_load(&kernel->wide_clusters))
    return KDL_OK;
  kdl_status status = set_attribute(kernel, KDL_CUDA_FUNC_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
  if (status == KDL_OK)
    atomic_store(&kernel->wide_clusters, true);
  return status;
}
