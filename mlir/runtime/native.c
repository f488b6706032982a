/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A few calls that MLIR's runtime interface wants and that libkdl does not make: registered host
 * memory, memory that host and device share, tensor maps. They are made on the driver that libkdl
 * opened, in the context that it uses.
 */
#include "native.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

typedef int register_call(void *data, size_t size, unsigned flags);
typedef int unregister_call(void *data);
typedef int cuda_device_pointer_call(uint64_t *address, void *data, unsigned flags);
typedef int cuda_alloc_managed_call(uint64_t *address, size_t size, unsigned flags);
typedef int hip_device_pointer_call(void **address, void *data, unsigned flags);
typedef int hip_alloc_managed_call(void **address, size_t size, unsigned flags);
typedef int push_call(void *context);
typedef int pop_call(void **context);
typedef int tensor_map_call(void *map, int data_type, uint32_t rank, void *address,
                            const uint64_t *sizes, const uint64_t *strides, const uint32_t *box,
                            const uint32_t *element_strides, int interleave, int swizzle,
                            int l2_promotion, int out_of_bounds);

typedef enum {
  symbol_register,
  symbol_unregister,
  symbol_device_pointer,
  symbol_shared,
  symbol_free_shared,
  symbol_map,
  symbol_push, /* without it, the driver has no contexts to make current */
  symbol_pop,
  symbol_ask,
  symbol_extension,
  symbol_count
} symbol;

typedef struct {
  const char *backend;
  const char *libraries[4];
  const char *symbols[symbol_count];
  const kdl_mlir_native_memory *memory;
} driver_names;

/* ------------------------------------------------------------------------------------------ */
/* Drivers                                                                                      */

/* cuMemAllocManaged and hipMallocManaged: reachable from any stream. */
enum { attach_global = 1 };

static int cuda_device_pointer(const kdl_mlir_native *native, void *data, uint64_t *out_address) {
  cuda_device_pointer_call *call;
  memcpy(&call, &native->device_pointer, sizeof call);
  return call(out_address, data, 0);
}

static int cuda_alloc_managed(const kdl_mlir_native *native, uint64_t size, uint64_t *out_address) {
  cuda_alloc_managed_call *call;
  memcpy(&call, &native->alloc_shared, sizeof call);
  return call(out_address, (size_t)size, attach_global);
}

static int hip_device_pointer(const kdl_mlir_native *native, void *data, uint64_t *out_address) {
  hip_device_pointer_call *call;
  void *address = NULL;
  memcpy(&call, &native->device_pointer, sizeof call);
  int code = call(&address, data, 0);
  *out_address = (uintptr_t)address;
  return code;
}

static int hip_alloc_managed(const kdl_mlir_native *native, uint64_t size, uint64_t *out_address) {
  hip_alloc_managed_call *call;
  void *address = NULL;
  memcpy(&call, &native->alloc_shared, sizeof call);
  int code = call(&address, (size_t)size, attach_global);
  *out_address = (uintptr_t)address;
  return code;
}

static const kdl_mlir_native_memory cuda_memory = {.device_pointer = cuda_device_pointer,
                                                   .alloc_shared = cuda_alloc_managed};
static const kdl_mlir_native_memory hip_memory = {.device_pointer = hip_device_pointer,
                                                  .alloc_shared = hip_alloc_managed};

static const driver_names drivers[] = {
    {.backend = "cuda",
     .libraries = {"libcuda.so.1"},
     .symbols = {[symbol_register] = "cuMemHostRegister_v2",
                 [symbol_unregister] = "cuMemHostUnregister",
                 [symbol_device_pointer] = "cuMemHostGetDevicePointer_v2",
                 [symbol_shared] = "cuMemAllocManaged",
                 [symbol_map] = "cuTensorMapEncodeTiled",
                 [symbol_push] = "cuCtxPushCurrent_v2",
                 [symbol_pop] = "cuCtxPopCurrent_v2"},
     .memory = &cuda_memory},
    {.backend = "hip",
     .libraries = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"},
     .symbols = {[symbol_register] = "hipHostRegister",
                 [symbol_unregister] = "hipHostUnregister",
                 [symbol_device_pointer] = "hipHostGetDevicePointer",
                 [symbol_shared] = "hipMallocManaged"},
     .memory = &hip_memory},
    {.backend = "level_zero",
     .libraries = {"libze_loader.so.1"},
     .symbols = {[symbol_shared] = "zeMemAllocShared", [symbol_free_shared] = "zeMemFree"},
     .memory = &kdl_mlir_ze_memory},
    {.backend = "opencl",
     .libraries = {"libOpenCL.so.1"},
     .symbols = {[symbol_ask] = "clGetDeviceInfo",
                 [symbol_extension] = "clGetExtensionFunctionAddressForPlatform"},
     .memory = &kdl_mlir_opencl_memory},
};

static pthread_once_t opened = PTHREAD_ONCE_INIT;
static const driver_names *names; /* NULL where the device's driver is none of these */
static void *symbols[symbol_count];
static kdl_mlir_native native;
static kdl_device *opened_for;

static void find_driver(void) {
  kdl_device_info info = {.size = sizeof info};
  if (kdl_device_get(opened_for, &info) != KDL_OK)
    return;
  for (size_t i = 0; i < sizeof drivers / sizeof *drivers; ++i) {
    if (strcmp(info.backend, drivers[i].backend) == 0)
      names = &drivers[i];
  }
}

