/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/backends/cuda/objects.h"

#include <stdatomic.h>

kdl_status kdl_cuda_event_create(void *device, void **out_event) {
  kdl_cuda_scope scope;
  if (kdl_cuda_enter_relaxed(device, &scope) != KDL_OK)
    return scope.status;
  return kdl_cuda_leave(&scope, kdl_cuda.event_create(out_event, 0), "cuEventCreate");
}

/* Needs no context to be current. */
void kdl_cuda_event_destroy(void *handle, void *event) {
  kdl_cuda_device *device = handle;
  kdl_cuda_log_error(device->ordinal, kdl_cuda.event_destroy(event), "cuEventDestroy_v2");
}

kdl_status kdl_cuda_event_record(void *device, void *event, void *queue_handle) {
  kdl_cuda_queue *queue = queue_handle;
  kdl_cuda_scope scope;
  if (kdl_cuda_enter(device, queue->context, &scope) != KDL_OK)
    return scope.status;
  return kdl_cuda_leave(&scope, kdl_cuda.event_record(event, queue->stream), "cuEventRecord");
}

kdl_status kdl_cuda_event_sync(void *device, void *event) {
  kdl_cuda_scope scope;
  if (kdl_cuda_enter_own(device, &scope) != KDL_OK)
    return scope.status;
  return kdl_cuda_leave(&scope, kdl_cuda.event_sync(event), "cuEventSynchronize");
}

kdl_status kdl_cuda_event_query(void *device, void *event, int *out_done) {
  kdl_cuda_scope scope;
  if (kdl_cuda_enter_own(device, &scope) != KDL_OK)
    return scope.status;
  int error = kdl_cuda.event_query(event);
  *out_done = error == KDL_CUDA_SUCCESS;
  return kdl_cuda_leave(&scope, error == KDL_CUDA_ERROR_NOT_READY ? KDL_CUDA_SUCCESS : error,
                        "cuEventQuery");
}

/* The event may be one of another device. */
kdl_status kdl_cuda_event_wait(void *device, void *event, void *queue_handle) {
  kdl_cuda_queue *queue = queue_handle;
  kdl_cuda_scope scope;
  if (kdl_cuda_enter(device, queue->context, &scope) != KDL_OK)
    return scope.status;
  atomic_store_explicit(&queue->may_be_captured, true, memory_order_relaxed);
  return kdl_cuda_leave(&scope, kdl_cuda.stream_wait(queue->stream, event, 0), "cuStreamWaitEvent");
}

kdl_status kdl_cuda_event_elapsed(void *device, void *start, void *end, double *out_ns) {
  kdl_cuda_scope scope;
  if (kdl_cuda_enter_own(device, &scope) != KDL_OK)
    return scope.status;
  float milliseconds = 0;
  int error = kdl_cuda.event_elapsed(&milliseconds, start, end);
  *out_ns = (double)milliseconds * 1e6;
  return kdl_cuda_leave(&scope, error, "cuEventElapsedTime");
}

void *kdl_cuda_event_native(void *device, void *event) {
  (void)device;
  return event;
}
