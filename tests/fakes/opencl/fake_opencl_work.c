/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Contexts, queues, events and memory of the fake libOpenCL. Work is done by the call that gives
 * it; an error of the device shows when the queue is waited for. */
#include "fake_opencl_state.h"

/* ------------------------------------------------------------------------------------------ */
/* Contexts                                                                                     */

void *clCreateContext(const intptr_t *properties, uint32_t count, void *const *devices,
                      kdl_cl_notify *notify, void *user, int32_t *error) {
  (void)notify, (void)user;
  FAKE_CL_ENTER(error);
  bool has_platform = properties && properties[0] == KDL_CL_CONTEXT_PLATFORM && properties[1];
  size_t device = count == 1 ? fake_opencl_device(devices[0]) : SIZE_MAX;
  if (!has_platform || device == SIZE_MAX)
    return fake_cl_leave(NULL, has_platform ? KDL_CL_INVALID_DEVICE : KDL_CL_INVALID_PLATFORM,
                         error);
  fake_object *context = fake_new(FAKE_CONTEXT, NULL);
  context->device = (int)device;
  context->retained = 1;
  return fake_cl_leave(context, KDL_CL_SUCCESS, error);
}

int32_t fake_opencl_retain(const void *handle, fake_kind kind, int32_t stale,
                           const char *function) {
  int fault = fake_enter(function);
  if (fault)
    return fault;
  pthread_mutex_lock(&fake_lock);
  fake_object *object = fake_live(handle, kind);
  if (object)
    ++object->retained;
  return fake_leave(object ? KDL_CL_SUCCESS : stale);
}

int32_t fake_opencl_release(const void *handle, fake_kind kind, int32_t stale,
                            const char *function) {
  int fault = fake_enter(function);
  pthread_mutex_lock(&fake_lock);
  fake_object *object = fake_live(handle, kind);
  if (object && --object->retained == 0)
    fake_delete(object);
  return fake_leave(!object ? stale : fault);
}

int32_t clRetainContext(void *context) {
  return fake_opencl_retain(context, FAKE_CONTEXT, KDL_CL_INVALID_CONTEXT, __func__);
}

int32_t clReleaseContext(void *context) {
  return fake_opencl_release(context, FAKE_CONTEXT, KDL_CL_INVALID_CONTEXT, __func__);
}

fake_kind fake_first_to_release(void) {
  return FAKE_CONTEXT;
}

int32_t clGetContextInfo(void *handle, uint32_t what, size_t room, void *value, size_t *size) {
  FAKE_ENTER();
  fake_object *context = fake_live(handle, FAKE_CONTEXT);
  if (!context || what != KDL_CL_CONTEXT_DEVICES)
    return fake_leave(context ? KDL_CL_INVALID_VALUE : KDL_CL_INVALID_CONTEXT);
  void *device = fake_opencl_device_handle((size_t)context->device);
  return fake_leave(fake_opencl_give(&device, sizeof device, room, value, size));
}

/* ------------------------------------------------------------------------------------------ */
/* Queues                                                                                       */

static void *create_queue(void *context_handle, void *device, uint64_t properties, int32_t *error) {
  fake_object *context = fake_live(context_handle, FAKE_CONTEXT);
  if (!context)
    return fake_cl_leave(NULL, KDL_CL_INVALID_CONTEXT, error);
  if (fake_opencl_device(device) != (size_t)context->device)
    return fake_cl_leave(NULL, KDL_CL_INVALID_DEVICE, error);
  if (properties & ~(uint64_t)(KDL_CL_QUEUE_OUT_OF_ORDER | KDL_CL_QUEUE_PROFILING))
    return fake_cl_leave(NULL, KDL_CL_INVALID_QUEUE_PROPERTIES, error);
  fake_object *queue = fake_new(FAKE_STREAM, context);
  queue->retained = 1;
  queue->size = properties;
  return fake_cl_leave(queue, KDL_CL_SUCCESS, error);
}

void *clCreateCommandQueue(void *context, void *device, uint64_t properties, int32_t *error) {
  FAKE_CL_ENTER(error);
  return create_queue(context, device, properties, error);
}

