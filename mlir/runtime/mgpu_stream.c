/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Streams and events. */
#include "host_streams.h"
#include "mgpu.h"

#include <pthread.h>
#include <stdlib.h>

/* ------------------------------------------------------------------------------------------ */
/* Known streams and events                                                                     */

/* #gpu.select_object creates a stream for each launch without one, waits for it, and destroys
 * it; creating the stream takes a driver longer than the launch. So a stream that is destroyed
 * right after a wait goes into a pool. If it got work in between, which launches through a slot
 * do not record, its next user runs after that work: this is allowed, because streams guarantee
 * no order. */
enum { pool_limit = 16 };

typedef struct {
  void *handle;
  bool is_event;
  bool is_pooled; /* a destroyed stream, for reuse */
} known_handle;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static known_handle *known_handles;
static size_t handle_count, handle_capacity, pooled_count;

static _Thread_local const kdl_queue *last_synchronized;

static known_handle *find_handle(const void *handle) {
  for (size_t i = handle_count; i-- > 0;) {
    if (known_handles[i].handle == handle)
      return &known_handles[i];
  }
  return NULL;
}

static kdl_queue *take_pooled_stream(void) {
  kdl_queue *taken = NULL;
  pthread_mutex_lock(&lock);
  for (size_t i = handle_count; i-- > 0 && pooled_count && !taken;) {
    if (!known_handles[i].is_pooled)
      continue;
    known_handles[i].is_pooled = false;
    --pooled_count;
    taken = known_handles[i].handle;
  }
  pthread_mutex_unlock(&lock);
  return taken;
}

/* Out of memory, the handle stays unknown: not pooled, and not mistaken for another kind. */
static void add_handle(void *handle, bool is_event) {
  pthread_mutex_lock(&lock);
  if (handle_count == handle_capacity) {
    size_t wanted = handle_capacity ? handle_capacity * 2 : 32;
    known_handle *more = realloc(known_handles, wanted * sizeof *more);
    known_handles = more ? more : known_handles;
    handle_capacity = more ? wanted : handle_capacity;
  }
  if (handle_count < handle_capacity)
    known_handles[handle_count++] = (known_handle){.handle = handle, .is_event = is_event};
  pthread_mutex_unlock(&lock);
}

/* True if the stream went into the pool; otherwise forgets it. */
static bool pool_stream(const kdl_queue *stream, bool is_idle) {
  pthread_mutex_lock(&lock);
  known_handle *known = find_handle(stream);
  bool was_kept = known && known->is_pooled; /* it is destroyed a second time */
  bool is_kept = was_kept || (known && is_idle && pooled_count < pool_limit);
  if (!was_kept)
    atomic_fetch_sub(&kdl_mlir_live_streams, 1);
  if (is_kept && !was_kept) {
    known->is_pooled = true;
    ++pooled_count;
  } else if (known && !is_kept) {
    *known = known_handles[--handle_count];
  }
  pthread_mutex_unlock(&lock);
  return is_kept;
}

kdl_queue *kdl_mlir_stream_of(const void *backend_queue) {
  kdl_queue *found = NULL;
  pthread_mutex_lock(&lock);
  for (size_t i = 0; i < handle_count && !found; ++i) {
    const known_handle *known = &known_handles[i];
    bool is_stream = !known->is_event && !known->is_pooled;
    if (is_stream && ((const kdl_queue_head *)known->handle)->queue == backend_queue)
      found = known->handle;
  }
  pthread_mutex_unlock(&lock);
  return found;
}

static void destroy_event(kdl_event *event) {
  kdl_mlir_host_sync_event(event);
  pthread_mutex_lock(&lock);
  known_handle *known = event ? find_handle(event) : NULL;
  if (known)
    *known = known_handles[--handle_count];
  pthread_mutex_unlock(&lock);
  kdl_event_destroy(event);
}

/* ------------------------------------------------------------------------------------------ */
/* Retired events                                                                               */

/* If several regions wait for one event, MLIR's lowering lets each of them destroy it after its
 * wait. So an event is kept until this many others were destroyed after it. */
enum { retired_limit = 64 };

static pthread_mutex_t retired_lock = PTHREAD_MUTEX_INITIALIZER;
static kdl_event *retired_events[retired_limit];
static size_t retired_next;

/* Returns an event that can be destroyed instead: NULL for none. */
static kdl_event *retire_event(kdl_event *event) {
  kdl_event *oldest = NULL;
  pthread_mutex_lock(&retired_lock);
  bool is_known = !event;
  for (size_t i = 0; i < retired_limit && !is_known; ++i)
    is_known = retired_events[i] == event;
  if (!is_known) {
    oldest = retired_events[retired_next];
    retired_events[retired_next] = event;
    retired_next = (retired_next + 1) % retired_limit;
  }
  pthread_mutex_unlock(&retired_lock);
  return oldest;
}

/* ------------------------------------------------------------------------------------------ */
/* Functions that compiled code calls                                                           */

