/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/backends/hip/objects.h"

#include <stdatomic.h>

kdl_status kdl_hip_event_create(void *device, void **out_event) {
  kdl_hip_scope scope;
  if (kdl_hip_enter_relaxed(device, &scope) != KDL_OK)
    return scope.status;
  return kdl_hip_leave(&scope, kdl_hip.event_create(out_event, 0), "hipEventCreateWithFlags");
}

/* Needs no device to be current. */
void kdl_hip_event_destroy(void *device, void *event) {
  kdl_hip_log_error(((kdl_hip_device *)device)->ordinal, kdl_hip.event_destroy(event),
                    "hipEventDestroy");
}

kdl_status kdl_hip_event_record(void *device, void *event, void *queue_handle) {
  const kdl_hip_queue *queue = queue_handle;
  kdl_hip_scope scope;
  if (kdl_hip_enter(device, &scope) != KDL_OK)
    return scope.status;
  return kdl_hip_leave(&scope, kdl_hip.event_record(event, queue->stream), "hipEventRecord");
}

kdl_status kdl_hip_event_sync(void *device, void *event) {
  kdl_hip_scope scope;
  if (kdl_hip_enter(device, &scope) != KDL_OK)
    return scope.status;
  return kdl_hip_leave(&scope, kdl_hip.event_sync(event), "hipEventSynchronize");
}

/* That it is not ready is remembered as an error of the thread, by some releases. */
kdl_status kdl_hip_event_query(void *device, void *event, int *out_done) {
  kdl_hip_scope scope;
  if (kdl_hip_enter(device, &scope) != KDL_OK)
    return scope.status;
  int error = kdl_hip.event_query(event);
  *out_done = error == KDL_HIP_SUCCESS;
  if (error == KDL_HIP_ERROR_NOT_READY) {
    (void)kdl_hip.last_error();
    error = KDL_HIP_SUCCESS;
  }
  return kdl_hip_leave(&scope, error, "hipEventQuery");
}

kdl_status kdl_hip_event_wait(void *device, void *event, void *queue_handle) {
  kdl_hip_queue *queue = queue_handle;
  kdl_hip_scope scope;
  if (kdl_hip_enter(device, &scope) != KDL_OK)
    return scope.status;
  atomic_store_explicit(&queue->may_be_captured, true, memory_order_relaxed);
  return kdl_hip_leave(&scope, kdl_hip.stream_wait(queue->stream, event, 0), "hipStreamWaitEvent");
}

kdl_status kdl_hip_event_elapsed(void *device, void *start, void *end, double *out_ns) {
  kdl_hip_scope scope;
  if (kdl_hip_enter(device, &scope) != KDL_OK)
    return scope.status;
  float milliseconds = 0;
  int error = kdl_hip.event_elapsed(&milliseconds, start, end);
  *out_ns = (double)milliseconds * 1e6;
  return kdl_hip_leave(&scope, error, "hipEventElapsedTime");
}

void *kdl_hip_event_native(void *device, void *event) {
  (void)device;
  return event;
}
