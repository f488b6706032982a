/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A few calls that MLIR's runtime interface wants and that libkdl does not make: registered host
 * memory, memory that host and device share, tensor maps. They are made on the driver that libkdl
 * opened, in the context that it uses.
 */
#include "runtime.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

typedef int register_call(void *data, size_t size, unsigned flags);
typedef int unregister_call(void *data);
typedef int alloc_shared_call(uint64_t *address, size_t size, unsigned flags);
typedef int push_call(void *context);
typedef int pop_call(void **context);
typedef int tensor_map_call(void *map, int data_type, uint32_t rank, void *address,
                            const uint64_t *sizes, const uint64_t *strides, const uint32_t *box,
                            const uint32_t *element_strides, int interleave, int swizzle,
                            int l2_promotion, int out_of_bounds);

enum { symbol_register, symbol_unregister, symbol_shared, symbol_map, symbol_push, symbol_pop };
enum { symbol_count = 6 };

typedef struct {
  const char *backend;
  const char *libraries[4];
  /* Without a push the driver has no contexts to make current. */
  const char *symbols[symbol_count];
} driver_names;

/* cuMemAllocManaged and hipMallocManaged: reachable from any stream. */
enum { attach_global = 1 };

static const driver_names drivers[] = {
    {"cuda",
     {"libcuda.so.1"},
     {"cuMemHostRegister_v2", "cuMemHostUnregister", "cuMemAllocManaged", "cuTensorMapEncodeTiled",
      "cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2"}},
    {"hip",
     {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"},
     {"hipHostRegister", "hipHostUnregister", "hipMallocManaged", NULL, NULL, NULL}},
};

static pthread_once_t opened = PTHREAD_ONCE_INIT;
static const driver_names *names; /* NULL where the device's driver is none of these */
static void *symbols[symbol_count];
static kdl_device *opened_for;

static void open_driver(void) {
  const char *spec = kdl_device_spec_text(opened_for);
  for (size_t i = 0; i < sizeof drivers / sizeof *drivers; ++i) {
    size_t length = strlen(drivers[i].backend);
    if (strncmp(spec, drivers[i].backend, length) == 0 && spec[length] == ':')
      names = &drivers[i];
  }
  void *library = NULL;
  for (size_t i = 0; names && !library && i < 4 && names->libraries[i]; ++i)
    library = dlopen(names->libraries[i], RTLD_NOW | RTLD_LOCAL);
  for (size_t i = 0; library && i < symbol_count; ++i)
    symbols[i] = names->symbols[i] ? dlsym(library, names->symbols[i]) : NULL;
}

static kdl_status result(int which, int code) {
  if (code == 0)
    return KDL_OK;
  return kdl_mlir_say(KDL_DEVICE, "%s: error %d", names->symbols[which], code);
}

/* The driver's function into a pointer to it; false after kdl_mlir_say. */
static bool find(const kdl_mlir_device *device, int which, const char *purpose, void *out_call) {
  opened_for = device->device; /* one and the same for the whole process */
  pthread_once(&opened, open_driver);
  memcpy(out_call, &symbols[which], sizeof symbols[which]);
  if (!symbols[which])
    kdl_mlir_say(KDL_UNSUPPORTED, "%s: its driver has no way to %s",
                 kdl_device_spec_text(device->device), purpose);
  return symbols[which] != NULL;
}

static kdl_status enter(const kdl_mlir_device *device) {
  push_call *push;
  void *context;
  memcpy(&push, &symbols[symbol_push], sizeof push);
  if (!push)
    return KDL_OK;
  kdl_status status = kdl_device_native(device->device, KDL_NATIVE_CONTEXT, &context);
  return status == KDL_OK ? result(symbol_push, push(context)) : status;
}

static void leave(void) {
  pop_call *pop;
  void *context;
  memcpy(&pop, &symbols[symbol_pop], sizeof pop);
  if (pop)
    pop(&context);
}

kdl_status kdl_mlir_native_register(const kdl_mlir_device *device, void *data, uint64_t size) {
  register_call *call;
  if (!find(device, symbol_register, "register host memory", &call))
    return KDL_UNSUPPORTED;
  kdl_status status = enter(device);
  if (status != KDL_OK)
    return status;
  status = result(symbol_register, call(data, (size_t)size, 0));
  leave();
  return status;
}

kdl_status kdl_mlir_native_unregister(const kdl_mlir_device *device, void *data) {
  unregister_call *call;
  if (!find(device, symbol_unregister, "register host memory", &call))
    return KDL_UNSUPPORTED;
  kdl_status status = enter(device);
  if (status != KDL_OK)
    return status;
  status = result(symbol_unregister, call(data));
  leave();
  return status;
}

kdl_status kdl_mlir_native_alloc_shared(const kdl_mlir_device *device, uint64_t size,
                                        uint64_t *out_address) {
  alloc_shared_call *call;
  if (!find(device, symbol_shared, "share memory with the host", &call))
    return KDL_UNSUPPORTED;
  kdl_status status = enter(device);
  if (status != KDL_OK)
    return status;
  status = result(symbol_shared, call(out_address, (size_t)size, attach_global));
  leave();
  return status;
}

kdl_status kdl_mlir_native_tensor_map(const kdl_mlir_device *device, const kdl_mlir_tensor_map *map,
                                      void *out_map) {
  static const uint32_t element_strides[5] = {1, 1, 1, 1, 1};
  tensor_map_call *call;
  if (!find(device, symbol_map, "encode tensor maps", &call))
    return KDL_UNSUPPORTED;
  kdl_status status = enter(device);
  if (status != KDL_OK)
    return status;
  status = result(symbol_map, call(out_map, map->data_type, map->rank, map->address, map->sizes,
                                   map->strides, map->box, element_strides, map->interleave,
                                   map->swizzle, map->l2_promotion, map->out_of_bounds));
  leave();
  return status;
}
