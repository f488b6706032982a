/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Intel GPUs through the Level Zero loader, which is opened at the first query for devices, never
 * linked, never closed. Skips other devices (NPUs), which run no kernels of libkdl. */
#include "lib/backends/common/built_in.h"
#include "lib/backends/level_zero/driver.h"
#include "lib/backends/level_zero/objects.h"
#include "lib/inspect/targets.h"
#include "lib/target/families/gpu.h"

#include <stdio.h>

enum { max_memories = 16 };

static void ze_report_error(kdl_driver_report *report, const char *call, int error) {
  bool none = error == KDL_ZE_UNINITIALIZED;
  kdl_driver_report_set(report, none ? KDL_DRIVER_NO_DEVICE : KDL_DRIVER_FAILED, "%s: error 0x%x%s",
                        call, (unsigned)error,
                        none ? ": the loader found no driver that works" : "");
}

/* The specification calls the number opaque; Intel's driver, the only one, packs three numbers in
 * it. */
static void ze_driver_version(void *driver, char text[KDL_SPEC_DRIVER]) {
  kdl_ze_driver_properties properties = {.type = KDL_ZE_DRIVER_PROPERTIES};
  text[0] = '\0';
  if (kdl_ze.driver_properties(driver, &properties) == KDL_ZE_SUCCESS && properties.version)
    snprintf(text, KDL_SPEC_DRIVER, "%u.%u.%u", properties.version >> 24,
             properties.version >> 16 & 0xff, properties.version & 0xffff);
}

static void ze_set_arch(uint32_t number, kdl_device_spec *spec) {
  kdl_intel_ip ip;
  char text[16];
  snprintf(text, sizeof text, "0x%08x", number);
  if (number && kdl_intel_parse(kdl_text_of(text), &ip, NULL)) {
    snprintf(spec->arch, sizeof spec->arch, "%u.%u.%u", ip.architecture, ip.release, ip.revision);
    return;
  }
  snprintf(spec->arch, sizeof spec->arch, "spirv64");
  /* Every device supports Int64: "Required Capabilities" in the specification's SPIR-V Programming
   * Guide. */
  kdl_spec_add_token(spec->features, sizeof spec->features, "int64");
}

static void ze_describe_modules(void *device, kdl_device_spec *spec) {
  static const struct {
    uint32_t flag;
    const char *token;
  } tokens[] = {
      {KDL_ZE_MODULE_FP16, "fp16"},
      {KDL_ZE_MODULE_FP64, "fp64"},
      {KDL_ZE_MODULE_INT64_ATOMICS, "int64_atomics"},
      {KDL_ZE_MODULE_DP4A, "int8_dot"},
  };
  kdl_ze_module_properties modules = {.type = KDL_ZE_MODULE_PROPERTIES};
  if (kdl_ze.module_properties(device, &modules) != KDL_ZE_SUCCESS)
    return;
  spec->il = modules.spirv_version;
  for (size_t i = 0; i < sizeof tokens / sizeof *tokens; ++i) {
    if (modules.flags & tokens[i].flag)
      kdl_spec_add_token(spec->features, sizeof spec->features, tokens[i].token);
  }
}

static void ze_describe_groups(void *device, kdl_device_spec *spec) {
  kdl_ze_compute_properties groups = {.type = KDL_ZE_COMPUTE_PROPERTIES};
  if (kdl_ze.compute_properties(device, &groups) != KDL_ZE_SUCCESS)
    return;
  spec->max_block = groups.max_total_group_size;
  spec->shared = groups.max_shared_local_memory;
  for (uint32_t i = 0; i < groups.subgroup_size_count && i < 8; ++i) {
    uint32_t size = groups.subgroup_sizes[i];
    if ((size & (size - 1)) == 0)
      spec->subgroups |= size;
  }
}

static void ze_describe_memory(void *device, kdl_device_spec *spec) {
  kdl_ze_memory_properties memories[max_memories] = {0};
  for (size_t i = 0; i < max_memories; ++i)
    memories[i].type = KDL_ZE_MEMORY_PROPERTIES;
  uint32_t count = max_memories;
  if (kdl_ze.memory_properties(device, &count, memories) == KDL_ZE_SUCCESS) {
    for (uint32_t i = 0; i < count && i < max_memories; ++i)
      spec->memory += memories[i].total_size;
  }
}

