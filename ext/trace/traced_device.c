/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "ext/trace/traced_device.h"

#include "ext/trace/trace.h"
#include "support/system/lock.h"

#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* held while a list grows */
static _Atomic(kdl_trace_device *) devices;

/* ------------------------------------------------------------------------------------------ */
/* Recorded calls                                                                               */

const kdl_trace_device *kdl_trace_device_of(const void *handle) {
  const kdl_trace_device *device = atomic_load_explicit(&devices, memory_order_acquire);
  while (device && device->handle != handle)
    device = device->next;
  return device;
}

static bool is_timed(const kdl_trace_device *device) {
  return device->timer && kdl_trace_device_time_enabled;
}

static void collect_device_times(const kdl_trace_device *device, const kdl_trace_wait *wait) {
  if (is_timed(device))
    kdl_trace_timer_collect(device->timer, wait);
}

static kdl_status traced_queue_sync(void *handle, void *queue) {
  const kdl_trace_device *device = kdl_trace_device_of(handle);
  kdl_trace_wait wait = {.queue = queue, .begin_ns = is_timed(device) ? kdl_trace_ns() : 0};
  uint64_t begin = kdl_trace_ticks();
  kdl_status status = device->table->queue_sync(handle, queue);
  wait.end_ns = wait.begin_ns ? kdl_trace_ns() : 0;
  kdl_trace_span(KDL_TRACE_PHASE_SYNC, device->subject, begin, queue, 0, status);
  if (status == KDL_OK)
    collect_device_times(device, wait.begin_ns ? &wait : NULL);
  return status;
}

static kdl_status traced_event_sync(void *handle, void *event) {
  const kdl_trace_device *device = kdl_trace_device_of(handle);
  uint64_t begin = kdl_trace_ticks();
  kdl_status status = device->table->event_sync(handle, event);
  kdl_trace_span(KDL_TRACE_PHASE_SYNC, device->subject, begin, NULL, 0, status);
  if (status == KDL_OK)
    collect_device_times(device, NULL);
  return status;
}

/* Unloading waits for running kernels. */
static void traced_image_unload(void *handle, void *loaded) {
  const kdl_trace_device *device = kdl_trace_device_of(handle);
  device->table->image_unload(handle, loaded);
  collect_device_times(device, NULL);
}

/* The events of its timer are destroyed first. */
static void traced_device_close(void *handle, void *queue) {
  const kdl_trace_device *device = kdl_trace_device_of(handle);
  if (device->timer)
    kdl_trace_timer_close(device->timer);
  device->table->device_close(handle, queue);
}

static kdl_status traced_alloc(void *handle, uint64_t size, uint64_t *out_address) {
  const kdl_trace_device *device = kdl_trace_device_of(handle);
  uint64_t begin = kdl_trace_ticks();
  kdl_status status = device->table->alloc(handle, size, out_address);
  kdl_trace_span(KDL_TRACE_PHASE_ALLOCATE, device->subject, begin, NULL, size, status);
  return status;
}

static kdl_status traced_free(void *handle, uint64_t address) {
  const kdl_trace_device *device = kdl_trace_device_of(handle);
  uint64_t begin = kdl_trace_ticks();
  kdl_status status = device->table->free(handle, address);
  kdl_trace_span(KDL_TRACE_PHASE_FREE, device->subject, begin, NULL, 0, status);
  return status;
}

static kdl_status traced_write(void *handle, void *queue, uint64_t address, uint64_t offset,
                               const void *data, uint64_t size) {
  const kdl_trace_device *device = kdl_trace_device_of(handle);
  uint64_t begin = kdl_trace_ticks();
  kdl_status status = device->table->write(handle, queue, address, offset, data, size);
  kdl_trace_span(KDL_TRACE_PHASE_WRITE, device->subject, begin, queue, size, status);
  return status;
}

static kdl_status traced_read(void *handle, void *queue, void *data, uint64_t address,
                              uint64_t offset, uint64_t size) {
  const kdl_trace_device *device = kdl_trace_device_of(handle);
  uint64_t begin = kdl_trace_ticks();
  kdl_status status = device->table->read(handle, queue, data, address, offset, size);
  kdl_trace_span(KDL_TRACE_PHASE_READ, device->subject, begin, queue, size, status);
  return status;
}

