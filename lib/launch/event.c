/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/binding/capture.h"
#include "lib/launch/launch.h"
#include "support/base/cancel.h"
#include "support/base/error.h"

#include <stdlib.h>

kdl_status kdl_event_create(kdl_device *device, kdl_event **out_event) {
  KDL_NOT_CANCELLED;
  KDL_TRY(KDL_GIVEN(device, out_event));
  const kdl_runtime *runtime;
  kdl_event *event = kdl_runtime_create_object(device, "an event", sizeof *event, &runtime);
  if (!event)
    return kdl_error_status();
  event->runtime = runtime;
  kdl_status status = runtime->table->event_create(runtime->handle, &event->handle);
  if (status == KDL_OK) {
    *out_event = event;
  } else {
    kdl_runtime_release(runtime);
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
  kdl_runtime_release(event->runtime);
  free(event);
}

static kdl_status check_event_runtime(const kdl_event *event, const kdl_runtime *other) {
  if (event->runtime == other)
    return kdl_runtime_usable(other);
  return kdl_fail(KDL_BAD_CALL, "found an event of %s, expected one of %s", event->runtime->label,
                  other->label);
}

kdl_status kdl_event_record(kdl_event *event, kdl_queue *queue) {
  KDL_NOT_CANCELLED;
  KDL_TRY(KDL_GIVEN(event, queue));
  KDL_TRY(check_event_runtime(event, queue->runtime));
  kdl_capture *capture = kdl_queue_capture(queue);
  if (capture)
    return capture->functions->event_record(capture, event);
  const kdl_runtime *runtime = event->runtime;
  return runtime->table->event_record(runtime->handle, event->handle, queue->head.queue);
}

kdl_status kdl_event_sync(kdl_event *event) {
  KDL_NOT_CANCELLED;
  KDL_TRY(KDL_GIVEN(event));
  KDL_TRY(kdl_runtime_usable(event->runtime));
  return event->runtime->table->event_sync(event->runtime->handle, event->handle);
}

kdl_status kdl_event_query(kdl_event *event, int *out_done) {
  KDL_NOT_CANCELLED;
  int done = 0;
  KDL_TRY(KDL_GIVEN(event, out_done));
  KDL_TRY(kdl_runtime_usable(event->runtime));
  const kdl_runtime *runtime = event->runtime;
  if (!runtime->table->event_query)
    return kdl_fail(KDL_UNSUPPORTED,
                    "kdl_event_query: %s: its backend cannot tell without waiting; kdl_event_sync "
                    "waits",
                    runtime->label);
  KDL_TRY(runtime->table->event_query(runtime->handle, event->handle, &done));
  *out_done = done != 0;
  return KDL_OK;
}

/* For a queue of another device, this thread waits: two drivers have no common order. */
kdl_status kdl_event_wait(kdl_event *event, kdl_queue *queue) {
  KDL_NOT_CANCELLED;
  KDL_TRY(KDL_GIVEN(event, queue));
  const kdl_runtime *runtime = event->runtime;
  kdl_capture *capture = kdl_queue_capture(queue);
  if (capture)
    return capture->functions->event_wait(capture, event);
  if (runtime != queue->runtime)
    return kdl_event_sync(event);
  KDL_TRY(kdl_runtime_usable(runtime));
  return runtime->table->event_wait(runtime->handle, event->handle, queue->head.queue);
}

kdl_status kdl_event_elapsed(kdl_event *start, kdl_event *end, double *out_ns) {
  KDL_NOT_CANCELLED;
  KDL_TRY(KDL_GIVEN(start, end, out_ns));
  KDL_TRY(check_event_runtime(end, start->runtime));
  const kdl_runtime *runtime = start->runtime;
  return runtime->table->event_elapsed(runtime->handle, start->handle, end->handle, out_ns);
}

kdl_status kdl_event_native(kdl_event *event, void **out_handle) {
  KDL_NOT_CANCELLED;
  KDL_TRY(KDL_GIVEN(event, out_handle));
  KDL_TRY(kdl_runtime_usable(event->runtime));
  *out_handle = event->runtime->table->event_native(event->runtime->handle, event->handle);
  return KDL_OK;
}
