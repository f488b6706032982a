/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Streams and events. */
#include "runtime.h"

#include "mgpu.h"

#include <pthread.h>

/* ------------------------------------------------------------------------------------------ */
/* Streams that wait to be used again                                                           */

/* #gpu.select_object makes a stream for each launch without one, waits for it, and destroys it; a
 * driver takes longer for the stream than for the launch. So a stream that is destroyed right after
 * it was waited for is kept. Should it have got work in between, which launches through a slot do
 * not tell, whoever gets it next stands behind that work: allowed, as streams promise no order. */
enum { kept_limit = 16 };

static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;
static kdl_queue *kept[kept_limit];
static size_t kept_count;

static _Thread_local const kdl_queue *just_waited_for;

static kdl_queue *take_kept(void) {
  pthread_mutex_lock(&kept_lock);
  kdl_queue *stream = kept_count ? kept[--kept_count] : NULL;
  pthread_mutex_unlock(&kept_lock);
  return stream;
}

static bool keep(kdl_queue *stream) {
  pthread_mutex_lock(&kept_lock);
  bool has_room = kept_count < kept_limit;
  if (has_room)
    kept[kept_count++] = stream;
  pthread_mutex_unlock(&kept_lock);
  return has_room;
}

/* ------------------------------------------------------------------------------------------ */
/* Events that are not gone yet                                                                 */

/* Where several async.execute depend on one, MLIR 22's lowering lets the first of them destroy the
 * event that the others wait for, and each of them destroy it again. So an event stays until as
 * many others were destroyed after it. */
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
  if (device && !stream)
    kdl_mlir_ok(kdl_queue_create(device->device, NULL, &stream), what);
  return stream;
}

void mgpuStreamDestroy(kdl_queue *stream) {
  bool is_idle = stream && stream == just_waited_for;
  just_waited_for = NULL;
  if (!is_idle || !keep(stream))
    kdl_queue_destroy(stream);
}

void mgpuStreamSynchronize(kdl_queue *stream) {
  if (stream && kdl_mlir_ok(kdl_sync(stream), "mgpuStreamSynchronize"))
    just_waited_for = stream;
}

void mgpuStreamWaitEvent(kdl_queue *stream, kdl_event *event) {
  if (stream && event)
    kdl_mlir_ok(kdl_event_wait(event, stream), "mgpuStreamWaitEvent");
}

kdl_event *mgpuEventCreate(void) {
  static const char what[] = "mgpuEventCreate";
  const kdl_mlir_device *device = kdl_mlir_device_for(what);
  kdl_event *event = NULL;
  if (device)
    kdl_mlir_ok(kdl_event_create(device->device, &event), what);
  return event;
}

void mgpuEventDestroy(kdl_event *event) {
  kdl_event_destroy(bury(event));
}

void mgpuEventSynchronize(kdl_event *event) {
  if (event)
    kdl_mlir_ok(kdl_event_sync(event), "mgpuEventSynchronize");
}

void mgpuEventRecord(kdl_event *event, kdl_queue *stream) {
  if (event && stream)
    kdl_mlir_ok(kdl_event_record(event, stream), "mgpuEventRecord");
}
