/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* AMD GPUs, through libamdhip64. Nothing here makes a device current or allocates on it. */
#include "base/layer.h"
#include "device/discover_backends.h"
#include "device/hip_abi.h"

#include <stdio.h>

typedef struct {
#define KDL_DRIVER_SYMBOL(need, field, name, result, parameters) result(*field) parameters;
#include "device/hip_symbols.def"
#undef KDL_DRIVER_SYMBOL
} hip_api;

static const kdl_driver_symbol symbols[] = {
#define KDL_DRIVER_SYMBOL(need, field, name, result, parameters)                                   \
  {#name, offsetof(hip_api, field), KDL_DRIVER_##need},
#include "device/hip_symbols.def"
#undef KDL_DRIVER_SYMBOL
};

static const char *const libraries[] = {KDL_HIP_LIBRARIES, NULL};

static uint32_t attribute(const hip_api *hip, int device, int which) {
  int value = 0;
  if (hip->attribute(&value, which, device) != KDL_HIP_SUCCESS || value < 0)
    return 0;
  return (uint32_t)value;
}

static void say_error(const hip_api *hip, kdl_driver_report *report, const char *call, int error) {
  const char *name = hip->error_name ? hip->error_name(error) : NULL;
  const char *words = hip->error_string ? hip->error_string(error) : NULL;
  if (name && words && strcmp(name, words) == 0) /* ROCm 5 has nothing to add */
    words = NULL;
  bool none = error == KDL_HIP_ERROR_NO_DEVICE || error == KDL_HIP_ERROR_INVALID_DEVICE;
  kdl_driver_say(report, none ? KDL_DRIVER_NO_DEVICE : KDL_DRIVER_FAILED, "%s: %s (%d)%s%s", call,
                 name ? name : "error", error, words ? ": " : "", words ? words : "");
}

/* The target ID, "gfx90a:sramecc+:xnack-": the settings in it are those of this process. */
static bool read_properties(const hip_api *hip, int device, kdl_device_spec *spec) {
  kdl_hip_properties properties = {.room = {0}};
  bool is_new = hip->properties_r0600 != NULL;
  int (*get)(void *, int) = is_new ? hip->properties_r0600 : hip->properties_r0000;
  if (get(&properties, device) != KDL_HIP_SUCCESS)
    return false;
  const char *arch = is_new ? properties.r0600.gcn_arch_name : properties.r0000.gcn_arch_name;
  kdl_spec_set_text(spec->name, sizeof spec->name, properties.r0600.name,
                    strnlen(properties.r0600.name, sizeof properties.r0600.name));
  kdl_spec_set_text(spec->arch, sizeof spec->arch, arch, strnlen(arch, 256));
  return true;
}

static void describe(const hip_api *hip, int device, kdl_device_spec *spec) {
  size_t memory;
  if (hip->total_memory(&memory, device) == KDL_HIP_SUCCESS)
    spec->memory = memory;
  uint8_t uuid[16];
  /* Sixteen letters of a serial number; GPUs without one all say "XX". */
  if (hip->uuid && hip->uuid(uuid, device) == KDL_HIP_SUCCESS && memcmp(uuid, "XX", 3) != 0)
    kdl_spec_set_uuid(&spec->uuid, uuid);
  kdl_spec_set_pci(&spec->pci, attribute(hip, device, KDL_HIP_PCI_DOMAIN_ID),
                   attribute(hip, device, KDL_HIP_PCI_BUS_ID),
                   attribute(hip, device, KDL_HIP_PCI_DEVICE_ID), 0);
  if (attribute(hip, device, KDL_HIP_INTEGRATED))
    spec->device_class = KDL_DEVICE_INTEGRATED;
  spec->units = attribute(hip, device, KDL_HIP_MULTIPROCESSOR_COUNT);
  spec->subgroups = attribute(hip, device, KDL_HIP_WARP_SIZE);
  spec->max_block = attribute(hip, device, KDL_HIP_MAX_THREADS_PER_BLOCK);
  spec->shared = attribute(hip, device, KDL_HIP_MAX_SHARED_MEMORY_PER_BLOCK);
  spec->cooperative = attribute(hip, device, KDL_HIP_COOPERATIVE_LAUNCH) != 0;
  spec->l2 = attribute(hip, device, KDL_HIP_L2_CACHE_SIZE);
}

static void add_device(const hip_api *hip, int device, const char *driver, kdl_found_list *list) {
  kdl_device_spec *spec = kdl_found_add(list);
  if (!spec)
    return;
  spec->ordinal.value = (uint32_t)device;
  snprintf(spec->driver, sizeof spec->driver, "%s", driver);
  if (!read_properties(hip, device, spec)) {
    kdl_found_drop(list, "device %d does not tell its properties", device);
    return;
  }
  describe(hip, device, spec);
}

static void ask(void *table, kdl_found_list *list) {
  const hip_api *hip = table;
  kdl_driver_report *report = &list->report;
  if (!hip->properties_r0600 && !hip->properties_r0000) {
    kdl_driver_say(report, KDL_DRIVER_INCOMPLETE,
                   "too old or damaged: it has no hipGetDevicePropertiesR0600");
    return;
  }
  int count = 0;
  const char *call = "hipInit";
  kdl_layer_enter(KDL_LAYER_INIT);
  int error = hip->init(0);
  kdl_layer_leave(KDL_LAYER_INIT, &(kdl_layer_about){.driver = report->library,
                                                     .failed = error != KDL_HIP_SUCCESS});
  if (error == KDL_HIP_SUCCESS) {
    call = "hipGetDeviceCount";
    error = hip->device_count(&count);
  }
  if (error != KDL_HIP_SUCCESS) {
    say_error(hip, report, call, error);
    return;
  }
  /* HIP_VERSION: 6.4.43482 is 60443482. */
  int version = 0;
  char driver[KDL_SPEC_DRIVER] = "";
  if (hip->runtime_version(&version) == KDL_HIP_SUCCESS && version >= 10000000)
    snprintf(driver, sizeof driver, "%d.%d.%d", version / 10000000, version / 100000 % 100,
             version % 100000);
  for (int i = 0; i < count; ++i)
    add_device(hip, i, driver, list);
  kdl_found_finish(list);
}

const kdl_discoverer kdl_discover_hip = {
    .libraries = libraries,
    .symbols = symbols,
    .symbol_count = sizeof symbols / sizeof *symbols,
    .table_size = sizeof(hip_api),
    .ask = ask,
};