#ifndef FAKE_OLD
void *clCreateCommandQueueWithProperties(void *context, void *device, const uint64_t *properties,
                                         int32_t *error) {
  FAKE_CL_ENTER(error);
  uint64_t wanted = 0;
  for (; properties && properties[0]; properties += 2) {
    bool is_known =
        properties[0] == KDL_CL_QUEUE_PROPERTIES ||
        (properties[0] == KDL_CL_QUEUE_PRIORITY &&
         (properties[1] == KDL_CL_PRIORITY_HIGH || properties[1] == KDL_CL_PRIORITY_LOW));
    if (!is_known)
      return fake_cl_leave(NULL, KDL_CL_INVALID_VALUE, error);
    if (properties[0] == KDL_CL_QUEUE_PROPERTIES)
      wanted = properties[1];
  }
  return create_queue(context, device, wanted, error);
}
#endif

int32_t clRetainCommandQueue(void *queue) {
  return fake_opencl_retain(queue, FAKE_STREAM, KDL_CL_INVALID_COMMAND_QUEUE, __func__);
}

int32_t clReleaseCommandQueue(void *queue) {
  return fake_opencl_release(queue, FAKE_STREAM, KDL_CL_INVALID_COMMAND_QUEUE, __func__);
}

int32_t clGetCommandQueueInfo(void *handle, uint32_t what, size_t room, void *value, size_t *size) {
  FAKE_ENTER();
  fake_object *queue = fake_live(handle, FAKE_STREAM);
  if (!queue)
    return fake_leave(KDL_CL_INVALID_COMMAND_QUEUE);
  void *device = fake_opencl_device_handle((size_t)queue->context->device);
  void *context = queue->context;
  switch (what) {
  case KDL_CL_QUEUE_CONTEXT:
    return fake_leave(fake_opencl_give(&context, sizeof context, room, value, size));
  case KDL_CL_QUEUE_DEVICE:
    return fake_leave(fake_opencl_give(&device, sizeof device, room, value, size));
  case KDL_CL_QUEUE_PROPERTIES:
    return fake_leave(fake_opencl_give(&queue->size, sizeof queue->size, room, value, size));
  default:
    return fake_leave(KDL_CL_INVALID_VALUE);
  }
}

int32_t fake_opencl_queue(const void *handle, fake_object **out_queue) {
  *out_queue = fake_live(handle, FAKE_STREAM);
  return *out_queue ? KDL_CL_SUCCESS : KDL_CL_INVALID_COMMAND_QUEUE;
}

int32_t clFinish(void *handle) {
  FAKE_ENTER();
  fake_object *queue;
  int32_t error = fake_opencl_queue(handle, &queue);
  return fake_leave(error == KDL_CL_SUCCESS ? queue->context->sticky : error);
}

int32_t clFlush(void *handle) {
  FAKE_ENTER();
  fake_object *queue;
  return fake_leave(fake_opencl_queue(handle, &queue));
}

/* ------------------------------------------------------------------------------------------ */
/* Events                                                                                       */

static int32_t check_events(uint32_t count, void *const *events) {
  if ((count == 0) != (events == NULL))
    return KDL_CL_INVALID_EVENT_WAIT_LIST;
  for (uint32_t i = 0; i < count; ++i) {
    if (!fake_live(events[i], FAKE_EVENT))
      return KDL_CL_INVALID_EVENT_WAIT_LIST;
  }
  return KDL_CL_SUCCESS;
}

static int32_t mark(void *handle, uint32_t count, void *const *events, void **out_event) {
  fake_object *queue;
  int32_t error = fake_opencl_queue(handle, &queue);
  if (error == KDL_CL_SUCCESS)
    error = check_events(count, events);
  if (error != KDL_CL_SUCCESS || !out_event)
    return error;
  fake_object *event = fake_new(FAKE_EVENT, queue->context);
  event->retained = 1;
  event->recorded = queue->size & KDL_CL_QUEUE_PROFILING;
  event->time = fake_event_time();
  *out_event = event;
  return KDL_CL_SUCCESS;
}

int32_t clEnqueueMarkerWithWaitList(void *queue, uint32_t count, void *const *events,
                                    void **event) {
  FAKE_ENTER();
  return fake_leave(mark(queue, count, events, event));
}

int32_t clEnqueueBarrierWithWaitList(void *queue, uint32_t count, void *const *events,
                                     void **event) {
  FAKE_ENTER();
  return fake_leave(mark(queue, count, events, event));
}

int32_t clWaitForEvents(uint32_t count, void *const *events) {
  FAKE_ENTER();
  fake_object *event = count == 1 ? fake_live(events[0], FAKE_EVENT) : NULL;
  return fake_leave(event ? event->context->sticky : KDL_CL_INVALID_EVENT);
}

