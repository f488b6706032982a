/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Modules, functions and launches. */
#include "host_streams.h"
#include "mgpu.h"

#include <string.h>

/* ------------------------------------------------------------------------------------------ */
/* Modules                                                                                      */

static mgpu_module *load_module(const char *what, const void *data, uint64_t size) {
  kdl_mlir_library declared = {.abi = KDL_MLIR_ABI,
                               .policy = KDL_POLICY_BEST,
                               .fallback = KDL_MLIR_FALLBACK_HOST,
                               .name = "gpu.binary",
                               .data = data,
                               .data_size = size};
  kdl_mlir_module *module = kdl_mlir_module_add(&declared);
  if (!module) {
    kdl_mlir_set_error(KDL_NO_MEMORY, "out of memory");
    kdl_mlir_report_error(what);
  } else if (!kdl_mlir_ok(kdl_mlir_module_open(module), what)) {
    kdl_mlir_module_remove(module);
    module = NULL;
  }
  return module;
}

/* Called by constructors before main: only records the bytes, and calls no driver. */
mgpu_module *mgpuModuleLoad(const void *data, uint64_t size) {
  return load_module("mgpuModuleLoad", data, size);
}

/* Code that the driver compiles, at its default optimisation level: nearly every program passes
 * MLIR's default level, which is ignored.
 *
 * MLIR 23 also passes SPIR-V, and the size of the data; MLIR 22 passes no size, so that the
 * parameter is undefined. Text ends with a NUL in both, and 23 counts it; SPIR-V is whole words. */
mgpu_module *mgpuModuleLoadJIT(const char *text, int32_t opt_level, uint64_t size) {
  enum { word = 4 };
  static const uint8_t spirv[word] = {0x03, 0x02, 0x23, 0x07};
  bool is_spirv = strncmp(text, (const char *)spirv, sizeof spirv) == 0;
  (void)opt_level;
  return load_module("mgpuModuleLoadJIT", text, is_spirv ? size / word * word : strlen(text));
}

void mgpuModuleUnload(mgpu_module *module) {
  kdl_mlir_host_drain(NULL);
  kdl_mlir_module_remove(module);
}

kdl_kernel *mgpuModuleGetFunction(mgpu_module *module, const char *name) {
  kdl_kernel *kernel = NULL;
  if (module)
    kdl_mlir_ok(kdl_mlir_module_kernel(module, name, &kernel), "mgpuModuleGetFunction");
  return kernel;
}

/* ------------------------------------------------------------------------------------------ */
/* Launches                                                                                     */

/* False if there is nothing to launch; the device refuses sizes that it does not support. */
static bool convert_extent(const int64_t from[3], uint32_t out[3]) {
  for (int i = 0; i < 3; ++i) {
    if (from[i] <= 0)
      return false;
    out[i] = from[i] < UINT32_MAX ? (uint32_t)from[i] : UINT32_MAX;
  }
  return true;
}

static void launch_on_stream(const char *what, kdl_kernel *kernel, const kdl_launch_desc *desc,
                             void **params, uint64_t param_count, kdl_queue *stream) {
  kdl_args args = {(size_t)param_count, (const void *const *)params, NULL};
  const kdl_mlir_device *device = kdl_mlir_device_for(what);
  if (!device || (stream && device->is_host && kdl_mlir_host_is_concurrent() &&
                  kdl_mlir_host_launch(kernel, desc, &args, stream)))
    return;
  kdl_mlir_ok(kdl_launch(kernel, stream ? stream : device->queue, desc, args), what);
}

void mgpuLaunchKernel(kdl_kernel *kernel, int64_t grid_x, int64_t grid_y, int64_t grid_z,
                      int64_t block_x, int64_t block_y, int64_t block_z, int32_t shared,
                      kdl_queue *stream, void **params, void **extra, uint64_t param_count) {
  (void)extra; /* always NULL: the alternative way to pass arguments */
  kdl_launch_desc desc = {.size = sizeof desc, .shared = (uint32_t)shared};
  if (kernel && convert_extent((const int64_t[]){grid_x, grid_y, grid_z}, desc.grid) &&
      convert_extent((const int64_t[]){block_x, block_y, block_z}, desc.block))
    launch_on_stream("mgpuLaunchKernel", kernel, &desc, params, param_count, stream);
}

void mgpuLaunchClusterKernel(kdl_kernel *kernel, int64_t cluster_x, int64_t cluster_y,
                             int64_t cluster_z, int64_t grid_x, int64_t grid_y, int64_t grid_z,
                             int64_t block_x, int64_t block_y, int64_t block_z, int32_t shared,
                             kdl_queue *stream, void **params, void **extra) {
  static const char what[] = "mgpuLaunchClusterKernel";
  (void)extra;
  kdl_launch_desc desc = {.size = sizeof desc, .shared = (uint32_t)shared};
  kdl_kernel_info info = {.size = sizeof info};
  if (!kernel || !convert_extent((const int64_t[]){grid_x, grid_y, grid_z}, desc.grid) ||
      !convert_extent((const int64_t[]){block_x, block_y, block_z}, desc.block) ||
      !convert_extent((const int64_t[]){cluster_x, cluster_y, cluster_z}, desc.cluster))
    return;
  /* MLIR does not pass the number of arguments. */
  if (kdl_mlir_ok(kdl_kernel_get(kernel, &info), what))
    launch_on_stream(what, kernel, &desc, params,
                     info.param_count > 0 ? (uint64_t)info.param_count : 0, stream);
}

/* Since MLIR 23. A launch without clusters has a cluster size of zero. */
void mgpuLaunchKernelCooperative(kdl_kernel *kernel, int64_t grid_x, int64_t grid_y, int64_t grid_z,
                                 int64_t cluster_x, int64_t cluster_y, int64_t cluster_z,
                                 int64_t block_x, int64_t block_y, int64_t block_z, int32_t shared,
                                 kdl_queue *stream, void **params, void **extra) {
  static const char what[] = "mgpuLaunchKernelCooperative";
  (void)extra;
  kdl_launch_desc desc = {
      .size = sizeof desc, .shared = (uint32_t)shared, .flags = KDL_LAUNCH_COOPERATIVE};
  kdl_kernel_info info = {.size = sizeof info};
  if (!kernel || !convert_extent((const int64_t[]){grid_x, grid_y, grid_z}, desc.grid) ||
      !convert_extent((const int64_t[]){block_x, block_y, block_z}, desc.block))
    return;
  if ((cluster_x || cluster_y || cluster_z) &&
      !convert_extent((const int64_t[]){cluster_x, cluster_y, cluster_z}, desc.cluster))
    return;
  if (kdl_mlir_ok(kdl_kernel_get(kernel, &info), what))
    launch_on_stream(what, kernel, &desc, params,
                     info.param_count > 0 ? (uint64_t)info.param_count : 0, stream);
}

void mgpuSetDefaultDevice(int32_t number) {
  kdl_mlir_ok(kdl_mlir_device_set_default(number), "mgpuSetDefaultDevice");
}
