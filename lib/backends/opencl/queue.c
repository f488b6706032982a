/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Queues: in order, with profiling if libkdl creates them. */
#include "lib/backends/opencl/objects.h"

#include <stdlib.h>

static void *opencl_create_native(const kdl_opencl_device *device, int32_t priority,
                                  int32_t *out_error) {
  bool has_properties = device->version >= KDL_VERSION_OF(2, 0) && kdl_opencl.queue_create_2;
  if (!has_properties)
    return kdl_opencl.queue_create(device->context, device->id, KDL_CL_QUEUE_PROFILING, out_error);
  uint64_t properties[5] = {KDL_CL_QUEUE_PROPERTIES, KDL_CL_QUEUE_PROFILING};
  if (priority && device->has_priorities) {
    properties[2] = KDL_CL_QUEUE_PRIORITY;
    properties[3] = priority < 0 ? KDL_CL_PRIORITY_HIGH : KDL_CL_PRIORITY_LOW;
  }
  return kdl_opencl.queue_create_2(device->context, device->id, properties, out_error);
}

/* Drivers may hold work back until the queue is waited for or flushed. Programs rarely wait for the
 * queue of launches without one. */
static int32_t opencl_launch_and_flush(void *queue, void *kernel, uint32_t dimensions,
                                       const size_t *offset, const size_t *global,
                                       const size_t *local, uint32_t count, void *const *events,
                                       void **event) {
  int32_t error =
      kdl_opencl.launch(queue, kernel, dimensions, offset, global, local, count, events, event);
  return error == KDL_CL_SUCCESS ? kdl_opencl.flush(queue) : error;
}

static kdl_status opencl_wrap_queue(const kdl_opencl_device *device, void *native,
                                    void **out_queue) {
  kdl_opencl_queue *queue = calloc(1, sizeof *queue);
  if (!queue) {
    (void)kdl_opencl.queue_release(native);
    return kdl_opencl_no_memory(device->ordinal);
  }
  queue->launch = kdl_opencl.launch;
  queue->queue = native;
  *out_queue = queue;
  return KDL_OK;
}

kdl_status kdl_opencl_queue_create(void *handle, int32_t priority, void **out_queue) {
  kdl_opencl_device *device = handle;
  int32_t error = KDL_CL_SUCCESS;
  void *native = opencl_create_native(device, priority, &error);
  if (!native)
    return kdl_opencl_fail(device->ordinal, error, "clCreateCommandQueue");
  KDL_TRY(opencl_wrap_queue(device, native, out_queue));
  if (!atomic_exchange(&device->has_queue, true))
    ((kdl_opencl_queue *)*out_queue)->launch = opencl_launch_and_flush;
  return KDL_OK;
}

/* A kdl_queue must be in order. */
static kdl_status opencl_check_native(const kdl_opencl_device *device, void *native) {
  static const struct {
    uint32_t what;
    size_t size;
  } queries[] = {{KDL_CL_QUEUE_CONTEXT, sizeof(void *)},
                 {KDL_CL_QUEUE_DEVICE, sizeof(void *)},
                 {KDL_CL_QUEUE_PROPERTIES, sizeof(uint64_t)}};
  uint64_t answers[3] = {0};
  for (size_t i = 0; i < 3; ++i) {
    int32_t error =
        kdl_opencl.queue_info(native, queries[i].what, queries[i].size, &answers[i], NULL);
    if (error != KDL_CL_SUCCESS)
      return kdl_opencl_fail(device->ordinal, error, "clGetCommandQueueInfo");
  }
  if (answers[0] != (uintptr_t)device->context || answers[1] != (uintptr_t)device->id)
    return kdl_core_services.fail(KDL_BAD_CALL, 0,
                                  "opencl:%u: the queue to be adopted is one of another %s; "
                                  "kdl_device_adopt takes the caller's context",
                                  device->ordinal,
                                  answers[1] == (uintptr_t)device->id ? "context" : "device");
  if (answers[2] & KDL_CL_QUEUE_OUT_OF_ORDER)
    return kdl_core_services.fail(KDL_UNSUPPORTED, 0,
                                  "opencl:%u: the queue to be adopted works out of order, expected "
                                  "one in order",
                                  device->ordinal);
  return KDL_OK;
}

kdl_status kdl_opencl_queue_adopt(void *handle, void *native, void **out_queue) {
  kdl_opencl_device *device = handle;
  if (!native)
    return kdl_core_services.fail(
        KDL_BAD_CALL, 0,
        "opencl:%u: found NULL to be adopted, expected a cl_command_queue: "
        "OpenCL has no default queue",
        device->ordinal);
  KDL_TRY(opencl_check_native(device, native));
  int32_t error = kdl_opencl.queue_retain(native);
  if (error != KDL_CL_SUCCESS)
    return kdl_opencl_fail(device->ordinal, error, "clRetainCommandQueue");
  return opencl_wrap_queue(device, native, out_queue);
}

/* A caller's queue was retained, so releasing is right for both. */
void kdl_opencl_queue_destroy(void *handle, void *queue_handle) {
  kdl_opencl_device *device = handle;
  kdl_opencl_queue *queue = queue_handle;
  kdl_opencl_log_error(device->ordinal, kdl_opencl.queue_release(queue->queue),
                       "clReleaseCommandQueue");
  free(queue);
}

kdl_status kdl_opencl_queue_sync(void *handle, void *queue_handle) {
  kdl_opencl_device *device = handle;
  kdl_opencl_queue *queue = queue_handle;
  int32_t error = kdl_opencl.finish(queue->queue);
  return error == KDL_CL_SUCCESS ? KDL_OK : kdl_opencl_fail(device->ordinal, error, "clFinish");
}

void *kdl_opencl_queue_native(void *device, void *queue) {
  (void)device;
  return ((kdl_opencl_queue *)queue)->queue;
}
