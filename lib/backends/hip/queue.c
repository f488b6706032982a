/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Queues are streams. */
#include "lib/backends/common/services.h"
#include "lib/backends/hip/objects.h"

#include <stdatomic.h>
#include <stdlib.h>

/* Streams with small numbers as handles belong to the current device. */
static bool hip_is_special_stream(const void *stream) {
  return (uintptr_t)stream <= KDL_HIP_STREAM_LAST_SPECIAL;
}

static kdl_status hip_alloc_queue(const kdl_hip_device *device, kdl_hip_queue made,
                                  void **out_queue) {
  kdl_hip_queue *queue = malloc(sizeof *queue);
  if (!queue)
    return kdl_driver_errors_no_memory(&kdl_hip_errors, device->ordinal);
  *queue = made;
  *out_queue = queue;
  return KDL_OK;
}

/* A non-blocking stream: it does not synchronise with the device's NULL stream. The runtime clamps
 * the priority. */
static kdl_status hip_create_stream(const kdl_hip_device *device, int32_t priority,
                                    kdl_hip_queue *queue) {
  kdl_hip_scope scope;
  if (kdl_hip_enter_relaxed(device, &scope) != KDL_OK)
    return scope.status;
  int error = kdl_hip.stream_create(&queue->stream, KDL_HIP_STREAM_NON_BLOCKING, priority);
  return kdl_hip_leave(&scope, error, "hipStreamCreateWithPriority");
}

kdl_status kdl_hip_queue_create(void *device, int32_t priority, void **out_queue) {
  kdl_hip_queue *queue = NULL;
  kdl_status status = hip_alloc_queue(device, (kdl_hip_queue){.owned = true}, (void **)&queue);
  if (status == KDL_OK)
    status = hip_create_stream(device, priority, queue);
  return kdl_return_or_free(status, queue, out_queue);
}

/* The runtime knows its streams and their devices; other pointers have no device. */
static kdl_status hip_check_stream(const kdl_hip_device *device, void *stream) {
  int found = kdl_hip.stream_device(stream);
  if (found == (int)device->ordinal)
    return KDL_OK;
  (void)kdl_hip.last_error();
  return kdl_core_services.fail(KDL_BAD_CALL, 0, "hip:%u: the stream to be adopted is %s",
                                device->ordinal, found < 0 ? "none" : "one of another device");
}

kdl_status kdl_hip_queue_adopt(void *device, void *native, void **out_queue) {
  KDL_TRY(hip_is_special_stream(native) ? KDL_OK : hip_check_stream(device, native));
  kdl_hip_queue made = {
      .stream = native, .make_current = hip_is_special_stream(native), .may_be_captured = true};
  return hip_alloc_queue(device, made, out_queue);
}

/* Needs no current device, so it is also tried if none can be made current. */
static void hip_destroy_stream(const kdl_hip_device *device, void *stream) {
  kdl_hip_scope scope;
  bool entered = kdl_hip_enter_relaxed(device, &scope) == KDL_OK;
  kdl_hip_log_error(device->ordinal, kdl_hip.stream_sync(stream), "hipStreamSynchronize");
  kdl_hip_log_error(device->ordinal, kdl_hip.stream_destroy(stream), "hipStreamDestroy");
  if (entered)
    (void)kdl_hip_leave(&scope, KDL_HIP_SUCCESS, "hipStreamDestroy");
}

void kdl_hip_queue_destroy(void *device, void *handle) {
  kdl_hip_queue *queue = handle;
  if (queue->owned)
    hip_destroy_stream(device, queue->stream);
  free(queue);
}

kdl_status kdl_hip_queue_sync(void *device, void *handle) {
  const kdl_hip_queue *queue = handle;
  kdl_hip_scope scope;
  if (kdl_hip_enter(device, &scope) != KDL_OK)
    return scope.status;
  return kdl_hip_leave(&scope, kdl_hip.stream_sync(queue->stream), "hipStreamSynchronize");
}

/* The NULL stream is never captured, but reports an error while a capture of another stream forbids
 * its use. */
kdl_status kdl_hip_queue_capturing(void *device, void *handle, int *out_capturing) {
  const kdl_hip_queue *queue = handle;
  kdl_hip_scope scope;
  if (kdl_hip_enter(device, &scope) != KDL_OK)
    return scope.status;
  int capture = KDL_HIP_CAPTURE_STATUS_NONE;
  int error = kdl_hip.stream_capturing(queue->stream, &capture);
  bool implicit = error == KDL_HIP_ERROR_STREAM_CAPTURE_IMPLICIT;
  if (implicit)
    (void)kdl_hip.last_error();
  *out_capturing = implicit || capture != KDL_HIP_CAPTURE_STATUS_NONE;
  return kdl_hip_leave(&scope, implicit ? KDL_HIP_SUCCESS : error, "hipStreamIsCapturing");
}

void *kdl_hip_queue_native(void *device, void *queue) {
  (void)device;
  atomic_store(&((kdl_hip_queue *)queue)->may_be_captured, true);
  return ((kdl_hip_queue *)queue)->stream;
}
