/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Streams, events, memory and launches of the fake libcuda. Work is done by the call that gives it;
 * an error of the device shows at the next call that waits. */
#include "fake_cuda_state.h"

/* ------------------------------------------------------------------------------------------ */
/* Streams                                                                                      */

static bool is_special(const void *stream) {
  return (uintptr_t)stream <= KDL_CUDA_STREAM_LAST_SPECIAL;
}

/* Calls other than launches want the stream's context to be current. */
static int check_stream(void *handle, fake_object **out_stream) {
  fake_object *current = fake_current();
  *out_stream = is_special(handle) ? NULL : fake_live(handle, FAKE_STREAM);
  if (!current)
    return KDL_CUDA_ERROR_INVALID_CONTEXT;
  if (!is_special(handle) && (!*out_stream || (*out_stream)->context != current))
    return KDL_CUDA_ERROR_INVALID_HANDLE;
  return current->sticky;
}

int cuStreamCreateWithPriority(void **stream, unsigned flags, int priority) {
  (void)priority;
  FAKE_ENTER();
  fake_object *current = fake_current();
  if (!current)
    return fake_leave(KDL_CUDA_ERROR_INVALID_CONTEXT);
  if (current->sticky)
    return fake_leave(current->sticky);
  fake_object *made = fake_new(FAKE_STREAM, current);
  made->blocking = !(flags & KDL_CUDA_STREAM_NON_BLOCKING);
  *stream = made;
  return fake_leave(KDL_CUDA_SUCCESS);
}

int cuStreamDestroy_v2(void *handle) {
  int fault = fake_enter(__func__);
  pthread_mutex_lock(&fake_lock);
  fake_object *stream = fake_live(handle, FAKE_STREAM);
  if (!stream)
    return fake_leave(KDL_CUDA_ERROR_INVALID_HANDLE);
  fake_delete(stream);
  return fake_leave(fault);
}

static int wait_for(void *handle) {
  fake_object *stream;
  int error = check_stream(handle, &stream);
  if (error == KDL_CUDA_SUCCESS && stream && stream->capture != capture_none) {
    stream->capture = capture_broken;
    error = capture_unsupported;
  }
  return error;
}

int cuStreamSynchronize(void *stream) {
  FAKE_ENTER();
  return fake_leave(wait_for(stream));
}

int cuStreamQuery(void *stream) {
  FAKE_ENTER();
  return fake_leave(wait_for(stream));
}

int cuStreamWaitEvent(void *handle, void *event, unsigned flags) {
  (void)flags;
  FAKE_ENTER();
  fake_object *stream;
  int error = check_stream(handle, &stream);
  if (error == KDL_CUDA_SUCCESS && !fake_live(event, FAKE_EVENT))
    error = KDL_CUDA_ERROR_INVALID_HANDLE;
  return fake_leave(error);
}

int cuStreamGetCtx(void *handle, void **context) {
  FAKE_ENTER();
  fake_object *stream = fake_live(handle, FAKE_STREAM);
  *context = is_special(handle) ? fake_current() : stream ? stream->context : NULL;
  return fake_leave(*context ? KDL_CUDA_SUCCESS : KDL_CUDA_ERROR_INVALID_HANDLE);
}

