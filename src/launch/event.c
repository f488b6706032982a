/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "base/cancel.h"
#include "base/error.h"
#include "binding/capture.h"
#include "launch/launch.h"

#include <stdlib.h>

kdl_status kdl_event_create(kdl_device *device, kdl_event **out_event) {
  KDL_NOT_CANCELLED;
  kdl_status status = KDL_GIVEN(device, out_event);
  if (status != KDL_OK)
    return status;
  const kdl_runtime *runtime;
  kdl_event *event = kdl_runtime_make(device, "an event", sizeof *event, &runtime);
  if (!event)
    return kdl_error_status();
  event->runtime = runtime;
  status = runtime->table->event_create(runtime->handle, &event->handle);
  if (status == KDL_OK) {
    *out_event = event;
  } else {
    kdl_runtime_drop(runtime);
    free(event);
  }
  return status;
}

void kdl_event_destroy(kdl_event *event) {
  KDL_NOT_CANCELLED;
  if (!event)
    return;
  if (kdl_runtime_usable(event->runtime) == KDL_OK)
    event->runtime->table->event_destroy(event->runtime->handle, event->handle);
  kdl_runtime_drop(event->runtime);
  free(event);
}

static kdl_status check_same(const kdl_event *event, const kdl_runtime *other) {
  if (event->runtime == other)
    return kdl_runtime_usable(other);
  return kdl_fail(KDL_BAD_CALL, "found an event of %s, expected one of %s", event->runtime->label,
                  other->label);
}

kdl_status kdl_event_record(kdl_event *event, kdl_queue *queue) {
  KDL_NOT_CANCELLED;
  kdl_status status = KDL_GIVEN(event, queue);
  if (status == KDL_OK)
    status = check_same(event, queue->runtime);
  if (status != KDL_OK)
    return status;
  if (queue->capture)
    return queue->capture->calls->event_record(queue->capture, event);
  const kdl_runtime *runtime = event->runtime;
  return runtime->table->event_record(runtime->handle, event->handle, queue->head.queue);
}

kdl_status kdl_event_sync(kdl_event *event) {
  KDL_NOT_CANCELLED;
  kdl_status status = KDL_GIVEN(event);
  if (status == KDL_OK)
    status = kdl_runtime_usable(event->runtime);
  if (status != KDL_OK)
    return status;
  return event->runtime->table->event_sync(event->runtime->handle, event->handle);
}

kdl_status kdl_event_query(kdl_event *event, int *out_done) {
  KDL_NOT_CANCELLED;
  int done = 0;
  kdl_status status = KDL_GIVEN(event, out_done);
  if (status == KDL_OK)
    status = kdl_runtime_usable(event->runtime);
  if (status != KDL_OK)
    return status;
  const kdl_runtime *runtime = event->runtime;
  if (!runtime->table->event_query)
    return kdl_fail(KDL_UNSUPPORTED,
                    "kdl_event_query: %s: its backend cannot tell without waiting; kdl_event_sync "
                    "waits",
                    runtime->label);
  status = runtime->table->event_query(runtime->handle, event->handle, &done);
  if (status == KDL_OK)
    *out_done = done != 0;
  return status;
}

/* Queues of another device wait here: there is no order between two drivers. */
kdl_status kdl_event_wait(kdl_event *event, kdl_queue *queue) {
  KDL_NOT_CANCELLED;
  kdl_status status = KDL_GIVEN(event, queue);
  if (status != KDL_OK)
    return status;
  const kdl_runtime *runtime = event->runtime;
  if (queue->capture)
    return queue->capture->calls->event_wait(queue->capture, event);
  if (runtime != queue->runtime)
    return kdl_event_sync(event);
  status = kdl_runtime_usable(runtime);
  if (status != KDL_OK)
    return status;
  return runtime->table->event_wait(runtime->handle, event->handle, queue->head.queue);
}

kdl_status kdl_event_elapsed(kdl_event *start, kdl_event *end, double *out_ns) {
  KDL_NOT_CANCELLED;
  kdl_status status = KDL_GIVEN(start, end, out_ns);
  if (status == KDL_OK)
    status = check_same(end, start->runtime);
  if (status != KDL_OK)
    return status;
  const kdl_runtime *runtime = start->runtime;
  return runtime->table->event_elapsed(runtime->handle, start->handle, end->handle, out_ns);
}

kdl_status kdl_event_native(kdl_event *event, void **out_handle) {
  KDL_NOT_CANCELLED;
  kdl_status status = KDL_GIVEN(event, out_handle);
  if (status == KDL_OK)
    status = kdl_runtime_usable(event->runtime);
  if (status == KDL_OK)
    *out_handle = event->runtime->table->event_native(event->runtime->handle, event->handle);
  return status;
}
