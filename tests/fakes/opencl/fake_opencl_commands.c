/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Command buffers of the fake libOpenCL, of the version that the settings name: which functions
 * there are, and what they take. Version 0.9.0 is as in PoCL 3.1, which takes the arguments that a
 * cl_kernel has when the command buffer runs. */
#include "fake_opencl_state.h"

#include <stdio.h>
#include <stdlib.h>

typedef enum { LAUNCH, BUFFER_COPY, BUFFER_FILL, SVM_COPY, SVM_FILL } command_kind;

typedef struct command command;
struct command {
  command_kind kind;
  command *next;
  fake_object *kernel;
  void *arguments; /* of the kernel, when it was recorded */
  uint64_t fields; /* that may be set anew */
  size_t global[3], local[3];
  void *to, *from; /* a buffer, or an address */
  size_t to_offset, from_offset, size;
  unsigned char pattern[128];
  size_t pattern_size;
};

/* A command buffer is a graph whose `text` is its first command; `recorded`: it was finalized. */
static command **commands_of(fake_object *buffer) {
  void *first = &buffer->text;
  return first;
}

uint32_t fake_opencl_version(const char *setting) {
  unsigned major = 0, minor = 0, patch = 0;
  const char *words = fake_setting(setting);
  if (!words || sscanf(words, "%u.%u.%u", &major, &minor, &patch) != 3)
    return 0;
  return KDL_CL_VERSION(major, minor, patch);
}

