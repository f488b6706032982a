/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "ext/trace/traced_device.h"

#include "ext/trace/trace.h"
#include "support/system/lock.h"

#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* held while a list grows */
static _Atomic(kdl_trace_device *) devices;

/* ------------------------------------------------------------------------------------------ */
/* What is recorded                                                                             */

const kdl_trace_device *kdl_trace_device_of(const void *handle) {
  const kdl_trace_device *device = atomic_load_explicit(&devices, memory_order_acquire);
  while (device && device->handle != handle)
    device = device->next;
  return device;
}

static bool is_timed(const kdl_trace_device *device) {
  return device->timer && kdl_trace_times_devices;
}

static void collect(const kdl_trace_device *device, const kdl_trace_wait *wait) {
  if (is_timed(device))
    kdl_trace_timer_collect(device->timer, wait);
}

static kdl_status queue_sync(void *handle, void *queue) {
  const kdl_trace_device *device = kdl_trace_device_of(handle);
  kdl_trace_wait wait = {.queue = queue, .begin_ns = is_timed(device) ? kdl_trace_ns() : 0};
  uint64_t begin = kdl_trace_ticks();
  kdl_status status = device->table->queue_sync(handle, queue);
  wait.end_ns = wait.begin_ns ? kdl_trace_ns() : 0;
  kdl_trace_span(KDL_LAYER_SYNC, device->subject, begin, queue, 0, status);
  if (status == KDL_OK)
    collect(device, wait.begin_ns ? &wait : NULL);
  return status;
}

static kdl_status event_sync(void *handle, void *event) {
  const kdl_trace_device *device = kdl_trace_device_of(handle);
  uint64_t begin = kdl_trace_ticks();
  kdl_status status = device->table->event_sync(handle, event);
  kdl_trace_span(KDL_LAYER_SYNC, device->subject, begin, NULL, 0, status);
  if (status == KDL_OK)
    collect(device, NULL);
  return status;
}

/* Unloading waits for what still runs. */
static void module_unload(void *handle, void *module) {
  const kdl_trace_device *device = kdl_trace_device_of(handle);
  device->table->module_unload(handle, module);
  collect(device, NULL);
}

/* The events of its timer go first. */
static void device_close(void *handle, void *queue) {
  const kdl_trace_device *device = kdl_trace_device_of(handle);
  if (device->timer)
    kdl_trace_timer_close(device->timer);
  device->table->device_close(handle, queue);
}

static kdl_status alloc(void *handle, uint64_t size, uint64_t *out_address) {
  const kdl_trace_device *device = kdl_trace_device_of(handle);
  uint64_t begin = kdl_trace_ticks();
  kdl_status status = device->table->alloc(handle, size, out_address);
  kdl_trace_span(KDL_LAYER_ALLOCATE, device->subject, begin, NULL, size, status);
  return status;
}

static kdl_status give_back(void *handle, uint64_t address) {
  const kdl_trace_device *device = kdl_trace_device_of(handle);
  uint64_t begin = kdl_trace_ticks();
  kdl_status status = device->table->free(handle, address);
  kdl_trace_span(KDL_LAYER_FREE, device->subject, begin, NULL, 0, status);
  return status;
}

static kdl_status write_bytes(void *handle, void *queue, uint64_t address, uint64_t offset,
                              const void *data, uint64_t size) {
  const kdl_trace_device *device = kdl_trace_device_of(handle);
  uint64_t begin = kdl_trace_ticks();
  kdl_status status = device->table->write(handle, queue, address, offset, data, size);
  kdl_trace_span(KDL_LAYER_WRITE, device->subject, begin, queue, size, status);
  return status;
}

static kdl_status read_bytes(void *handle, void *queue, void *data, uint64_t address,
                             uint64_t offset, uint64_t size) {
  const kdl_trace_device *device = kdl_trace_device_of(handle);
  uint64_t begin = kdl_trace_ticks();
  kdl_status status = device->table->read(handle, queue, data, address, offset, size);
  kdl_trace_span(KDL_LAYER_READ, device->subject, begin, queue, size, status);
  return status;
}

