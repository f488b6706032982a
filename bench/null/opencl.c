/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * libOpenCL.so.1 that does nothing: every call succeeds at once, so that what remains is the cost
 * of calling. One device, without unified or virtual memory; a kernel takes as many arguments as
 * the number at the end of its name.
 */
#include "lib/backends/opencl/abi.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#define KDL_DRIVER_SYMBOL(need, field, name, result, parameters) EXPORT result name parameters;
#include "lib/backends/opencl/symbols.def"
#undef KDL_DRIVER_SYMBOL

/* NOLINTBEGIN(misc-unused-parameters): doing nothing takes none of them. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

static char handle_storage[256]; /* handles are addresses in it; a kernel's tells its arguments */

static int32_t return_info(const void *bytes, size_t length, size_t room, void *value,
                           size_t *size) {
  if (value && room < length)
    return KDL_CL_INVALID_VALUE;
  if (value)
    memcpy(value, bytes, length);
  if (size)
    *size = length;
  return KDL_CL_SUCCESS;
}

static void *return_handle(size_t index, int32_t *error) {
  *error = KDL_CL_SUCCESS;
  return &handle_storage[index];
}

/* ------------------------------------------------------------------------------------------ */
/* What is asked before                                                                         */

int32_t clGetPlatformIDs(uint32_t room, void **platforms, uint32_t *count) {
  platforms[0] = handle_storage;
  *count = 1;
  return KDL_CL_SUCCESS;
}

int32_t clGetPlatformInfo(void *platform, uint32_t what, size_t room, void *value, size_t *size) {
  return return_info("nothing", 8, room, value, size);
}

int32_t clGetDeviceIDs(void *platform, uint64_t types, uint32_t room, void **devices,
                       uint32_t *count) {
  devices[0] = handle_storage;
  *count = 1;
  return KDL_CL_SUCCESS;
}

int32_t clGetDeviceInfo(void *device, uint32_t what, size_t room, void *value, size_t *size) {
  uint64_t number = what == KDL_CL_DEVICE_TYPE               ? KDL_CL_TYPE_GPU
                    : what == KDL_CL_DEVICE_AVAILABLE        ? 1
                    : what == KDL_CL_DEVICE_GLOBAL_MEM_SIZE  ? 1u << 30
                    : what == KDL_CL_DEVICE_SVM_CAPABILITIES ? 0
                                                             : 64;
  switch (what) {
  case KDL_CL_DEVICE_VERSION:
    return return_info("OpenCL 3.0 nothing", 19, room, value, size);
  case KDL_CL_DEVICE_NAME:
  case KDL_CL_DEVICE_EXTENSIONS:
  case KDL_CL_DEVICE_IL_VERSION:
  case KDL_CL_DRIVER_VERSION:
  case KDL_CL_DEVICE_PROFILE:
    return return_info("", 1, room, value, size);
  default:
    return return_info(&number, room < 8 ? 4 : 8, room, value, size);
  }
}

void *clGetExtensionFunctionAddressForPlatform(void *platform, const char *name) {
  return NULL;
}

int32_t clGetKernelInfo(void *kernel, uint32_t what, size_t room, void *value, size_t *size) {
  uint32_t count = (uint32_t)((char *)kernel - handle_storage);
  return return_info(&count, sizeof count, room, value, size);
}

int32_t clGetKernelWorkGroupInfo(void *kernel, void *device, uint32_t what, size_t room,
                                 void *value, size_t *size) {
  static const size_t none[3];
  return return_info(none,
                     what == KDL_CL_KERNEL_COMPILE_WORK_GROUP_SIZE ? sizeof none : sizeof *none,
                     room, value, size);
}

int32_t clGetKernelArgInfo(void *kernel, uint32_t index, uint32_t what, size_t room, void *value,
                           size_t *size) {
  return KDL_CL_KERNEL_ARG_INFO_NOT_AVAILABLE;
}

/* ------------------------------------------------------------------------------------------ */
/* What is made                                                                                 */

void *clCreateKernel(void *program, const char *name, int32_t *error) {
  return return_handle(strtoul(name + strcspn(name, "0123456789"), NULL, 10), error);
}

#define MAKES(name, parameters)                                                                    \
  void *name parameters {                                                                          \
    return return_handle(0, error);                                                                \
  }
MAKES(clCreateContext, (const intptr_t *properties, uint32_t count, void *const *devices,
                        kdl_cl_notify *notify, void *user, int32_t *error))