int cuStreamIsCapturing(void *handle, int *status) {
  FAKE_ENTER();
  fake_object *current = fake_current();
  fake_object *stream = fake_live(handle, FAKE_STREAM);
  *status = stream ? stream->capture : capture_none;
  if (!is_special(handle))
    return fake_leave(stream ? KDL_CUDA_SUCCESS : KDL_CUDA_ERROR_INVALID_HANDLE);
  for (fake_object *s = fake_next(NULL, FAKE_STREAM); s; s = fake_next(s, FAKE_STREAM)) {
    if (s->context == current && s->blocking && s->capture == capture_active)
      return fake_leave(KDL_CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  }
  return fake_leave(KDL_CUDA_SUCCESS);
}

/* ------------------------------------------------------------------------------------------ */
/* Events                                                                                       */

int cuEventCreate(void **event, unsigned flags) {
  (void)flags;
  FAKE_ENTER();
  fake_object *current = fake_current();
  if (!current)
    return fake_leave(KDL_CUDA_ERROR_INVALID_CONTEXT);
  *event = fake_new(FAKE_EVENT, current);
  return fake_leave(KDL_CUDA_SUCCESS);
}

int cuEventDestroy_v2(void *handle) {
  int fault = fake_enter(__func__);
  pthread_mutex_lock(&fake_lock);
  fake_object *event = fake_live(handle, FAKE_EVENT);
  if (!event)
    return fake_leave(KDL_CUDA_ERROR_INVALID_HANDLE);
  fake_delete(event);
  return fake_leave(fault);
}

int cuEventRecord(void *handle, void *stream_handle) {
  FAKE_ENTER();
  fake_object *stream;
  int error = check_stream(stream_handle, &stream);
  fake_object *event = fake_live(handle, FAKE_EVENT);
  if (error == KDL_CUDA_SUCCESS && (!event || event->context != fake_current()))
    error = KDL_CUDA_ERROR_INVALID_HANDLE;
  if (error == KDL_CUDA_SUCCESS) {
    event->recorded = true;
    event->time = fake_event_time();
  }
  return fake_leave(error);
}

int cuEventSynchronize(void *handle) {
  FAKE_ENTER();
  fake_object *event = fake_live(handle, FAKE_EVENT);
  return fake_leave(event ? event->context->sticky : KDL_CUDA_ERROR_INVALID_HANDLE);
}

int cuEventQuery(void *handle) {
  FAKE_ENTER();
  fake_object *event = fake_live(handle, FAKE_EVENT);
  return fake_leave(event ? event->context->sticky : KDL_CUDA_ERROR_INVALID_HANDLE);
}

int cuEventElapsedTime(float *milliseconds, void *start, void *end) {
  FAKE_ENTER();
  fake_object *first = fake_live(start, FAKE_EVENT);
  fake_object *last = fake_live(end, FAKE_EVENT);
  if (!first || !last || !first->recorded || !last->recorded)
    return fake_leave(KDL_CUDA_ERROR_INVALID_HANDLE);
  *milliseconds = (float)(last->time - first->time);
  return fake_leave(KDL_CUDA_SUCCESS);
}

/* ------------------------------------------------------------------------------------------ */
/* Memory                                                                                       */

int cuMemAlloc_v2(uint64_t *address, size_t size) {
  FAKE_ENTER();
  fake_object *current = fake_current();
  if (!current)
    return fake_leave(KDL_CUDA_ERROR_INVALID_CONTEXT);
  int error = current->sticky ? current->sticky : fake_unsafe();
  if (error)
    return fake_leave(error);
  uint64_t limit = fake_device((size_t)current->device)->memory;
  if (!size || (limit && size > limit))
    return fake_leave(size ? KDL_CUDA_ERROR_OUT_OF_MEMORY : KDL_CUDA_ERROR_INVALID_VALUE);
  fake_object *memory = fake_allocate(current, size);
  if (!memory)
    return fake_leave(KDL_CUDA_ERROR_OUT_OF_MEMORY);
  *address = memory->address;
  return fake_leave(KDL_CUDA_SUCCESS);
}

int cuMemFree_v2(uint64_t address) {
  int fault = fake_enter(__func__);
  pthread_mutex_lock(&fake_lock);
  fake_object *memory = fake_memory_at(address, 1);
  if (!memory || memory->address != address || memory->owner || !fake_current())
    return fake_leave(KDL_CUDA_ERROR_INVALID_VALUE);
  fake_delete(memory);
  return fake_leave(fault);
}

static int check_range(uint64_t address, size_t size, const fake_object *context) {
  fake_object *memory = fake_memory_at(address, size);
  return memory && memory->context->device == context->device ? KDL_CUDA_SUCCESS
                                                              : KDL_CUDA_ERROR_INVALID_VALUE;
}

/* A copy or a fill: the stream and the device's range are checked first. */
static int check_work(void *stream_handle, uint64_t address, size_t size) {
  fake_object *stream;
  int error = check_stream(stream_handle, &stream);
  return error == KDL_CUDA_SUCCESS ? check_range(address, size, fake_current()) : error;
}

int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t size, void *stream) {
  FAKE_ENTER();
  int error = check_work(stream, to, size);
  if (error == KDL_CUDA_SUCCESS)
    memcpy((void *)(uintptr_t)to, from, size);
  return fake_leave(error);
}

int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t size, void *stream) {
  FAKE_ENTER();
  int error = check_work(stream, from, size);
  if (error == KDL_CUDA_SUCCESS)
    memcpy(to, (const void *)(uintptr_t)from, size);
  return fake_leave(error);
}

