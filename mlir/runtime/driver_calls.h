/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The driver below libkdl, for the few calls that libkdl does not make. */
#ifndef KDL_MLIR_RUNTIME_DRIVER_CALLS_H
#define KDL_MLIR_RUNTIME_DRIVER_CALLS_H

#include "runtime.h"

/* The driver of the process's device (driver_calls.c). Functions are NULL if the driver lacks them,
 * and otherwise have the type of the driver's header. */
typedef struct kdl_mlir_native {
  void *device;
  void *context;
  void *get_device_info; /* clGetDeviceInfo */
  void *extension;       /* clGetExtensionFunctionAddressForPlatform */
  void *device_pointer;
  void *alloc_shared;
  void *free_shared; /* NULL: shared memory is freed like other memory */
} kdl_mlir_native;

/* How a driver shares memory. `device_pointer` and `alloc_shared` are called only if the driver's
 * function exists; they return the driver's error codes, 0 for none. */
typedef struct kdl_mlir_native_memory {
  void (*prepare)(kdl_mlir_native *native);            /* may be NULL */
  bool (*reaches_host)(const kdl_mlir_native *native); /* may be NULL: it does not */
  int (*device_pointer)(const kdl_mlir_native *native, void *data, uint64_t *out_address);
  int (*alloc_shared)(const kdl_mlir_native *native, uint64_t size, uint64_t *out_address);
  int (*free_shared)(const kdl_mlir_native *native, uint64_t address);
} kdl_mlir_native_memory;

extern const kdl_mlir_native_memory kdl_mlir_ze_memory;
extern const kdl_mlir_native_memory kdl_mlir_opencl_memory;

#endif
