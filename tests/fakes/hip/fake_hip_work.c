/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Streams, events, memory and launches of the fake libamdhip64. Work is done by the call that gives
 * it; an error of the device shows at the next call that waits. */
#include "fake_hip_state.h"

static bool is_special(const void *stream) {
  return (uintptr_t)stream <= KDL_HIP_STREAM_LAST_SPECIAL;
}

/* The device that a stream means; NULL where it is none. */
static fake_object *device_of(void *handle, fake_object **out_stream) {
  *out_stream = is_special(handle) ? NULL : fake_live(handle, FAKE_STREAM);
  if (is_special(handle))
    return fake_hip_current();
  return *out_stream ? (*out_stream)->context : NULL;
}

/* ------------------------------------------------------------------------------------------ */
/* Streams                                                                                      */

static int create_stream(void **stream, unsigned flags) {
  fake_object *device = fake_hip_current();
  if (fake_hip_lost(device))
    return fake_hip_lost(device);
  fake_object *made = fake_new(FAKE_STREAM, device);
  made->blocking = !(flags & KDL_HIP_STREAM_NON_BLOCKING);
  *stream = made;
  return KDL_HIP_SUCCESS;
}

int hipStreamCreateWithPriority(void **stream, unsigned flags, int priority) {
  (void)priority;
  HIP_ENTER();
  return hip_leave(create_stream(stream, flags));
}

int hipStreamCreateWithFlags(void **stream, unsigned flags) {
  HIP_ENTER();
  return hip_leave(create_stream(stream, flags));
}

int hipStreamDestroy(void *handle) {
  int fault = fake_enter(__func__);
  pthread_mutex_lock(&fake_lock);
  fake_object *stream = fake_live(handle, FAKE_STREAM);
  if (!stream)
    return hip_leave(invalid_handle);
  fake_delete(stream);
  return hip_leave(fault);
}

int hipStreamSynchronize(void *handle) {
  HIP_ENTER();
  fake_object *stream;
  fake_object *device = device_of(handle, &stream);
  if (!device)
    return hip_leave(invalid_handle);
  if (stream && stream->capture != capture_none) {
    stream->capture = capture_broken;
    return hip_leave(capture_unsupported);
  }
  return hip_leave(fake_hip_lost(device));
}

int hipStreamWaitEvent(void *handle, void *event, unsigned flags) {
  (void)flags;
  HIP_ENTER();
  fake_object *stream;
  fake_object *device = device_of(handle, &stream);
  bool good = device && fake_live(event, FAKE_EVENT);
  return hip_leave(good ? fake_hip_lost(device) : invalid_handle);
}

int hipGetStreamDeviceId(void *handle) {
  fake_call(__func__);
  pthread_mutex_lock(&fake_lock);
  fake_object *stream = fake_live(handle, FAKE_STREAM);
  return fake_leave(stream ? stream->context->device : -1);
}

int hipStreamIsCapturing(void *handle, int *status) {
  HIP_ENTER();
  fake_object *stream;
  fake_object *device = device_of(handle, &stream);
  if (!device)
    return hip_leave(invalid_handle);
  *status = stream ? stream->capture : capture_none;
  for (fake_object *s = fake_next(NULL, FAKE_STREAM); s && !stream; s = fake_next(s, FAKE_STREAM)) {
    if (s->context == device && s->blocking && s->capture == capture_active)
      return hip_leave(KDL_HIP_ERROR_STREAM_CAPTURE_IMPLICIT);
  }
  return hip_leave(KDL_HIP_SUCCESS);
}

/* ------------------------------------------------------------------------------------------ */
/* Events                                                                                       */

int hipEventCreateWithFlags(void **event, unsigned flags) {
  HIP_ENTER();
  if (flags)
    return hip_leave(invalid_value);
  *event = fake_new(FAKE_EVENT, fake_hip_current());
  return hip_leave(KDL_HIP_SUCCESS);
}

int hipEventDestroy(void *handle) {
  int fault = fake_enter(__func__);
  pthread_mutex_lock(&fake_lock);
  fake_object *event = fake_live(handle, FAKE_EVENT);
  if (!event)
    return hip_leave(invalid_handle);
  fake_delete(event);
  return hip_leave(fault);
}