kdl_queue *mgpuStreamCreate(void) {
  static const char what[] = "mgpuStreamCreate";
  const kdl_mlir_device *device = kdl_mlir_device_for(what);
  kdl_queue *stream = device ? take_pooled_stream() : NULL;
  if (device && !stream && kdl_mlir_ok(kdl_queue_create(device->device, NULL, &stream), what))
    add_handle(stream, false);
  if (stream)
    atomic_fetch_add(&kdl_mlir_live_streams, 1);
  return stream;
}

/* For a token that a region only passes on, MLIR 22 uses the event as a stream: it records another
 * event on it, and destroys it. */
static kdl_event *event_passed_as_stream(kdl_queue *stream) {
  pthread_mutex_lock(&lock);
  const known_handle *known = find_handle(stream);
  kdl_event *event = known && known->is_event ? known->handle : NULL;
  pthread_mutex_unlock(&lock);
  return event;
}

void mgpuStreamDestroy(kdl_queue *stream) {
  kdl_event *event = stream ? event_passed_as_stream(stream) : NULL;
  if (event) {
    mgpuEventDestroy(event);
    return;
  }
  bool is_idle = stream && stream == last_synchronized;
  last_synchronized = NULL;
  if (!stream)
    return;
  kdl_mlir_host_drain(stream);
  if (pool_stream(stream, is_idle))
    return;
  kdl_mlir_host_close(stream);
  kdl_queue_destroy(stream);
}

void mgpuStreamSynchronize(kdl_queue *stream) {
  if (stream)
    kdl_mlir_host_drain(stream);
  if (stream && kdl_mlir_ok(kdl_sync(stream), "mgpuStreamSynchronize"))
    last_synchronized = stream;
}

/* MLIR 22 may leave an async.yield of a token unlowered, and pass the stream as an event, as its
 * test async.mlir does. It means the work that the stream has so far. */
static kdl_queue *stream_passed_as_event(kdl_event *event) {
  pthread_mutex_lock(&lock);
  const known_handle *known = find_handle(event);
  kdl_queue *stream = known && !known->is_pooled && !known->is_event ? known->handle : NULL;
  pthread_mutex_unlock(&lock);
  return stream;
}

static kdl_status wait_for_stream(kdl_queue *other, kdl_queue *stream) {
  const kdl_mlir_device *device;
  kdl_event *event = NULL;
  kdl_status status = kdl_mlir_device_get(&device);
  kdl_mlir_host_drain(other);
  if (status == KDL_OK)
    status = kdl_event_create(device->device, &event);
  if (status == KDL_OK)
    status = kdl_event_record(event, other);
  if (status == KDL_OK)
    status = kdl_event_wait(event, stream);
  destroy_event(retire_event(event));
  return status;
}

void mgpuStreamWaitEvent(kdl_queue *stream, kdl_event *event) {
  if (!stream || !event)
    return;
  kdl_queue *other = stream_passed_as_event(event);
  if (!other && kdl_mlir_host_wait(event, stream))
    return;
  kdl_mlir_ok(other ? wait_for_stream(other, stream) : kdl_event_wait(event, stream),
              "mgpuStreamWaitEvent");
}

kdl_event *mgpuEventCreate(void) {
  static const char what[] = "mgpuEventCreate";
  const kdl_mlir_device *device = kdl_mlir_device_for(what);
  kdl_event *event = NULL;
  if (device)
    kdl_mlir_ok(kdl_event_create(device->device, &event), what);
  if (event)
    add_handle(event, true);
  return event;
}

void mgpuEventDestroy(kdl_event *event) {
  if (!stream_passed_as_event(event))
    destroy_event(retire_event(event));
}

void mgpuEventSynchronize(kdl_event *event) {
  kdl_queue *stream = event ? stream_passed_as_event(event) : NULL;
  if (stream)
    kdl_mlir_host_drain(stream);
  else
    kdl_mlir_host_sync_event(event);
  if (event)
    kdl_mlir_ok(stream ? kdl_sync(stream) : kdl_event_sync(event), "mgpuEventSynchronize");
}

/* Records after the work of another event. */
static kdl_status record_after_event(kdl_event *event, kdl_event *other) {
  kdl_queue *stream = mgpuStreamCreate();
  kdl_status status = stream ? kdl_event_wait(other, stream) : KDL_DEVICE;
  if (status == KDL_OK)
    status = kdl_event_record(event, stream);
  mgpuStreamDestroy(stream);
  return status;
}

void mgpuEventRecord(kdl_event *event, kdl_queue *stream) {
  if (!event || !stream)
    return;
  kdl_event *other = event_passed_as_stream(stream);
  if (!other && kdl_mlir_host_record(event, stream))
    return;
  kdl_mlir_host_sync_event(other);
  kdl_mlir_ok(other ? record_after_event(event, other) : kdl_event_record(event, stream),
              "mgpuEventRecord");
}
