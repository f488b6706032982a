/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * libamdhip64.so.7 that does nothing: every call succeeds at once, so that what remains is the cost
 * of calling. One device. What need not even tell anything is in hip_stubs.c.
 */
#include "lib/backends/hip/abi.h"

#include <stdint.h>
#include <string.h>

#define KDL_DRIVER_SYMBOL(need, field, name, result, parameters)                                   \
  __attribute__((visibility("default"))) result name parameters;
#include "lib/backends/hip/symbols.def"
#undef KDL_DRIVER_SYMBOL

/* NOLINTBEGIN(misc-unused-parameters): doing nothing takes none of them. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

static char handle_storage[8]; /* handles are addresses in it */

static int return_handle(void **thing) {
  *thing = handle_storage;
  return KDL_HIP_SUCCESS;
}

int hipGetDeviceCount(int *count) {
  *count = 1;
  return KDL_HIP_SUCCESS;
}

int hipDeviceGetAttribute(int *value, int attribute, int device) {
  *value = attribute == KDL_HIP_MAX_THREADS_PER_BLOCK ? 1024
           : attribute == KDL_HIP_WARP_SIZE           ? 64
                                                      : 0;
  return KDL_HIP_SUCCESS;
}

int hipDeviceTotalMem(size_t *bytes, int device) {
  *bytes = (size_t)1 << 36;
  return KDL_HIP_SUCCESS;
}

int hipRuntimeGetVersion(int *version) {
  *version = 60443482;
  return KDL_HIP_SUCCESS;
}

int hipGetDevicePropertiesR0600(void *properties, int device) {
  kdl_hip_properties_r0600 *out = properties;
  strcpy(out->name, "nothing");
  strcpy(out->gcn_arch_name, "gfx90a:sramecc+:xnack-");
  return KDL_HIP_SUCCESS;
}

int hipModuleLoadData(void **module, const void *image) {
  return return_handle(module);
}

int hipModuleGetFunction(void **function, void *module, const char *name) {
  return return_handle(function);
}

int hipStreamCreateWithPriority(void **stream, unsigned flags, int priority) {
  return return_handle(stream);
}

int hipMalloc(void **address, size_t size) {
  static uintptr_t next = 1U << 20;
  *address = (void *)next;
  next += size;
  return KDL_HIP_SUCCESS;
}

/* NOLINTEND(misc-unused-parameters) */