int32_t clRetainEvent(void *event) {
  return fake_opencl_retain(event, FAKE_EVENT, KDL_CL_INVALID_EVENT, __func__);
}

int32_t clReleaseEvent(void *event) {
  return fake_opencl_release(event, FAKE_EVENT, KDL_CL_INVALID_EVENT, __func__);
}

/* With opencl.running=1 the device is not done with anything. */
int32_t clGetEventInfo(void *handle, uint32_t what, size_t room, void *value, size_t *size) {
  FAKE_ENTER();
  fake_object *event = fake_live(handle, FAKE_EVENT);
  if (!event || what != KDL_CL_EVENT_COMMAND_EXECUTION_STATUS)
    return fake_leave(event ? KDL_CL_INVALID_VALUE : KDL_CL_INVALID_EVENT);
  int32_t state = fake_setting_number("running") ? KDL_CL_RUNNING : event->context->sticky;
  return fake_leave(fake_opencl_give(&state, sizeof state, room, value, size));
}

int32_t clGetEventProfilingInfo(void *handle, uint32_t what, size_t room, void *value,
                                size_t *size) {
  FAKE_ENTER();
  fake_object *event = fake_live(handle, FAKE_EVENT);
  if (!event || what != KDL_CL_PROFILING_COMMAND_END)
    return fake_leave(event ? KDL_CL_INVALID_VALUE : KDL_CL_INVALID_EVENT);
  if (!event->recorded)
    return fake_leave(KDL_CL_PROFILING_INFO_NOT_AVAILABLE);
  uint64_t ns = (uint64_t)(event->time * 1e6);
  return fake_leave(fake_opencl_give(&ns, sizeof ns, room, value, size));
}

/* ------------------------------------------------------------------------------------------ */
/* Having memory                                                                                */

static const char *const memory_names[] = {
    [FAKE_BUFFER] = "buffer", [FAKE_SVM] = "svm", [FAKE_USM] = "usm"};

static int32_t allocate(void *context_handle, uint64_t size, fake_opencl_memory kind,
                        fake_object **out_memory) {
  fake_object *context = fake_live(context_handle, FAKE_CONTEXT);
  if (!context)
    return KDL_CL_INVALID_CONTEXT;
  uint64_t limit = fake_device((size_t)context->device)->memory;
  if (!size || (limit && size > limit))
    return KDL_CL_INVALID_BUFFER_SIZE;
  *out_memory = fake_allocate(context, size);
  if (!*out_memory)
    return KDL_CL_MEM_OBJECT_ALLOCATION_FAILURE;
  static int serial;
  (*out_memory)->arch = ++serial; /* tells it from another at the same address */
  (*out_memory)->retained = 1;
  strcpy((*out_memory)->name, memory_names[kind]);
  return KDL_CL_SUCCESS;
}

fake_object *fake_opencl_memory_at(uint64_t word, fake_opencl_memory kind) {
  fake_object *memory = kind == FAKE_BUFFER ? fake_live((const void *)(uintptr_t)word, FAKE_MEMORY)
                                            : fake_memory_at(word, 1);
  bool fits =
      memory && (memory->owner ? kind == FAKE_USM : strcmp(memory->name, memory_names[kind]) == 0);
  return fits ? memory : NULL;
}

void *clCreateBuffer(void *context, uint64_t flags, size_t size, void *host, int32_t *error) {
  FAKE_CL_ENTER(error);
  fake_object *memory = NULL;
  int32_t outcome = flags == KDL_CL_MEM_READ_WRITE && !host
                        ? allocate(context, size, FAKE_BUFFER, &memory)
                        : KDL_CL_INVALID_VALUE;
  return fake_cl_leave(memory, outcome, error);
}

int32_t clReleaseMemObject(void *handle) {
  int fault = fake_enter(__func__);
  pthread_mutex_lock(&fake_lock);
  fake_object *memory = fake_opencl_memory_at((uintptr_t)handle, FAKE_BUFFER);
  if (memory && --memory->retained == 0)
    fake_delete(memory);
  return fake_leave(!memory ? KDL_CL_INVALID_MEM_OBJECT : fault);
}

static int32_t free_at(void *address, fake_opencl_memory kind) {
  fake_object *memory = fake_opencl_memory_at((uintptr_t)address, kind);
  if (!memory || memory->address != (uintptr_t)address || memory->owner)
    return KDL_CL_INVALID_VALUE;
  fake_delete(memory);
  return KDL_CL_SUCCESS;
}