MAKES(clCreateCommandQueue, (void *context, void *device, uint64_t properties, int32_t *error))
MAKES(clCreateCommandQueueWithProperties,
      (void *context, void *device, const uint64_t *properties, int32_t *error))
MAKES(clCreateProgramWithSource,
      (void *context, uint32_t count, const char **texts, const size_t *lengths, int32_t *error))
MAKES(clCreateProgramWithBinary,
      (void *context, uint32_t count, void *const *devices, const size_t *lengths,
       const unsigned char **binaries, int32_t *status, int32_t *error))
MAKES(clCreateProgramWithIL, (void *context, const void *il, size_t length, int32_t *error))
MAKES(clCreateBuffer, (void *context, uint64_t flags, size_t size, void *host, int32_t *error))

/* ------------------------------------------------------------------------------------------ */
/* What is done                                                                                 */

#define DOES(name, parameters)                                                                     \
  int32_t name parameters {                                                                        \
    return KDL_CL_SUCCESS;                                                                         \
  }
DOES(clRetainContext, (void *context))
DOES(clReleaseContext, (void *context))
DOES(clGetContextInfo, (void *context, uint32_t what, size_t room, void *value, size_t *size))
DOES(clRetainCommandQueue, (void *queue))
DOES(clReleaseCommandQueue, (void *queue))
DOES(clGetCommandQueueInfo, (void *queue, uint32_t what, size_t room, void *value, size_t *size))
DOES(clFinish, (void *queue))
DOES(clFlush, (void *queue))
DOES(clBuildProgram, (void *program, uint32_t count, void *const *devices, const char *options,
                      void (*notify)(void *program, void *user), void *user))
DOES(clGetProgramBuildInfo,
     (void *program, void *device, uint32_t what, size_t room, void *value, size_t *size))
DOES(clReleaseProgram, (void *program))
DOES(clReleaseKernel, (void *kernel))
DOES(clSetKernelArg, (void *kernel, uint32_t index, size_t size, const void *value))
DOES(clSetKernelArgSVMPointer, (void *kernel, uint32_t index, const void *address))
DOES(clEnqueueNDRangeKernel,
     (void *queue, void *kernel, uint32_t dimensions, const size_t *offset, const size_t *global,
      const size_t *local, uint32_t count, void *const *events, void **event))
DOES(clEnqueueMarkerWithWaitList, (void *queue, uint32_t count, void *const *events, void **event))
DOES(clEnqueueBarrierWithWaitList, (void *queue, uint32_t count, void *const *events, void **event))
DOES(clWaitForEvents, (uint32_t count, void *const *events))
DOES(clRetainEvent, (void *event))
DOES(clReleaseEvent, (void *event))
DOES(clGetEventInfo, (void *event, uint32_t what, size_t room, void *value, size_t *size))
DOES(clGetEventProfilingInfo, (void *event, uint32_t what, size_t room, void *value, size_t *size))
DOES(clReleaseMemObject, (void *buffer))
DOES(clEnqueueWriteBuffer,
     (void *queue, void *buffer, uint32_t blocking, size_t offset, size_t size, const void *data,
      uint32_t count, void *const *events, void **event))
DOES(clEnqueueReadBuffer, (void *queue, void *buffer, uint32_t blocking, size_t offset, size_t size,
                           void *data, uint32_t count, void *const *events, void **event))
DOES(clEnqueueCopyBuffer, (void *queue, void *from, void *to, size_t from_offset, size_t to_offset,
                           size_t size, uint32_t count, void *const *events, void **event))
DOES(clEnqueueFillBuffer,
     (void *queue, void *buffer, const void *pattern, size_t pattern_size, size_t offset,
      size_t size, uint32_t count, void *const *events, void **event))
DOES(clEnqueueSVMMemcpy, (void *queue, uint32_t blocking, void *to, const void *from, size_t size,
                          uint32_t count, void *const *events, void **event))
DOES(clEnqueueSVMMemFill, (void *queue, void *to, const void *pattern, size_t pattern_size,
                           size_t size, uint32_t count, void *const *events, void **event))

void *clSVMAlloc(void *context, uint64_t flags, size_t size, uint32_t alignment) {
  return NULL;
}

void clSVMFree(void *context, void *address) {}

/* NOLINTEND(misc-unused-parameters) */