static kdl_status copy(void *handle, void *queue, uint64_t to, uint64_t to_offset, uint64_t from,
                       uint64_t from_offset, uint64_t size) {
  const kdl_trace_device *device = kdl_trace_device_of(handle);
  uint64_t begin = kdl_trace_ticks();
  kdl_status status = device->table->copy(handle, queue, to, to_offset, from, from_offset, size);
  kdl_trace_span(KDL_LAYER_COPY, device->subject, begin, queue, size, status);
  return status;
}

/* One that is not supported goes through the host, and is recorded there. */
static kdl_status copy_peer(void *from_handle, void *to_handle, void *queue, uint64_t to,
                            uint64_t to_offset, uint64_t from, uint64_t from_offset,
                            uint64_t size) {
  const kdl_trace_device *device = kdl_trace_device_of(to_handle);
  uint64_t begin = kdl_trace_ticks();
  kdl_status status = device->table->copy_peer(from_handle, to_handle, queue, to, to_offset, from,
                                               from_offset, size);
  if (status != KDL_UNSUPPORTED)
    kdl_trace_span(KDL_LAYER_COPY, device->subject, begin, queue, size, status);
  return status;
}

static kdl_status fill(void *handle, void *queue, uint64_t address, uint64_t offset, uint64_t size,
                       const void *pattern, size_t pattern_size) {
  const kdl_trace_device *device = kdl_trace_device_of(handle);
  uint64_t begin = kdl_trace_ticks();
  kdl_status status =
      device->table->fill(handle, queue, address, offset, size, pattern, pattern_size);
  kdl_trace_span(KDL_LAYER_FILL, device->subject, begin, queue, size, status);
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* Tables and devices                                                                           */

typedef struct traced_table {
  struct traced_table *next;
  const kdl_backend_table *own;
  kdl_backend_table around;
} traced_table;

static traced_table *tables;

static traced_table *make_table(const kdl_backend_table *own) {
  traced_table *made = calloc(1, sizeof *made);
  if (!made)
    return NULL;
  made->own = own;
  made->around = *own;
  if (own->device_close)
    made->around.device_close = device_close;
  made->around.queue_sync = queue_sync;
  made->around.event_sync = event_sync;
  made->around.module_unload = module_unload;
  made->around.alloc = alloc;
  made->around.free = give_back;
  made->around.write = write_bytes;
  made->around.read = read_bytes;
  made->around.copy = copy;
  made->around.fill = fill;
  if (own->copy_peer)
    made->around.copy_peer = copy_peer;
  made->next = tables;
  tables = made;
  return made;
}

static kdl_trace_device *make_device(const kdl_backend_table *table, void *handle, const char *name,
                                     bool works_here) {
  kdl_trace_device *made = calloc(1, sizeof *made);
  if (!made)
    return NULL;
  made->table = table;
  made->handle = handle;
  made->subject = kdl_trace_subject_of(&(kdl_layer_about){.device = name});
  made->works_here = works_here;
  if (kdl_trace_times_devices && !works_here)
    made->timer = kdl_trace_timer_create(table, handle);
  return made;
}

const kdl_backend_table *kdl_trace_device_open(const kdl_backend_table *table, void *handle,
                                               const char *name, bool works_here) {
  kdl_trace_device *device = make_device(table, handle, name, works_here);
  if (!device)
    return table;
  kdl_lock(&lock);
  device->next = atomic_load_explicit(&devices, memory_order_relaxed);
  atomic_store_explicit(&devices, device, memory_order_release);
  traced_table *found = tables;
  while (found && found->own != table)
    found = found->next;
  if (!found)
    found = make_table(table);
  kdl_unlock(&lock);
  return found ? &found->around : table;
}