static bool ze_has_cooperative_queues(void *device) {
  const uint32_t wanted = KDL_ZE_GROUP_COMPUTE | KDL_ZE_GROUP_COOPERATIVE;
  kdl_ze_queue_group groups[KDL_ZE_MAX_QUEUE_GROUPS];
  uint32_t count = KDL_ZE_MAX_QUEUE_GROUPS;
  for (uint32_t i = 0; i < count; ++i)
    groups[i] = (kdl_ze_queue_group){.type = KDL_ZE_QUEUE_GROUP_PROPERTIES};
  if (kdl_ze.queue_groups(device, &count, groups) != KDL_ZE_SUCCESS)
    return false;
  for (uint32_t i = 0; i < count && i < KDL_ZE_MAX_QUEUE_GROUPS; ++i) {
    if ((groups[i].flags & wanted) == wanted)
      return true;
  }
  return false;
}

static void ze_describe_device(void *device, const kdl_ze_device_properties *properties,
                               kdl_device_spec *spec) {
  kdl_spec_set_text(spec->name, sizeof spec->name, properties->name,
                    strnlen(properties->name, sizeof properties->name));
  kdl_spec_set_uuid(&spec->uuid, properties->uuid);
  if (properties->flags & KDL_ZE_FLAG_INTEGRATED)
    spec->device_class = KDL_DEVICE_INTEGRATED;
  spec->units = properties->slices * properties->subslices_per_slice;
  kdl_ze_pci_properties pci = {.type = KDL_ZE_PCI_PROPERTIES};
  if (kdl_ze.pci_properties && kdl_ze.pci_properties(device, &pci) == KDL_ZE_SUCCESS)
    kdl_spec_set_pci(&spec->pci, pci.domain, pci.bus, pci.device, pci.function);
  spec->cooperative = ze_has_cooperative_queues(device);
  ze_describe_modules(device, spec);
  ze_describe_groups(device, spec);
  ze_describe_memory(device, spec);
}

static void ze_add_device(void *device, uint32_t ordinal, const char *driver, kdl_spec_list *list) {
  kdl_ze_ip_version ip = {.type = KDL_ZE_IP_VERSION};
  kdl_ze_device_properties properties = {.type = KDL_ZE_DEVICE_PROPERTIES, .next = &ip};
  int error = kdl_ze.device_properties(device, &properties);
  if (error == KDL_ZE_SUCCESS && properties.device_type != KDL_ZE_TYPE_GPU)
    return;
  kdl_device_spec *spec = kdl_spec_list_add(list);
  if (!spec)
    return;
  if (error != KDL_ZE_SUCCESS) {
    kdl_spec_list_drop_last(list, "device %u does not tell its properties: error 0x%x", ordinal,
                            (unsigned)error);
    return;
  }
  spec->ordinal.value = ordinal;
  snprintf(spec->driver, sizeof spec->driver, "%s", driver);
  ze_set_arch(ip.ip_version, spec);
  ze_describe_device(device, &properties, spec);
}

static bool ze_add_visited_device(void *user, uint32_t ordinal, void *driver, void *device) {
  char version[KDL_SPEC_DRIVER];
  ze_driver_version(driver, version);
  ze_add_device(device, ordinal, version, user);
  return true;
}

static void list_ze_devices(kdl_spec_list *list) {
  const char *call;
  int error = kdl_driver_start(&kdl_ze_driver, true, &call);
  if (error != KDL_ZE_SUCCESS) {
    ze_report_error(&list->report, call, error);
    return;
  }
  kdl_ze_walk(ze_add_visited_device, list);
  kdl_spec_list_finish(list);
}

/* ------------------------------------------------------------------------------------------ */
/* The backend                                                                                  */

static const kdl_backend_table ze_table = {
    .size = sizeof ze_table,
    .abi = KDL_BACKEND_ABI,
    .flags = KDL_BACKEND_READS_NO_PAIRS | KDL_BACKEND_BINDS_SEQUENCES,
    .name = "level_zero",
#define KDL_BACKEND_FUNCTION(result, slot, parameters) .slot = kdl_ze_##slot,
#include "lib/backends/common/functions.def"
};

static const kdl_variable limits[] = {KDL_VARIABLE_ZE_AFFINITY_MASK,
                                      KDL_VARIABLE_ZE_FLAT_DEVICE_HIERARCHY};

const kdl_built_in kdl_built_in_level_zero = {
    .table = &ze_table,
    .driver = &kdl_ze_driver,
    .variables = limits,
    .variable_count = sizeof limits / sizeof *limits,
    .list = list_ze_devices,
};
