/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * OpenCL, called directly: a program of the image's bytes, one kernel of it, buffers, and
 * clSetKernelArg before every launch, as programs do that know nothing of what they set last time.
 */
#include "peer.h"

#include "lib/backends/common/driver.h"
#include "lib/backends/opencl/abi.h"

#include <string.h>

typedef struct {
  int32_t (*platforms)(uint32_t room, void **platforms, uint32_t *count);
  int32_t (*devices)(void *platform, uint64_t types, uint32_t room, void **devices,
                     uint32_t *count);
  void *(*context_create)(const intptr_t *properties, uint32_t count, void *const *devices,
                          kdl_cl_notify *notify, void *user, int32_t *error);
  void *(*queue_create)(void *context, void *device, uint64_t properties, int32_t *error);
  void *(*buffer_create)(void *context, uint64_t flags, size_t size, void *host, int32_t *error);
  void *(*program_source)(void *context, uint32_t count, const char **texts, const size_t *lengths,
                          int32_t *error);
  void *(*program_binary)(void *context, uint32_t count, void *const *devices,
                          const size_t *lengths, const unsigned char **binaries, int32_t *status,
                          int32_t *error);
  void *(*program_il)(void *context, const void *il, size_t length, int32_t *error);
  int32_t (*program_build)(void *program, uint32_t count, void *const *devices, const char *options,
                           void (*notify)(void *program, void *user), void *user);
  int32_t (*program_release)(void *program);
  void *(*kernel_create)(void *program, const char *name, int32_t *error);
  int32_t (*kernel_release)(void *kernel);
  int32_t (*set_arg)(void *kernel, uint32_t index, size_t size, const void *value);
  int32_t (*launch)(void *queue, void *kernel, uint32_t dimensions, const size_t *offset,
                    const size_t *global, const size_t *local, uint32_t count, void *const *events,
                    void **event);
  int32_t (*finish)(void *queue);
  int32_t (*write)(void *queue, void *buffer, uint32_t blocking, size_t offset, size_t size,
                   const void *data, uint32_t count, void *const *events, void **event);
  int32_t (*read)(void *queue, void *buffer, uint32_t blocking, size_t offset, size_t size,
                  void *data, uint32_t count, void *const *events, void **event);
} opencl_api;

static const kdl_driver_symbol opencl_symbols[] = {
    {"clGetPlatformIDs", offsetof(opencl_api, platforms), KDL_DRIVER_REQUIRED},
    {"clGetDeviceIDs", offsetof(opencl_api, devices), KDL_DRIVER_REQUIRED},
    {"clCreateContext", offsetof(opencl_api, context_create), KDL_DRIVER_REQUIRED},
    {"clCreateCommandQueue", offsetof(opencl_api, queue_create), KDL_DRIVER_REQUIRED},
    {"clCreateBuffer", offsetof(opencl_api, buffer_create), KDL_DRIVER_REQUIRED},
    {"clCreateProgramWithSource", offsetof(opencl_api, program_source), KDL_DRIVER_REQUIRED},
    {"clCreateProgramWithBinary", offsetof(opencl_api, program_binary), KDL_DRIVER_REQUIRED},
    {"clCreateProgramWithIL", offsetof(opencl_api, program_il), KDL_DRIVER_OPTIONAL},
    {"clBuildProgram", offsetof(opencl_api, program_build), KDL_DRIVER_REQUIRED},
    {"clReleaseProgram", offsetof(opencl_api, program_release), KDL_DRIVER_REQUIRED},
    {"clCreateKernel", offsetof(opencl_api, kernel_create), KDL_DRIVER_REQUIRED},
    {"clReleaseKernel", offsetof(opencl_api, kernel_release), KDL_DRIVER_REQUIRED},
    {"clSetKernelArg", offsetof(opencl_api, set_arg), KDL_DRIVER_REQUIRED},
    {"clEnqueueNDRangeKernel", offsetof(opencl_api, launch), KDL_DRIVER_REQUIRED},
    {"clFinish", offsetof(opencl_api, finish), KDL_DRIVER_REQUIRED},
    {"clEnqueueWriteBuffer", offsetof(opencl_api, write), KDL_DRIVER_REQUIRED},
    {"clEnqueueReadBuffer", offsetof(opencl_api, read), KDL_DRIVER_REQUIRED},
};

