/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* NVIDIA GPUs, through libcuda: opened when it is first asked for devices, never linked, never
 * closed. */
#include "backends/common/built_in.h"
#include "backends/cuda/objects.h"

static const kdl_backend_table table = {
    .size = sizeof table,
    .abi = KDL_BACKEND_ABI,
    .name = "cuda",
    .device_open = kdl_cuda_device_open,
    .module_load = kdl_cuda_module_load,
    .module_unload = kdl_cuda_module_unload,
    .kernel_find = kdl_cuda_kernel_find,
    .global_find = kdl_cuda_global_find,
    .queue_create = kdl_cuda_queue_create,
    .queue_adopt = kdl_cuda_queue_adopt,
    .queue_destroy = kdl_cuda_queue_destroy,
    .queue_sync = kdl_cuda_queue_sync,
    .queue_capturing = kdl_cuda_queue_capturing,
    .event_create = kdl_cuda_event_create,
    .event_destroy = kdl_cuda_event_destroy,
    .event_record = kdl_cuda_event_record,
    .event_sync = kdl_cuda_event_sync,
    .event_wait = kdl_cuda_event_wait,
    .event_elapsed = kdl_cuda_event_elapsed,
    .alloc = kdl_cuda_alloc,
    .free = kdl_cuda_free,
    .write = kdl_cuda_write,
    .read = kdl_cuda_read,
    .copy = kdl_cuda_copy,
    .copy_peer = kdl_cuda_copy_peer,
    .fill = kdl_cuda_fill,
    .device_native = kdl_cuda_device_native,
    .device_close = kdl_cuda_device_close,
    .queue_native = kdl_cuda_queue_native,
    .event_native = kdl_cuda_event_native,
    .kernel_native = kdl_cuda_kernel_native,
    .event_query = kdl_cuda_event_query,
    .memory_info = kdl_cuda_memory_info,
    .alloc_host = kdl_cuda_alloc_host,
    .free_host = kdl_cuda_free_host,
};

static const kdl_backend_table *open_backend(const kdl_backend_services *host) {
  kdl_cuda_host = host;
  return &table;
}

const kdl_built_in kdl_built_in_cuda = {
    .open = open_backend,
    .driver = &kdl_cuda_driver,
    .variables = (const char *const[]){"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", NULL},
    .list = kdl_cuda_list,
};
