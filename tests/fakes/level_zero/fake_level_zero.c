/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* libze_loader.so.1 */
#include "fake_level_zero_state.h"

#include "lib/target/families/gpu.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static char driver;
static char handles[64];

int fake_ze_sticky[64];

void fake_forget(void) {
  memset(fake_ze_sticky, 0, sizeof fake_ze_sticky);
}

int fake_ze_ordinal(const void *device) {
  return (int)((const char *)device - handles);
}

const kdl_device_spec *fake_ze_spec(const void *device) {
  const char *handle = device;
  return handle >= handles && handle < handles + sizeof handles
             ? fake_device((size_t)(handle - handles))
             : NULL;
}

int fake_ze_lost(int ordinal) {
  bool is_there = fake_device((size_t)ordinal) != NULL;
  return fake_ze_sticky[ordinal] ? fake_ze_sticky[ordinal]
         : is_there              ? KDL_ZE_SUCCESS
                                 : device_lost;
}

uint32_t fake_ze_version(void) {
  int wanted = fake_setting_number("version");
#ifdef FAKE_OLD
  return wanted ? (uint32_t)wanted : KDL_ZE_VERSION(1, 5);
#else
  return wanted ? (uint32_t)wanted : KDL_ZE_VERSION(1, 17);
#endif
}

/* ------------------------------------------------------------------------------------------ */
/* Threads                                                                                      */

enum { most_threads = 64 };

static pthread_mutex_t user_lock = PTHREAD_MUTEX_INITIALIZER;
static const void *used[most_threads];

void fake_ze_begin(const char *function, const void *handle) {
  pthread_mutex_lock(&user_lock);
  size_t place = most_threads;
  for (size_t i = 0; i < most_threads; ++i) {
    if (used[i] == handle) {
      fprintf(stderr, "%s: another thread is using this handle\n", function);
      abort();
    }
    if (!used[i])
      place = i;
  }
  used[place < most_threads ? place : 0] = handle;
  pthread_mutex_unlock(&user_lock);
}

void fake_ze_end(const void *handle) {
  pthread_mutex_lock(&user_lock);
  for (size_t i = 0; i < most_threads; ++i)
    used[i] = used[i] == handle ? NULL : used[i];
  pthread_mutex_unlock(&user_lock);
}

/* ------------------------------------------------------------------------------------------ */
/* Drivers                                                                                      */

static _Thread_local char last_words[128];

void fake_ze_say(const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(last_words, sizeof last_words, format, args);
  va_end(args);
}

#ifndef FAKE_OLD
int zeDriverGetLastErrorDescription(void *which, const char **words) {
  static _Thread_local char told[sizeof last_words];
  if (which != &driver || fake_ze_version() < KDL_ZE_HAS_HOST_SYNC)
    return which == &driver ? unsupported_feature : invalid_handle;
  memcpy(told, last_words, sizeof told);
  last_words[0] = '\0';
  *words = told;
  return KDL_ZE_SUCCESS;
}
#endif

int zeDriverGetApiVersion(void *which, uint32_t *version) {
  int fault = fake_enter(__func__);
  *version = fake_ze_version();
  return fault ? fault : which == &driver ? KDL_ZE_SUCCESS : invalid_handle;
}

int zeContextCreate(void *which, const kdl_ze_context_desc *desc, void **context) {
  ZE_ENTER();
  if (which != &driver || desc->type != KDL_ZE_CONTEXT_DESC || desc->flags)
    return fake_leave(which == &driver ? invalid_enumeration : invalid_handle);
  *context = fake_new(FAKE_CONTEXT, NULL);
  return fake_leave(KDL_ZE_SUCCESS);
}

int zeContextDestroy(void *handle) {
  int fault = fake_enter(__func__);
  pthread_mutex_lock(&fake_lock);
  fake_object *context = fake_live(handle, FAKE_CONTEXT);
  if (!context)
    return fake_leave(invalid_handle);
  fake_delete(context);
  return fake_leave(fault);
}

fake_kind fake_first_to_release(void) {
  return FAKE_CONTEXT;
}

int zeContextGetStatus(void *context) {
  ZE_ENTER();
  return fake_leave(fake_live(context, FAKE_CONTEXT) ? KDL_ZE_SUCCESS : invalid_handle);
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
  error = error ? error : fake_fault("zeInitDrivers");
  if (which->type != KDL_ZE_INIT_DRIVER_TYPE || !(which->flags & KDL_ZE_INIT_GPU))
    return invalid_argument;
  return error ? error : list_drivers(count, drivers);
}
#endif

int zeInit(uint32_t flags) {
  int error = fake_init(KDL_BACKEND_LEVEL_ZERO, "zeInit");
  error = error ? error : fake_fault("zeInit");
  return flags > 3 ? invalid_argument : error;
}

int zeDriverGet(uint32_t *count, void **drivers) {
  int fault = fake_enter("zeDriverGet");
  if (fault)
    return fault;
  return list_drivers(count, drivers);
}

int zeDriverGetProperties(void *which, kdl_ze_driver_properties *properties) {
  int fault = fake_enter("zeDriverGetProperties");
  if (fault)
    return fault;
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
  int fault = fake_enter("zeDeviceGet");
  if (fault)
    return fault;
  if (which != &driver)
    return invalid_handle;
  uint32_t all = (uint32_t)fake_device_count();
  for (uint32_t i = 0; devices && i < *count && i < all; ++i)
    devices[i] = &handles[i];
  *count = *count && *count < all ? *count : all;
  return fake_setting_number("count");
}

