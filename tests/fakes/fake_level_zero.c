/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* libze_loader.so.1 */
#include "device/level_zero_abi.h"
#include "fake.h"
#include "target/intel.h"

#include <stdio.h>

#define KDL_DRIVER_SYMBOL(need, field, name, result, parameters) FAKE_EXPORT result name parameters;
#include "device/level_zero_symbols.def"
#undef KDL_DRIVER_SYMBOL

enum { invalid_argument = 0x78000004, invalid_handle = 0x78000005 };

static char driver;
static char handles[64];

static const kdl_device_spec *spec_of(void *device) {
  return fake_device((size_t)((char *)device - handles));
}

static int list_drivers(uint32_t *count, void **drivers) {
  if (*count && drivers)
    drivers[0] = &driver;
  *count = 1;
  return KDL_ZE_SUCCESS;
}

#ifndef FAKE_OLD
int zeInitDrivers(uint32_t *count, void **drivers, kdl_ze_init_driver_type *which) {
  int error = fake_init(KDL_BACKEND_LEVEL_ZERO, "zeInitDrivers");
  if (which->type != KDL_ZE_INIT_DRIVER_TYPE || !(which->flags & KDL_ZE_INIT_GPU))
    return invalid_argument;
  return error ? error : list_drivers(count, drivers);
}
#endif

int zeInit(uint32_t flags) {
  int error = fake_init(KDL_BACKEND_LEVEL_ZERO, "zeInit");
  return flags > 3 ? invalid_argument : error;
}

int zeDriverGet(uint32_t *count, void **drivers) {
  fake_call("zeDriverGet");
  return list_drivers(count, drivers);
}

int zeDriverGetProperties(void *which, kdl_ze_driver_properties *properties) {
  fake_call("zeDriverGetProperties");
  unsigned part[3] = {0, 0, 0};
  const kdl_device_spec *first = fake_device(0);
  if (which != &driver || properties->type != KDL_ZE_DRIVER_PROPERTIES)
    return invalid_argument;
  if (first)
    sscanf(first->driver, "%u.%u.%u", &part[0], &part[1], &part[2]);
  properties->version = part[0] << 24 | part[1] << 16 | part[2];
  return KDL_ZE_SUCCESS;
}

int zeDeviceGet(void *which, uint32_t *count, void **devices) {
  fake_call("zeDeviceGet");
  if (which != &driver)
    return invalid_handle;
  uint32_t all = (uint32_t)fake_device_count();
  for (uint32_t i = 0; devices && i < *count && i < all; ++i)
    devices[i] = &handles[i];
  *count = *count && *count < all ? *count : all;
  return fake_setting_number("count");
}

#ifndef FAKE_OLD
static void write_ip_version(const kdl_device_spec *spec, void *chain) {
  kdl_ze_ip_version *ip = chain;
  kdl_intel_ip version;
  if (ip && ip->type == KDL_ZE_IP_VERSION &&
      kdl_intel_parse(kdl_text_of(spec->arch), &version, NULL))
    ip->ip_version = kdl_intel_number(version);
}
#endif

int zeDeviceGetProperties(void *device, kdl_ze_device_properties *properties) {
  fake_call("zeDeviceGetProperties");
  const kdl_device_spec *spec = spec_of(device);
  if (!spec || properties->type != KDL_ZE_DEVICE_PROPERTIES)
    return invalid_handle;
  /* An accelerator stands for what Level Zero shows besides GPUs: an NPU is 5. */
  properties->device_type = spec->device_class == KDL_DEVICE_ACCELERATOR ? 5 : KDL_ZE_TYPE_GPU;
  properties->flags = spec->device_class == KDL_DEVICE_INTEGRATED ? KDL_ZE_FLAG_INTEGRATED : 0;
  properties->slices = spec->units;
  properties->subslices_per_slice = 1;
  memcpy(properties->uuid, spec->uuid.bytes, sizeof properties->uuid);
  snprintf(properties->name, sizeof properties->name, "%s", spec->name);
#ifndef FAKE_OLD
  write_ip_version(spec, properties->next);
#endif
  return KDL_ZE_SUCCESS;
}

int zeDeviceGetModuleProperties(void *device, kdl_ze_module_properties *properties) {
  fake_call("zeDeviceGetModuleProperties");
  const kdl_device_spec *spec = spec_of(device);
  if (!spec || properties->type != KDL_ZE_MODULE_PROPERTIES)
    return invalid_handle;
  properties->spirv_version = spec->il;
  properties->flags = (strstr(spec->features, "fp16") ? KDL_ZE_MODULE_FP16 : 0u) |
                      (strstr(spec->features, "fp64") ? KDL_ZE_MODULE_FP64 : 0u) |
                      (strstr(spec->features, "int64_atomics") ? KDL_ZE_MODULE_INT64_ATOMICS : 0u) |
                      (strstr(spec->features, "int8_dot") ? KDL_ZE_MODULE_DP4A : 0u);
  return KDL_ZE_SUCCESS;
}

int zeDeviceGetComputeProperties(void *device, kdl_ze_compute_properties *properties) {
  fake_call("zeDeviceGetComputeProperties");
  const kdl_device_spec *spec = spec_of(device);
  if (!spec || properties->type != KDL_ZE_COMPUTE_PROPERTIES)
    return invalid_handle;
  properties->max_total_group_size = spec->max_block;
  properties->max_shared_local_memory = (uint32_t)spec->shared;
  for (uint32_t size = 1; size <= 128; size *= 2) {
    if (spec->subgroups & size)
      properties->subgroup_sizes[properties->subgroup_size_count++] = size;
  }
  return KDL_ZE_SUCCESS;
}

/* Two halves, as on a part with two stacks of memory. */
#ifndef FAKE_INCOMPLETE
int zeDeviceGetMemoryProperties(void *device, uint32_t *count,
                                kdl_ze_memory_properties *properties) {
  fake_call("zeDeviceGetMemoryProperties");
  const kdl_device_spec *spec = spec_of(device);
  if (!spec)
    return invalid_handle;
  for (uint32_t i = 0; properties && i < *count && i < 2; ++i) {
    if (properties[i].type != KDL_ZE_MEMORY_PROPERTIES)
      return invalid_argument;
    properties[i].total_size = i ? spec->memory - spec->memory / 2 : spec->memory / 2;
  }
  *count = 2;
  return KDL_ZE_SUCCESS;
}
#endif

int zeDevicePciGetPropertiesExt(void *device, kdl_ze_pci_properties *properties) {
  fake_call("zeDevicePciGetPropertiesExt");
  const kdl_device_spec *spec = spec_of(device);
  if (!spec || properties->type != KDL_ZE_PCI_PROPERTIES)
    return invalid_handle;
  properties->domain = spec->pci.domain;
  properties->bus = spec->pci.bus;
  properties->device = spec->pci.device;
  properties->function = spec->pci.function;
  return KDL_ZE_SUCCESS;
}
