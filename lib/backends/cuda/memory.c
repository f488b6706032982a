/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/backends/common/driver_text.h"
#include "lib/backends/cuda/objects.h"

#include <string.h>

kdl_status kdl_cuda_alloc(void *device, uint64_t size, uint64_t *out_address) {
  kdl_cuda_scope scope;
  if (kdl_cuda_enter_relaxed(device, &scope) != KDL_OK)
    return scope.status;
  int error = kdl_cuda.alloc(out_address, size);
  return kdl_cuda_leave(&scope, error, "cuMemAlloc_v2 of %llu bytes", (unsigned long long)size);
}

kdl_status kdl_cuda_free(void *device, uint64_t address) {
  kdl_cuda_scope scope;
  if (kdl_cuda_enter_relaxed(device, &scope) != KDL_OK)
    return scope.status;
  return kdl_cuda_leave(&scope, kdl_cuda.free(address), "cuMemFree_v2");
}

kdl_status kdl_cuda_memory_info(void *device, uint64_t *out_free, uint64_t *out_total) {
  kdl_cuda_scope scope;
  if (kdl_cuda_enter_own(device, &scope) != KDL_OK)
    return scope.status;
  size_t available = 0, total = 0;
  int error = kdl_cuda.memory_info(&available, &total);
  *out_free = available;
  *out_total = total;
  return kdl_cuda_leave(&scope, error, "cuMemGetInfo_v2");
}

kdl_status kdl_cuda_alloc_host(void *device, uint64_t size, void **out_data) {
  kdl_cuda_scope scope;
  if (kdl_cuda_enter_relaxed(device, &scope) != KDL_OK)
    return scope.status;
  int error = kdl_cuda.alloc_host(out_data, size, KDL_CUDA_HOST_PORTABLE);
  return kdl_cuda_leave(&scope, error, "cuMemHostAlloc of %llu bytes", (unsigned long long)size);
}

kdl_status kdl_cuda_free_host(void *device, void *data) {
  kdl_cuda_scope scope;
  if (kdl_cuda_enter_relaxed(device, &scope) != KDL_OK)
    return scope.status;
  return kdl_cuda_leave(&scope, kdl_cuda.free_host(data), "cuMemFreeHost");
}

kdl_status kdl_cuda_write(void *device, void *queue_handle, uint64_t address, uint64_t offset,
                          const void *data, uint64_t size) {
  kdl_cuda_queue *queue = queue_handle;
  kdl_cuda_scope scope;
  if (kdl_cuda_enter(device, queue->context, &scope) != KDL_OK)
    return scope.status;
  int error = kdl_cuda.write(address + offset, data, size, queue->stream);
  return kdl_cuda_leave(&scope, error, "cuMemcpyHtoDAsync_v2 of %llu bytes",
                        (unsigned long long)size);
}

kdl_status kdl_cuda_read(void *device, void *queue_handle, void *data, uint64_t address,
                         uint64_t offset, uint64_t size) {
  kdl_cuda_queue *queue = queue_handle;
  kdl_cuda_scope scope;
  if (kdl_cuda_enter(device, queue->context, &scope) != KDL_OK)
    return scope.status;
  int error = kdl_cuda.read(data, address + offset, size, queue->stream);
  return kdl_cuda_leave(&scope, error, "cuMemcpyDtoHAsync_v2 of %llu bytes",
                        (unsigned long long)size);
}

kdl_status kdl_cuda_copy(void *device, void *queue_handle, uint64_t to, uint64_t to_offset,
                         uint64_t from, uint64_t from_offset, uint64_t size) {
  kdl_cuda_queue *queue = queue_handle;
  kdl_cuda_scope scope;
  if (kdl_cuda_enter(device, queue->context, &scope) != KDL_OK)
    return scope.status;
  int error = kdl_cuda.copy(to + to_offset, from + from_offset, size, queue->stream);
  return kdl_cuda_leave(&scope, error, "cuMemcpyDtoDAsync_v2 of %llu bytes",
                        (unsigned long long)size);
}

/* Directly where the devices reach each other, else the driver goes through the host. */
kdl_status kdl_cuda_copy_peer(void *from_handle, void *to_handle, void *queue_handle, uint64_t to,
                              uint64_t to_offset, uint64_t from, uint64_t from_offset,
                              uint64_t size) {
  kdl_cuda_device *from_device = from_handle;
  kdl_cuda_device *to_device = to_handle;
  kdl_cuda_queue *queue = queue_handle;
  kdl_cuda_scope scope;
  if (kdl_cuda_enter(to_device, queue->context, &scope) != KDL_OK)
    return scope.status;
  int error = kdl_cuda.copy_peer(to + to_offset, to_device->context, from + from_offset,
                                 from_device->context, size, queue->stream);
  return kdl_cuda_leave(&scope, error, "cuMemcpyPeerAsync of %llu bytes", (unsigned long long)size);
}

/* ------------------------------------------------------------------------------------------ */
/* Filling                                                                                      */

/* A pattern of several words as columns one word wide, which the driver fills one by one. */
static int cuda_fill_columns(uint64_t to, const uint8_t *pattern, size_t pattern_size,
                             uint64_t count, void *stream) {
  int error = KDL_CUDA_SUCCESS;
  for (size_t at = 0; at < pattern_size && error == KDL_CUDA_SUCCESS; at += 4) {
    uint32_t word;
    memcpy(&word, pattern + at, sizeof word);
    error = kdl_cuda.fill32_2d(to + at, pattern_size, word, 1, count, stream);
  }
  return error;
}

static int cuda_fill_memory(uint64_t to, uint64_t size, const uint8_t *pattern, size_t pattern_size,
                            void *stream, const char **out_call) {
  uint16_t half;
  uint32_t word;
  switch (pattern_size) {
  case 1:
    *out_call = "cuMemsetD8Async";
    return kdl_cuda.fill8(to, *pattern, size, stream);
  case 2:
    *out_call = "cuMemsetD16Async";
    memcpy(&half, pattern, sizeof half);
    return kdl_cuda.fill16(to, half, size / 2, stream);
  case 4:
    *out_call = "cuMemsetD32Async";
    memcpy(&word, pattern, sizeof word);
    return kdl_cuda.fill32(to, word, size / 4, stream);
  default:
    *out_call = "cuMemsetD2D32Async";
    return cuda_fill_columns(to, pattern, pattern_size, pattern_size ? size / pattern_size : 0,
                             stream);
  }
}

kdl_status kdl_cuda_fill(void *device, void *queue_handle, uint64_t address, uint64_t offset,
                         uint64_t size, const void *pattern, size_t pattern_size) {
  kdl_cuda_queue *queue = queue_handle;
  kdl_cuda_scope scope;
  if (kdl_cuda_enter(device, queue->context, &scope) != KDL_OK)
    return scope.status;
  const char *call;
  int error = cuda_fill_memory(address + offset, size, pattern,
                               kdl_shorten_pattern(pattern, pattern_size), queue->stream, &call);
  return kdl_cuda_leave(&scope, error, "%s of %llu bytes", call, (unsigned long long)size);
}