static void open_driver(void) {
  void *library = NULL;
  find_driver();
  for (size_t i = 0; names && !library && i < 4 && names->libraries[i]; ++i)
    library = dlopen(names->libraries[i], RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return;
  for (size_t i = 0; i < symbol_count; ++i)
    symbols[i] = names->symbols[i] ? dlsym(library, names->symbols[i]) : NULL;
  native = (kdl_mlir_native){.ask = symbols[symbol_ask],
                             .extension = symbols[symbol_extension],
                             .device_pointer = symbols[symbol_device_pointer],
                             .alloc_shared = symbols[symbol_shared],
                             .free_shared = symbols[symbol_free_shared]};
  kdl_device_native(opened_for, KDL_NATIVE_DEVICE, &native.device);
  kdl_device_native(opened_for, KDL_NATIVE_CONTEXT, &native.context);
  if (names->memory->prepare)
    names->memory->prepare(&native);
}

static void open_for(const kdl_mlir_device *device) {
  opened_for = device->device; /* one and the same for the whole process */
  pthread_once(&opened, open_driver);
}

static kdl_status unsupported(const kdl_mlir_device *device, const char *purpose) {
  return kdl_mlir_say(KDL_UNSUPPORTED, "%s: its driver has no way to %s",
                      kdl_device_spec_text(device->device), purpose);
}

static kdl_status result(const char *call, int code) {
  return code == 0 ? KDL_OK : kdl_mlir_say(KDL_DEVICE, "%s: error %d", call, code);
}

/* The driver's function into a pointer to it; false after kdl_mlir_say. */
static bool find(const kdl_mlir_device *device, symbol which, const char *purpose, void *out_call) {
  open_for(device);
  memcpy(out_call, &symbols[which], sizeof symbols[which]);
  if (!symbols[which])
    unsupported(device, purpose);
  return symbols[which] != NULL;
}

/* ------------------------------------------------------------------------------------------ */
/* Contexts                                                                                     */

static kdl_status enter(void) {
  push_call *push;
  memcpy(&push, &symbols[symbol_push], sizeof push);
  return push ? result(names->symbols[symbol_push], push(native.context)) : KDL_OK;
}

static void leave(void) {
  pop_call *pop;
  void *context;
  memcpy(&pop, &symbols[symbol_pop], sizeof pop);
  if (pop)
    pop(&context);
}

/* ------------------------------------------------------------------------------------------ */
/* Calls                                                                                        */

static bool reaches_host(const kdl_mlir_device *device) {
  open_for(device);
  return names && names->memory->reaches_host && names->memory->reaches_host(&native);
}

/* One of the two calls that take host memory; a size is for the first. */
static kdl_status call_with(const kdl_mlir_device *device, symbol which, void *data, size_t size) {
  union {
    register_call *add;
    unregister_call *drop;
  } call;
  if (reaches_host(device))
    return KDL_OK;
  if (!find(device, which, "register host memory", &call))
    return KDL_UNSUPPORTED;
  kdl_status status = enter();
  if (status != KDL_OK)
    return status;
  int code = which == symbol_register ? call.add(data, size, 0) : call.drop(data);
  status = result(names->symbols[which], code);
  leave();
  return status;
}

kdl_status kdl_mlir_native_register(const kdl_mlir_device *device, void *data, uint64_t size) {
  return call_with(device, symbol_register, data, (size_t)size);
}

kdl_status kdl_mlir_native_unregister(const kdl_mlir_device *device, void *data) {
  return call_with(device, symbol_unregister, data, 0);
}

kdl_status kdl_mlir_native_device_pointer(const kdl_mlir_device *device, void *data,
                                          uint64_t *out_address) {
  *out_address = (uintptr_t)data;
  if (device->is_host || reaches_host(device))
    return KDL_OK;
  if (!native.device_pointer)
    return unsupported(device, "register host memory");
  kdl_status status = enter();
  if (status != KDL_OK)
    return status;
  status = result(names->symbols[symbol_device_pointer],
                  names->memory->device_pointer(&native, data, out_address));
  leave();
  return status;
}

static const char *shared_call(symbol which, const char *extension) {
  return names->symbols[which] ? names->symbols[which] : extension;
}

kdl_status kdl_mlir_native_alloc_shared(const kdl_mlir_device *device, uint64_t size,
                                        uint64_t *out_address) {
  open_for(device);
  if (!names || !native.alloc_shared)
    return unsupported(device, "share memory with the host");
  kdl_status status = enter();
  if (status != KDL_OK)
    return status;
  status = result(shared_call(symbol_shared, "clSharedMemAllocINTEL"),
                  names->memory->alloc_shared(&native, size, out_address));
  leave();
  return status;
}

kdl_status kdl_mlir_native_free_shared(const kdl_mlir_device *device, uint64_t address) {
  open_for(device);
  if (!names || !names->memory->free_shared) {
    kdl_buffer buffer = kdl_buffer_adopt(device->device, address, 0);
    return kdl_free(&buffer);
  }
  return result(shared_call(symbol_free_shared, "clMemFreeINTEL"),
                names->memory->free_shared(&native, address));
}

kdl_status kdl_mlir_native_tensor_map(const kdl_mlir_device *device, const kdl_mlir_tensor_map *map,
                                      void *out_map) {
  tensor_map_call *call;
  if (!find(device, symbol_map, "encode tensor maps", &call))
    return KDL_UNSUPPORTED;
  kdl_status status = enter();
  if (status != KDL_OK)
    return status;
  status = result(names->symbols[symbol_map],
                  call(out_map, map->data_type, map->rank, map->address, map->sizes, map->strides,
                       map->box, map->element_strides, map->interleave, map->swizzle,
                       map->l2_promotion, map->out_of_bounds));
  leave();
  return status;
}
