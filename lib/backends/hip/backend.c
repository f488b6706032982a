/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* AMD GPUs through libamdhip64 of ROCm 5 to 7, which is opened at the first query for devices,
 * never linked, never closed. Listing them makes no device current and allocates on none. */
#include "lib/backends/common/built_in.h"
#include "lib/backends/common/driver.h"
#include "lib/backends/hip/driver.h"
#include "lib/backends/hip/objects.h"

#include <stdio.h>

static uint32_t hip_device_attribute(int device, int which) {
  int value = 0;
  if (kdl_hip.attribute(&value, which, device) != KDL_HIP_SUCCESS || value < 0)
    return 0;
  return (uint32_t)value;
}

/* Reads the target ID, "gfx90a:sramecc+:xnack-", whose settings are those of this process. */
static bool hip_read_properties(int device, kdl_device_spec *spec) {
  kdl_hip_properties properties = {.room = {0}};
  bool is_new = kdl_hip.properties_r0600 != NULL;
  int (*get)(void *, int) = is_new ? kdl_hip.properties_r0600 : kdl_hip.properties_r0000;
  if (get(&properties, device) != KDL_HIP_SUCCESS)
    return false;
  const char *arch = is_new ? properties.r0600.gcn_arch_name : properties.r0000.gcn_arch_name;
  kdl_spec_set_text(spec->name, sizeof spec->name, properties.r0600.name,
                    strnlen(properties.r0600.name, sizeof properties.r0600.name));
  kdl_spec_set_text(spec->arch, sizeof spec->arch, arch, strnlen(arch, 256));
  return true;
}

static void hip_describe_device(int device, kdl_device_spec *spec) {
  size_t memory;
  if (kdl_hip.total_memory(&memory, device) == KDL_HIP_SUCCESS)
    spec->memory = memory;
  uint8_t uuid[16];
  /* Sixteen letters of a serial number; GPUs without one report "XX". */
  if (kdl_hip.uuid && kdl_hip.uuid(uuid, device) == KDL_HIP_SUCCESS && memcmp(uuid, "XX", 3) != 0)
    kdl_spec_set_uuid(&spec->uuid, uuid);
  kdl_spec_set_pci(&spec->pci, hip_device_attribute(device, KDL_HIP_PCI_DOMAIN_ID),
                   hip_device_attribute(device, KDL_HIP_PCI_BUS_ID),
                   hip_device_attribute(device, KDL_HIP_PCI_DEVICE_ID), 0);
  if (hip_device_attribute(device, KDL_HIP_INTEGRATED))
    spec->device_class = KDL_DEVICE_INTEGRATED;
  spec->units = hip_device_attribute(device, KDL_HIP_MULTIPROCESSOR_COUNT);
  spec->subgroups = hip_device_attribute(device, KDL_HIP_WARP_SIZE);
  spec->max_block = hip_device_attribute(device, KDL_HIP_MAX_THREADS_PER_BLOCK);
  spec->shared = hip_device_attribute(device, KDL_HIP_MAX_SHARED_MEMORY_PER_BLOCK);
  spec->cooperative = hip_device_attribute(device, KDL_HIP_COOPERATIVE_LAUNCH) != 0;
  spec->l2 = hip_device_attribute(device, KDL_HIP_L2_CACHE_SIZE);
}

static void hip_add_device(int device, const char *driver, kdl_spec_list *list) {
  kdl_device_spec *spec = kdl_spec_list_add(list);
  if (!spec)
    return;
  spec->ordinal.value = (uint32_t)device;
  snprintf(spec->driver, sizeof spec->driver, "%s", driver);
  if (!hip_read_properties(device, spec)) {
    kdl_spec_list_drop_last(list, "device %d does not tell its properties", device);
    return;
  }
  hip_describe_device(device, spec);
}

static void list_hip_devices(kdl_spec_list *list) {
  if (!kdl_hip.properties_r0600 && !kdl_hip.properties_r0000) {
    kdl_driver_report_set(&list->report, KDL_DRIVER_INCOMPLETE,
                          "too old or damaged: it has no hipGetDevicePropertiesR0600");
    return;
  }
  int count = 0;
  const char *call;
  int error = kdl_driver_start(&kdl_hip_driver, true, &call);
  if (error == KDL_HIP_SUCCESS) {
    call = "hipGetDeviceCount";
    error = kdl_hip.device_count(&count);
  }
  if (error != KDL_HIP_SUCCESS) {
    kdl_backend_report_error(&kdl_hip_errors, &list->report, call, error);
    return;
  }
  /* HIP_VERSION: 6.4.43482 is 60443482. */
  int version = 0;
  char driver[KDL_SPEC_DRIVER] = "";
  if (kdl_hip.runtime_version(&version) == KDL_HIP_SUCCESS && version >= 10000000)
    snprintf(driver, sizeof driver, "%d.%d.%d", version / 10000000, version / 100000 % 100,
             version % 100000);
  for (int i = 0; i < count; ++i)
    hip_add_device(i, driver, list);
  kdl_spec_list_finish(list);
}

/* ------------------------------------------------------------------------------------------ */
/* The backend                                                                                  */

static const kdl_backend_table hip_table = {
    .size = sizeof hip_table,
    .abi = KDL_BACKEND_ABI,
    .flags = KDL_BACKEND_READS_NO_PAIRS | KDL_BACKEND_BINDS_SEQUENCES,
    .name = "hip",
#define KDL_BACKEND_FUNCTION(result, slot, parameters) .slot = kdl_hip_##slot,
#define KDL_BACKEND_STREAMS KDL_BACKEND_FUNCTION
#include "lib/backends/common/functions.def"
};

static const kdl_variable limits[] = {KDL_VARIABLE_ROCR_VISIBLE_DEVICES,
                                      KDL_VARIABLE_HIP_VISIBLE_DEVICES,
                                      KDL_VARIABLE_CUDA_VISIBLE_DEVICES,
                                      KDL_VARIABLE_GPU_DEVICE_ORDINAL,
                                      KDL_VARIABLE_HSA_XNACK,
                                      KDL_VARIABLE_HSA_OVERRIDE_GFX_VERSION};

const kdl_built_in kdl_built_in_hip = {
    .table = &hip_table,
    .driver = &kdl_hip_driver,
    .variables = limits,
    .variable_count = sizeof limits / sizeof *limits,
    .list = list_hip_devices,
};
