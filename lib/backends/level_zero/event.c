/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Events: each has the timestamp of its last record. */
#include "lib/backends/common/services.h"
#include "lib/backends/level_zero/objects.h"

#include <stdlib.h>

typedef struct {
  pthread_mutex_t lock;
  kdl_ze_timestamp *stamp;
  bool is_recorded;
} ze_event;

kdl_status kdl_ze_event_create(void *device, void **out_event) {
  ze_event *event = calloc(1, sizeof *event);
  if (!event)
    return kdl_ze_no_memory(device);
  kdl_status status = kdl_ze_timestamp_acquire(device, &event->stamp);
  if (status == KDL_OK)
    pthread_mutex_init(&event->lock, NULL);
  return kdl_return_or_free(status, event, out_event);
}

void kdl_ze_event_destroy(void *device, void *handle) {
  ze_event *event = handle;
  kdl_ze_timestamp_release(device, event->stamp);
  pthread_mutex_destroy(&event->lock);
  free(event);
}

/* The timestamp of the last record, retained; NULL where there is none. */
static kdl_ze_timestamp *ze_last_timestamp(kdl_ze_device *device, ze_event *event) {
  pthread_mutex_lock(&event->lock);
  kdl_ze_timestamp *stamp = event->is_recorded ? event->stamp : NULL;
  if (stamp)
    kdl_ze_timestamp_retain(device, stamp);
  pthread_mutex_unlock(&event->lock);
  return stamp;
}

static kdl_status ze_append_timestamp(kdl_ze_queue *queue, kdl_ze_timestamp *stamp) {
  const char *call = "zeCommandListAppendWriteGlobalTimestamp";
  kdl_futex_lock_acquire(&queue->lock);
  int error = kdl_ze.timestamp(queue->list, stamp->time, stamp->event, 0, NULL);
  stamp->given = error == KDL_ZE_SUCCESS;
  error = kdl_ze_queue_append_barrier(queue, error, &call);
  kdl_futex_lock_release(&queue->lock);
  return error == KDL_ZE_SUCCESS ? KDL_OK : kdl_ze_fail(queue->device, error, "%s", call);
}

kdl_status kdl_ze_event_record(void *device, void *handle, void *queue) {
  ze_event *event = handle;
  kdl_ze_timestamp *stamp;
  KDL_TRY(kdl_ze_timestamp_acquire(device, &stamp));
  kdl_status status = ze_append_timestamp(queue, stamp);
  if (status != KDL_OK) {
    kdl_ze_timestamp_release(device, stamp);
    return status;
  }
  pthread_mutex_lock(&event->lock);
  kdl_ze_timestamp *before = event->stamp;
  event->stamp = stamp;
  event->is_recorded = true;
  pthread_mutex_unlock(&event->lock);
  kdl_ze_timestamp_release(device, before);
  return KDL_OK;
}

/* An event that was not recorded delays nothing. */
kdl_status kdl_ze_event_sync(void *device, void *event) {
  kdl_ze_timestamp *stamp = ze_last_timestamp(device, event);
  if (!stamp)
    return KDL_OK;
  int error = kdl_ze.event_sync(stamp->event, KDL_ZE_FOREVER);
  kdl_ze_timestamp_release(device, stamp);
  return error == KDL_ZE_SUCCESS ? KDL_OK : kdl_ze_fail(device, error, "zeEventHostSynchronize");
}

kdl_status kdl_ze_event_query(void *device, void *event, int *out_done) {
  kdl_ze_timestamp *stamp = ze_last_timestamp(device, event);
  int error = stamp ? kdl_ze.event_status(stamp->event) : KDL_ZE_SUCCESS;
  if (stamp)
    kdl_ze_timestamp_release(device, stamp);
  *out_done = error == KDL_ZE_SUCCESS;
  return error == KDL_ZE_SUCCESS || error == KDL_ZE_NOT_READY
             ? KDL_OK
             : kdl_ze_fail(device, error, "zeEventQueryStatus");
}

/* The queue keeps the timestamp until it has passed it. */
static kdl_status ze_append_wait(kdl_ze_queue *queue, kdl_ze_timestamp *stamp, bool *out_kept) {
  KDL_TRY(kdl_ze_queue_lock_for_wait(queue));
  int error = kdl_ze.wait(queue->list, 1, &stamp->event);
  *out_kept = error == KDL_ZE_SUCCESS;
  if (*out_kept)
    queue->waits[queue->wait_count++] = stamp;
  const char *call = "zeCommandListAppendWaitOnEvents";
  error = kdl_ze_queue_append_barrier(queue, error, &call);
  kdl_futex_lock_release(&queue->lock);
  return error == KDL_ZE_SUCCESS ? KDL_OK : kdl_ze_fail(queue->device, error, "%s", call);
}

kdl_status kdl_ze_event_wait(void *device, void *event, void *queue) {
  kdl_ze_timestamp *stamp = ze_last_timestamp(device, event);
  if (!stamp)
    return KDL_OK;
  bool is_kept = false;
  kdl_status status = ze_append_wait(queue, stamp, &is_kept);
  if (!is_kept)
    kdl_ze_timestamp_release(device, stamp);
  return status;
}

static kdl_status ze_read_time(kdl_ze_device *device, ze_event *event, uint64_t *out_time) {
  kdl_ze_timestamp *stamp = ze_last_timestamp(device, event);
  if (!stamp)
    return kdl_core_services.fail(
        KDL_BAD_CALL, 0, "level_zero:%u: found an event that was not recorded", device->ordinal);
  int error = kdl_ze.event_status(stamp->event);
  *out_time = *(volatile uint64_t *)stamp->time;
  kdl_ze_timestamp_release(device, stamp);
  return error == KDL_ZE_SUCCESS ? KDL_OK : kdl_ze_fail(device, error, "zeEventQueryStatus");
}

/* Clocks have fewer bits than a word, and wrap around. An end before its start is distinguished
 * from that by its size. */
kdl_status kdl_ze_event_elapsed(void *handle, void *start, void *end, double *out_ns) {
  kdl_ze_device *device = handle;
  uint64_t from = 0, to = 0;
  KDL_TRY(ze_read_time(device, start, &from));
  KDL_TRY(ze_read_time(device, end, &to));
  uint64_t ticks = (to - from) & device->tick_mask;
  bool is_back = ticks > device->tick_mask / 2;
  double forward = (double)(is_back ? (from - to) & device->tick_mask : ticks);
  *out_ns = (is_back ? -forward : forward) * device->ns_per_tick;
  return KDL_OK;
}

/* Valid until the next record. */
void *kdl_ze_event_native(void *device, void *event) {
  (void)device;
  return ((ze_event *)event)->stamp->event;
}
