/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Streams and events. */
#include "runtime.h"

#include "mgpu.h"

#include <pthread.h>
#include <stdlib.h>

/* ------------------------------------------------------------------------------------------ */
/* Which streams and events there are                                                           */

/* #gpu.select_object makes a stream for each launch without one, waits for it, and destroys it; a
 * driver takes longer for the stream than for the launch. So a stream that is destroyed right after
 * it was waited for is kept. Should it have got work in between, which launches through a slot do
 * not tell, its next user stands behind that work: allowed, as streams promise no order. */
enum { kept_limit = 16 };

typedef struct {
  void *handle;
  bool is_event;
  bool is_kept; /* a stream, for the next who wants one */
} entry;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static entry *entries;
static size_t count, room, kept_count;

static _Thread_local const kdl_queue *just_waited_for;

static entry *find(const void *handle) {
  for (size_t i = count; i-- > 0;) {
    if (entries[i].handle == handle)
      return &entries[i];
  }
  return NULL;
}

static kdl_queue *take_kept(void) {
  kdl_queue *taken = NULL;
  pthread_mutex_lock(&lock);
  for (size_t i = count; i-- > 0 && kept_count && !taken;) {
    if (!entries[i].is_kept)
      continue;
    entries[i].is_kept = false;
    --kept_count;
    taken = entries[i].handle;
  }
  pthread_mutex_unlock(&lock);
  return taken;
}

/* Out of memory, it is one that is not known: it is not kept, and not taken for what it is not. */
static void add(void *handle, bool is_event) {
  pthread_mutex_lock(&lock);
  if (count == room) {
    size_t wanted = room ? room * 2 : 32;
    entry *more = realloc(entries, wanted * sizeof *more);
    entries = more ? more : entries;
    room = more ? wanted : room;
  }
  if (count < room)
    entries[count++] = (entry){.handle = handle, .is_event = is_event};
  pthread_mutex_unlock(&lock);
}

/* True where it is kept; else it is known no more. */
static bool keep(const kdl_queue *stream, bool is_idle) {
  pthread_mutex_lock(&lock);
  entry *known = find(stream);
  bool was_kept = known && known->is_kept; /* it is destroyed once more */
  bool is_kept = was_kept || (known && is_idle && kept_count < kept_limit);
  if (is_kept && !was_kept) {
    known->is_kept = true;
    ++kept_count;
  } else if (known && !is_kept) {
    *known = entries[--count];
  }
  pthread_mutex_unlock(&lock);
  return is_kept;
}

static void destroy_event(kdl_event *event) {
  pthread_mutex_lock(&lock);
  entry *known = event ? find(event) : NULL;
  if (known)
    *known = entries[--count];
  pthread_mutex_unlock(&lock);
  kdl_event_destroy(event);
}

/* ------------------------------------------------------------------------------------------ */
/* Events that are not gone yet                                                                 */

/* Where several regions wait for one event, MLIR's lowering lets each of them destroy it when it
 * has waited. So an event stays until as many others were destroyed after it. */
enum { buried_limit = 64 };

static pthread_mutex_t buried_lock = PTHREAD_MUTEX_INITIALIZER;
static kdl_event *buried[buried_limit];
static size_t buried_at;

/* What can be destroyed in its place: NULL for nothing. */
static kdl_event *bury(kdl_event *event) {
  kdl_event *oldest = NULL;
  pthread_mutex_lock(&buried_lock);
  bool is_known = !event;
  for (size_t i = 0; i < buried_limit && !is_known; ++i)
    is_known = buried[i] == event;
  if (!is_known) {
    oldest = buried[buried_at];
    buried[buried_at] = event;
    buried_at = (buried_at + 1) % buried_limit;
  }
  pthread_mutex_unlock(&buried_lock);
  return oldest;
}

/* ------------------------------------------------------------------------------------------ */
/* What compiled code calls                                                                     */

kdl_queue *mgpuStreamCreate(void) {
  static const char what[] = "mgpuStreamCreate";
  const kdl_mlir_device *device = kdl_mlir_device_for(what);
  kdl_queue *stream = device ? take_kept() : NULL;
  if (!device || stream)
    return stream;
  if (kdl_mlir_ok(kdl_queue_create(device->device, NULL, &stream), what))
    add(stream, false);
  return stream;
}

/* MLIR 22 takes the event of a token that a region only passes on for a stream: it records another
 * on it, and destroys it. */
static kdl_event *event_instead(kdl_queue *stream) {
  pthread_mutex_lock(&lock);
  const entry *known = find(stream);
  kdl_event *event = known && known->is_event ? known->handle : NULL;
  pthread_mutex_unlock(&lock);
  return event;
}

void mgpuStreamDestroy(kdl_queue *stream) {
  kdl_event *event = stream ? event_instead(stream) : NULL;
  if (event) {
    mgpuEventDestroy(event);
    return;
  }
  bool is_idle = stream && stream == just_waited_for;
  just_waited_for = NULL;
  if (!keep(stream, is_idle))
    kdl_queue_destroy(stream);
}

void mgpuStreamSynchronize(kdl_queue *stream) {
  if (stream && kdl_mlir_ok(kdl_sync(stream), "mgpuStreamSynchronize"))
    just_waited_for = stream;
}

/* MLIR 22 may leave an async.yield of a token unlowered, and hands out the stream where an event is
 * meant (its own test async.mlir does). What is meant is what the stream was given so far. */
static kdl_queue *stream_instead(kdl_event *event) {
  pthread_mutex_lock(&lock);
  const entry *known = find(event);
  kdl_queue *stream = known && !known->is_kept && !known->is_event ? known->handle : NULL;
  pthread_mutex_unlock(&lock);
  return stream;
}

static kdl_status wait_for_stream(kdl_queue *other, kdl_queue *stream) {
  const kdl_mlir_device *device;
  kdl_event *event = NULL;
  kdl_status status = kdl_mlir_device_get(&device);
  if (status == KDL_OK)
    status = kdl_event_create(device->device, &event);
  if (status == KDL_OK)
    status = kdl_event_record(event, other);
  if (status == KDL_OK)
    status = kdl_event_wait(event, stream);
  destroy_event(bury(event));
  return status;
}

void mgpuStreamWaitEvent(kdl_queue *stream, kdl_event *event) {
  if (!stream || !event)
    return;
  kdl_queue *other = stream_instead(event);
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
    add(event, true);
  return event;
}

void mgpuEventDestroy(kdl_event *event) {
  if (!stream_instead(event))
    destroy_event(bury(event));
}

void mgpuEventSynchronize(kdl_event *event) {
  kdl_queue *stream = event ? stream_instead(event) : NULL;
  if (event)
    kdl_mlir_ok(stream ? kdl_sync(stream) : kdl_event_sync(event), "mgpuEventSynchronize");
}

/* Behind what another event stands for. */
static kdl_status record_behind(kdl_event *event, kdl_event *other) {
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
  kdl_event *other = event_instead(stream);
  kdl_mlir_ok(other ? record_behind(event, other) : kdl_event_record(event, stream),
              "mgpuEventRecord");
}