void *fake_opencl_command(const char *name) {
  static const struct {
    const char *name, *field;
    void (*function)(void);
  } functions[] = {
#define KDL_DRIVER_SYMBOL(field, name, result, parameters)                                         \
  {#name, #field, (void (*)(void))fake_cl_##field},
#include "lib/backends/opencl/commands.def"
#undef KDL_DRIVER_SYMBOL
  };
  uint32_t version = fake_opencl_version("commands");
  for (size_t i = 0; version && i < sizeof functions / sizeof *functions; ++i) {
    bool is_early = strstr(functions[i].field, "_early");
    bool is_other = !is_early && i + 1 < sizeof functions / sizeof *functions &&
                    strcmp(functions[i + 1].name, name) == 0 && version < KDL_CL_VERSION(0, 9, 5);
    bool is_missing =
        strncmp(functions[i].field, "svm", 3) == 0 && version < KDL_CL_VERSION(0, 9, 4);
    void *symbol;
    if (strcmp(functions[i].name, name) != 0 || is_other || is_missing)
      continue;
    memcpy(&symbol, &functions[i].function, sizeof symbol);
    return symbol;
  }
  return NULL;
}

/* ------------------------------------------------------------------------------------------ */
/* Command buffers                                                                              */

void *fake_cl_create(uint32_t count, void *const *queues, const uint64_t *properties,
                     int32_t *error) {
  int fault = fake_enter("clCreateCommandBufferKHR");
  if (fault) {
    *error = fault;
    return NULL;
  }
  pthread_mutex_lock(&fake_lock);
  fake_object *queue = count == 1 ? fake_live(queues[0], FAKE_STREAM) : NULL;
  if (!queue)
    return fake_cl_leave(NULL, KDL_CL_INVALID_COMMAND_QUEUE, error);
  if (properties && (properties[0] != KDL_CL_COMMAND_BUFFER_FLAGS || properties[2]))
    return fake_cl_leave(NULL, KDL_CL_INVALID_VALUE, error);
  fake_object *buffer = fake_new(FAKE_GRAPH, queue->context);
  buffer->size = properties ? properties[1] : 0;
  buffer->retained = 1;
  return fake_cl_leave(buffer, KDL_CL_SUCCESS, error);
}

int32_t fake_cl_release(void *handle) {
  int fault = fake_enter("clReleaseCommandBufferKHR");
  pthread_mutex_lock(&fake_lock);
  fake_object *buffer = fake_live(handle, FAKE_GRAPH);
  if (!buffer)
    return fake_leave(KDL_CL_INVALID_COMMAND_BUFFER_KHR);
  for (command *at = *commands_of(buffer); at;) {
    command *next = at->next;
    free(at->arguments);
    free(at);
    at = next;
  }
  buffer->text = NULL;
  fake_delete(buffer);
  return fake_leave(fault);
}

int32_t fake_cl_finalize(void *handle) {
  int fault = fake_enter("clFinalizeCommandBufferKHR");
  if (fault)
    return fault;
  pthread_mutex_lock(&fake_lock);
  fake_object *buffer = fake_live(handle, FAKE_GRAPH);
  if (!buffer || buffer->recorded)
    return fake_leave(buffer ? KDL_CL_INVALID_OPERATION : KDL_CL_INVALID_COMMAND_BUFFER_KHR);
  buffer->recorded = true;
  return fake_leave(KDL_CL_SUCCESS);
}

static int32_t run_launch(const fake_object *queue, const command *at) {
  bool keeps = fake_opencl_version("commands") > KDL_CL_VERSION(0, 9, 0);
  if (keeps)
    fake_opencl_swap(at->kernel, at->arguments);
  int32_t error = fake_opencl_launch(queue, at->kernel, 3, at->global, at->local);
  if (keeps)
    fake_opencl_swap(at->kernel, at->arguments);
  return error;
}

static int32_t run_command(const fake_object *queue, const command *at) {
  switch (at->kind) {
  case LAUNCH:
    return run_launch(queue, at);
  case BUFFER_COPY:
    return fake_opencl_copy(queue, at->from, at->to, at->from_offset, at->to_offset, at->size);
  case BUFFER_FILL:
    return fake_opencl_fill(queue, at->to, at->pattern, at->pattern_size, at->to_offset, at->size);
  case SVM_COPY:
    return fake_opencl_svm_copy(at->to, at->from, at->size);
  default:
    return fake_opencl_svm_fill(at->to, at->pattern, at->pattern_size, at->size);
  }
}

int32_t fake_cl_enqueue(uint32_t count, void **queues, void *handle, uint32_t event_count,
                        void *const *events, void **event) {
  int fault = fake_enter("clEnqueueCommandBufferKHR");
  if (fault)
    return fault;
  pthread_mutex_lock(&fake_lock);
  fake_object *buffer = fake_live(handle, FAKE_GRAPH);
  fake_object *queue = count == 1 ? fake_live(queues[0], FAKE_STREAM) : NULL;
  if (!buffer || !queue)
    return fake_leave(buffer ? KDL_CL_INVALID_COMMAND_QUEUE : KDL_CL_INVALID_COMMAND_BUFFER_KHR);
  if (!buffer->recorded || event_count || events || event)
    return fake_leave(buffer->recorded ? KDL_CL_INVALID_VALUE : KDL_CL_INVALID_OPERATION);
  if (queue->context != buffer->context)
    return fake_leave(KDL_CL_INCOMPATIBLE_COMMAND_QUEUE_KHR);
  int32_t error = KDL_CL_SUCCESS;
  for (const command *at = *commands_of(buffer); at && error == KDL_CL_SUCCESS; at = at->next)
    error = run_command(queue, at);
  return fake_leave(error);
}

/* ------------------------------------------------------------------------------------------ */
/* Recording                                                                                    */

/* Appends a copy where the rest of what was given is as libkdl gives it. */
static int32_t add(const char *function, void *handle, const void *queue, const command *what,
                   uint32_t count, const uint32_t *points, command **out_command) {
  int fault = fake_enter(function);
  if (fault)
    return fault;
  pthread_mutex_lock(&fake_lock);
  fake_object *buffer = fake_live(handle, FAKE_GRAPH);
  if (!buffer)
    return fake_leave(KDL_CL_INVALID_COMMAND_BUFFER_KHR);
  if (queue || count || points || buffer->recorded)
    return fake_leave(queue              ? KDL_CL_INVALID_COMMAND_QUEUE
                      : buffer->recorded ? KDL_CL_INVALID_OPERATION
                                         : KDL_CL_INVALID_SYNC_POINT_WAIT_LIST_KHR);
  command *made = malloc(sizeof *made);
  if (!made)
    abort();
  *made = *what;
  command **link = commands_of(buffer);
  while (*link)
    link = &(*link)->next;
  *link = made;
  if (made->kernel)
    made->arguments = fake_opencl_arguments(made->kernel);
  if (out_command)
    *out_command = made;
  return fake_leave(KDL_CL_SUCCESS);
}

int32_t fake_cl_launch(void *buffer, void *queue, const uint64_t *properties, void *kernel,
                       uint32_t dimensions, const size_t *offset, const size_t *global,
                       const size_t *local, uint32_t count, const uint32_t *points, uint32_t *point,
                       void **handle) {
  pthread_mutex_lock(&fake_lock);
  command what = {.kind = LAUNCH, .kernel = fake_live(kernel, FAKE_KERNEL)};
  pthread_mutex_unlock(&fake_lock);
  if (!what.kernel || dimensions != 3 || offset || point || (properties && !handle))
    return KDL_CL_INVALID_VALUE;
  if (properties && properties[0] == KDL_CL_MUTABLE_UPDATABLE_FIELDS)
    what.fields = properties[1];
  memcpy(what.global, global, sizeof what.global);
  memcpy(what.local, local, sizeof what.local);
  command *made = NULL;
  int32_t error = add("clCommandNDRangeKernelKHR", buffer, queue, &what, count, points, &made);
  if (error == KDL_CL_SUCCESS && handle)
    *handle = made;
  return error;
}

int32_t fake_cl_buffer_copy_early(void *buffer, void *queue, void *from, void *to,
                                  size_t from_offset, size_t to_offset, size_t size, uint32_t count,
                                  const uint32_t *points, uint32_t *point, void **handle) {
  command what = {.kind = BUFFER_COPY,
                  .to = to,
                  .from = from,
                  .to_offset = to_offset,
                  .from_offset = from_offset,
                  .size = size};
  if (point || handle)
    return KDL_CL_INVALID_VALUE;
  return add("clCommandCopyBufferKHR", buffer, queue, &what, count, points, NULL);
}

int32_t fake_cl_buffer_copy(void *buffer, void *queue, const uint64_t *properties, void *from,
                            void *to, size_t from_offset, size_t to_offset, size_t size,
                            uint32_t count, const uint32_t *points, uint32_t *point,
                            void **handle) {
  return properties ? KDL_CL_INVALID_VALUE
                    : fake_cl_buffer_copy_early(buffer, queue, from, to, from_offset, to_offset,
                                                size, count, points, point, handle);
}

static int32_t add_fill(const char *function, void *buffer, const void *queue, command *what,
                        const void *pattern, uint32_t count, const uint32_t *points,
                        const uint32_t *point, void **handle) {
  if (point || handle || what->pattern_size > sizeof what->pattern)
    return KDL_CL_INVALID_VALUE;
  memcpy(what->pattern, pattern, what->pattern_size);
  return add(function, buffer, queue, what, count, points, NULL);
}

int32_t fake_cl_buffer_fill_early(void *buffer, void *queue, void *to, const void *pattern,
                                  size_t pattern_size, size_t offset, size_t size, uint32_t count,
                                  const uint32_t *points, uint32_t *point, void **handle) {
  command what = {.kind = BUFFER_FILL,
                  .to = to,
                  .to_offset = offset,
                  .size = size,
                  .pattern_size = pattern_size};
  return add_fill("clCommandFillBufferKHR", buffer, queue, &what, pattern, count, points, point,
                  handle);
}

int32_t fake_cl_buffer_fill(void *buffer, void *queue, const uint64_t *properties, void *to,
                            const void *pattern, size_t pattern_size, size_t offset, size_t size,
                            uint32_t count, const uint32_t *points, uint32_t *point,
                            void **handle) {
  return properties ? KDL_CL_INVALID_VALUE
                    : fake_cl_buffer_fill_early(buffer, queue, to, pattern, pattern_size, offset,
                                                size, count, points, point, handle);
}

int32_t fake_cl_svm_copy_early(void *buffer, void *queue, void *to, const void *from, size_t size,
                               uint32_t count, const uint32_t *points, uint32_t *point,
                               void **handle) {
  command what = {.kind = SVM_COPY, .to = to, .from = (void *)(uintptr_t)from, .size = size};
  if (point || handle)
    return KDL_CL_INVALID_VALUE;
  return add("clCommandSVMMemcpyKHR", buffer, queue, &what, count, points, NULL);
}

int32_t fake_cl_svm_copy(void *buffer, void *queue, const uint64_t *properties, void *to,
                         const void *from, size_t size, uint32_t count, const uint32_t *points,
                         uint32_t *point, void **handle) {
  return properties
             ? KDL_CL_INVALID_VALUE
             : fake_cl_svm_copy_early(buffer, queue, to, from, size, count, points, point, handle);
}

int32_t fake_cl_svm_fill_early(void *buffer, void *queue, void *to, const void *pattern,
                               size_t pattern_size, size_t size, uint32_t count,
                               const uint32_t *points, uint32_t *point, void **handle) {
  command what = {.kind = SVM_FILL, .to = to, .size = size, .pattern_size = pattern_size};
  return add_fill("clCommandSVMMemFillKHR", buffer, queue, &what, pattern, count, points, point,
                  handle);
}

int32_t fake_cl_svm_fill(void *buffer, void *queue, const uint64_t *properties, void *to,
                         const void *pattern, size_t pattern_size, size_t size, uint32_t count,
                         const uint32_t *points, uint32_t *point, void **handle) {
  return properties ? KDL_CL_INVALID_VALUE
                    : fake_cl_svm_fill_early(buffer, queue, to, pattern, pattern_size, size, count,
                                             points, point, handle);
}

/* ------------------------------------------------------------------------------------------ */
/* Updates                                                                                      */

static command *find_launch(fake_object *buffer, const void *handle) {
  command *at = *commands_of(buffer);
  while (at && at != handle)
    at = at->next;
  return at && at->kind == LAUNCH && at->fields ? at : NULL;
}

static int32_t set_arguments(const command *at, const kdl_cl_mutable_config *config) {
  int32_t error = KDL_CL_SUCCESS;
  fake_opencl_swap(at->kernel, at->arguments);
  for (uint32_t i = 0; i < config->arg_count && error == KDL_CL_SUCCESS; ++i)
    error = fake_opencl_set(at->kernel, config->args[i].index, config->args[i].size,
                            config->args[i].value);
  for (uint32_t i = 0; i < config->svm_count && error == KDL_CL_SUCCESS; ++i)
    error = fake_opencl_set_svm(at->kernel, config->svm_args[i].index, config->svm_args[i].value);
  fake_opencl_swap(at->kernel, at->arguments);
  return error;
}

static int32_t update(fake_object *buffer, uint32_t type, const kdl_cl_mutable_config *config) {
  command *at = find_launch(buffer, config->command);
  if (type != KDL_CL_MUTABLE_CONFIG || !at)
    return at ? KDL_CL_INVALID_VALUE : KDL_CL_INVALID_MUTABLE_COMMAND_KHR;
  if (config->info_count || config->offset || config->dimensions != 3)
    return KDL_CL_INVALID_VALUE;
  if (config->global)
    memcpy(at->global, config->global, sizeof at->global);
  if (config->local)
    memcpy(at->local, config->local, sizeof at->local);
  return set_arguments(at, config);
}

int32_t fake_cl_update(void *handle, uint32_t count, const uint32_t *types, const void **configs) {
  int fault = fake_enter("clUpdateMutableCommandsKHR");
  if (fault)
    return fault;
  pthread_mutex_lock(&fake_lock);
  fake_object *buffer = fake_live(handle, FAKE_GRAPH);
  if (!buffer)
    return fake_leave(KDL_CL_INVALID_COMMAND_BUFFER_KHR);
  if (!buffer->recorded || !(buffer->size & KDL_CL_COMMAND_BUFFER_MUTABLE))
    return fake_leave(KDL_CL_INVALID_OPERATION);
  int32_t error = count ? KDL_CL_SUCCESS : KDL_CL_INVALID_VALUE;
  for (uint32_t i = 0; i < count && error == KDL_CL_SUCCESS; ++i)
    error = update(buffer, types[i], configs[i]);
  return fake_leave(error);
}
