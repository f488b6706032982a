/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/binding/capture.h"
#include "lib/registry/runtime.h"
#include "support/base/cancel.h"
#include "support/base/error.h"
#include "support/base/sized.h"

#include <stdlib.h>

static kdl_status alloc_queue(kdl_device *device, kdl_queue **out_queue) {
  const kdl_runtime *runtime;
  kdl_queue *queue = kdl_runtime_create_object(device, "a queue", sizeof *queue, &runtime);
  if (!queue)
    return kdl_error_status();
  queue->runtime = runtime;
  *out_queue = queue;
  return KDL_OK;
}

/* Returns the queue if the backend created its own, else frees it. */
static kdl_status finish_queue(kdl_status status, kdl_queue *queue, kdl_queue **out_queue) {
  if (status == KDL_OK) {
    *out_queue = queue;
  } else {
    kdl_error_prefix("%s", queue->runtime->label);
    kdl_runtime_release(queue->runtime);
    free(queue);
  }
  return status;
}

kdl_status kdl_queue_create(kdl_device *device, const kdl_queue_opts *opts, kdl_queue **out_queue) {
  KDL_NOT_CANCELLED;
  kdl_queue *queue;
  kdl_queue_opts full_opts = {.size = sizeof full_opts};
  const kdl_sized what = {"kdl_queue_create", "opts", sizeof full_opts, sizeof full_opts};
  kdl_status status = KDL_GIVEN(device, out_queue);
  if (status == KDL_OK && opts)
    status = kdl_sized_read(what, opts, &full_opts);
  if (status == KDL_OK)
    status = alloc_queue(device, &queue);
  if (status != KDL_OK)
    return status;
  const kdl_runtime *runtime = queue->runtime;
  if (full_opts.threads && runtime->table->queue_create_limited)
    status = runtime->table->queue_create_limited(runtime->handle, full_opts.priority,
                                                  full_opts.threads, &queue->head.queue);
  else
    status = runtime->table->queue_create(runtime->handle, full_opts.priority, &queue->head.queue);
  return finish_queue(status, queue, out_queue);
}

kdl_status kdl_queue_adopt(kdl_device *device, void *native, kdl_queue **out_queue) {
  KDL_NOT_CANCELLED;
  kdl_queue *queue;
  kdl_status status = KDL_GIVEN(device, out_queue);
  if (status == KDL_OK)
    status = alloc_queue(device, &queue);
  if (status != KDL_OK)
    return status;
  queue->is_adopted = true;
  status = queue->runtime->table->queue_adopt(queue->runtime->handle, native, &queue->head.queue);
  return finish_queue(status, queue, out_queue);
}

kdl_status kdl_device_queue(kdl_device *device, kdl_queue **out_queue) {
  KDL_NOT_CANCELLED;
  const kdl_runtime *runtime;
  KDL_TRY(KDL_GIVEN(device, out_queue));
  KDL_TRY(kdl_runtime_open(device, &runtime));
  *out_queue = (kdl_queue *)(uintptr_t)&runtime->queue;
  return KDL_OK;
}

void kdl_queue_destroy(kdl_queue *queue) {
  KDL_NOT_CANCELLED;
  if (!queue || queue == &queue->runtime->queue)
    return;
  const kdl_runtime *runtime = queue->runtime;
  kdl_capture *capture = kdl_queue_capture(queue);
  if (capture)
    capture->functions->discard(capture);
  if (kdl_runtime_usable(runtime) == KDL_OK) {
    if (!queue->is_adopted)
      (void)runtime->table->queue_sync(runtime->handle, queue->head.queue);
    runtime->table->queue_destroy(runtime->handle, queue->head.queue);
  }
  kdl_runtime_release(runtime);
  free(queue);
}

kdl_status kdl_sync(kdl_queue *queue) {
  KDL_TRY(KDL_GIVEN(queue));
  const kdl_runtime *runtime = queue->runtime;
  kdl_status status = kdl_runtime_usable(runtime);
  if (status == KDL_OK && kdl_queue_capture(queue))
    status = kdl_fail(KDL_BAD_CALL,
                      "kdl_sync: found a queue that is being captured: nothing was given to it");
  if (status != KDL_OK)
    return status;
  status = runtime->table->queue_sync(runtime->handle, queue->head.queue);
  if (status != KDL_OK)
    kdl_error_prefix("kdl_sync: %s", runtime->label);
  return status;
}

kdl_status kdl_queue_native(kdl_queue *queue, void **out_handle) {
  KDL_NOT_CANCELLED;
  KDL_TRY(KDL_GIVEN(queue, out_handle));
  KDL_TRY(kdl_runtime_usable(queue->runtime));
  if (queue == &queue->runtime->queue)
    KDL_TRY(kdl_runtime_retain(queue->runtime)); /* never released */
  *out_handle = queue->runtime->table->queue_native(queue->runtime->handle, queue->head.queue);
  return KDL_OK;
}

kdl_status kdl_device_native(kdl_device *device, kdl_native which, void **out_handle) {
  KDL_NOT_CANCELLED;
  const kdl_runtime *runtime;
  KDL_TRY(KDL_GIVEN(device, out_handle));
  KDL_TRY(kdl_runtime_open(device, &runtime));
  if ((unsigned)which > KDL_NATIVE_CONTEXT)
    return kdl_fail(KDL_BAD_CALL, "kdl_device_native: found %d, expected a kdl_native", (int)which);
  KDL_TRY(kdl_runtime_retain(runtime)); /* never released */
  *out_handle = runtime->table->device_native(runtime->handle, which);
  return KDL_OK;
}
