/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The functions of MLIR's CUDA wrapper that bench/peers/mlir.c uses, linked with libcuda as MLIR's
 * are: for smoke.sh on the fake driver. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

int cuInit(unsigned flags);
int cuDeviceGet(int *device, int number);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuCtxPushCurrent_v2(void *context);
int cuStreamCreate(void **stream, unsigned flags);
int cuStreamSynchronize(void *stream);
int cuMemAlloc_v2(uint64_t *address, size_t size);
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t size, void *stream);
int cuModuleLoadDataEx(void **module, const void *data, unsigned count, void *names, void *values);
int cuModuleUnload(void *module);
int cuModuleGetFunction(void **function, void *module, const char *name);
int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                   void *stream, void **args, void **extra);

/* NOLINTBEGIN(misc-use-internal-linkage): bench/peers/mlir.c finds them by dlsym. */
EXPORT void *mgpuStreamCreate(void) {
  int device;
  void *context, *stream;
  bool ok = cuInit(0) == 0 && cuDeviceGet(&device, 0) == 0 &&
            cuDevicePrimaryCtxRetain(&context, device) == 0 && cuCtxPushCurrent_v2(context) == 0;
  return ok && cuStreamCreate(&stream, 1) == 0 ? stream : NULL;
}

EXPORT void mgpuStreamSynchronize(void *stream) {
  cuStreamSynchronize(stream);
}

EXPORT void *mgpuMemAlloc(uint64_t size, void *stream, bool is_host_shared) {
  (void)stream, (void)is_host_shared;
  uint64_t address;
  return cuMemAlloc_v2(&address, size) == 0 ? (void *)(uintptr_t)address : NULL;
}

EXPORT void mgpuMemcpy(void *to, const void *from, size_t size, void *stream) {
  cuMemcpyDtoHAsync_v2(to, (uintptr_t)from, size, stream);
}

EXPORT void *mgpuModuleLoad(const void *data, size_t size) {
  (void)size;
  void *module;
  return cuModuleLoadDataEx(&module, data, 0, NULL, NULL) == 0 ? module : NULL;
}

EXPORT void mgpuModuleUnload(void *module) {
  cuModuleUnload(module);
}

EXPORT void *mgpuModuleGetFunction(void *module, const char *name) {
  void *function;
  return cuModuleGetFunction(&function, module, name) == 0 ? function : NULL;
}

EXPORT void mgpuLaunchKernel(void *function, intptr_t grid_x, intptr_t grid_y, intptr_t grid_z,
                             intptr_t block_x, intptr_t block_y, intptr_t block_z, int32_t shared,
                             void *stream, void **args, void **extra, size_t arg_count) {
  (void)arg_count;
  cuLaunchKernel(function, (unsigned)grid_x, (unsigned)grid_y, (unsigned)grid_z, (unsigned)block_x,
                 (unsigned)block_y, (unsigned)block_z, (unsigned)shared, stream, args, extra);
}
/* NOLINTEND(misc-use-internal-linkage) */