#ifndef FAKE_OLD
void *clSVMAlloc(void *context, uint64_t flags, size_t size, uint32_t alignment) {
  (void)flags, (void)alignment;
  int32_t error;
  FAKE_CL_ENTER(&error);
  fake_object *memory = NULL;
  int32_t outcome = allocate(context, size, FAKE_SVM, &memory);
  return fake_cl_leave(memory ? (void *)(uintptr_t)memory->address : NULL, outcome, &error);
}

void clSVMFree(void *context, void *address) {
  (void)context;
  (void)fake_enter(__func__);
  pthread_mutex_lock(&fake_lock);
  (void)fake_leave(free_at(address, FAKE_SVM));
}
#endif

void *clDeviceMemAllocINTEL(void *context, void *device, const uint64_t *properties, size_t size,
                            uint32_t alignment, int32_t *error) {
  (void)properties, (void)alignment;
  FAKE_CL_ENTER(error);
  fake_object *memory = NULL;
  int32_t outcome = fake_opencl_device(device) == SIZE_MAX
                        ? KDL_CL_INVALID_DEVICE
                        : allocate(context, size, FAKE_USM, &memory);
  return fake_cl_leave(memory ? (void *)(uintptr_t)memory->address : NULL, outcome, error);
}

int32_t clMemFreeINTEL(void *context, void *address) {
  (void)context;
  int fault = fake_enter(__func__);
  pthread_mutex_lock(&fake_lock);
  int32_t error = free_at(address, FAKE_USM);
  return fake_leave(error ? error : fault);
}

/* ------------------------------------------------------------------------------------------ */
/* Moving                                                                                       */

/* Bytes of a buffer on the queue's context; NULL, with the error, where they are not there. */
static char *bytes_of(void *handle, const fake_object *queue, size_t offset, size_t size,
                      int32_t *error) {
  fake_object *memory = fake_opencl_memory_at((uintptr_t)handle, FAKE_BUFFER);
  *error = !memory                             ? KDL_CL_INVALID_MEM_OBJECT
           : memory->context != queue->context ? KDL_CL_INVALID_CONTEXT
           : !size || offset > memory->size || size > memory->size - offset ? KDL_CL_INVALID_VALUE
                                                                            : KDL_CL_SUCCESS;
  return *error == KDL_CL_SUCCESS ? (char *)(uintptr_t)memory->address + offset : NULL;
}

/* The whole of a command that moves bytes of one buffer. */
#define FAKE_CL_COMMAND(handle)                                                                    \
  FAKE_ENTER();                                                                                    \
  fake_object *queue;                                                                              \
  int32_t error = fake_opencl_queue(handle, &queue);                                               \
  if (error == KDL_CL_SUCCESS)                                                                     \
    error = check_events(count, events);                                                           \
  if (error != KDL_CL_SUCCESS || event)                                                            \
  return fake_leave(error ? error : KDL_CL_INVALID_VALUE)

int32_t clEnqueueWriteBuffer(void *handle, void *buffer, uint32_t blocking, size_t offset,
                             size_t size, const void *data, uint32_t count, void *const *events,
                             void **event) {
  (void)blocking;
  FAKE_CL_COMMAND(handle);
  char *bytes = bytes_of(buffer, queue, offset, size, &error);
  if (bytes)
    memcpy(bytes, data, size);
  return fake_leave(error);
}

int32_t clEnqueueReadBuffer(void *handle, void *buffer, uint32_t blocking, size_t offset,
                            size_t size, void *data, uint32_t count, void *const *events,
                            void **event) {
  (void)blocking;
  FAKE_CL_COMMAND(handle);
  const char *bytes = bytes_of(buffer, queue, offset, size, &error);
  if (bytes)
    memcpy(data, bytes, size);
  return fake_leave(error);
}

int32_t fake_opencl_copy(const fake_object *queue, void *from, void *to, size_t from_offset,
                         size_t to_offset, size_t size) {
  int32_t error;
  const char *source = bytes_of(from, queue, from_offset, size, &error);
  char *target = source ? bytes_of(to, queue, to_offset, size, &error) : NULL;
  if (target)
    memcpy(target, source, size);
  return error;
}

int32_t clEnqueueCopyBuffer(void *handle, void *from, void *to, size_t from_offset,
                            size_t to_offset, size_t size, uint32_t count, void *const *events,
                            void **event) {
  FAKE_CL_COMMAND(handle);
  return fake_leave(fake_opencl_copy(queue, from, to, from_offset, to_offset, size));
}

