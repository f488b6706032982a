/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* libamdhip64.so.7; .so.5 where FAKE_OLD: the runtime and its devices. */
#include "fake_hip_state.h"

#include <stdio.h>

int hipInit(unsigned flags) {
  int error = flags ? invalid_value : fake_init(KDL_BACKEND_HIP, "hipInit");
  return error ? error : fake_fault("hipInit");
}

int hipGetDeviceCount(int *count) {
  fake_call("hipGetDeviceCount");
  *count = (int)fake_device_count();
  int fault = fake_setting_number("count");
  return fault ? fault : *count ? KDL_HIP_SUCCESS : KDL_HIP_ERROR_NO_DEVICE;
}

/* 6.4.43482 is 60443482. */
int hipRuntimeGetVersion(int *version) {
  fake_call("hipRuntimeGetVersion");
  int part[3] = {0, 0, 0};
  const kdl_device_spec *first = fake_device(0);
  if (first)
    sscanf(first->driver, "%d.%d.%d", &part[0], &part[1], &part[2]);
  *version = part[0] * 10000000 + part[1] * 100000 + part[2];
  return KDL_HIP_SUCCESS;
}

#ifndef FAKE_INCOMPLETE
int hipDeviceTotalMem(size_t *bytes, int device) {
  fake_call("hipDeviceTotalMem");
  const kdl_device_spec *spec = fake_device((size_t)device);
  if (!spec)
    return invalid_device;
  *bytes = spec->memory;
  return KDL_HIP_SUCCESS;
}
#endif

/* Devices without a serial number say "XX". */
int hipDeviceGetUuid(void *uuid, int device) {
  fake_call("hipDeviceGetUuid");
  const kdl_device_spec *spec = fake_device((size_t)device);
  if (!spec)
    return invalid_device;
  memcpy(uuid, spec->uuid.known ? (const char *)spec->uuid.bytes : "XX\0\0\0\0\0\0\0\0\0\0\0\0\0",
         16);
  return KDL_HIP_SUCCESS;
}

#ifndef FAKE_OLD
int hipGetDevicePropertiesR0600(void *properties, int device) {
  fake_call("hipGetDevicePropertiesR0600");
  const kdl_device_spec *spec = fake_device((size_t)device);
  if (!spec)
    return invalid_device;
  kdl_hip_properties_r0600 *out = properties;
  memset(out, 0x5a, sizeof *out);
  snprintf(out->name, sizeof out->name, "%s", spec->name);
  fake_hip_arch(spec, out->gcn_arch_name);
  return KDL_HIP_SUCCESS;
}
#endif

int hipGetDeviceProperties(void *properties, int device) {
  fake_call("hipGetDeviceProperties");
  const kdl_device_spec *spec = fake_device((size_t)device);
  if (!spec)
    return invalid_device;
  kdl_hip_properties_r0000 *out = properties;
  memset(out, 0x5a, sizeof *out);
  snprintf(out->name, sizeof out->name, "%s", spec->name);
  fake_hip_arch(spec, out->gcn_arch_name);
  return KDL_HIP_SUCCESS;
}

int hipDeviceGetAttribute(int *value, int attribute, int device) {
  fake_call("hipDeviceGetAttribute");
  const kdl_device_spec *spec = fake_device((size_t)device);
  if (!spec)
    return invalid_device;
  const struct {
    int attribute;
    uint64_t value;
  } known[] = {
      {KDL_HIP_COOPERATIVE_LAUNCH, spec->cooperative},
      {KDL_HIP_INTEGRATED, spec->device_class == KDL_DEVICE_INTEGRATED},
      {KDL_HIP_L2_CACHE_SIZE, spec->l2},
      {KDL_HIP_MAX_THREADS_PER_BLOCK, spec->max_block},
      {KDL_HIP_MULTIPROCESSOR_COUNT, spec->units},
      {KDL_HIP_PCI_BUS_ID, spec->pci.bus},
      {KDL_HIP_PCI_DEVICE_ID, spec->pci.device},
      {KDL_HIP_PCI_DOMAIN_ID, spec->pci.domain},
      {KDL_HIP_MAX_SHARED_MEMORY_PER_BLOCK, spec->shared},
      {KDL_HIP_WARP_SIZE, spec->subgroups},
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
    if (known[i].attribute == attribute) {
      *value = (int)known[i].value;
      return KDL_HIP_SUCCESS;
    }
  }
  return invalid_value;
}
