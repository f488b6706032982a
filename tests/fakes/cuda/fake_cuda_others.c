/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Entry points that libkdl does not call: what LLVM's liboffload wants before it accepts a driver,
 * declared as cuda.h has them. */
#include "fake_cuda_state.h"

#ifndef FAKE_OLD

/* ------------------------------------------------------------------------------------------ */
/* Contexts                                                                                     */

#define ALSO(second, first) __attribute__((alias(#first))) FAKE_EXPORT __typeof__(first) second

FAKE_EXPORT int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active);
int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) {
  FAKE_ENTER();
  *flags = 0;
  *active = 0;
  for (fake_object *c = fake_next(NULL, FAKE_CONTEXT); c; c = fake_next(c, FAKE_CONTEXT))
    *active |= c->primary && c->device == device - 100;
  return fake_leave(KDL_CUDA_SUCCESS);
}

FAKE_EXPORT int cuDevicePrimaryCtxSetFlags_v2(int device, unsigned flags);
int cuDevicePrimaryCtxSetFlags_v2(int device, unsigned flags) {
  (void)device, (void)flags;
  FAKE_ENTER();
  return fake_leave(KDL_CUDA_SUCCESS);
}
ALSO(cuDevicePrimaryCtxSetFlags, cuDevicePrimaryCtxSetFlags_v2);

/* The context stays, as it does where other code retained it too. */
FAKE_EXPORT int cuDevicePrimaryCtxRelease_v2(int device);
int cuDevicePrimaryCtxRelease_v2(int device) {
  (void)device;
  FAKE_ENTER();
  return fake_leave(KDL_CUDA_SUCCESS);
}
ALSO(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2);

FAKE_EXPORT int cuCtxGetLimit(size_t *value, int limit);
int cuCtxGetLimit(size_t *value, int limit) {
  (void)limit;
  FAKE_ENTER();
  *value = 1 << 20;
  return fake_leave(KDL_CUDA_SUCCESS);
}

FAKE_EXPORT int cuCtxSetLimit(int limit, size_t value);
int cuCtxSetLimit(int limit, size_t value) {
  (void)limit, (void)value;
  FAKE_ENTER();
  return fake_leave(KDL_CUDA_SUCCESS);
}

FAKE_EXPORT int cuDeviceCanAccessPeer(int *can, int device, int other);
int cuDeviceCanAccessPeer(int *can, int device, int other) {
  (void)device, (void)other;
  FAKE_ENTER();
  *can = 0;
  return fake_leave(KDL_CUDA_SUCCESS);
}

FAKE_EXPORT int cuCtxEnablePeerAccess(void *context, unsigned flags);
int cuCtxEnablePeerAccess(void *context, unsigned flags) {
  (void)context, (void)flags;
  FAKE_ENTER();
  return fake_leave(not_supported);
}

/* ------------------------------------------------------------------------------------------ */
/* Streams, events, memory                                                                      */

FAKE_EXPORT int cuStreamCreate(void **stream, unsigned flags);
int cuStreamCreate(void **stream, unsigned flags) {
  return cuStreamCreateWithPriority(stream, flags, 0);
}

FAKE_EXPORT int cuStreamDestroy(void *stream);
int cuStreamDestroy(void *stream) {
  return cuStreamDestroy_v2(stream);
}

FAKE_EXPORT int cuEventDestroy(void *event);
int cuEventDestroy(void *event) {
  return cuEventDestroy_v2(event);
}

FAKE_EXPORT int cuModuleGetGlobal(uint64_t *address, size_t *size, void *module, const char *name);
int cuModuleGetGlobal(uint64_t *address, size_t *size, void *module, const char *name) {
  return cuModuleGetGlobal_v2(address, size, module, name);
}

FAKE_EXPORT int cuMemAllocHost_v2(void **memory, size_t size);
int cuMemAllocHost_v2(void **memory, size_t size) {
  return cuMemHostAlloc(memory, size, KDL_CUDA_HOST_PORTABLE);
}

FAKE_EXPORT int cuMemAllocManaged(uint64_t *address, size_t size, unsigned flags);
int cuMemAllocManaged(uint64_t *address, size_t size, unsigned flags) {
  (void)flags;
  return cuMemAlloc_v2(address, size);
}

FAKE_EXPORT int cuMemAllocAsync(uint64_t *address, size_t size, void *stream);
int cuMemAllocAsync(uint64_t *address, size_t size, void *stream) {
  (void)stream;
  return cuMemAlloc_v2(address, size);
}

FAKE_EXPORT int cuMemFreeAsync(uint64_t address, void *stream);
int cuMemFreeAsync(uint64_t address, void *stream) {
  (void)stream;
  return cuMemFree_v2(address);
}

FAKE_EXPORT int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t size);
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t size) {
  return cuMemcpyDtoHAsync_v2(to, from, size, NULL);
}

FAKE_EXPORT int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t size);
int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t size) {
  return cuMemcpyHtoDAsync_v2(to, from, size, NULL);
}

/* Nothing that is tested here calls these four; liboffload wants them to be there. */
#define NEVER_CALLED(name, parameters)                                                             \
  FAKE_EXPORT int name parameters;                                                                 \
  int name parameters {                                                                            \
    FAKE_ENTER();                                                                                  \
    return fake_leave(not_supported);                                                              \
  }
NEVER_CALLED(cuMemsetD2D8Async, (void))
NEVER_CALLED(cuMemsetD2D16Async, (void))
NEVER_CALLED(cuLaunchHostFunc, (void))
NEVER_CALLED(cuStreamAddCallback, (void))

#endif
