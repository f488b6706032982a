/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Intel GPUs, through the Level Zero loader: opened when it is first asked for devices, never
 * linked, never closed. */
#include "backends/common/built_in.h"
#include "backends/level_zero/objects.h"

static const kdl_backend_table table = {
    .size = sizeof table,
    .abi = KDL_BACKEND_ABI,
    .name = "level_zero",
    .device_open = kdl_ze_device_open,
    .module_load = kdl_ze_module_load,
    .module_unload = kdl_ze_module_unload,
    .kernel_find = kdl_ze_kernel_find,
    .global_find = kdl_ze_global_find,
    .queue_create = kdl_ze_queue_create,
    .queue_adopt = kdl_ze_queue_adopt,
    .queue_destroy = kdl_ze_queue_destroy,
    .queue_sync = kdl_ze_queue_sync,
    .event_create = kdl_ze_event_create,
    .event_destroy = kdl_ze_event_destroy,
    .event_record = kdl_ze_event_record,
    .event_sync = kdl_ze_event_sync,
    .event_wait = kdl_ze_event_wait,
    .event_elapsed = kdl_ze_event_elapsed,
    .alloc = kdl_ze_alloc,
    .free = kdl_ze_free,
    .write = kdl_ze_write,
    .read = kdl_ze_read,
    .copy = kdl_ze_copy,
    .copy_peer = kdl_ze_copy_peer,
    .fill = kdl_ze_fill,
    .device_native = kdl_ze_device_native,
    .device_close = kdl_ze_device_close,
    .queue_native = kdl_ze_queue_native,
    .event_native = kdl_ze_event_native,
    .kernel_native = kdl_ze_kernel_native,
    .event_query = kdl_ze_event_query,
    .alloc_host = kdl_ze_alloc_host,
    .free_host = kdl_ze_free_host,
};

static const kdl_backend_table *open_backend(const kdl_backend_services *host) {
  kdl_ze_host = host;
  return &table;
}

const kdl_built_in kdl_built_in_level_zero = {
    .open = open_backend,
    .driver = &kdl_ze_driver,
    .variables = (const char *const[]){"ZE_AFFINITY_MASK", "ZE_FLAT_DEVICE_HIERARCHY", NULL},
    .list = kdl_ze_list,
};
