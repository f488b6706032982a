/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Finding kernels and preparing them for launches. */
#include "lib/backends/hip/objects.h"

#include "support/base/error.h"
#include "support/base/text.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

void kdl_hip_kernel_free(kdl_hip_kernel *kernel) {
  kdl_params_free(&kernel->params);
  free(kernel);
}

void *kdl_hip_kernel_native(void *device, void *context) {
  (void)device;
  return ((kdl_hip_kernel *)context)->head.function;
}

/* ------------------------------------------------------------------------------------------ */
/* Metadata of the code object                                                                  */

/* The runtime reports a block that is too large as a launch failure, as for a crashed kernel. */
static kdl_status hip_check_block(const kdl_hip_kernel *kernel, const kdl_kernel_request *request) {
  uint64_t items = (uint64_t)request->block[0] * request->block[1] * request->block[2];
  if (!kernel->limits.max_block || items <= kernel->limits.max_block)
    return KDL_OK;
  return kdl_core_services.fail(
      KDL_BAD_FILE, 0,
      "hip:%u: metadata says block=%ux%ux%u, the image was compiled for at "
      "most %u work-items in a group",
      kernel->device->ordinal, request->block[0], request->block[1], request->block[2],
      kernel->limits.max_block);
}

/* Images without metadata are launched without checks. */
static kdl_status hip_read_kernel_info(kdl_hip_kernel *kernel, const kdl_hip_loaded_image *loaded,
                                       const kdl_kernel_request *request) {
  if (!kdl_params_read(&kernel->params, &loaded->image, request->name))
    return kdl_core_services.fail(KDL_NO_MEMORY, 0, "hip:%u: no memory for parameters",
                                  kernel->device->ordinal);
  if (loaded->image.kind == KDL_IMAGE_HSACO &&
      kdl_amdgpu_read_limits(loaded->image.data, loaded->image.size, kdl_text_of(request->name),
                             &kernel->limits) == KDL_BAD_FILE)
    return KDL_BAD_FILE;
  return hip_check_block(kernel, request);
}

/* ------------------------------------------------------------------------------------------ */
/* Looking up                                                                                   */

/* 0 if the runtime suggests none. */
static uint32_t hip_suggest_block(const kdl_hip_kernel *kernel, uint64_t shared) {
  int grid = 0, block = 0;
  int error = kdl_hip.occupancy(&grid, &block, kernel->head.function, (size_t)shared, 0);
  if (error != KDL_HIP_SUCCESS)
    kdl_hip_log_error(kernel->device->ordinal, error, "hipModuleOccupancyMaxPotentialBlockSize");
  return error == KDL_HIP_SUCCESS && block > 0 ? (uint32_t)block : 0;
}

static void hip_select_block(kdl_hip_kernel *kernel, const kdl_kernel_request *request,
                             kdl_backend_kernel *out_kernel) {
  uint32_t *block = kernel->head.block;
  const uint32_t *fixed = kernel->limits.block[0] ? kernel->limits.block : request->block;
  memcpy(out_kernel->block, fixed, sizeof out_kernel->block);
  memcpy(block, fixed, sizeof kernel->head.block);
  if (block[0])
    return;
  uint32_t most = kernel->limits.max_block;
  uint32_t suggested = hip_suggest_block(kernel, request->shared);
  suggested = suggested ? suggested : KDL_DEFAULT_BLOCK;
  block[0] = most && suggested > most ? most : suggested;
  block[1] = block[2] = 1;
  memcpy(out_kernel->suggested, block, sizeof out_kernel->suggested);
}

static kdl_status hip_find_function(kdl_hip_kernel *kernel, const kdl_hip_loaded_image *loaded,
                                    const kdl_kernel_request *request,
                                    kdl_backend_kernel *out_kernel) {
  kdl_hip_scope scope;
  if (kdl_hip_enter_relaxed(kernel->device, &scope) != KDL_OK)
    return scope.status;
  int error = kdl_hip.module_function(&kernel->head.function, loaded->handle, request->name);
  if (error == KDL_HIP_SUCCESS)
    hip_select_block(kernel, request, out_kernel);
  return kdl_hip_leave(&scope, error, "hipModuleGetFunction \"%s\"", request->name);
}

kdl_status kdl_hip_kernel_find(void *device, void *loaded_handle, const kdl_kernel_request *request,
                               kdl_backend_kernel *out_kernel) {
  kdl_hip_loaded_image *loaded = loaded_handle;
  kdl_hip_kernel *kernel = calloc(1, sizeof *kernel);
  if (!kernel)
    return kdl_driver_errors_no_memory(&kdl_hip_errors, ((kdl_hip_device *)device)->ordinal);
  kernel->device = device;
  kernel->head.launch = kdl_hip.launch;
  kdl_status status = hip_read_kernel_info(kernel, loaded, request);
  if (status == KDL_OK)
    status = hip_find_function(kernel, loaded, request, out_kernel);
  if (status != KDL_OK) {
    kdl_hip_kernel_free(kernel);
    return status;
  }
  memcpy(out_kernel->tile, request->tile, sizeof out_kernel->tile);
  out_kernel->launch = kdl_hip_launch;
  out_kernel->context = kernel;
  out_kernel->params = kernel->params.list;
  out_kernel->param_count = kernel->params.count;
  kernel->next = atomic_load(&loaded->kernels);
  while (!atomic_compare_exchange_weak(&loaded->kernels, &kernel->next, kernel))
    ;
  return KDL_OK;
}