#ifndef FAKE_OLD
static void write_mutability(void *chain) {
  kdl_ze_mutable_properties *mutability = chain;
  const char *wanted = fake_setting("mutable");
  if (mutability && mutability->type == KDL_ZE_MUTABLE_LIST_PROPERTIES)
    mutability->command_flags = wanted ? (uint32_t)atoi(wanted) : 0x7f;
}

static void write_ip_version(const kdl_device_spec *spec, void *chain) {
  kdl_ze_ip_version *ip = chain;
  kdl_intel_ip version;
  if (ip && ip->type == KDL_ZE_IP_VERSION &&
      kdl_intel_parse(kdl_text_of(spec->arch), &version, NULL))
    ip->ip_version = kdl_intel_number(version);
}
#endif

int zeDeviceGetProperties(void *device, kdl_ze_device_properties *properties) {
  int fault = fake_enter("zeDeviceGetProperties");
  if (fault)
    return fault;
  const kdl_device_spec *spec = fake_ze_spec(device);
  bool in_ticks = properties->type == KDL_ZE_DEVICE_PROPERTIES_1_2;
  if (!spec || (properties->type != KDL_ZE_DEVICE_PROPERTIES && !in_ticks))
    return invalid_handle;
  properties->timer_resolution = in_ticks ? 19200000 : 52;
  properties->timestamp_valid_bits = 36;
  int most = fake_setting_number("max_allocation");
  properties->max_allocation = most ? (uint64_t)most : spec->memory;
  /* An accelerator stands for what Level Zero shows besides GPUs: an NPU is 5. */
  properties->device_type = spec->device_class == KDL_DEVICE_ACCELERATOR ? 5 : KDL_ZE_TYPE_GPU;
  properties->flags = spec->device_class == KDL_DEVICE_INTEGRATED ? KDL_ZE_FLAG_INTEGRATED : 0;
  properties->slices = spec->units;
  properties->subslices_per_slice = 1;
  memcpy(properties->uuid, spec->uuid.bytes, sizeof properties->uuid);
  snprintf(properties->name, sizeof properties->name, "%s", spec->name);
#ifndef FAKE_OLD
  write_ip_version(spec, properties->next);
  write_mutability(properties->next);
#endif
  return KDL_ZE_SUCCESS;
}

int zeDeviceGetModuleProperties(void *device, kdl_ze_module_properties *properties) {
  int fault = fake_enter("zeDeviceGetModuleProperties");
  if (fault)
    return fault;
  const kdl_device_spec *spec = fake_ze_spec(device);
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
  int fault = fake_enter("zeDeviceGetComputeProperties");
  if (fault)
    return fault;
  const kdl_device_spec *spec = fake_ze_spec(device);
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

/* One that copies, and one that computes. */
int zeDeviceGetCommandQueueGroupProperties(void *device, uint32_t *count,
                                           kdl_ze_queue_group *groups) {
  int fault = fake_enter("zeDeviceGetCommandQueueGroupProperties");
  if (fault)
    return fault;
  const kdl_device_spec *spec = fake_ze_spec(device);
  if (!spec)
    return invalid_handle;
  for (uint32_t i = 0; groups && i < *count && i < 2; ++i) {
    if (groups[i].type != KDL_ZE_QUEUE_GROUP_PROPERTIES)
      return invalid_argument;
    groups[i].flags = i == 0              ? 2
                      : spec->cooperative ? KDL_ZE_GROUP_COMPUTE | 2 | KDL_ZE_GROUP_COOPERATIVE
                                          : KDL_ZE_GROUP_COMPUTE | 2;
    groups[i].max_fill_pattern = 16;
    groups[i].queue_count = 1;
  }
  *count = *count && *count < 2 ? *count : 2;
  return KDL_ZE_SUCCESS;
}

int zeDeviceCanAccessPeer(void *device, void *peer, uint8_t *can) {
  int fault = fake_enter(__func__);
  const char *wanted = fake_setting("peers");
  *can = !wanted || *wanted == '1';
  return fault                                        ? fault
         : fake_ze_spec(device) && fake_ze_spec(peer) ? KDL_ZE_SUCCESS
                                                      : invalid_handle;
}

/* Two halves, as on a part with two stacks of memory. */
#ifndef FAKE_INCOMPLETE
int zeDeviceGetMemoryProperties(void *device, uint32_t *count,
                                kdl_ze_memory_properties *properties) {
  int fault = fake_enter("zeDeviceGetMemoryProperties");
  if (fault)
    return fault;
  const kdl_device_spec *spec = fake_ze_spec(device);
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
  int fault = fake_enter("zeDevicePciGetPropertiesExt");
  if (fault)
    return fault;
  const kdl_device_spec *spec = fake_ze_spec(device);
  if (!spec || properties->type != KDL_ZE_PCI_PROPERTIES)
    return invalid_handle;
  properties->domain = spec->pci.domain;
  properties->bus = spec->pci.bus;
  properties->device = spec->pci.device;
  properties->function = spec->pci.function;
  return KDL_ZE_SUCCESS;
}