int hipEventRecord(void *handle, void *stream_handle) {
  HIP_ENTER();
  fake_object *stream;
  fake_object *device = device_of(stream_handle, &stream);
  fake_object *event = fake_live(handle, FAKE_EVENT);
  if (!device || !event || event->context != device)
    return hip_leave(invalid_handle);
  if (!fake_hip_lost(device)) {
    event->recorded = true;
    event->time = fake_event_time();
  }
  return hip_leave(fake_hip_lost(device));
}

int hipEventSynchronize(void *handle) {
  HIP_ENTER();
  fake_object *event = fake_live(handle, FAKE_EVENT);
  return hip_leave(event ? fake_hip_lost(event->context) : invalid_handle);
}

int hipEventQuery(void *handle) {
  HIP_ENTER();
  fake_object *event = fake_live(handle, FAKE_EVENT);
  return hip_leave(event ? fake_hip_lost(event->context) : invalid_handle);
}

int hipEventElapsedTime(float *milliseconds, void *start, void *end) {
  HIP_ENTER();
  fake_object *first = fake_live(start, FAKE_EVENT);
  fake_object *last = fake_live(end, FAKE_EVENT);
  if (!first || !last || !first->recorded || !last->recorded)
    return hip_leave(invalid_handle);
  *milliseconds = (float)(last->time - first->time);
  return hip_leave(KDL_HIP_SUCCESS);
}

/* ------------------------------------------------------------------------------------------ */
/* Memory                                                                                       */

int hipMalloc(void **address, size_t size) {
  HIP_ENTER();
  fake_object *device = fake_hip_current();
  int error = fake_hip_lost(device) ? fake_hip_lost(device) : fake_unsafe();
  if (error)
    return hip_leave(error);
  const kdl_device_spec *spec = fake_device((size_t)device->device);
  uint64_t limit = spec ? spec->memory : 1;
  fake_object *memory = !size || (limit && size > limit) ? NULL : fake_allocate(device, size);
  *address = memory ? (void *)(uintptr_t)memory->address : NULL;
  return hip_leave(memory || !size ? KDL_HIP_SUCCESS : KDL_HIP_ERROR_OUT_OF_MEMORY);
}

int hipFree(void *address) {
  int fault = fake_enter(__func__);
  pthread_mutex_lock(&fake_lock);
  fake_object *memory = fake_memory_at((uintptr_t)address, 1);
  if (!memory || memory->address != (uintptr_t)address || memory->owner)
    return hip_leave(invalid_value);
  fake_delete(memory);
  return hip_leave(fault);
}

/* A copy or a fill on a stream, whose side `own` is the device's. */
static int check_work(void *stream_handle, const void *own, size_t size) {
  fake_object *stream;
  fake_object *device = device_of(stream_handle, &stream);
  fake_object *memory = fake_memory_at((uintptr_t)own, size);
  if (!device)
    return invalid_handle;
  if (fake_hip_lost(device))
    return fake_hip_lost(device);
  return memory && memory->context == device ? KDL_HIP_SUCCESS : invalid_value;
}

static int copy(void *to, const void *from, size_t size, int error) {
  if (error == KDL_HIP_SUCCESS)
    memcpy(to, from, size);
  return error;
}

/* NOLINTBEGIN(readability-non-const-parameter): the runtime's own signatures */
int hipMemcpyHtoDAsync(void *to, void *from, size_t size, void *stream) {
  HIP_ENTER();
  return hip_leave(copy(to, from, size, check_work(stream, to, size)));
}

int hipMemcpyDtoHAsync(void *to, void *from, size_t size, void *stream) {
  HIP_ENTER();
  return hip_leave(copy(to, from, size, check_work(stream, from, size)));
}

int hipMemcpyDtoDAsync(void *to, void *from, size_t size, void *stream) {
  HIP_ENTER();
  int error = check_work(stream, to, size);
  return hip_leave(copy(to, from, size, error ? error : check_work(stream, from, size)));
}
/* NOLINTEND(readability-non-const-parameter) */

int hipMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t size,
                       void *stream) {
  HIP_ENTER();
  fake_object *target = fake_memory_at((uintptr_t)to, size);
  fake_object *source = fake_memory_at((uintptr_t)from, size);
  int error = check_work(stream, to, size);
  if (!error && (!target || !source || target->context->device != to_device ||
                 source->context->device != from_device))
    error = invalid_value;
  return hip_leave(copy(to, from, size, error));
}