static void repeat(char *to, const void *pattern, size_t pattern_size, size_t size) {
  for (size_t i = 0; i < size; i += pattern_size)
    memcpy(to + i, pattern, pattern_size);
}

static bool is_pattern(size_t pattern_size, size_t offset, size_t size) {
  return pattern_size && pattern_size <= 128 && !(pattern_size & (pattern_size - 1)) &&
         offset % pattern_size == 0 && size % pattern_size == 0;
}

int32_t fake_opencl_fill(const fake_object *queue, void *to, const void *pattern,
                         size_t pattern_size, size_t offset, size_t size) {
  int32_t error;
  char *bytes = bytes_of(to, queue, offset, size, &error);
  if (bytes && !is_pattern(pattern_size, offset, size))
    error = KDL_CL_INVALID_VALUE;
  else if (bytes)
    repeat(bytes, pattern, pattern_size, size);
  return error;
}

int32_t clEnqueueFillBuffer(void *handle, void *buffer, const void *pattern, size_t pattern_size,
                            size_t offset, size_t size, uint32_t count, void *const *events,
                            void **event) {
  FAKE_CL_COMMAND(handle);
  return fake_leave(fake_opencl_fill(queue, buffer, pattern, pattern_size, offset, size));
}

/* An address is the device's, as a whole, or the host's. */
static bool is_moveable(const void *address, size_t size, fake_opencl_memory kind) {
  fake_object *memory = fake_opencl_memory_at((uintptr_t)address, kind);
  return !memory || fake_memory_at((uintptr_t)address, size) == memory;
}

static int32_t copy_bytes(void *to, const void *from, size_t size, fake_opencl_memory kind) {
  bool is_ours =
      fake_opencl_memory_at((uintptr_t)to, kind) || fake_opencl_memory_at((uintptr_t)from, kind);
  if (!size || !is_ours || !is_moveable(to, size, kind) || !is_moveable(from, size, kind))
    return KDL_CL_INVALID_VALUE;
  memcpy(to, from, size);
  return KDL_CL_SUCCESS;
}

static int32_t fill_bytes(void *to, const void *pattern, size_t pattern_size, size_t size,
                          fake_opencl_memory kind) {
  fake_object *memory = fake_opencl_memory_at((uintptr_t)to, kind);
  if (!memory || fake_memory_at((uintptr_t)to, size) != memory ||
      !is_pattern(pattern_size, (uintptr_t)to, size))
    return KDL_CL_INVALID_VALUE;
  repeat(to, pattern, pattern_size, size);
  return KDL_CL_SUCCESS;
}

int32_t fake_opencl_svm_copy(void *to, const void *from, size_t size) {
  return copy_bytes(to, from, size, FAKE_SVM);
}

int32_t fake_opencl_svm_fill(void *to, const void *pattern, size_t pattern_size, size_t size) {
  return fill_bytes(to, pattern, pattern_size, size, FAKE_SVM);
}

#ifndef FAKE_OLD
int32_t clEnqueueSVMMemcpy(void *handle, uint32_t blocking, void *to, const void *from, size_t size,
                           uint32_t count, void *const *events, void **event) {
  (void)blocking;
  FAKE_CL_COMMAND(handle);
  return fake_leave(copy_bytes(to, from, size, FAKE_SVM));
}

int32_t clEnqueueSVMMemFill(void *handle, void *to, const void *pattern, size_t pattern_size,
                            size_t size, uint32_t count, void *const *events, void **event) {
  FAKE_CL_COMMAND(handle);
  return fake_leave(fill_bytes(to, pattern, pattern_size, size, FAKE_SVM));
}
#endif

int32_t clEnqueueMemcpyINTEL(void *handle, uint32_t blocking, void *to, const void *from,
                             size_t size, uint32_t count, void *const *events, void **event) {
  (void)blocking;
  FAKE_CL_COMMAND(handle);
  return fake_leave(copy_bytes(to, from, size, FAKE_USM));
}

int32_t clEnqueueMemFillINTEL(void *handle, void *to, const void *pattern, size_t pattern_size,
                              size_t size, uint32_t count, void *const *events, void **event) {
  FAKE_CL_COMMAND(handle);
  return fake_leave(fill_bytes(to, pattern, pattern_size, size, FAKE_USM));
}