typedef struct {
  peer_head head;
  opencl_api cl;
  uint32_t ordinal;
  void *platform;
  void *device;
  void *context;
  void *queue;
  void *program;
  void *kernel;
  void *buffers[PEER_ARGS_LIMIT]; /* of the arguments that are one */
  size_t global[3], local[3];
} opencl_state;
_Static_assert(sizeof(opencl_state) <= PEER_STATE_LIMIT, "fits");

static bool opencl_check(int32_t error, const char *call) {
  return error == KDL_CL_SUCCESS || peer_fail("%s: OpenCL error %d", call, error);
}

static bool opencl_open(void *state, const peer_job *job) {
  opencl_state *at = state;
  at->ordinal = peer_ordinal(job->device);
  for (size_t i = 0; i < 3; ++i) {
    at->local[i] = job->block[i];
    at->global[i] = (size_t)job->grid[i] * job->block[i];
  }
  return peer_open_head(state, job);
}

/* ------------------------------------------------------------------------------------------ */
/* Start                                                                                        */

static bool opencl_load_loader(void *state) {
  opencl_state *at = state;
  static const char *const libraries[] = {"libOpenCL.so.1", NULL};
  return peer_load_library(libraries, opencl_symbols,
                           sizeof opencl_symbols / sizeof *opencl_symbols, &at->cl);
}

/* The first question opens every platform's driver. */
static bool opencl_init(void *state) {
  opencl_state *at = state;
  uint32_t count;
  return opencl_check(at->cl.platforms(0, NULL, &count), "clGetPlatformIDs");
}

/* Numbered as libkdl numbers them: one platform after the other. */
static bool opencl_find_device(void *state) {
  enum { most_platforms = 32, most_devices = 256 };
  const uint64_t types = KDL_CL_TYPE_CPU | KDL_CL_TYPE_GPU | KDL_CL_TYPE_ACCELERATOR;
  opencl_state *at = state;
  void *platforms[most_platforms], *devices[most_devices];
  uint32_t count = 0, first = 0;
  if (!opencl_check(at->cl.platforms(most_platforms, platforms, &count), "clGetPlatformIDs"))
    return false;
  for (uint32_t i = 0; i < count && i < most_platforms && !at->device; ++i) {
    uint32_t found = 0;
    if (at->cl.devices(platforms[i], types, most_devices, devices, &found) != KDL_CL_SUCCESS)
      continue;
    if (at->ordinal - first < found && at->ordinal - first < most_devices) {
      at->platform = platforms[i];
      at->device = devices[at->ordinal - first];
    }
    first += found;
  }
  return at->device || peer_fail("found no OpenCL device %u", at->ordinal);
}

/* Where buffer `index` ends in the job's memory: where the next one begins. */
static size_t buffer_end(const peer_job *job, uint32_t index) {
  for (uint32_t i = index + 1; i < job->arg_count; ++i) {
    uint64_t place;
    if (!job->arg_is_buffer[i])
      continue;
    memcpy(&place, (const char *)job->args + job->arg_offsets[i], sizeof place);
    return (size_t)place;
  }
  return job->buffer_size;
}

static bool opencl_make_buffer(opencl_state *at, uint32_t index) {
  const peer_job *job = at->head.job;
  uint64_t place;
  int32_t error;
  memcpy(&place, (const char *)job->args + job->arg_offsets[index], sizeof place);
  size_t size = buffer_end(job, index) - (size_t)place;
  at->buffers[index] = at->cl.buffer_create(at->context, KDL_CL_MEM_READ_WRITE, size, NULL, &error);
  if (!opencl_check(error, "clCreateBuffer") || !job->buffer_data)
    return error == KDL_CL_SUCCESS;
  return opencl_check(at->cl.write(at->queue, at->buffers[index], KDL_CL_TRUE, 0, size,
                                   (const char *)job->buffer_data + place, 0, NULL, NULL),
                      "clEnqueueWriteBuffer");
}

static bool opencl_make_context(void *state) {
  opencl_state *at = state;
  int32_t error;
  const intptr_t properties[] = {KDL_CL_CONTEXT_PLATFORM, (intptr_t)at->platform, 0};
  at->context = at->cl.context_create(properties, 1, &at->device, NULL, NULL, &error);
  if (!opencl_check(error, "clCreateContext"))
    return false;
  at->queue = at->cl.queue_create(at->context, at->device, 0, &error);
  bool ok = opencl_check(error, "clCreateCommandQueue");
  for (uint32_t i = 0; ok && i < at->head.job->arg_count; ++i)
    ok = !at->head.job->arg_is_buffer[i] || opencl_make_buffer(at, i);
  return ok;
}

