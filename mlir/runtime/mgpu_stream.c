/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Streams and events. */
#include "runtime.h"

#include "mgpu.h"

kdl_queue *mgpuStreamCreate(void) {
  static const char what[] = "mgpuStreamCreate";
  const kdl_mlir_device *device = kdl_mlir_device_for(what);
  kdl_queue *stream = NULL;
  if (device)
    kdl_mlir_ok(kdl_queue_create(device->device, NULL, &stream), what);
  return stream;
}

void mgpuStreamDestroy(kdl_queue *stream) {
  kdl_queue_destroy(stream);
}

void mgpuStreamSynchronize(kdl_queue *stream) {
  if (stream)
    kdl_mlir_ok(kdl_sync(stream), "mgpuStreamSynchronize");
}

void mgpuStreamWaitEvent(kdl_queue *stream, kdl_event *event) {
  if (stream && event)
    kdl_mlir_ok(kdl_event_wait(event, stream), "mgpuStreamWaitEvent");
}

kdl_event *mgpuEventCreate(void) {
  static const char what[] = "mgpuEventCreate";
  const kdl_mlir_device *device = kdl_mlir_device_for(what);
  kdl_event *event = NULL;
  if (device)
    kdl_mlir_ok(kdl_event_create(device->device, &event), what);
  return event;
}

void mgpuEventDestroy(kdl_event *event) {
  kdl_event_destroy(event);
}

void mgpuEventSynchronize(kdl_event *event) {
  if (event)
    kdl_mlir_ok(kdl_event_sync(event), "mgpuEventSynchronize");
}

void mgpuEventRecord(kdl_event *event, kdl_queue *stream) {
  if (event && stream)
    kdl_mlir_ok(kdl_event_record(event, stream), "mgpuEventRecord");
}
