/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/binding/capture.h"
#include "lib/registry/runtime.h"
#include "support/base/bytes.h"
#include "support/base/cancel.h"
#include "support/base/error.h"

#include <inttypes.h>
#include <stdlib.h>

/* ------------------------------------------------------------------------------------------ */
/* Allocation                                                                                   */

static kdl_status alloc_device_memory(const kdl_runtime *runtime, uint64_t size,
                                      uint64_t *out_address) {
  KDL_TRY(kdl_runtime_retain(runtime));
  kdl_status status = runtime->table->alloc(runtime->handle, size, out_address);
  if (status != KDL_OK)
    kdl_runtime_release(runtime);
  return status;
}

kdl_status kdl_alloc(kdl_device *device, uint64_t size, kdl_buffer *out_buffer) {
  KDL_NOT_CANCELLED;
  const kdl_runtime *runtime;
  kdl_buffer buffer = {.size = size, .device = device};
  KDL_TRY(KDL_GIVEN(device, out_buffer));
  kdl_status status = kdl_runtime_open(device, &runtime);
  if (status == KDL_OK && size > 0)
    status = alloc_device_memory(runtime, size, &buffer.address);
  if (status == KDL_OK)
    *out_buffer = buffer;
  else
    kdl_error_prefix("kdl_alloc: %" PRIu64 " bytes", size);
  return status;
}

/* Opens the device of a buffer. */
static kdl_status open_buffer_device(const char *call, const kdl_buffer *buffer,
                                     const kdl_runtime **out_runtime) {
  if (buffer->device)
    return kdl_runtime_open(buffer->device, out_runtime);
  return kdl_fail(KDL_BAD_CALL, "%s: found a buffer of no device, expected one that kdl_alloc gave",
                  call);
}

kdl_status kdl_free(kdl_buffer *buffer) {
  KDL_NOT_CANCELLED;
  const kdl_runtime *runtime;
  kdl_status status = KDL_OK;
  if (!buffer)
    return KDL_OK;
  if (buffer->address) {
    status = open_buffer_device("kdl_free", buffer, &runtime);
    if (status == KDL_OK) {
      status = runtime->table->free(runtime->handle, buffer->address);
      kdl_runtime_release(runtime);
    }
  }
  *buffer = (kdl_buffer){0};
  return status;
}

