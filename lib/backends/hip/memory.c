/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/backends/common/driver_text.h"
#include "lib/backends/hip/objects.h"

#include <string.h>

static void *hip_pointer(uint64_t address) {
  return (void *)(uintptr_t)address;
}

kdl_status kdl_hip_alloc(void *device, uint64_t size, uint64_t *out_address) {
  kdl_hip_scope scope;
  if (kdl_hip_enter_relaxed(device, &scope) != KDL_OK)
    return scope.status;
  void *address = NULL;
  int error = kdl_hip.alloc(&address, size);
  *out_address = (uintptr_t)address;
  return kdl_hip_leave(&scope, error, "hipMalloc of %llu bytes", (unsigned long long)size);
}

kdl_status kdl_hip_free(void *device, uint64_t address) {
  kdl_hip_scope scope;
  if (kdl_hip_enter_relaxed(device, &scope) != KDL_OK)
    return scope.status;
  return kdl_hip_leave(&scope, kdl_hip.free(hip_pointer(address)), "hipFree");
}

kdl_status kdl_hip_memory_info(void *device, uint64_t *out_free, uint64_t *out_total) {
  kdl_hip_scope scope;
  if (kdl_hip_enter(device, &scope) != KDL_OK)
    return scope.status;
  size_t available = 0, total = 0;
  int error = kdl_hip.memory_info(&available, &total);
  *out_free = available;
  *out_total = total;
  return kdl_hip_leave(&scope, error, "hipMemGetInfo");
}

kdl_status kdl_hip_alloc_host(void *device, uint64_t size, void **out_data) {
  kdl_hip_scope scope;
  if (kdl_hip_enter_relaxed(device, &scope) != KDL_OK)
    return scope.status;
  int error = kdl_hip.alloc_host(out_data, size, KDL_HIP_HOST_PORTABLE);
  return kdl_hip_leave(&scope, error, "hipHostMalloc of %llu bytes", (unsigned long long)size);
}

kdl_status kdl_hip_free_host(void *device, void *data) {
  kdl_hip_scope scope;
  if (kdl_hip_enter_relaxed(device, &scope) != KDL_OK)
    return scope.status;
  return kdl_hip_leave(&scope, kdl_hip.free_host(data), "hipHostFree");
}

/* The runtime reads what it is given to write; its type is older than const. */
kdl_status kdl_hip_write(void *device, void *queue, uint64_t address, uint64_t offset,
                         const void *data, uint64_t size) {
  kdl_hip_scope scope;
  if (kdl_hip_enter(device, &scope) != KDL_OK)
    return scope.status;
  int error = kdl_hip.write(hip_pointer(address + offset), (void *)(uintptr_t)data, size,
                            ((kdl_hip_queue *)queue)->stream);
  return kdl_hip_leave(&scope, error, "hipMemcpyHtoDAsync of %llu bytes", (unsigned long long)size);
}

kdl_status kdl_hip_read(void *device, void *queue, void *data, uint64_t address, uint64_t offset,
                        uint64_t size) {
  kdl_hip_scope scope;
  if (kdl_hip_enter(device, &scope) != KDL_OK)
    return scope.status;
  int error =
      kdl_hip.read(data, hip_pointer(address + offset), size, ((kdl_hip_queue *)queue)->stream);
  return kdl_hip_leave(&scope, error, "hipMemcpyDtoHAsync of %llu bytes", (unsigned long long)size);
}

kdl_status kdl_hip_copy(void *device, void *queue, uint64_t to, uint64_t to_offset, uint64_t from,
                        uint64_t from_offset, uint64_t size) {
  kdl_hip_scope scope;
  if (kdl_hip_enter(device, &scope) != KDL_OK)
    return scope.status;
  int error = kdl_hip.copy(hip_pointer(to + to_offset), hip_pointer(from + from_offset), size,
                           ((kdl_hip_queue *)queue)->stream);
  return kdl_hip_leave(&scope, error, "hipMemcpyDtoDAsync of %llu bytes", (unsigned long long)size);
}

/* Directly where the devices reach each other, else the runtime goes through the host. */
kdl_status kdl_hip_copy_peer(void *from_device, void *to_device, void *queue, uint64_t to,
                             uint64_t to_offset, uint64_t from, uint64_t from_offset,
                             uint64_t size) {
  kdl_hip_scope scope;
  if (kdl_hip_enter(to_device, &scope) != KDL_OK)
    return scope.status;
  int error = kdl_hip.copy_peer(
      hip_pointer(to + to_offset), (int)((kdl_hip_device *)to_device)->ordinal,
      hip_pointer(from + from_offset), (int)((kdl_hip_device *)from_device)->ordinal, size,
      ((kdl_hip_queue *)queue)->stream);
  return kdl_hip_leave(&scope, error, "hipMemcpyPeerAsync of %llu bytes", (unsigned long long)size);
}

/* ------------------------------------------------------------------------------------------ */
/* Filling                                                                                      */

/* HIP fills with words at the most. A longer pattern is written once, word by word, and what is
 * there is copied behind itself until it is all. */
static int hip_fill_by_doubling(uint64_t to, uint64_t size, const uint8_t *pattern,
                                size_t pattern_size, void *stream, const char **out_call) {
  int error = KDL_HIP_SUCCESS;
  for (size_t at = 0; at < pattern_size && error == KDL_HIP_SUCCESS; at += 4) {
    int32_t word;
    memcpy(&word, pattern + at, sizeof word);
    error = kdl_hip.fill32(hip_pointer(to + at), word, 1, stream);
  }
  for (uint64_t done = pattern_size; done < size && error == KDL_HIP_SUCCESS; done *= 2) {
    *out_call = "hipMemcpyDtoDAsync";
    uint64_t more = size - done < done ? size - done : done;
    error = kdl_hip.copy(hip_pointer(to + done), hip_pointer(to), more, stream);
  }
  return error;
}

static int hip_fill_memory(uint64_t to, uint64_t size, const uint8_t *pattern, size_t pattern_size,
                           void *stream, const char **out_call) {
  uint16_t half;
  int32_t word;
  switch (pattern_size) {
  case 1:
    *out_call = "hipMemsetD8Async";
    return kdl_hip.fill8(hip_pointer(to), *pattern, size, stream);
  case 2:
    *out_call = "hipMemsetD16Async";
    memcpy(&half, pattern, sizeof half);
    return kdl_hip.fill16(hip_pointer(to), half, size / sizeof half, stream);
  case 4:
    *out_call = "hipMemsetD32Async";
    memcpy(&word, pattern, sizeof word);
    return kdl_hip.fill32(hip_pointer(to), word, size / sizeof word, stream);
  default:
    *out_call = "hipMemsetD32Async";
    return hip_fill_by_doubling(to, size, pattern, pattern_size, stream, out_call);
  }
}

kdl_status kdl_hip_fill(void *device, void *queue, uint64_t address, uint64_t offset, uint64_t size,
                        const void *pattern, size_t pattern_size) {
  kdl_hip_scope scope;
  if (kdl_hip_enter(device, &scope) != KDL_OK)
    return scope.status;
  const char *call = "";
  int error =
      hip_fill_memory(address + offset, size, pattern, kdl_shorten_pattern(pattern, pattern_size),
                      ((kdl_hip_queue *)queue)->stream, &call);
  return kdl_hip_leave(&scope, error, "%s of %llu bytes", call, (unsigned long long)size);
}
