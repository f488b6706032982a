/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* NVIDIA GPUs, through libcuda. cuInit and the cuDevice functions create no context. */
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

/* CUdevice_attribute */
enum {
  max_threads_per_block = 1,
  max_shared_memory_per_block = 8,
  warp_size = 10,
  multiprocessor_count = 16,
  is_integrated = 18,
  pci_bus_id = 33,
  pci_device_id = 34,
  l2_cache_size = 38,
  pci_domain_id = 50,
  compute_capability_major = 75,
  compute_capability_minor = 76,
  cooperative_launch = 95,
  max_shared_memory_per_block_optin = 97,
  cluster_launch = 120,
};

/* CUresult */
enum { cuda_success = 0, cuda_error_no_device = 100 };

/* Every device with clusters takes eight blocks; more is up to the kernel and the device. */
enum { portable_cluster_size = 8 };

/* 0 where an older driver does not know the attribute. */
static uint32_t attribute(const cuda_api *cuda, int device, int which) {
  int value = 0;
  if (cuda->attribute(&value, which, device) != cuda_success || value < 0)
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
  kdl_driver_say(report, error == cuda_error_no_device ? KDL_DRIVER_NO_DEVICE : KDL_DRIVER_FAILED,
                 "%s: %s (%d)%s%s", call, name ? name : "error", error, words ? ": " : "",
                 words ? words : "");
}

static void describe(const cuda_api *cuda, int device, const char *driver, kdl_device_spec *spec) {
  snprintf(spec->driver, sizeof spec->driver, "%s", driver);
  char name[256] = "";
  if (cuda->device_name(name, sizeof name, device) == cuda_success)
    kdl_spec_set_text(spec->name, sizeof spec->name, name, strnlen(name, sizeof name));
  size_t memory;
  if (cuda->total_memory(&memory, device) == cuda_success)
    spec->memory = memory;
  uint8_t uuid[16];
  int (*get_uuid)(void *, int) = cuda->uuid_v2 ? cuda->uuid_v2 : cuda->uuid;
  if (get_uuid && get_uuid(uuid, device) == cuda_success)
    kdl_spec_set_uuid(&spec->uuid, uuid);
  kdl_spec_set_pci(&spec->pci, attribute(cuda, device, pci_domain_id),
                   attribute(cuda, device, pci_bus_id), attribute(cuda, device, pci_device_id), 0);
  if (attribute(cuda, device, is_integrated))
    spec->device_class = KDL_DEVICE_INTEGRATED;
  spec->units = attribute(cuda, device, multiprocessor_count);
  spec->subgroups = attribute(cuda, device, warp_size);
  spec->max_block = attribute(cuda, device, max_threads_per_block);
  spec->shared = attribute(cuda, device, max_shared_memory_per_block);
  spec->shared_optin = attribute(cuda, device, max_shared_memory_per_block_optin);
  spec->cooperative = attribute(cuda, device, cooperative_launch) != 0;
  spec->cluster = attribute(cuda, device, cluster_launch) ? portable_cluster_size : 0;
  spec->l2 = attribute(cuda, device, l2_cache_size);
}

static void add_device(const cuda_api *cuda, int ordinal, const char *driver,
                       kdl_found_list *list) {
  kdl_device_spec *spec = kdl_found_add(list);
  if (!spec)
    return;
  int device;
  uint32_t major = 0;
  if (cuda->device_get(&device, ordinal) == cuda_success)
    major = attribute(cuda, device, compute_capability_major);
  if (!major) {
    kdl_found_drop(list, "device %d does not say its compute capability", ordinal);
    return;
  }
  spec->ordinal.value = (uint32_t)ordinal;
  snprintf(spec->arch, sizeof spec->arch, "sm_%u%u", major,
           attribute(cuda, device, compute_capability_minor));
  describe(cuda, device, driver, spec);
}

void kdl_discover_cuda(const kdl_driver_resolver *resolver, kdl_found_list *list) {
  cuda_api cuda;
  kdl_driver_report *report = &list->report;
  if (!kdl_driver_load(resolver, libraries, symbols, sizeof symbols / sizeof *symbols, &cuda,
                       report))
    return;
  int error = cuda.init(0);
  if (error != cuda_success) {
    say_error(&cuda, report, "cuInit", error);
    return;
  }
  int version = 0;
  char driver[KDL_SPEC_DRIVER] = "";
  if (cuda.driver_version(&version) == cuda_success && version > 0)
    snprintf(driver, sizeof driver, "%d.%d", version / 1000, version % 1000 / 10);
  int count = 0;
  error = cuda.device_count(&count);
  if (error != cuda_success) {
    say_error(&cuda, report, "cuDeviceGetCount", error);
    return;
  }
  for (int i = 0; i < count; ++i)
    add_device(&cuda, i, driver, list);
  kdl_found_finish(list);
}