kdl_status kdl_memory_info(kdl_device *device, uint64_t *out_free, uint64_t *out_total) {
  KDL_NOT_CANCELLED;
  const kdl_runtime *runtime;
  uint64_t available = 0, total = 0;
  KDL_TRY(KDL_GIVEN(device));
  KDL_TRY(kdl_runtime_open(device, &runtime));
  if (!runtime->table->memory_info)
    return kdl_fail(KDL_UNSUPPORTED,
                    "kdl_memory_info: %s: its driver does not tell how much memory is free; "
                    "kdl_device_get tells how much there is",
                    runtime->label);
  KDL_TRY(runtime->table->memory_info(runtime->handle, &available, &total));
  if (out_free)
    *out_free = available;
  if (out_total)
    *out_total = total;
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Host memory                                                                                  */

static kdl_status alloc_pageable(uint64_t size, void **out_data) {
  enum { alignment = 64 }; /* for any vector */
  if (size > PTRDIFF_MAX || posix_memalign(out_data, alignment, (size_t)size) != 0)
    return kdl_fail(KDL_NO_MEMORY, "out of memory");
  return KDL_OK;
}

static kdl_status alloc_host_memory(const kdl_runtime *runtime, uint64_t size, void **out_data) {
  const kdl_backend_table *table = runtime->table;
  KDL_TRY(kdl_runtime_retain(runtime));
  kdl_status status = table->alloc_host ? table->alloc_host(runtime->handle, size, out_data)
                                        : alloc_pageable(size, out_data);
  if (status != KDL_OK)
    kdl_runtime_release(runtime);
  return status;
}

kdl_status kdl_alloc_host(kdl_device *device, uint64_t size, void **out_data) {
  KDL_NOT_CANCELLED;
  const kdl_runtime *runtime;
  void *data = NULL;
  KDL_TRY(KDL_GIVEN(device, out_data));
  kdl_status status = kdl_runtime_open(device, &runtime);
  if (status == KDL_OK && size > 0)
    status = alloc_host_memory(runtime, size, &data);
  if (status == KDL_OK)
    *out_data = data;
  else
    kdl_error_prefix("kdl_alloc_host: %" PRIu64 " bytes", size);
  return status;
}

kdl_status kdl_free_host(kdl_device *device, void *data) {
  KDL_NOT_CANCELLED;
  const kdl_runtime *runtime;
  kdl_status status = KDL_GIVEN(device);
  if (status != KDL_OK || !data)
    return status;
  status = kdl_runtime_open(device, &runtime);
  if (status != KDL_OK)
    return status;
  if (runtime->table->free_host)
    status = runtime->table->free_host(runtime->handle, data);
  else
    free(data);
  kdl_runtime_release(runtime);
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* Copies and fills                                                                             */

static kdl_status check_range(const char *call, const kdl_buffer *buffer, uint64_t offset,
                              uint64_t size) {
  if (kdl_in_range(offset, size, buffer->size))
    return KDL_OK;
  return kdl_fail(KDL_BAD_CALL,
                  "%s: found %" PRIu64 " bytes at offset %" PRIu64
                  ", expected them inside the buffer's %" PRIu64,
                  call, size, offset, buffer->size);
}

static kdl_status check_transfer(const char *call, const kdl_queue *queue, const kdl_buffer *buffer,
                                 uint64_t offset, uint64_t size) {
  const kdl_runtime *runtime = queue->runtime;
  KDL_TRY(kdl_runtime_usable(runtime));
  KDL_TRY(check_range(call, buffer, offset, size));
  if (size && buffer->device != runtime->device)
    return kdl_fail(KDL_BAD_CALL, "%s: found a buffer of %s, expected one of the queue's %s", call,
                    buffer->device ? buffer->device->spec_lines[0] : "no device", runtime->label);
  return KDL_OK;
}

static kdl_status check_transfer_args(const char *call, const kdl_queue *queue,
                                      const kdl_buffer *buffer, uint64_t offset, const void *data,
                                      uint64_t size) {
  if (!queue || !buffer || (size && !data))
    return kdl_fail_null(call, !queue ? "queue" : !buffer ? "buffer" : "data");
  return check_transfer(call, queue, buffer, offset, size);
}

kdl_status kdl_write(kdl_queue *queue, const kdl_buffer *buffer, uint64_t offset, const void *data,
                     uint64_t size) {
  KDL_NOT_CANCELLED;
  kdl_status status = check_transfer_args("kdl_write", queue, buffer, offset, data, size);
  if (status != KDL_OK || size == 0)
    return status;
  kdl_capture *capture = kdl_queue_capture(queue);
  if (capture)
    return capture->functions->write(capture, buffer, offset, data, size);
  const kdl_runtime *runtime = queue->runtime;
  return runtime->table->write(runtime->handle, queue->head.queue, buffer->address, offset, data,
                               size);
}

kdl_status kdl_read(kdl_queue *queue, void *data, const kdl_buffer *buffer, uint64_t offset,
                    uint64_t size) {
  KDL_NOT_CANCELLED;
  kdl_status status = check_transfer_args("kdl_read", queue, buffer, offset, data, size);
  if (status != KDL_OK || size == 0)
    return status;
  kdl_capture *capture = kdl_queue_capture(queue);
  if (capture)
    return capture->functions->read(capture, data, buffer, offset, size);
  const kdl_runtime *runtime = queue->runtime;
  return runtime->table->read(runtime->handle, queue->head.queue, data, buffer->address, offset,
                              size);
}

kdl_status kdl_fill(kdl_queue *queue, const kdl_buffer *buffer, uint64_t offset, uint64_t size,
                    const void *pattern, size_t pattern_size) {
  KDL_NOT_CANCELLED;
  kdl_status status = KDL_GIVEN(queue, buffer);
  if (status == KDL_OK && size)
    status = KDL_GIVEN(pattern);
  if (status == KDL_OK)
    status = check_transfer("kdl_fill", queue, buffer, offset, size);
  bool is_power = pattern_size && pattern_size <= 16 && !(pattern_size & (pattern_size - 1));
  if (status == KDL_OK && (!is_power || offset % pattern_size || size % pattern_size))
    status = kdl_fail(KDL_BAD_CALL,
                      "kdl_fill: found a pattern of %zu bytes for %" PRIu64
                      " bytes at offset %" PRIu64 ", expected 1, 2, 4, 8 or 16 that divide both",
                      pattern_size, size, offset);
  if (status != KDL_OK || size == 0)
    return status;
  kdl_capture *capture = kdl_queue_capture(queue);
  if (capture)
    return capture->functions->fill(capture, buffer, offset, size, pattern, pattern_size);
  const kdl_runtime *runtime = queue->runtime;
  return runtime->table->fill(runtime->handle, queue->head.queue, buffer->address, offset, size,
                              pattern, pattern_size);
}

/* Copies between two drivers pass through host memory. */
static kdl_status copy_through_host(kdl_queue *queue, const kdl_buffer *to, uint64_t to_offset,
                                    const kdl_runtime *source, const kdl_buffer *from,
                                    uint64_t from_offset, uint64_t size) {
  void *staging = malloc((size_t)size);
  if (!staging)
    return kdl_fail(KDL_NO_MEMORY, "kdl_copy: out of memory for %" PRIu64 " bytes on the way",
                    size);
  kdl_status status = source->table->read(source->handle, source->queue.head.queue, staging,
                                          from->address, from_offset, size);
  if (status == KDL_OK)
    status = source->table->queue_sync(source->handle, source->queue.head.queue);
  if (status == KDL_OK)
    status = kdl_write(queue, to, to_offset, staging, size);
  if (status == KDL_OK)
    status = kdl_sync(queue);
  free(staging);
  return status;
}

kdl_status kdl_copy(kdl_queue *queue, const kdl_buffer *to, uint64_t to_offset,
                    const kdl_buffer *from, uint64_t from_offset, uint64_t size) {
  KDL_NOT_CANCELLED;
  const kdl_runtime *source;
  kdl_status status = KDL_GIVEN(queue, to, from);
  if (status == KDL_OK)
    status = check_transfer("kdl_copy", queue, to, to_offset, size);
  if (status == KDL_OK)
    status = check_range("kdl_copy", from, from_offset, size);
  if (status != KDL_OK || size == 0)
    return status;
  kdl_capture *capture = kdl_queue_capture(queue);
  if (capture)
    return capture->functions->copy(capture, to, to_offset, from, from_offset, size);
  status = open_buffer_device("kdl_copy", from, &source);
  if (status != KDL_OK)
    return status;
  const kdl_runtime *runtime = queue->runtime;
  if (source == runtime)
    return runtime->table->copy(runtime->handle, queue->head.queue, to->address, to_offset,
                                from->address, from_offset, size);
  if (source->table == runtime->table && runtime->table->copy_peer) {
    status = runtime->table->copy_peer(source->handle, runtime->handle, queue->head.queue,
                                       to->address, to_offset, from->address, from_offset, size);
    if (status != KDL_UNSUPPORTED)
      return status;
  }
  return copy_through_host(queue, to, to_offset, source, from, from_offset, size);
}
