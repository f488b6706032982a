/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "backends/hip/hip.h"
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
};

const kdl_backend_table *kdl_hip_backend_open(const kdl_backend_host *host) {
  kdl_hip_host = host;
  return &table;
}
