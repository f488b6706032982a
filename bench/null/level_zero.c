/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * libze_loader.so.1 that does nothing: every call succeeds at once, so that what remains is the
 * cost of calling. One device; a kernel takes as many arguments as the number at the end of its
 * name. What need not even tell anything is in level_zero_stubs.c.
 */
#include "lib/backends/level_zero/abi.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define KDL_DRIVER_SYMBOL(need, field, name, result, parameters)                                   \
  __attribute__((visibility("default"))) result name parameters;
#include "lib/backends/level_zero/symbols.def"
#undef KDL_DRIVER_SYMBOL

/* NOLINTBEGIN(misc-unused-parameters): doing nothing takes none of them. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

static char handle_storage[256]; /* handles are addresses in it; a kernel's tells its arguments */

static int return_one(uint32_t *count, void **list) {
  *count = 1;
  return list ? (list[0] = handle_storage, KDL_ZE_SUCCESS) : KDL_ZE_SUCCESS;
}

static int return_handle(size_t index, void **thing) {
  *thing = &handle_storage[index];
  return KDL_ZE_SUCCESS;
}

int zeInitDrivers(uint32_t *count, void **drivers, kdl_ze_init_driver_type *which) {
  return return_one(count, drivers);
}

int zeDeviceGet(void *driver, uint32_t *count, void **devices) {
  return return_one(count, devices);
}

int zeDriverGetApiVersion(void *driver, uint32_t *version) {
  *version = 1U << 16 | 17;
  return KDL_ZE_SUCCESS;
}

int zeDeviceGetProperties(void *device, kdl_ze_device_properties *properties) {
  properties->device_type = KDL_ZE_TYPE_GPU;
  return KDL_ZE_SUCCESS;
}

int zeDeviceGetModuleProperties(void *device, kdl_ze_module_properties *properties) {
  properties->spirv_version = 1U << 16 | 4;
  return KDL_ZE_SUCCESS;
}

int zeDeviceGetCommandQueueGroupProperties(void *device, uint32_t *count,
                                           kdl_ze_queue_group *groups) {
  *count = 1;
  groups[0].flags = KDL_ZE_GROUP_COMPUTE;
  return KDL_ZE_SUCCESS;
}

int zeContextCreate(void *driver, const kdl_ze_context_desc *desc, void **context) {
  return return_handle(0, context);
}

int zeModuleCreate(void *context, void *device, const kdl_ze_module_desc *desc, void **module,
                   void **log) {
  return return_handle(0, module);
}

int zeKernelCreate(void *module, const kdl_ze_kernel_desc *desc, void **kernel) {
  return return_handle(strtoul(desc->name + strcspn(desc->name, "0123456789"), NULL, 10), kernel);
}

int zeKernelGetProperties(void *kernel, kdl_ze_kernel_properties *properties) {
  properties->argument_count = (uint32_t)((char *)kernel - handle_storage);
  return KDL_ZE_SUCCESS;
}

int zeCommandListCreateImmediate(void *context, void *device, const kdl_ze_queue_desc *desc,
                                 void **list) {
  return return_handle(0, list);
}

int zeMemAllocDevice(void *context, const kdl_ze_device_mem_desc *desc, size_t size,
                     size_t alignment, void *device, void **address) {
  static uintptr_t next = 1U << 20;
  *address = (void *)next;
  next += size;
  return KDL_ZE_SUCCESS;
}

/* NOLINTEND(misc-unused-parameters) */
