/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Host memory that the device reaches, how much memory there is, and tensor maps, which MLIR's
 * runtime interface asks for. */
#include "fake_cuda_state.h"

int cuMemGetInfo_v2(size_t *available, size_t *total) {
  FAKE_ENTER();
  fake_object *current = fake_current();
  if (!current)
    return fake_leave(KDL_CUDA_ERROR_INVALID_CONTEXT);
  *total = fake_device((size_t)current->device)->memory;
  *available = *total - fake_memory_used(current);
  return fake_leave(current->sticky);
}

int cuMemHostAlloc(void **address, size_t size, unsigned flags) {
  FAKE_ENTER();
  fake_object *current = fake_current();
  int error = !current          ? KDL_CUDA_ERROR_INVALID_CONTEXT
              : current->sticky ? current->sticky
                                : fake_unsafe();
  if (!error && (!size || flags != KDL_CUDA_HOST_PORTABLE))
    error = KDL_CUDA_ERROR_INVALID_VALUE;
  fake_object *memory = error ? NULL : fake_allocate(current, size);
  if (!memory)
    return fake_leave(error ? error : KDL_CUDA_ERROR_OUT_OF_MEMORY);
  memory->is_pinned = true;
  *address = (void *)(uintptr_t)memory->address;
  return fake_leave(KDL_CUDA_SUCCESS);
}

int cuMemFreeHost(void *address) {
  int fault = fake_enter(__func__);
  pthread_mutex_lock(&fake_lock);
  fake_object *memory = fake_memory_at((uintptr_t)address, 1);
  if (!memory || memory->address != (uintptr_t)address || !memory->is_pinned || !fake_current())
    return fake_leave(KDL_CUDA_ERROR_INVALID_VALUE);
  fake_delete(memory);
  return fake_leave(fault);
}

#ifndef FAKE_OLD

enum { already_registered = 712, not_registered = 713 };

FAKE_EXPORT int cuMemHostRegister_v2(void *data, size_t size, unsigned flags);
int cuMemHostRegister_v2(void *data, size_t size, unsigned flags) {
  (void)flags;
  FAKE_ENTER();
  fake_object *current = fake_current();
  if (!current)
    return fake_leave(KDL_CUDA_ERROR_INVALID_CONTEXT);
  if (fake_memory_at((uintptr_t)data, 1))
    return fake_leave(already_registered);
  fake_object *memory = fake_new(FAKE_MEMORY, current);
  memory->address = (uintptr_t)data;
  memory->size = size;
  memory->borrowed = true;
  return fake_leave(KDL_CUDA_SUCCESS);
}

FAKE_EXPORT int cuMemHostUnregister(void *data);
int cuMemHostUnregister(void *data) {
  FAKE_ENTER();
  fake_object *memory = fake_memory_at((uintptr_t)data, 1);
  if (!memory || !memory->borrowed || memory->address != (uintptr_t)data)
    return fake_leave(not_registered);
  fake_delete(memory);
  return fake_leave(KDL_CUDA_SUCCESS);
}

FAKE_EXPORT int cuMemHostGetDevicePointer_v2(uint64_t *address, void *data, unsigned flags);
int cuMemHostGetDevicePointer_v2(uint64_t *address, void *data, unsigned flags) {
  (void)flags;
  FAKE_ENTER();
  fake_object *memory = fake_memory_at((uintptr_t)data, 1);
  if (!memory || !memory->borrowed)
    return fake_leave(KDL_CUDA_ERROR_INVALID_VALUE);
  *address = (uintptr_t)data;
  return fake_leave(KDL_CUDA_SUCCESS);
}

/* The parameters as words, so that a test can read what was asked for. */
FAKE_EXPORT int cuTensorMapEncodeTiled(void *map, int data_type, uint32_t rank, void *address,
                                       const uint64_t *sizes, const uint64_t *strides,
                                       const uint32_t *box, const uint32_t *element_strides,
                                       int interleave, int swizzle, int promotion, int fill);
int cuTensorMapEncodeTiled(void *map, int data_type, uint32_t rank, void *address,
                           const uint64_t *sizes, const uint64_t *strides, const uint32_t *box,
                           const uint32_t *element_strides, int interleave, int swizzle,
                           int promotion, int fill) {
  FAKE_ENTER();
  uint64_t words[16] = {(uint64_t)data_type,  rank,
                        (uintptr_t)address,   element_strides[0],
                        (uint64_t)interleave, (uint64_t)swizzle,
                        (uint64_t)promotion,  (uint64_t)fill};
  size_t at = 8;
  for (uint32_t i = 0; i < rank && at < 16; ++i)
    words[at++] = sizes[i];
  for (uint32_t i = 0; i + 1 < rank && at < 16; ++i)
    words[at++] = strides[i];
  for (uint32_t i = 0; i < rank && at < 16; ++i)
    words[at++] = box[i];
  memcpy(map, words, sizeof words);
  return fake_leave(fake_current() ? KDL_CUDA_SUCCESS : KDL_CUDA_ERROR_INVALID_CONTEXT);
}

#endif
