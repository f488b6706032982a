/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Memory. On the host device, device memory is host memory, and operations complete at once, after
 * the work of their stream; on other devices an address belongs to an allocation of the runtime or
 * to the host.
 */
#include "host_streams.h"
#include "mgpu.h"

#include <string.h>

static uint64_t address_of(const void *data) {
  return (uint64_t)(uintptr_t)data;
}

static kdl_queue *queue_for(const kdl_mlir_device *device, kdl_queue *stream) {
  return stream ? stream : device->queue;
}

/* ------------------------------------------------------------------------------------------ */
/* Allocation                                                                                   */

static kdl_status allocate_range(const kdl_mlir_device *device, kdl_mlir_range *range) {
  kdl_buffer buffer = {0};
  if (range->is_shared)
    return kdl_mlir_native_alloc_shared(device, range->size, &range->start);
  kdl_status status = kdl_alloc(device->device, range->size, &buffer);
  range->start = buffer.address;
  return status;
}

static kdl_status free_range(const kdl_mlir_device *device, const kdl_mlir_range *range) {
  kdl_buffer buffer = kdl_buffer_adopt(device->device, range->start, range->size);
  return range->is_shared ? kdl_mlir_native_free_shared(device, range->start) : kdl_free(&buffer);
}

void *mgpuMemAlloc(uint64_t size, kdl_queue *stream, bool is_host_shared) {
  static const char what[] = "mgpuMemAlloc";
  (void)stream;
  const kdl_mlir_device *device = kdl_mlir_device_for(what);
  if (!device)
    return NULL;
  kdl_mlir_range range = {.size = size, .is_shared = is_host_shared && !device->is_host && size};
  kdl_status status = allocate_range(device, &range);
  if (status == KDL_OK && !device->is_host && size && !kdl_mlir_range_add(&range)) {
    free_range(device, &range);
    status = kdl_mlir_set_error(KDL_NO_MEMORY, "out of memory");
  }
  return kdl_mlir_ok(status, what) ? (void *)(uintptr_t)range.start : NULL;
}

/* Compiled code frees memory on a stream that may still use it. */
void mgpuMemFree(void *data, kdl_queue *stream) {
  static const char what[] = "mgpuMemFree";
  const kdl_mlir_device *device = kdl_mlir_device_for(what);
  if (!device || !data)
    return;
  kdl_mlir_range range = {.start = address_of(data)};
  if (device->is_host) {
    kdl_mlir_host_drain(stream);
  } else {
    kdl_mlir_ok(kdl_sync(queue_for(device, stream)), what);
    kdl_mlir_range_remove(range.start, &range);
  }
  kdl_mlir_ok(free_range(device, &range), what);
}

/* ------------------------------------------------------------------------------------------ */
/* Copies                                                                                       */

/* The allocation that contains an address, and the offset in it; false for host memory. */
static bool find_buffer(const kdl_mlir_device *device, const void *data, kdl_buffer *out_buffer,
                        uint64_t *out_offset) {
  kdl_mlir_range range;
  if (!kdl_mlir_range_find(address_of(data), &range))
    return false;
  *out_buffer = kdl_buffer_adopt(device->device, range.start, range.size);
  *out_offset = address_of(data) - range.start;
  return true;
}

/* Both sides are host memory, possibly registered: copied by the host, in stream order. */
static kdl_status copy_on_host(kdl_queue *queue, void *to, const void *from, size_t size) {
  kdl_status status = kdl_sync(queue);
  if (status == KDL_OK)
    memmove(to, from, size);
  return status;
}

static kdl_status copy_memory(const kdl_mlir_device *device, kdl_queue *queue, void *to,
                              const void *from, size_t size) {
  kdl_buffer to_buffer, from_buffer;
  uint64_t to_offset, from_offset;
  bool writes = find_buffer(device, to, &to_buffer, &to_offset);
  bool reads = find_buffer(device, from, &from_buffer, &from_offset);
  if (writes && reads)
    return kdl_copy(queue, &to_buffer, to_offset, &from_buffer, from_offset, size);
  if (writes)
    return kdl_write(queue, &to_buffer, to_offset, from, size);
  if (reads)
    return kdl_read(queue, to, &from_buffer, from_offset, size);
  return copy_on_host(queue, to, from, size);
}