static kdl_status traced_copy(void *handle, void *queue, uint64_t to, uint64_t to_offset,
                              uint64_t from, uint64_t from_offset, uint64_t size) {
  const kdl_trace_device *device = kdl_trace_device_of(handle);
  uint64_t begin = kdl_trace_ticks();
  kdl_status status = device->table->copy(handle, queue, to, to_offset, from, from_offset, size);
  kdl_trace_span(KDL_TRACE_PHASE_COPY, device->subject, begin, queue, size, status);
  return status;
}

/* An unsupported copy goes through the host, and is recorded there. */
static kdl_status traced_copy_peer(void *from_handle, void *to_handle, void *queue, uint64_t to,
                                   uint64_t to_offset, uint64_t from, uint64_t from_offset,
                                   uint64_t size) {
  const kdl_trace_device *device = kdl_trace_device_of(to_handle);
  uint64_t begin = kdl_trace_ticks();
  kdl_status status = device->table->copy_peer(from_handle, to_handle, queue, to, to_offset, from,
                                               from_offset, size);
  if (status != KDL_UNSUPPORTED)
    kdl_trace_span(KDL_TRACE_PHASE_COPY, device->subject, begin, queue, size, status);
  return status;
}

static kdl_status traced_fill(void *handle, void *queue, uint64_t address, uint64_t offset,
                              uint64_t size, const void *pattern, size_t pattern_size) {
  const kdl_trace_device *device = kdl_trace_device_of(handle);
  uint64_t begin = kdl_trace_ticks();
  kdl_status status =
      device->table->fill(handle, queue, address, offset, size, pattern, pattern_size);
  kdl_trace_span(KDL_TRACE_PHASE_FILL, device->subject, begin, queue, size, status);
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* Tables and devices                                                                           */

typedef struct traced_table {
  struct traced_table *next;
  const kdl_backend_table *inner;
  kdl_backend_table wrapper;
} traced_table;

static traced_table *tables;

static traced_table *create_traced_table(const kdl_backend_table *inner) {
  traced_table *made = calloc(1, sizeof *made);
  if (!made)
    return NULL;
  made->inner = inner;
  made->wrapper = *inner;
  if (inner->device_close)
    made->wrapper.device_close = traced_device_close;
  made->wrapper.queue_sync = traced_queue_sync;
  made->wrapper.event_sync = traced_event_sync;
  made->wrapper.image_unload = traced_image_unload;
  made->wrapper.alloc = traced_alloc;
  made->wrapper.free = traced_free;
  made->wrapper.write = traced_write;
  made->wrapper.read = traced_read;
  made->wrapper.copy = traced_copy;
  made->wrapper.fill = traced_fill;
  if (inner->copy_peer)
    made->wrapper.copy_peer = traced_copy_peer;
  made->next = tables;
  tables = made;
  return made;
}

static kdl_trace_device *create_traced_device(const kdl_backend_table *table, void *handle,
                                              const char *name, bool is_synchronous) {
  kdl_trace_device *made = calloc(1, sizeof *made);
  if (!made)
    return NULL;
  made->table = table;
  made->handle = handle;
  made->subject = kdl_trace_subject_intern(&(kdl_trace_phase_info){.device = name});
  made->is_synchronous = is_synchronous;
  if (kdl_trace_device_time_enabled && !is_synchronous)
    made->timer = kdl_trace_timer_create(table, handle);
  return made;
}

const kdl_backend_table *kdl_trace_device_open(const kdl_backend_table *table, void *handle,
                                               const char *name, bool is_synchronous) {
  kdl_trace_device *device = create_traced_device(table, handle, name, is_synchronous);
  if (!device)
    return table;
  kdl_lock(&lock);
  device->next = atomic_load_explicit(&devices, memory_order_relaxed);
  atomic_store_explicit(&devices, device, memory_order_release);
  traced_table *found = tables;
  while (found && found->inner != table)
    found = found->next;
  if (!found)
    found = create_traced_table(table);
  kdl_unlock(&lock);
  return found ? &found->wrapper : table;
}