int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t size, void *stream) {
  FAKE_ENTER();
  int error = check_work(stream, to, size);
  if (error == KDL_CUDA_SUCCESS)
    error = check_range(from, size, fake_current());
  if (error == KDL_CUDA_SUCCESS)
    memcpy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, size);
  return fake_leave(error);
}

int cuMemcpyPeerAsync(uint64_t to, void *to_context, uint64_t from, void *from_context, size_t size,
                      void *stream) {
  FAKE_ENTER();
  fake_object *target = fake_live(to_context, FAKE_CONTEXT);
  fake_object *source = fake_live(from_context, FAKE_CONTEXT);
  int error = target && source ? check_work(stream, to, size) : KDL_CUDA_ERROR_INVALID_CONTEXT;
  if (error == KDL_CUDA_SUCCESS)
    error = check_range(to, size, target);
  if (error == KDL_CUDA_SUCCESS)
    error = check_range(from, size, source);
  if (error == KDL_CUDA_SUCCESS)
    memcpy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, size);
  return fake_leave(error);
}

/* Rows of `width` elements, `pitch` bytes apart. */
static int fill(uint64_t to, size_t pitch, const void *value, size_t value_size, size_t width,
                size_t height, void *stream) {
  if (!width || !height || pitch < width * value_size || to % value_size)
    return KDL_CUDA_ERROR_INVALID_VALUE;
  int error = check_work(stream, to, (height - 1) * pitch + width * value_size);
  for (size_t row = 0; row < height && error == KDL_CUDA_SUCCESS; ++row) {
    char *at = (char *)(uintptr_t)to + row * pitch;
    for (size_t i = 0; i < width; ++i)
      memcpy(at + i * value_size, value, value_size);
  }
  return error;
}

int cuMemsetD8Async(uint64_t to, unsigned char value, size_t count, void *stream) {
  FAKE_ENTER();
  return fake_leave(fill(to, count, &value, sizeof value, count, 1, stream));
}

int cuMemsetD16Async(uint64_t to, unsigned short value, size_t count, void *stream) {
  FAKE_ENTER();
  return fake_leave(fill(to, count * sizeof value, &value, sizeof value, count, 1, stream));
}

int cuMemsetD32Async(uint64_t to, unsigned value, size_t count, void *stream) {
  FAKE_ENTER();
  return fake_leave(fill(to, count * sizeof value, &value, sizeof value, count, 1, stream));
}

int cuMemsetD2D32Async(uint64_t to, size_t pitch, unsigned value, size_t width, size_t height,
                       void *stream) {
  FAKE_ENTER();
  return fake_leave(fill(to, pitch, &value, sizeof value, width, height, stream));
}

/* ------------------------------------------------------------------------------------------ */
/* Launching                                                                                    */

/* A CUkernel runs in the stream's context, or in the current one where the stream stands for that;
 * a CUfunction has its own, which must be current. */
static int find_context(const fake_object *kernel, const fake_object *stream,
                        fake_object **out_context) {
  fake_object *current = fake_current();
  if (kernel->kind == FAKE_KERNEL) {
    *out_context = stream ? stream->context : current;
    return *out_context ? KDL_CUDA_SUCCESS : KDL_CUDA_ERROR_INVALID_CONTEXT;
  }
  *out_context = current;
  if (!current)
    return KDL_CUDA_ERROR_INVALID_CONTEXT;
  bool same = kernel->context == current && (!stream || stream->context == current);
  return same ? KDL_CUDA_SUCCESS : KDL_CUDA_ERROR_INVALID_HANDLE;
}

static bool is_loaded(const fake_object *kernel, const fake_object *context) {
  for (size_t i = 0; kernel->kind == FAKE_KERNEL && i < most_loaded_contexts; ++i) {
    if (kernel->loaded[i] == context)
      return true;
  }
  return kernel->kind == FAKE_FUNCTION;
}

static int check_shape(const fake_object *kernel, const kdl_cuda_launch_config *config) {
  uint64_t threads = (uint64_t)config->block[0] * config->block[1] * config->block[2];
  if (!threads || threads > 1024 || !config->grid[0] || !config->grid[1] || !config->grid[2] ||
      config->shared > (unsigned)fake_cuda_max_shared(kernel))
    return KDL_CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < config->attribute_count; ++i) {
    const unsigned *cluster = config->attributes[i].value.cluster;
    if (config->attributes[i].id != KDL_CUDA_LAUNCH_CLUSTER_DIMENSION)
      continue;
    if (!cluster[0] || !cluster[1] || !cluster[2] || config->grid[0] % cluster[0] ||
        (cluster[0] * cluster[1] * cluster[2] > 8 && !kernel->wide_clusters))
      return KDL_CUDA_ERROR_INVALID_VALUE;
  }
  return KDL_CUDA_SUCCESS;
}

