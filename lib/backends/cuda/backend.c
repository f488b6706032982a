/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* NVIDIA GPUs through libcuda, which is opened at the first query for devices, never linked, never
 * closed. Listing them creates no context. */
#include "lib/backends/common/built_in.h"
#include "lib/backends/common/driver.h"
#include "lib/backends/cuda/driver.h"
#include "lib/backends/cuda/objects.h"

#include <stdio.h>

/* Every device with clusters supports eight blocks; more depends on kernel and device. */
enum { portable_cluster_size = 8 };

/* 0 if an older driver does not know the attribute. */
static uint32_t cuda_device_attribute(int device, int which) {
  int value = 0;
  if (kdl_cuda.device_attribute(&value, which, device) != KDL_CUDA_SUCCESS || value < 0)
    return 0;
  return (uint32_t)value;
}

static void cuda_describe_device(int device, const char *driver, kdl_device_spec *spec) {
  snprintf(spec->driver, sizeof spec->driver, "%s", driver);
  char name[256] = "";
  if (kdl_cuda.device_name(name, sizeof name, device) == KDL_CUDA_SUCCESS)
    kdl_spec_set_text(spec->name, sizeof spec->name, name, strnlen(name, sizeof name));
  size_t memory;
  if (kdl_cuda.total_memory(&memory, device) == KDL_CUDA_SUCCESS)
    spec->memory = memory;
  uint8_t uuid[16];
  int (*get_uuid)(void *, int) = kdl_cuda.uuid_v2 ? kdl_cuda.uuid_v2 : kdl_cuda.uuid;
  if (get_uuid && get_uuid(uuid, device) == KDL_CUDA_SUCCESS)
    kdl_spec_set_uuid(&spec->uuid, uuid);
  kdl_spec_set_pci(&spec->pci, cuda_device_attribute(device, KDL_CUDA_PCI_DOMAIN_ID),
                   cuda_device_attribute(device, KDL_CUDA_PCI_BUS_ID),
                   cuda_device_attribute(device, KDL_CUDA_PCI_DEVICE_ID), 0);
  if (cuda_device_attribute(device, KDL_CUDA_INTEGRATED))
    spec->device_class = KDL_DEVICE_INTEGRATED;
  spec->units = cuda_device_attribute(device, KDL_CUDA_MULTIPROCESSOR_COUNT);
  spec->subgroups = cuda_device_attribute(device, KDL_CUDA_WARP_SIZE);
  spec->max_block = cuda_device_attribute(device, KDL_CUDA_MAX_THREADS_PER_BLOCK);
  spec->shared = cuda_device_attribute(device, KDL_CUDA_MAX_SHARED_MEMORY_PER_BLOCK);
  spec->shared_optin = cuda_device_attribute(device, KDL_CUDA_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  spec->cooperative = cuda_device_attribute(device, KDL_CUDA_COOPERATIVE_LAUNCH) != 0;
  spec->cluster =
      cuda_device_attribute(device, KDL_CUDA_CLUSTER_LAUNCH) ? portable_cluster_size : 0;
  spec->l2 = cuda_device_attribute(device, KDL_CUDA_L2_CACHE_SIZE);
}

static void cuda_add_device(int ordinal, const char *driver, kdl_spec_list *list) {
  kdl_device_spec *spec = kdl_spec_list_add(list);
  if (!spec)
    return;
  int device;
  uint32_t major = 0;
  if (kdl_cuda.device_get(&device, ordinal) == KDL_CUDA_SUCCESS)
    major = cuda_device_attribute(device, KDL_CUDA_COMPUTE_CAPABILITY_MAJOR);
  if (!major) {
    kdl_spec_list_drop_last(list, "device %d does not say its compute capability", ordinal);
    return;
  }
  spec->ordinal.value = (uint32_t)ordinal;
  snprintf(spec->arch, sizeof spec->arch, "sm_%u%u", major,
           cuda_device_attribute(device, KDL_CUDA_COMPUTE_CAPABILITY_MINOR));
  cuda_describe_device(device, driver, spec);
}

static void list_cuda_devices(kdl_spec_list *list) {
  const char *call;
  int error = kdl_driver_start(&kdl_cuda_driver, true, &call);
  if (error != KDL_CUDA_SUCCESS) {
    kdl_backend_report_error(&kdl_cuda_errors, &list->report, call, error);
    return;
  }
  int version = 0;
  char driver[KDL_SPEC_DRIVER] = "";
  if (kdl_cuda.driver_version(&version) == KDL_CUDA_SUCCESS && version > 0)
    snprintf(driver, sizeof driver, "%d.%d", version / 1000, version % 1000 / 10);
  int count = 0;
  error = kdl_cuda.device_count(&count);
  if (error != KDL_CUDA_SUCCESS) {
    kdl_backend_report_error(&kdl_cuda_errors, &list->report, "cuDeviceGetCount", error);
    return;
  }
  for (int i = 0; i < count; ++i)
    cuda_add_device(i, driver, list);
  kdl_spec_list_finish(list);
}

/* ------------------------------------------------------------------------------------------ */
/* The backend                                                                                  */

static const kdl_backend_table cuda_table = {
    .size = sizeof cuda_table,
    .abi = KDL_BACKEND_ABI,
    .flags = KDL_BACKEND_READS_NO_PAIRS | KDL_BACKEND_BINDS_SEQUENCES,
    .name = "cuda",
#define KDL_BACKEND_FUNCTION(result, slot, parameters) .slot = kdl_cuda_##slot,
#define KDL_BACKEND_STREAMS KDL_BACKEND_FUNCTION
#include "lib/backends/common/functions.def"
};

static const kdl_variable limits[] = {KDL_VARIABLE_CUDA_VISIBLE_DEVICES,
                                      KDL_VARIABLE_CUDA_DEVICE_ORDER};

const kdl_built_in kdl_built_in_cuda = {
    .table = &cuda_table,
    .driver = &kdl_cuda_driver,
    .variables = limits,
    .variable_count = sizeof limits / sizeof *limits,
    .list = list_cuda_devices,
};
