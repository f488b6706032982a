/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* AMD GPUs, through libamdhip64 of ROCm 5 to 7: opened when it is first asked for devices, never
 * linked, never closed. */
#include "backends/common/built_in.h"
#include "backends/hip/objects.h"

static const kdl_backend_table table = {
    .size = sizeof table,
    .abi = KDL_BACKEND_ABI,
    .name = "hip",
    .device_open = kdl_hip_device_open,
    .module_load = kdl_hip_module_load,
    .module_unload = kdl_hip_module_unload,
    .kernel_find = kdl_hip_kernel_find,
    .global_find = kdl_hip_global_find,
    .queue_create = kdl_hip_queue_create,
    .queue_adopt = kdl_hip_queue_adopt,
    .queue_destroy = kdl_hip_queue_destroy,
    .queue_sync = kdl_hip_queue_sync,
    .queue_capturing = kdl_hip_queue_capturing,
    .event_create = kdl_hip_event_create,
    .event_destroy = kdl_hip_event_destroy,
    .event_record = kdl_hip_event_record,
    .event_sync = kdl_hip_event_sync,
    .event_wait = kdl_hip_event_wait,
    .event_elapsed = kdl_hip_event_elapsed,
    .alloc = kdl_hip_alloc,
    .free = kdl_hip_free,
    .write = kdl_hip_write,
    .read = kdl_hip_read,
    .copy = kdl_hip_copy,
    .copy_peer = kdl_hip_copy_peer,
    .fill = kdl_hip_fill,
    .device_native = kdl_hip_device_native,
    .device_close = kdl_hip_device_close,
    .queue_native = kdl_hip_queue_native,
    .event_native = kdl_hip_event_native,
    .kernel_native = kdl_hip_kernel_native,
    .event_query = kdl_hip_event_query,
    .memory_info = kdl_hip_memory_info,
    .alloc_host = kdl_hip_alloc_host,
    .free_host = kdl_hip_free_host,
};

static const kdl_backend_table *open_backend(const kdl_backend_services *host) {
  kdl_hip_host = host;
  return &table;
}

const kdl_built_in kdl_built_in_hip = {
    .open = open_backend,
    .driver = &kdl_hip_driver,
    .variables =
        (const char *const[]){"ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES",
                              "GPU_DEVICE_ORDINAL", "HSA_XNACK", "HSA_OVERRIDE_GFX_VERSION", NULL},
    .list = kdl_hip_list,
};
