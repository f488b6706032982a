/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* NVIDIA GPUs, through libcuda. cuInit and the cuDevice functions create no context. */
#include "base/layer.h"
#include "device/cuda_abi.h"
#include "device/discover_backends.h"

#include <stdio.h>

typedef struct {
#define KDL_DRIVER_SYMBOL(need, field, name, result, parameters) result(*field) parameters;
#include "device/cuda_symbols.def"
#undef KDL_DRIVER_SYMBOL
} cuda_api;

static const kdl_driver_symbol symbols[] = {
#define KDL_DRIVER_SYMBOL(need, field, name, result, parameters)                                   \
  {#name, offsetof(cuda_api, field), KDL_DRIVER_##need},
#include "device/cuda_symbols.def"
#undef KDL_DRIVER_SYMBOL
};

static const char *const libraries[] = {"libcuda.so.1", NULL};

/* Every device with clusters takes eight blocks; more is up to the kernel and the device. */
enum { portable_cluster_size = 8 };

/* 0 where an older driver does not know the attribute. */
static uint32_t attribute(const cuda_api *cuda, int device, int which) {
  int value = 0;
  if (cuda->attribute(&value, which, device) != KDL_CUDA_SUCCESS || value < 0)
    return 0;
  return (uint32_t)value;
}

static void say_error(const cuda_api *cuda, kdl_driver_report *report, const char *call,
                      int error) {
  const char *name = NULL;
  const char *words = NULL;
  if (cuda->error_name)
    cuda->error_name(error, &name);
  if (cuda->error_string)
    cuda->error_string(error, &words);
  kdl_driver_say(
      report, error == KDL_CUDA_ERROR_NO_DEVICE ? KDL_DRIVER_NO_DEVICE : KDL_DRIVER_FAILED,
      "%s: %s (%d)%s%s", call, name ? name : "error", error, words ? ": " : "", words ? words : "");
}

static void describe(const cuda_api *cuda, int device, const char *driver, kdl_device_spec *spec) {
  snprintf(spec->driver, sizeof spec->driver, "%s", driver);
  char name[256] = "";
  if (cuda->device_name(name, sizeof name, device) == KDL_CUDA_SUCCESS)
    kdl_spec_set_text(spec->name, sizeof spec->name, name, strnlen(name, sizeof name));
  size_t memory;
  if (cuda->total_memory(&memory, device) == KDL_CUDA_SUCCESS)
    spec->memory = memory;
  uint8_t uuid[16];
  int (*get_uuid)(void *, int) = cuda->uuid_v2 ? cuda->uuid_v2 : cuda->uuid;
  if (get_uuid && get_uuid(uuid, device) == KDL_CUDA_SUCCESS)
    kdl_spec_set_uuid(&spec->uuid, uuid);
  kdl_spec_set_pci(&spec->pci, attribute(cuda, device, KDL_CUDA_PCI_DOMAIN_ID),
                   attribute(cuda, device, KDL_CUDA_PCI_BUS_ID),
                   attribute(cuda, device, KDL_CUDA_PCI_DEVICE_ID), 0);
  if (attribute(cuda, device, KDL_CUDA_INTEGRATED))
    spec->device_class = KDL_DEVICE_INTEGRATED;
  spec->units = attribute(cuda, device, KDL_CUDA_MULTIPROCESSOR_COUNT);
  spec->subgroups = attribute(cuda, device, KDL_CUDA_WARP_SIZE);
  spec->max_block = attribute(cuda, device, KDL_CUDA_MAX_THREADS_PER_BLOCK);
  spec->shared = attribute(cuda, device, KDL_CUDA_MAX_SHARED_MEMORY_PER_BLOCK);
  spec->shared_optin = attribute(cuda, device, KDL_CUDA_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  spec->cooperative = attribute(cuda, device, KDL_CUDA_COOPERATIVE_LAUNCH) != 0;
  spec->cluster = attribute(cuda, device, KDL_CUDA_CLUSTER_LAUNCH) ? portable_cluster_size : 0;
  spec->l2 = attribute(cuda, device, KDL_CUDA_L2_CACHE_SIZE);
}

static void add_device(const cuda_api *cuda, int ordinal, const char *driver,
                       kdl_found_list *list) {
  kdl_device_spec *spec = kdl_found_add(list);
  if (!spec)
    return;
  int device;
  uint32_t major = 0;
  if (cuda->device_get(&device, ordinal) == KDL_CUDA_SUCCESS)
    major = attribute(cuda, device, KDL_CUDA_COMPUTE_CAPABILITY_MAJOR);
  if (!major) {
    kdl_found_drop(list, "device %d does not say its compute capability", ordinal);
    return;
  }
  spec->ordinal.value = (uint32_t)ordinal;
  snprintf(spec->arch, sizeof spec->arch, "sm_%u%u", major,
           attribute(cuda, device, KDL_CUDA_COMPUTE_CAPABILITY_MINOR));
  describe(cuda, device, driver, spec);
}

static void ask(void *table, kdl_found_list *list) {
  const cuda_api *cuda = table;
  kdl_driver_report *report = &list->report;
  kdl_layer_enter(KDL_LAYER_INIT);
  int error = cuda->init(0);
  kdl_layer_leave(KDL_LAYER_INIT, &(kdl_layer_about){.driver = report->library,
                                                     .failed = error != KDL_CUDA_SUCCESS});
  if (error != KDL_CUDA_SUCCESS) {
    say_error(cuda, report, "cuInit", error);
    return;
  }
  int version = 0;
  char driver[KDL_SPEC_DRIVER] = "";
  if (cuda->driver_version(&version) == KDL_CUDA_SUCCESS && version > 0)
    snprintf(driver, sizeof driver, "%d.%d", version / 1000, version % 1000 / 10);
  int count = 0;
  error = cuda->device_count(&count);
  if (error != KDL_CUDA_SUCCESS) {
    say_error(cuda, report, "cuDeviceGetCount", error);
    return;
  }
  for (int i = 0; i < count; ++i)
    add_device(cuda, i, driver, list);
  kdl_found_finish(list);
}

const kdl_discoverer kdl_discover_cuda = {
    .libraries = libraries,
    .symbols = symbols,
    .symbol_count = sizeof symbols / sizeof *symbols,
    .table_size = sizeof(cuda_api),
    .ask = ask,
};