static int fill(void *to, const void *value, size_t value_size, size_t count, void *stream) {
  if (!count || (uintptr_t)to % value_size)
    return invalid_value;
  int error = check_work(stream, to, count * value_size);
  for (size_t i = 0; i < count && error == KDL_HIP_SUCCESS; ++i)
    memcpy((char *)to + i * value_size, value, value_size);
  return error;
}

int hipMemsetD8Async(void *to, unsigned char value, size_t count, void *stream) {
  HIP_ENTER();
  return hip_leave(fill(to, &value, sizeof value, count, stream));
}

int hipMemsetD16Async(void *to, unsigned short value, size_t count, void *stream) {
  HIP_ENTER();
  return hip_leave(fill(to, &value, sizeof value, count, stream));
}

int hipMemsetD32Async(void *to, int value, size_t count, void *stream) {
  HIP_ENTER();
  return hip_leave(fill(to, &value, sizeof value, count, stream));
}

/* ------------------------------------------------------------------------------------------ */
/* Launching                                                                                    */

typedef struct {
  unsigned grid[3];
  unsigned block[3];
  unsigned shared;
  bool cooperative;
} shape;

/* In the order of the real runtime. */
static int check_shape(const fake_object *function, const kdl_device_spec *spec, const shape *s) {
  uint64_t threads = (uint64_t)s->block[0] * s->block[1] * s->block[2];
  uint64_t groups = (uint64_t)s->grid[0] * s->grid[1] * s->grid[2];
  if (s->grid[0] > INT32_MAX || s->grid[1] > 65536 || s->grid[2] > 65536 || !groups)
    return invalid_value;
  if ((uint64_t)s->grid[0] * s->block[0] > UINT32_MAX || !threads)
    return invalid_configuration;
  if ((spec->shared && s->shared > spec->shared) || (spec->max_block && threads > spec->max_block))
    return invalid_value;
  if (function->max_block && threads > function->max_block)
    return launch_failure;
  if (s->cooperative && !spec->cooperative)
    return launch_failure;
  return s->cooperative && spec->units && groups > spec->units ? cooperative_too_large
                                                               : KDL_HIP_SUCCESS;
}

static int check_params(const fake_object *function, void **params) {
  for (unsigned i = 0; i < function->param_count; ++i) {
    if (!params || !params[i])
      return invalid_value;
  }
  return KDL_HIP_SUCCESS;
}

int fake_hip_check_launch(const fake_object *function, const unsigned grid[3],
                          const unsigned block[3], unsigned shared, void **params) {
  const kdl_device_spec *spec = fake_device((size_t)function->context->device);
  shape s = {{grid[0], grid[1], grid[2]}, {block[0], block[1], block[2]}, shared, false};
  int error = spec ? check_shape(function, spec, &s) : launch_failure;
  return error ? error : check_params(function, params);
}

static int launch(void *handle, const shape *s, void *stream_handle, void **params) {
  fake_object *stream;
  fake_object *device = device_of(stream_handle, &stream);
  fake_object *function = fake_live(handle, FAKE_FUNCTION);
  if (!device || !function)
    return device ? invalid_handle : invalid_value;
  if (fake_hip_lost(device))
    return fake_hip_lost(device);
  if (function->context != device)
    return invalid_device;
  const kdl_device_spec *spec = fake_device((size_t)device->device);
  int error = spec ? check_shape(function, spec, s) : launch_failure;
  if (!error)
    error = check_params(function, params);
  if (error)
    return error;
  if (stream && stream->capture != capture_none) {
    fake_recorded_add(stream, function, device, s->grid, s->block, s->shared, params);
    return stream->capture == capture_active ? KDL_HIP_SUCCESS : capture_invalidated;
  }
  ++fake_launch_count;
  if (function->program &&
      !fake_program_run(function, device, s->grid, s->block, s->shared, params))
    device->sticky = illegal_address;
  return KDL_HIP_SUCCESS;
}

int hipModuleLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                          unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                          void *stream, void **params, void **extra) {
  HIP_ENTER();
  shape s = {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared, false};
  return hip_leave(params && extra ? invalid_value : launch(function, &s, stream, params));
}

#ifndef FAKE_OLD
int hipModuleLaunchCooperativeKernel(void *function, unsigned grid_x, unsigned grid_y,
                                     unsigned grid_z, unsigned block_x, unsigned block_y,
                                     unsigned block_z, unsigned shared, void *stream,
                                     void **params) {
  HIP_ENTER();
  shape s = {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared, true};
  return hip_leave(launch(function, &s, stream, params));
}
#endif
