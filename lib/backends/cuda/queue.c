/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Queues are streams. */
#include "lib/backends/common/services.h"
#include "lib/backends/cuda/objects.h"

#include <stdatomic.h>
#include <stdlib.h>

/* NULL with the error recorded. */
static kdl_cuda_queue *cuda_alloc_queue(const kdl_cuda_device *device) {
  kdl_cuda_queue *queue = calloc(1, sizeof *queue);
  if (queue)
    queue->context = device->context;
  else
    kdl_driver_errors_no_memory(&kdl_cuda_errors, device->ordinal);
  return queue;
}

/* The initial value, for the thread that creates the queue. */
static uint64_t cuda_initial_context_source(const kdl_cuda_queue *queue,
                                            const kdl_cuda_device *device,
                                            const kdl_cuda_scope *scope) {
  bool stays_current = !scope->pushed && queue->context == device->context;
  if (kdl_cuda_is_special(queue->stream))
    return stays_current ? KDL_CUDA_FROM_THREAD : KDL_CUDA_FROM_QUEUE;
  return stays_current || !kdl_cuda_has_libraries() ? KDL_CUDA_FROM_THREAD : KDL_CUDA_FROM_STREAM;
}

/* A non-blocking stream: it does not synchronise with the context's NULL stream. The driver clamps
 * the priority. */
static kdl_status cuda_create_stream(const kdl_cuda_device *device, int32_t priority,
                                     kdl_cuda_queue *queue) {
  kdl_cuda_scope scope;
  if (kdl_cuda_enter_relaxed(device, &scope) != KDL_OK)
    return scope.status;
  int error = kdl_cuda.stream_create(&queue->stream, KDL_CUDA_STREAM_NON_BLOCKING, priority);
  atomic_init(&queue->context_from, cuda_initial_context_source(queue, device, &scope));
  return kdl_cuda_leave(&scope, error, "cuStreamCreateWithPriority");
}

kdl_status kdl_cuda_queue_create(void *device, int32_t priority, void **out_queue) {
  kdl_cuda_queue *queue = cuda_alloc_queue(device);
  if (!queue)
    return KDL_NO_MEMORY;
  queue->owned = true;
  return kdl_return_or_free(cuda_create_stream(device, priority, queue), queue, out_queue);
}

/* The caller's stream must be of the device and, if code is loaded into a context, of that
 * context. */
static kdl_status cuda_check_stream_context(const kdl_cuda_device *device,
                                            const kdl_cuda_queue *queue) {
  KDL_TRY(kdl_cuda_check_context(device, queue->context, "stream"));
  if (!kdl_cuda_has_libraries())
    return kdl_core_services.fail(
        KDL_BAD_CALL, 0,
        "cuda:%u: the stream to be adopted is one of another context than "
        "code is loaded into; adopt that context first, with "
        "kdl_device_adopt, or from CUDA 12 on set KDL_CUDA_MODULES=0",
        device->ordinal);
  return KDL_OK;
}

static kdl_status cuda_adopt_stream(const kdl_cuda_device *device, kdl_cuda_queue *queue) {
  kdl_cuda_scope scope;
  if (kdl_cuda_enter_own(device, &scope) != KDL_OK)
    return scope.status;
  int error = KDL_CUDA_SUCCESS;
  if (!kdl_cuda_is_special(queue->stream))
    error = kdl_cuda.stream_context(queue->stream, &queue->context);
  atomic_init(&queue->context_from, cuda_initial_context_source(queue, device, &scope));
  kdl_status status = kdl_cuda_leave(&scope, error, "cuStreamGetCtx");
  return status != KDL_OK || queue->context == device->context
             ? status
             : cuda_check_stream_context(device, queue);
}

kdl_status kdl_cuda_queue_adopt(void *device, void *native, void **out_queue) {
  kdl_cuda_queue *queue = cuda_alloc_queue(device);
  if (!queue)
    return KDL_NO_MEMORY;
  queue->stream = native;
  atomic_init(&queue->may_be_captured, true);
  return kdl_return_or_free(cuda_adopt_stream(device, queue), queue, out_queue);
}

/* Needs no current context, so it is also tried if none can be made current. */
static void cuda_destroy_stream(const kdl_cuda_device *device, kdl_cuda_queue *queue) {
  kdl_cuda_scope scope;
  bool entered = kdl_cuda_enter_relaxed(device, &scope) == KDL_OK;
  kdl_cuda_log_error(device->ordinal, kdl_cuda.stream_sync(queue->stream), "cuStreamSynchronize");
  kdl_cuda_log_error(device->ordinal, kdl_cuda.stream_destroy(queue->stream), "cuStreamDestroy_v2");
  if (entered)
    (void)kdl_cuda_leave(&scope, KDL_CUDA_SUCCESS, "cuStreamDestroy_v2");
}

void kdl_cuda_queue_destroy(void *device, void *handle) {
  kdl_cuda_queue *queue = handle;
  if (queue->owned)
    cuda_destroy_stream(device, queue);
  free(queue);
}

/* Polls first: cuStreamSynchronize takes longer to notice that work is done. */
enum { sync_queries = 64 };

kdl_status kdl_cuda_queue_sync(void *device, void *queue_handle) {
  kdl_cuda_queue *queue = queue_handle;
  kdl_cuda_scope scope;
  if (kdl_cuda_enter(device, queue->context, &scope) != KDL_OK)
    return scope.status;
  const char *call = "cuStreamQuery";
  int error = KDL_CUDA_ERROR_NOT_READY;
  for (int i = 0; i < sync_queries && error == KDL_CUDA_ERROR_NOT_READY; ++i)
    error = kdl_cuda.stream_query(queue->stream);
  if (error == KDL_CUDA_ERROR_NOT_READY) {
    call = "cuStreamSynchronize";
    error = kdl_cuda.stream_sync(queue->stream);
  }
  return kdl_cuda_leave(&scope, error, "%s", call);
}

/* The NULL stream is never captured, but reports an error while a capture of another stream forbids
 * its use. */
kdl_status kdl_cuda_queue_capturing(void *device, void *queue_handle, int *out_capturing) {
  kdl_cuda_queue *queue = queue_handle;
  kdl_cuda_scope scope;
  if (kdl_cuda_enter(device, queue->context, &scope) != KDL_OK)
    return scope.status;
  int capture = KDL_CUDA_CAPTURE_STATUS_NONE;
  int error = kdl_cuda.stream_capturing(queue->stream, &capture);
  bool is_implicit = error == KDL_CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  *out_capturing = is_implicit || capture != KDL_CUDA_CAPTURE_STATUS_NONE;
  return kdl_cuda_leave(&scope, is_implicit ? KDL_CUDA_SUCCESS : error, "cuStreamIsCapturing");
}

void *kdl_cuda_queue_native(void *device, void *queue) {
  (void)device;
  atomic_store(&((kdl_cuda_queue *)queue)->may_be_captured, true);
  return ((kdl_cuda_queue *)queue)->stream;
}
