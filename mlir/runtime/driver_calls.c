/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Calls that MLIR's runtime interface needs and libkdl does not make: registered host memory,
 * memory shared by host and device, tensor maps. They use the driver that libkdl opened, and its
 * context.
 */
#include "driver_calls.h"

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
  symbol_push, /* if it is missing, the driver has no contexts to make current */
  symbol_pop,
  symbol_device_info,
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

/* cuMemAllocManaged and hipMallocManaged: accessible from any stream. */
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
     .symbols = {[symbol_device_info] = "clGetDeviceInfo",
                 [symbol_extension] = "clGetExtensionFunctionAddressForPlatform"},
     .memory = &kdl_mlir_opencl_memory},
};

static pthread_once_t driver_once = PTHREAD_ONCE_INIT;
static const driver_names *driver_row; /* NULL if the device's driver is none of these */
static void *driver_symbols[symbol_count];
static kdl_mlir_native native;
static kdl_device *driver_device;

static void find_driver(void) {
  kdl_device_info info = {.size = sizeof info};
  if (kdl_device_get(driver_device, &info) != KDL_OK)
    return;
  for (size_t i = 0; i < sizeof drivers / sizeof *drivers; ++i) {
    if (strcmp(info.backend, drivers[i].backend) == 0)
      driver_row = &drivers[i];
  }
}

static void open_driver(void) {
  void *library = NULL;
  find_driver();
  for (size_t i = 0; driver_row && !library && i < 4 && driver_row->libraries[i]; ++i)
    library = dlopen(driver_row->libraries[i], RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return;
  for (size_t i = 0; i < symbol_count; ++i)
    driver_symbols[i] = driver_row->symbols[i] ? dlsym(library, driver_row->symbols[i]) : NULL;
  native = (kdl_mlir_native){.get_device_info = driver_symbols[symbol_device_info],
                             .extension = driver_symbols[symbol_extension],
                             .device_pointer = driver_symbols[symbol_device_pointer],
                             .alloc_shared = driver_symbols[symbol_shared],
                             .free_shared = driver_symbols[symbol_free_shared]};
  kdl_device_native(driver_device, KDL_NATIVE_DEVICE, &native.device);
  kdl_device_native(driver_device, KDL_NATIVE_CONTEXT, &native.context);
  if (driver_row->memory->prepare)
    driver_row->memory->prepare(&native);
}

static void open_driver_of(const kdl_mlir_device *device) {
  driver_device = device->device; /* the only one of the process */
  pthread_once(&driver_once, open_driver);
}

static kdl_status fail_unsupported(const kdl_mlir_device *device, const char *purpose) {
  return kdl_mlir_set_error(KDL_UNSUPPORTED, "%s: its driver has no way to %s",
                            kdl_device_spec_text(device->device), purpose);
}

static kdl_status driver_result(const char *call, int code) {
  return code == 0 ? KDL_OK : kdl_mlir_set_error(KDL_DEVICE, "%s: error %d", call, code);
}

/* Stores the driver's function in a pointer; false after kdl_mlir_set_error. */
static bool find_driver_symbol(const kdl_mlir_device *device, symbol which, const char *purpose,
                               void *out_call) {
  open_driver_of(device);
  memcpy(out_call, &driver_symbols[which], sizeof driver_symbols[which]);
  if (!driver_symbols[which])
    fail_unsupported(device, purpose);
  return driver_symbols[which] != NULL;
}

/* ------------------------------------------------------------------------------------------ */
/* Contexts                                                                                     */

static kdl_status push_context(void) {
  push_call *push;
  memcpy(&push, &driver_symbols[symbol_push], sizeof push);
  return push ? driver_result(driver_row->symbols[symbol_push], push(native.context)) : KDL_OK;
}

static void pop_context(void) {
  pop_call *pop;
  void *context;
  memcpy(&pop, &driver_symbols[symbol_pop], sizeof pop);
  if (pop)
    pop(&context);
}

/* ------------------------------------------------------------------------------------------ */
/* Calls                                                                                        */

static bool reaches_host(const kdl_mlir_device *device) {
  open_driver_of(device);
  return driver_row && driver_row->memory->reaches_host &&
         driver_row->memory->reaches_host(&native);
}

/* Calls one of the two functions that take host memory; the size is for the first. */
static kdl_status call_host_memory(const kdl_mlir_device *device, symbol which, void *data,
                                   size_t size) {
  union {
    register_call *add;
    unregister_call *drop;
  } call;
  if (reaches_host(device))
    return KDL_OK;
  if (!find_driver_symbol(device, which, "register host memory", &call))
    return KDL_UNSUPPORTED;
  kdl_status status = push_context();
  if (status != KDL_OK)
    return status;
  int code = which == symbol_register ? call.add(data, size, 0) : call.drop(data);
  status = driver_result(driver_row->symbols[which], code);
  pop_context();
  return status;
}

kdl_status kdl_mlir_native_register(const kdl_mlir_device *device, void *data, uint64_t size) {
  return call_host_memory(device, symbol_register, data, (size_t)size);
}

kdl_status kdl_mlir_native_unregister(const kdl_mlir_device *device, void *data) {
  return call_host_memory(device, symbol_unregister, data, 0);
}

kdl_status kdl_mlir_native_device_pointer(const kdl_mlir_device *device, void *data,
                                          uint64_t *out_address) {
  *out_address = (uintptr_t)data;
  if (device->is_host || reaches_host(device))
    return KDL_OK;
  if (!native.device_pointer)
    return fail_unsupported(device, "register host memory");
  kdl_status status = push_context();
  if (status != KDL_OK)
    return status;
  status = driver_result(driver_row->symbols[symbol_device_pointer],
                         driver_row->memory->device_pointer(&native, data, out_address));
  pop_context();
  return status;
}

static const char *shared_call(symbol which, const char *extension) {
  return driver_row->symbols[which] ? driver_row->symbols[which] : extension;
}

kdl_status kdl_mlir_native_alloc_shared(const kdl_mlir_device *device, uint64_t size,
                                        uint64_t *out_address) {
  open_driver_of(device);
  if (!driver_row || !native.alloc_shared)
    return fail_unsupported(device, "share memory with the host");
  kdl_status status = push_context();
  if (status != KDL_OK)
    return status;
  status = driver_result(shared_call(symbol_shared, "clSharedMemAllocINTEL"),
                         driver_row->memory->alloc_shared(&native, size, out_address));
  pop_context();
  return status;
}

kdl_status kdl_mlir_native_free_shared(const kdl_mlir_device *device, uint64_t address) {
  open_driver_of(device);
  if (!driver_row || !driver_row->memory->free_shared) {
    kdl_buffer buffer = kdl_buffer_adopt(device->device, address, 0);
    return kdl_free(&buffer);
  }
  return driver_result(shared_call(symbol_free_shared, "clMemFreeINTEL"),
                       driver_row->memory->free_shared(&native, address));
}

kdl_status kdl_mlir_native_tensor_map(const kdl_mlir_device *device, const kdl_mlir_tensor_map *map,
                                      void *out_map) {
  tensor_map_call *call;
  if (!find_driver_symbol(device, symbol_map, "encode tensor maps", &call))
    return KDL_UNSUPPORTED;
  kdl_status status = push_context();
  if (status != KDL_OK)
    return status;
  status = driver_result(driver_row->symbols[symbol_map],
                         call(out_map, map->data_type, map->rank, map->address, map->sizes,
                              map->strides, map->box, map->element_strides, map->interleave,
                              map->swizzle, map->l2_promotion, map->out_of_bounds));
  pop_context();
  return status;
}
