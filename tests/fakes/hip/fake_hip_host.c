/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Host memory that the device reaches, which MLIR's runtime interface asks for as well, and how
 * much memory there is. */
#include "fake_hip_state.h"

int hipMemGetInfo(size_t *available, size_t *total) {
  HIP_ENTER();
  fake_object *device = fake_hip_current();
  const kdl_device_spec *spec = fake_device((size_t)device->device);
  *total = spec ? spec->memory : 0;
  *available = *total - fake_memory_used(device);
  return hip_leave(fake_hip_lost(device));
}

int hipHostMalloc(void **address, size_t size, unsigned flags) {
  HIP_ENTER();
  fake_object *device = fake_hip_current();
  int error = fake_hip_lost(device) ? fake_hip_lost(device) : fake_unsafe();
  if (!error && (!size || flags != KDL_HIP_HOST_PORTABLE))
    error = invalid_value;
  fake_object *memory = error ? NULL : fake_allocate(device, size);
  if (!memory)
    return hip_leave(error ? error : KDL_HIP_ERROR_OUT_OF_MEMORY);
  memory->is_pinned = true;
  *address = (void *)(uintptr_t)memory->address;
  return hip_leave(KDL_HIP_SUCCESS);
}

int hipHostFree(void *address) {
  int fault = fake_enter(__func__);
  pthread_mutex_lock(&fake_lock);
  fake_object *memory = fake_memory_at((uintptr_t)address, 1);
  if (!memory || memory->address != (uintptr_t)address || !memory->is_pinned)
    return hip_leave(invalid_value);
  fake_delete(memory);
  return hip_leave(fault);
}

#ifndef FAKE_OLD

enum { already_registered = 712, not_registered = 713 };

FAKE_EXPORT int hipHostRegister(void *data, size_t size, unsigned flags);
int hipHostRegister(void *data, size_t size, unsigned flags) {
  (void)flags;
  HIP_ENTER();
  if (fake_memory_at((uintptr_t)data, 1))
    return hip_leave(already_registered);
  fake_object *memory = fake_new(FAKE_MEMORY, fake_hip_current());
  memory->address = (uintptr_t)data;
  memory->size = size;
  memory->borrowed = true;
  return hip_leave(KDL_HIP_SUCCESS);
}

static fake_object *registered_at(const void *data) {
  fake_object *memory = fake_memory_at((uintptr_t)data, 1);
  return memory && memory->borrowed ? memory : NULL;
}

FAKE_EXPORT int hipHostUnregister(void *data);
int hipHostUnregister(void *data) {
  HIP_ENTER();
  fake_object *memory = registered_at(data);
  if (!memory || memory->address != (uintptr_t)data)
    return hip_leave(not_registered);
  fake_delete(memory);
  return hip_leave(KDL_HIP_SUCCESS);
}

FAKE_EXPORT int hipHostGetDevicePointer(void **address, void *data, unsigned flags);
int hipHostGetDevicePointer(void **address, void *data, unsigned flags) {
  (void)flags;
  HIP_ENTER();
  if (!registered_at(data))
    return hip_leave(invalid_value);
  *address = data;
  return hip_leave(KDL_HIP_SUCCESS);
}

FAKE_EXPORT int hipMallocManaged(void **address, size_t size, unsigned flags);
int hipMallocManaged(void **address, size_t size, unsigned flags) {
  (void)flags;
  fake_call(__func__);
  return hipMalloc(address, size);
}

#endif