void mgpuMemcpy(void *to, const void *from, size_t size, kdl_queue *stream) {
  static const char what[] = "mgpuMemcpy";
  const kdl_mlir_device *device = kdl_mlir_device_for(what);
  if (!device || !size)
    return;
  if (device->is_host) {
    kdl_mlir_host_drain(queue_for(device, stream));
    memmove(to, from, size);
    return;
  }
  kdl_mlir_ok(copy_memory(device, queue_for(device, stream), to, from, size), what);
}

static void fill_memory(const char *what, void *to, const void *pattern, size_t pattern_size,
                        size_t count, kdl_queue *stream) {
  const kdl_mlir_device *device = kdl_mlir_device_for(what);
  if (!device || !count)
    return;
  uint64_t size = (uint64_t)count * pattern_size;
  kdl_buffer buffer = kdl_buffer_adopt(device->device, address_of(to), size);
  uint64_t offset = 0;
  if (device->is_host)
    kdl_mlir_host_drain(queue_for(device, stream));
  else
    find_buffer(device, to, &buffer, &offset);
  kdl_mlir_ok(kdl_fill(queue_for(device, stream), &buffer, offset, size, pattern, pattern_size),
              what);
}

void mgpuMemset32(void *to, uint32_t value, size_t count, kdl_queue *stream) {
  fill_memory("mgpuMemset32", to, &value, sizeof value, count, stream);
}

void mgpuMemset16(void *to, uint16_t value, size_t count, kdl_queue *stream) {
  fill_memory("mgpuMemset16", to, &value, sizeof value, count, stream);
}

/* ------------------------------------------------------------------------------------------ */
/* Host memory that the device can access                                                       */

void mgpuMemHostRegister(void *data, uint64_t size) {
  static const char what[] = "mgpuMemHostRegister";
  const kdl_mlir_device *device = kdl_mlir_device_for(what);
  if (device && !device->is_host && size)
    kdl_mlir_ok(kdl_mlir_native_register(device, data, size), what);
}

void mgpuMemHostUnregister(void *data) {
  static const char what[] = "mgpuMemHostUnregister";
  const kdl_mlir_device *device = kdl_mlir_device_for(what);
  if (device && !device->is_host)
    kdl_mlir_ok(kdl_mlir_native_unregister(device, data), what);
}

static char *data_of(const mgpu_memref *memref, int64_t element_size) {
  return memref->aligned + memref->offset * element_size;
}

/* Registers the bytes from the first element to the end of the last: strides need not be dense. */
void mgpuMemHostRegisterMemRef(int64_t rank, const mgpu_memref *memref, int64_t element_size) {
  int64_t last = 0;
  for (int64_t i = 0; i < rank; ++i) {
    int64_t extent = memref->sizes_and_strides[i];
    if (extent == 0)
      return;
    last += (extent - 1) * memref->sizes_and_strides[rank + i];
  }
  mgpuMemHostRegister(data_of(memref, element_size), (uint64_t)((last + 1) * element_size));
}

void mgpuMemHostUnregisterMemRef(int64_t rank, const mgpu_memref *memref, int64_t element_size) {
  for (int64_t i = 0; i < rank; ++i) {
    if (memref->sizes_and_strides[i] == 0)
      return;
  }
  mgpuMemHostUnregister(data_of(memref, element_size));
}

/* ROCm's tests call these by name: a memref of one dimension, at its device address. */
static mgpu_memref_1d device_memref_1d(char *data, int64_t offset, int64_t size, int64_t stride,
                                       const char *what) {
  uint64_t address = 0;
  const kdl_mlir_device *device = kdl_mlir_device_for(what);
  bool found = device && kdl_mlir_ok(kdl_mlir_native_device_pointer(device, data, &address), what);
  char *there = found ? (char *)(uintptr_t)address : NULL;
  return (mgpu_memref_1d){there, there, offset, size, stride};
}

mgpu_memref_1d mgpuMemGetDeviceMemRef1dFloat(const float *allocated, float *aligned, int64_t offset,
                                             int64_t size, int64_t stride) {
  (void)allocated;
  return device_memref_1d((char *)aligned, offset, size, stride, "mgpuMemGetDeviceMemRef1dFloat");
}

mgpu_memref_1d mgpuMemGetDeviceMemRef1dInt32(const int32_t *allocated, int32_t *aligned,
                                             int64_t offset, int64_t size, int64_t stride) {
  (void)allocated;
  return device_memref_1d((char *)aligned, offset, size, stride, "mgpuMemGetDeviceMemRef1dInt32");
}