/* ------------------------------------------------------------------------------------------ */
/* Load                                                                                         */

static bool begins_with(const peer_job *job, const void *magic) {
  return job->image_size > 4 && memcmp(job->image, magic, 4) == 0;
}

static bool opencl_load(void *state) {
  opencl_state *at = state;
  const peer_job *job = at->head.job;
  int32_t error, status;
  if (begins_with(job, &(uint32_t){0x07230203})) {
    if (!at->cl.program_il)
      return peer_fail("clCreateProgramWithIL: the loader has none");
    at->program = at->cl.program_il(at->context, job->image, job->image_size, &error);
  } else if (begins_with(job, "\177ELF")) {
    at->program = at->cl.program_binary(at->context, 1, &at->device, &job->image_size,
                                        (const unsigned char *[]){job->image}, &status, &error);
  } else {
    at->program = at->cl.program_source(at->context, 1, (const char *[]){job->image},
                                        &job->image_size, &error);
  }
  return opencl_check(error, "clCreateProgram") &&
         opencl_check(
             at->cl.program_build(at->program, 1, &at->device, "-cl-std=CL1.2", NULL, NULL),
             "clBuildProgram");
}

static bool opencl_find_kernel(void *state) {
  opencl_state *at = state;
  int32_t error;
  at->kernel = at->cl.kernel_create(at->program, at->head.job->kernel, &error);
  return opencl_check(error, "clCreateKernel");
}

static bool opencl_unload(void *state) {
  opencl_state *at = state;
  return opencl_check(at->cl.kernel_release(at->kernel), "clReleaseKernel") &&
         opencl_check(at->cl.program_release(at->program), "clReleaseProgram");
}

/* ------------------------------------------------------------------------------------------ */
/* Launch                                                                                       */

static bool opencl_set_arguments(void *state) {
  opencl_state *at = state;
  const peer_job *job = at->head.job;
  int32_t error = KDL_CL_SUCCESS;
  for (uint32_t i = 0; i < job->arg_count && error == KDL_CL_SUCCESS; ++i) {
    const void *value = job->arg_is_buffer[i] ? (const void *)&at->buffers[i]
                                              : (const char *)job->args + job->arg_offsets[i];
    error = at->cl.set_arg(at->kernel, i, job->arg_sizes[i], value);
  }
  return opencl_check(error, "clSetKernelArg");
}

static bool launch(void *state) {
  opencl_state *at = state;
  return opencl_check(
      at->cl.launch(at->queue, at->kernel, 3, NULL, at->global, at->local, 0, NULL, NULL),
      "clEnqueueNDRangeKernel");
}

static bool opencl_sync(void *state) {
  opencl_state *at = state;
  return opencl_check(at->cl.finish(at->queue), "clFinish");
}

static bool opencl_read_back(void *state, void *byte) {
  opencl_state *at = state;
  uint32_t i = 0;
  while (i < at->head.job->arg_count && !at->buffers[i])
    ++i;
  return i == at->head.job->arg_count ||
         opencl_check(
             at->cl.read(at->queue, at->buffers[i], KDL_CL_FALSE, 0, 1, byte, 0, NULL, NULL),
             "clEnqueueReadBuffer");
}

const peer peer_opencl = {
    .name = "opencl",
    .what = "OpenCL itself",
    .backend = "opencl",
    .open = opencl_open,
    .start = {{KDL_TRACE_PHASE_DLOPEN, opencl_load_loader},
              {KDL_TRACE_PHASE_INIT, opencl_init},
              {KDL_TRACE_PHASE_ENUMERATE, opencl_find_device},
              {KDL_TRACE_PHASE_CONTEXT, opencl_make_context}},
    .load = {{KDL_TRACE_PHASE_LOAD, opencl_load}, {KDL_TRACE_PHASE_RESOLVE, opencl_find_kernel}},
    .unload = opencl_unload,
    .arguments = opencl_set_arguments,
    .launch = launch,
    .sync = opencl_sync,
    .read = opencl_read_back,
};
