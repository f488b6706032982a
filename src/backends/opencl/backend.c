/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Whatever is behind OpenCL, through its loader: opened when it is first asked for devices, never
 * linked, never closed. */
#include "backends/common/built_in.h"
#include "backends/opencl/objects.h"

static const kdl_backend_table table = {
    .size = sizeof table,
    .abi = KDL_BACKEND_ABI,
    .name = "opencl",
    .device_open = kdl_opencl_device_open,
    .module_load = kdl_opencl_module_load,
    .module_unload = kdl_opencl_module_unload,
    .kernel_find = kdl_opencl_kernel_find,
    .global_find = kdl_opencl_global_find,
    .queue_create = kdl_opencl_queue_create,
    .queue_adopt = kdl_opencl_queue_adopt,
    .queue_destroy = kdl_opencl_queue_destroy,
    .queue_sync = kdl_opencl_queue_sync,
    .event_create = kdl_opencl_event_create,
    .event_destroy = kdl_opencl_event_destroy,
    .event_record = kdl_opencl_event_record,
    .event_sync = kdl_opencl_event_sync,
    .event_wait = kdl_opencl_event_wait,
    .event_elapsed = kdl_opencl_event_elapsed,
    .alloc = kdl_opencl_alloc,
    .free = kdl_opencl_free,
    .write = kdl_opencl_write,
    .read = kdl_opencl_read,
    .copy = kdl_opencl_copy,
    .fill = kdl_opencl_fill,
    .device_native = kdl_opencl_device_native,
    .device_close = kdl_opencl_device_close,
    .queue_native = kdl_opencl_queue_native,
    .event_native = kdl_opencl_event_native,
    .kernel_native = kdl_opencl_kernel_native,
    .event_query = kdl_opencl_event_query,
};

static const kdl_backend_table *open_backend(const kdl_backend_services *host) {
  kdl_opencl_host = host;
  return &table;
}

const kdl_built_in kdl_built_in_opencl = {
    .open = open_backend,
    .driver = &kdl_opencl_driver,
    .variables = (const char *const[]){"OCL_ICD_VENDORS", "OCL_ICD_FILENAMES", "POCL_DEVICES",
                                       "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", NULL},
    .is_last = true, /* PoCL calls setenv when it is loaded */
    .open_behind = kdl_opencl_open_platforms,
    .list = kdl_opencl_list,
};
