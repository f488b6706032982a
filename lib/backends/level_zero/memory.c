/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/backends/level_zero/objects.h"

enum { alignment = 64 };

static void *ze_pointer(uint64_t address) {
  return (void *)(uintptr_t)address;
}

/* ------------------------------------------------------------------------------------------ */
/* Allocation                                                                                   */

/* Buffers beyond the driver's limit need a flag. */
static int ze_alloc_memory(const kdl_ze_device *device, uint64_t size, void **out_address) {
  kdl_ze_relaxed_limits relaxed = {.type = KDL_ZE_RELAXED_LIMITS_DESC,
                                   .flags = KDL_ZE_RELAXED_MAX_SIZE};
  bool is_large = device->max_allocation && size > device->max_allocation && kdl_ze_large_buffers();
  kdl_ze_device_mem_desc desc = {.type = KDL_ZE_DEVICE_MEM_ALLOC_DESC,
                                 .next = is_large ? &relaxed : NULL};
  return kdl_ze.alloc_device(device->context, &desc, size, alignment, device->handle, out_address);
}

kdl_status kdl_ze_alloc(void *handle, uint64_t size, uint64_t *out_address) {
  kdl_ze_device *device = handle;
  void *address = NULL;
  int error = ze_alloc_memory(device, size, &address);
  bool is_limit = error == KDL_ZE_UNSUPPORTED_SIZE && size > device->max_allocation;
  if (is_limit)
    return kdl_ze_fail(device, error,
                       "zeMemAllocDevice of %llu bytes, where the driver gives at most %llu "
                       "unless KDL_LEVEL_ZERO_LARGE_BUFFERS=1 asks for more",
                       (unsigned long long)size, (unsigned long long)device->max_allocation);
  if (error != KDL_ZE_SUCCESS)
    return kdl_ze_fail(device, error, "zeMemAllocDevice of %llu bytes", (unsigned long long)size);
  if (!kdl_ranges_add(&device->ranges, (uintptr_t)address, size)) {
    (void)kdl_ze.free(device->context, address);
    return kdl_ze_no_memory(device);
  }
  *out_address = (uintptr_t)address;
  return KDL_OK;
}

kdl_status kdl_ze_free(void *handle, uint64_t address) {
  kdl_ze_device *device = handle;
  if (!kdl_ranges_remove(&device->ranges, address))
    return kdl_core_services.fail(KDL_BAD_CALL, 0,
                                  "level_zero:%u: found an address that libkdl did not allocate",
                                  device->ordinal);
  int error = kdl_ze.free(device->context, ze_pointer(address));
  return error == KDL_ZE_SUCCESS ? KDL_OK : kdl_ze_fail(device, error, "zeMemFree");
}

kdl_status kdl_ze_alloc_host(void *handle, uint64_t size, void **out_data) {
  kdl_ze_device *device = handle;
  kdl_ze_host_mem_desc desc = {.type = KDL_ZE_HOST_MEM_ALLOC_DESC};
  int error = kdl_ze.alloc_host(device->context, &desc, size, alignment, out_data);
  return error == KDL_ZE_SUCCESS
             ? KDL_OK
             : kdl_ze_fail(device, error, "zeMemAllocHost of %llu bytes", (unsigned long long)size);
}

kdl_status kdl_ze_free_host(void *handle, void *data) {
  kdl_ze_device *device = handle;
  int error = kdl_ze.free(device->context, data);
  return error == KDL_ZE_SUCCESS ? KDL_OK : kdl_ze_fail(device, error, "zeMemFree");
}

/* ------------------------------------------------------------------------------------------ */
/* Copies and fills                                                                             */

static kdl_status ze_check_transfer(const kdl_ze_queue *queue, int error, const char *call,
                                    uint64_t size) {
  if (error == KDL_ZE_SUCCESS)
    return KDL_OK;
  return kdl_ze_fail(queue->device, error, "%s of %llu bytes", call, (unsigned long long)size);
}

/* The driver accepts any host memory, not only its own, which frameworks rely on. */
static kdl_status ze_copy_memory(kdl_ze_queue *queue, void *to, const void *from, uint64_t size) {
  const char *call = "zeCommandListAppendMemoryCopy";
  kdl_futex_lock_acquire(&queue->lock);
  int error = kdl_ze.copy(queue->list, to, from, size, NULL, 0, NULL);
  error = kdl_ze_queue_append_barrier(queue, error, &call);
  kdl_futex_lock_release(&queue->lock);
  return ze_check_transfer(queue, error, call, size);
}

kdl_status kdl_ze_write(void *device, void *queue, uint64_t address, uint64_t offset,
                        const void *data, uint64_t size) {
  (void)device;
  return ze_copy_memory(queue, ze_pointer(address + offset), data, size);
}

kdl_status kdl_ze_read(void *device, void *queue, void *data, uint64_t address, uint64_t offset,
                       uint64_t size) {
  (void)device;
  return ze_copy_memory(queue, data, ze_pointer(address + offset), size);
}

kdl_status kdl_ze_copy(void *device, void *queue, uint64_t to, uint64_t to_offset, uint64_t from,
                       uint64_t from_offset, uint64_t size) {
  (void)device;
  return ze_copy_memory(queue, ze_pointer(to + to_offset), ze_pointer(from + from_offset), size);
}

/* Direct between devices of one context with peer access; others copy through the host. */
kdl_status kdl_ze_copy_peer(void *from_handle, void *to_handle, void *queue, uint64_t to,
                            uint64_t to_offset, uint64_t from, uint64_t from_offset,
                            uint64_t size) {
  const kdl_ze_device *from_device = from_handle, *to_device = to_handle;
  uint8_t can_reach = 0;
  if (from_device->context == to_device->context) {
    int error = kdl_ze.peer_access(to_device->handle, from_device->handle, &can_reach);
    if (error != KDL_ZE_SUCCESS)
      return kdl_ze_fail(to_device, error, "zeDeviceCanAccessPeer");
  }
  if (!can_reach)
    return kdl_core_services.fail(KDL_UNSUPPORTED, 0,
                                  "level_zero:%u: it does not reach the memory of level_zero:%u",
                                  to_device->ordinal, from_device->ordinal);
  return ze_copy_memory(queue, ze_pointer(to + to_offset), ze_pointer(from + from_offset), size);
}

kdl_status kdl_ze_fill(void *device, void *handle, uint64_t address, uint64_t offset, uint64_t size,
                       const void *pattern, size_t pattern_size) {
  (void)device;
  kdl_ze_queue *queue = handle;
  const char *call = "zeCommandListAppendMemoryFill";
  kdl_futex_lock_acquire(&queue->lock);
  int error = kdl_ze.fill(queue->list, ze_pointer(address + offset), pattern, pattern_size, size,
                          NULL, 0, NULL);
  error = kdl_ze_queue_append_barrier(queue, error, &call);
  kdl_futex_lock_release(&queue->lock);
  return ze_check_transfer(queue, error, call, size);
}
