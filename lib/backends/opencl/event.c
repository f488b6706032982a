/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Events. OpenCL creates an event with each command, so a kdl_event holds the marker that it last
 * recorded. */
#include "lib/backends/opencl/objects.h"

#include <stdlib.h>

typedef struct {
  pthread_mutex_t lock;
  void *marker; /* cl_event; NULL until it is recorded */
} opencl_event;

kdl_status kdl_opencl_event_create(void *handle, void **out_event) {
  kdl_opencl_device *device = handle;
  opencl_event *made = calloc(1, sizeof *made);
  if (!made)
    return kdl_opencl_no_memory(device->ordinal);
  pthread_mutex_init(&made->lock, NULL);
  *out_event = made;
  return KDL_OK;
}

static void opencl_release_marker(const kdl_opencl_device *device, void *marker) {
  kdl_opencl_log_error(device->ordinal, marker ? kdl_opencl.event_release(marker) : KDL_CL_SUCCESS,
                       "clReleaseEvent");
}

void kdl_opencl_event_destroy(void *handle, void *event_handle) {
  opencl_event *self = event_handle;
  opencl_release_marker(handle, self->marker);
  pthread_mutex_destroy(&self->lock);
  free(self);
}

/* Another queue or thread may wait for the marker, so it must be flushed to the device (OpenCL,
 * "clFlush"). */
kdl_status kdl_opencl_event_record(void *handle, void *event_handle, void *queue_handle) {
  kdl_opencl_device *device = handle;
  opencl_event *self = event_handle;
  kdl_opencl_queue *queue = queue_handle;
  void *marker = NULL;
  int32_t error = kdl_opencl.marker(queue->queue, 0, NULL, &marker);
  if (error != KDL_CL_SUCCESS)
    return kdl_opencl_fail(device->ordinal, error, "clEnqueueMarkerWithWaitList");
  error = kdl_opencl.flush(queue->queue);
  if (error != KDL_CL_SUCCESS) {
    opencl_release_marker(device, marker);
    return kdl_opencl_fail(device->ordinal, error, "clFlush");
  }
  pthread_mutex_lock(&self->lock);
  void *before = self->marker;
  self->marker = marker;
  pthread_mutex_unlock(&self->lock);
  opencl_release_marker(device, before);
  return KDL_OK;
}

/* The marker, which the caller releases; NULL where there is none. */
static kdl_status opencl_retain_marker(const kdl_opencl_device *device, opencl_event *self,
                                       void **out_marker) {
  pthread_mutex_lock(&self->lock);
  void *marker = self->marker;
  int32_t error = marker ? kdl_opencl.event_retain(marker) : KDL_CL_SUCCESS;
  pthread_mutex_unlock(&self->lock);
  if (error != KDL_CL_SUCCESS)
    return kdl_opencl_fail(device->ordinal, error, "clRetainEvent");
  *out_marker = marker;
  return KDL_OK;
}

kdl_status kdl_opencl_event_sync(void *handle, void *event_handle) {
  kdl_opencl_device *device = handle;
  void *marker = NULL;
  kdl_status status = opencl_retain_marker(device, event_handle, &marker);
  if (status != KDL_OK || !marker)
    return status;
  int32_t error = kdl_opencl.events_wait(1, &marker);
  opencl_release_marker(device, marker);
  return error == KDL_CL_SUCCESS ? KDL_OK
                                 : kdl_opencl_fail(device->ordinal, error, "clWaitForEvents");
}

kdl_status kdl_opencl_event_query(void *handle, void *event_handle, int *out_done) {
  kdl_opencl_device *device = handle;
  void *marker = NULL;
  int32_t state = KDL_CL_COMPLETE;
  KDL_TRY(opencl_retain_marker(device, event_handle, &marker));
  int32_t error = marker ? kdl_opencl.event_info(marker, KDL_CL_EVENT_COMMAND_EXECUTION_STATUS,
                                                 sizeof state, &state, NULL)
                         : KDL_CL_SUCCESS;
  opencl_release_marker(device, marker);
  if (error != KDL_CL_SUCCESS)
    return kdl_opencl_fail(device->ordinal, error, "clGetEventInfo");
  if (state < KDL_CL_COMPLETE)
    return kdl_opencl_fail(device->ordinal, state, "clGetEventInfo: the work before the event");
  *out_done = state == KDL_CL_COMPLETE;
  return KDL_OK;
}

kdl_status kdl_opencl_event_wait(void *handle, void *event_handle, void *queue_handle) {
  kdl_opencl_device *device = handle;
  kdl_opencl_queue *queue = queue_handle;
  void *marker = NULL;
  kdl_status status = opencl_retain_marker(device, event_handle, &marker);
  if (status != KDL_OK || !marker)
    return status;
  int32_t error = kdl_opencl.barrier(queue->queue, 1, &marker, NULL);
  opencl_release_marker(device, marker);
  return error == KDL_CL_SUCCESS
             ? KDL_OK
             : kdl_opencl_fail(device->ordinal, error, "clEnqueueBarrierWithWaitList");
}

/* When the marker was reached, by the device's clock. */
static kdl_status opencl_marker_time(const kdl_opencl_device *device, opencl_event *self,
                                     uint64_t *out_ns) {
  void *marker = NULL;
  KDL_TRY(opencl_retain_marker(device, self, &marker));
  if (!marker)
    return kdl_core_services.fail(KDL_BAD_CALL, 0, "opencl:%u: the event was not recorded",
                                  device->ordinal);
  int32_t error =
      kdl_opencl.event_profile(marker, KDL_CL_PROFILING_COMMAND_END, sizeof *out_ns, out_ns, NULL);
  opencl_release_marker(device, marker);
  if (error == KDL_CL_PROFILING_INFO_NOT_AVAILABLE)
    return kdl_opencl_fail(device->ordinal, error,
                           "clGetEventProfilingInfo: the event was not reached yet, or its queue "
                           "was created without CL_QUEUE_PROFILING_ENABLE");
  return error == KDL_CL_SUCCESS
             ? KDL_OK
             : kdl_opencl_fail(device->ordinal, error, "clGetEventProfilingInfo");
}

kdl_status kdl_opencl_event_elapsed(void *handle, void *start, void *end, double *out_ns) {
  uint64_t first = 0, last = 0;
  KDL_TRY(opencl_marker_time(handle, start, &first));
  KDL_TRY(opencl_marker_time(handle, end, &last));
  *out_ns = last >= first ? (double)(last - first) : -(double)(first - last);
  return KDL_OK;
}

/* Valid until the event is recorded again or destroyed. */
void *kdl_opencl_event_native(void *device, void *event_handle) {
  (void)device;
  opencl_event *self = event_handle;
  pthread_mutex_lock(&self->lock);
  void *marker = self->marker;
  pthread_mutex_unlock(&self->lock);
  return marker;
}