static int check_params(const fake_object *kernel, void **params) {
  for (unsigned i = 0; i < kernel->param_count; ++i) {
    if (!params || !params[i])
      return KDL_CUDA_ERROR_INVALID_VALUE;
  }
  return KDL_CUDA_SUCCESS;
}

int fake_cuda_check_launch(const fake_object *kernel, const kdl_cuda_launch_config *config,
                           void **params) {
  int error = check_shape(kernel, config);
  return error == KDL_CUDA_SUCCESS ? check_params(kernel, params) : error;
}

/* Arguments in one buffer, which `extra` tells as pairs of a number and a pointer. */
static int unpack(const fake_object *kernel, void **extra, void **out_params) {
  enum { end, buffer_pointer, buffer_size };
  char *buffer = NULL;
  size_t size = 0;
  for (; (uintptr_t)extra[0] != end; extra += 2) {
    if ((uintptr_t)extra[0] == buffer_pointer)
      buffer = extra[1];
    else if ((uintptr_t)extra[0] == buffer_size)
      size = *(const size_t *)extra[1];
  }
  for (unsigned i = 0; i < kernel->param_count; ++i) {
    if (!buffer || kernel->param_offsets[i] + kernel->param_sizes[i] > size)
      return KDL_CUDA_ERROR_INVALID_VALUE;
    out_params[i] = buffer + kernel->param_offsets[i];
  }
  return KDL_CUDA_SUCCESS;
}

static int launch(const kdl_cuda_launch_config *config, void *handle, void **params, void **extra) {
  fake_object *kernel = fake_live(handle, FAKE_KERNEL);
  kernel = kernel ? kernel : fake_live(handle, FAKE_FUNCTION);
  fake_object *stream = is_special(config->stream) ? NULL : fake_live(config->stream, FAKE_STREAM);
  if (!kernel || (!stream && !is_special(config->stream)))
    return KDL_CUDA_ERROR_INVALID_HANDLE;
  fake_object *context;
  void *unpacked[most_params];
  int error = find_context(kernel, stream, &context);
  if (error == KDL_CUDA_SUCCESS && extra)
    error = params ? KDL_CUDA_ERROR_INVALID_VALUE : unpack(kernel, extra, params = unpacked);
  if (error == KDL_CUDA_SUCCESS)
    error = context->sticky;
  if (error == KDL_CUDA_SUCCESS)
    error = fake_cuda_check_launch(kernel, config, params);
  if (error != KDL_CUDA_SUCCESS)
    return error;
  if (stream && stream->capture != capture_none) {
    if (!is_loaded(kernel, context))
      stream->capture = capture_broken;
    fake_recorded_add(stream, kernel, context, config->grid, config->block, config->shared, params);
    return stream->capture == capture_active ? KDL_CUDA_SUCCESS : capture_invalidated;
  }
  ++fake_launch_count;
  if (kernel->program &&
      !fake_program_run(kernel, context, config->grid, config->block, config->shared, params))
    context->sticky = illegal_address;
  return KDL_CUDA_SUCCESS;
}

int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                   void *stream, void **params, void **extra) {
  FAKE_ENTER();
  kdl_cuda_launch_config config = {.grid = {grid_x, grid_y, grid_z},
                                   .block = {block_x, block_y, block_z},
                                   .shared = shared,
                                   .stream = stream};
  return fake_leave(launch(&config, function, params, extra));
}

int cuLaunchCooperativeKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                              unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                              void *stream, void **params) {
  FAKE_ENTER();
  kdl_cuda_launch_config config = {.grid = {grid_x, grid_y, grid_z},
                                   .block = {block_x, block_y, block_z},
                                   .shared = shared,
                                   .stream = stream};
  return fake_leave(launch(&config, function, params, NULL));
}

#ifndef FAKE_OLD
int cuLaunchKernelEx(const kdl_cuda_launch_config *config, void *function, void **params,
                     void **extra) {
  FAKE_ENTER();
  return fake_leave(launch(config, function, params, extra));
}
#endif
