/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Memory. On the host, device memory is memory, and what compiled code asks for is done at once; on
 * other devices an address belongs to an allocation of ours or to the host.
 */
#include "runtime.h"

#include "mgpu.h"

#include <string.h>

static uint64_t address_of(const void *data) {
  return (uint64_t)(uintptr_t)data;
}

static kdl_queue *queue_for(const kdl_mlir_device *device, kdl_queue *stream) {
  return stream ? stream : device->queue;
}

/* ------------------------------------------------------------------------------------------ */
/* Having                                                                                       */

void *mgpuMemAlloc(uint64_t size, kdl_queue *stream, bool is_host_shared) {
  static const char what[] = "mgpuMemAlloc";
  (void)stream;
  const kdl_mlir_device *device = kdl_mlir_device_for(what);
  kdl_buffer buffer = {0};
  if (!device)
    return NULL;
  kdl_status status;
  if (is_host_shared && !device->is_host && size) {
    buffer = kdl_buffer_adopt(device->device, 0, size);
    status = kdl_mlir_native_alloc_shared(device, size, &buffer.address);
  } else {
    status = kdl_alloc(device->device, size, &buffer);
  }
  if (!kdl_mlir_ok(status, what))
    return NULL;
  uint64_t address = buffer.address;
  if (!device->is_host && size && !kdl_mlir_range_add(address, size)) {
    kdl_free(&buffer);
    kdl_mlir_ok(kdl_mlir_say(KDL_NO_MEMORY, "out of memory"), what);
    return NULL;
  }
  return (void *)(uintptr_t)address;
}

/* Compiled code frees on a stream what the stream may still use. */
void mgpuMemFree(void *data, kdl_queue *stream) {
  static const char what[] = "mgpuMemFree";
  const kdl_mlir_device *device = kdl_mlir_device_for(what);
  if (!device || !data)
    return;
  kdl_buffer buffer = kdl_buffer_adopt(device->device, address_of(data), 0);
  if (!device->is_host) {
    kdl_mlir_ok(kdl_sync(queue_for(device, stream)), what);
    kdl_mlir_range_remove(buffer.address);
  }
  kdl_mlir_ok(kdl_free(&buffer), what);
}

/* ------------------------------------------------------------------------------------------ */
/* Moving                                                                                       */

/* The allocation around an address and the offset in it; false for memory of the host. */
static bool find_buffer(const kdl_mlir_device *device, const void *data, kdl_buffer *out_buffer,
                        uint64_t *out_offset) {
  uint64_t start, size;
  if (!kdl_mlir_range_find(address_of(data), &start, &size))
    return false;
  *out_buffer = kdl_buffer_adopt(device->device, start, size);
  *out_offset = address_of(data) - start;
  return true;
}

/* Both sides are the host's, registered perhaps: done here, in its turn. */
static kdl_status copy_on_host(kdl_queue *queue, void *to, const void *from, size_t size) {
  kdl_status status = kdl_sync(queue);
  if (status == KDL_OK)
    memmove(to, from, size);
  return status;
}

static kdl_status copy(const kdl_mlir_device *device, kdl_queue *queue, void *to, const void *from,
                       size_t size) {
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
  if (device->is_host)
    memmove(to, from, size);
  else
    kdl_mlir_ok(copy(device, queue_for(device, stream), to, from, size), what);
}

static void fill(const char *what, void *to, const void *pattern, size_t pattern_size, size_t count,
                 kdl_queue *stream) {
  const kdl_mlir_device *device = kdl_mlir_device_for(what);
  if (!device || !count)
    return;
  uint64_t size = (uint64_t)count * pattern_size;
  kdl_buffer buffer = kdl_buffer_adopt(device->device, address_of(to), size);
  uint64_t offset = 0;
  if (!device->is_host)
    find_buffer(device, to, &buffer, &offset);
  kdl_mlir_ok(kdl_fill(queue_for(device, stream), &buffer, offset, size, pattern, pattern_size),
              what);
}

void mgpuMemset32(void *to, uint32_t value, size_t count, kdl_queue *stream) {
  fill("mgpuMemset32", to, &value, sizeof value, count, stream);
}

void mgpuMemset16(void *to, uint16_t value, size_t count, kdl_queue *stream) {
  fill("mgpuMemset16", to, &value, sizeof value, count, stream);
}

/* ------------------------------------------------------------------------------------------ */
/* Host memory that the device reaches                                                          */

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

/* The bytes between the first element and the last, both included: strides need not be dense. */
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

/* ------------------------------------------------------------------------------------------ */
/* Tensor maps                                                                                  */

enum { limit_rank = 5 };

/* Bytes of an element, by CUtensorMapDataType. */
static const uint8_t element_sizes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};

/* The driver counts dimensions from the fastest on, MLIR from the slowest. */
static void fill_map(const mgpu_memref *memref, const int64_t *box, kdl_mlir_tensor_map *map) {
  uint32_t rank = map->rank;
  const int64_t *sizes = memref->sizes_and_strides;
  const int64_t *strides = sizes + rank;
  for (uint32_t i = 0; i < rank; ++i) {
    map->sizes[i] = (uint64_t)sizes[rank - 1 - i];
    map->box[i] = (uint32_t)box[rank - 1 - i];
    if (i > 0)
      map->strides[i - 1] = (uint64_t)strides[rank - 1 - i] * element_sizes[map->data_type];
  }
}

/* The map is put into device memory, whose address is the kernel's argument. It lives as long as
 * the process, as upstream: nothing in MLIR frees it. */
static void *upload(const kdl_mlir_device *device, const void *map, const char *what) {
  kdl_buffer buffer = {0};
  kdl_status status = kdl_alloc(device->device, KDL_MLIR_TENSOR_MAP_SIZE, &buffer);
  if (status == KDL_OK)
    status = kdl_write(device->queue, &buffer, 0, map, KDL_MLIR_TENSOR_MAP_SIZE);
  if (status == KDL_OK)
    status = kdl_sync(device->queue);
  return kdl_mlir_ok(status, what) ? (void *)(uintptr_t)buffer.address : NULL;
}

void *mgpuTensorMapEncodeTiledMemref(int64_t rank, const mgpu_memref *memref, int data_type,
                                     int interleave, int swizzle, int l2_promotion,
                                     int out_of_bounds, const int64_t *box) {
  static const char what[] = "mgpuTensorMapEncodeTiledMemref";
  _Alignas(64) char encoded[KDL_MLIR_TENSOR_MAP_SIZE];
  const kdl_mlir_device *device = kdl_mlir_device_for(what);
  kdl_status status = KDL_OK;
  if (!device)
    return NULL;
  if (rank < 1 || rank > limit_rank || data_type < 0 ||
      (size_t)data_type >= sizeof element_sizes / sizeof *element_sizes)
    status = kdl_mlir_say(KDL_BAD_CALL,
                          "found rank %d and data type %d, expected 1 to 5 and a "
                          "CUtensorMapDataType",
                          (int)rank, data_type);
  kdl_mlir_tensor_map map = {.rank = (uint32_t)rank,
                             .address = memref->aligned,
                             .data_type = data_type,
                             .interleave = interleave,
                             .swizzle = swizzle,
                             .l2_promotion = l2_promotion,
                             .out_of_bounds = out_of_bounds};
  if (status == KDL_OK) {
    fill_map(memref, box, &map);
    status = kdl_mlir_native_tensor_map(device, &map, encoded);
  }
  return kdl_mlir_ok(status, what) ? upload(device, encoded, what) : NULL;
}
