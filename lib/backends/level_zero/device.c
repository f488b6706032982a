/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Devices and their contexts. A driver's devices share one context, so that they can copy each
 * other's memory, unless the caller adopts one. */
#include "lib/backends/common/open_devices.h"
#include "lib/backends/level_zero/objects.h"
#include "support/system/variables.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------ */
/* Contexts                                                                                     */

typedef struct shared_context shared_context;
struct shared_context {
  void *driver;
  void *context;
  uint32_t users; /* open devices */
  shared_context *next;
};

static pthread_mutex_t ze_contexts_lock = PTHREAD_MUTEX_INITIALIZER;
static shared_context *ze_contexts;

static kdl_status ze_create_context(kdl_ze_device *device) {
  shared_context *made = calloc(1, sizeof *made);
  if (!made)
    return kdl_ze_no_memory(device);
  kdl_ze_context_desc desc = {.type = KDL_ZE_CONTEXT_DESC};
  int error = kdl_ze.context_create(device->driver, &desc, &made->context);
  if (error != KDL_ZE_SUCCESS) {
    free(made);
    return kdl_ze_fail(device, error, "zeContextCreate");
  }
  made->driver = device->driver;
  made->next = ze_contexts;
  ze_contexts = made;
  return KDL_OK;
}

/* Kept until the process ends, as devices are. */
static kdl_status ze_acquire_context(kdl_ze_device *device) {
  kdl_status status = KDL_OK;
  pthread_mutex_lock(&ze_contexts_lock);
  shared_context *shared = ze_contexts;
  while (shared && shared->driver != device->driver)
    shared = shared->next;
  if (!shared) {
    status = ze_create_context(device);
    shared = ze_contexts;
  }
  if (status == KDL_OK) {
    ++shared->users;
    device->context = shared->context;
  }
  pthread_mutex_unlock(&ze_contexts_lock);
  return status;
}

/* No query gives the driver of a context; its status is checked. */
static kdl_status ze_adopt_context(kdl_ze_device *device) {
  int error = kdl_ze.context_status(device->adopted);
  if (error != KDL_ZE_SUCCESS)
    return kdl_ze_fail(device, error, "zeContextGetStatus of the context to be adopted");
  device->context = device->adopted;
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Properties                                                                                   */

typedef struct {
  uint32_t wanted;
  kdl_ze_device *device;
} device_search;

static bool ze_match_device(void *user, uint32_t ordinal, void *driver, void *device) {
  device_search *s = user;
  if (ordinal != s->wanted)
    return true;
  s->device->driver = driver;
  s->device->handle = device;
  return false;
}

static kdl_status ze_find_device(kdl_ze_device *device) {
  device_search s = {device->ordinal, device};
  kdl_ze_walk(ze_match_device, &s);
  if (device->handle)
    return KDL_OK;
  return kdl_core_services.fail(KDL_DEVICE, 0, "level_zero:%u: the drivers show no such device",
                                device->ordinal);
}

/* Before version 1.2 the timer's resolution was in whole nanoseconds. */
static kdl_status ze_read_properties(kdl_ze_device *device) {
  int error = kdl_ze.driver_version(device->driver, &device->version);
  if (error != KDL_ZE_SUCCESS)
    return kdl_ze_fail(device, error, "zeDriverGetApiVersion");
  bool in_ticks = device->version >= KDL_ZE_HAS_TICKS_PER_SECOND;
  kdl_ze_device_properties properties = {.type = in_ticks ? KDL_ZE_DEVICE_PROPERTIES_1_2
                                                          : KDL_ZE_DEVICE_PROPERTIES};
  error = kdl_ze.device_properties(device->handle, &properties);
  if (error != KDL_ZE_SUCCESS)
    return kdl_ze_fail(device, error, "zeDeviceGetProperties");
  double resolution = (double)properties.timer_resolution;
  device->ns_per_tick = !in_ticks ? resolution : resolution > 0 ? 1e9 / resolution : 0;
  uint32_t bits = properties.timestamp_valid_bits;
  device->tick_mask = bits && bits < 64 ? ((uint64_t)1 << bits) - 1 : UINT64_MAX;
  device->max_allocation = properties.max_allocation;
  kdl_ze_compute_properties groups = {.type = KDL_ZE_COMPUTE_PROPERTIES};
  error = kdl_ze.compute_properties(device->handle, &groups);
  if (error != KDL_ZE_SUCCESS)
    return kdl_ze_fail(device, error, "zeDeviceGetComputeProperties");
  device->max_block = groups.max_total_group_size;
  return KDL_OK;
}

/* The first queue group for compute, preferably one with cooperative launches. */
static kdl_status ze_select_queue_group(kdl_ze_device *device) {
  kdl_ze_queue_group groups[KDL_ZE_MAX_QUEUE_GROUPS];
  uint32_t count = KDL_ZE_MAX_QUEUE_GROUPS;
  for (uint32_t i = 0; i < count; ++i)
    groups[i] = (kdl_ze_queue_group){.type = KDL_ZE_QUEUE_GROUP_PROPERTIES};
  int error = kdl_ze.queue_groups(device->handle, &count, groups);
  if (error != KDL_ZE_SUCCESS)
    return kdl_ze_fail(device, error, "zeDeviceGetCommandQueueGroupProperties");
  uint32_t chosen = count;
  for (uint32_t i = 0; i < count && !device->is_cooperative; ++i) {
    if (!(groups[i].flags & KDL_ZE_GROUP_COMPUTE))
      continue;
    device->is_cooperative = groups[i].flags & KDL_ZE_GROUP_COOPERATIVE;
    if (chosen == count || device->is_cooperative)
      chosen = i;
  }
  if (chosen == count)
    return kdl_core_services.fail(
        KDL_DEVICE, 0, "level_zero:%u: found no group of queues that computes, expected one",
        device->ordinal);
  device->queue_group = chosen;
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Opening                                                                                      */

static kdl_status ze_init_device(kdl_ze_device *device) {
  KDL_TRY(ze_find_device(device));
  KDL_TRY(ze_read_properties(device));
  KDL_TRY(ze_select_queue_group(device));
  return device->adopted ? ze_adopt_context(device) : ze_acquire_context(device);
}

static kdl_status ze_open_device(void *handle, const kdl_backend_device *desc) {
  kdl_ze_device *device = handle;
  device->ordinal = desc->ordinal;
  device->adopted = desc->native_context;
  KDL_TRY(ze_init_device(device));
  kdl_ranges_init(&device->ranges);
  pthread_mutex_init(&device->lock, NULL);
  pthread_mutex_init(&device->stamps.lock, NULL);
  return KDL_OK;
}

static kdl_open_devices ze_open_devices = {&kdl_ze_errors,
                                           kdl_ze_load,
                                           sizeof(kdl_ze_device),
                                           ze_open_device,
                                           PTHREAD_MUTEX_INITIALIZER,
                                           NULL};

kdl_status kdl_ze_device_open(const kdl_backend_device *desc, void **out_device) {
  return kdl_open_devices_get(&ze_open_devices, desc, out_device);
}

void *kdl_ze_device_native(void *handle, kdl_native which) {
  kdl_ze_device *device = handle;
  return kdl_select_native(which, device->handle, device->context);
}

bool kdl_ze_large_buffers(void) {
  const char *asked = kdl_environment(KDL_VARIABLE_LEVEL_ZERO_LARGE_BUFFERS);
  return asked && strcmp(asked, "1") == 0;
}

/* ------------------------------------------------------------------------------------------ */
/* Closing                                                                                      */

/* The last device destroys the context. */
static void ze_release_context(const kdl_ze_device *device) {
  pthread_mutex_lock(&ze_contexts_lock);
  shared_context **at = &ze_contexts;
  while (*at && (*at)->context != device->context)
    at = &(*at)->next;
  shared_context *shared = *at;
  bool is_last = shared && --shared->users == 0;
  if (is_last)
    *at = shared->next;
  pthread_mutex_unlock(&ze_contexts_lock);
  if (!is_last)
    return;
  free(shared);
  kdl_ze_log_error(device, kdl_ze.context_destroy(device->context), "zeContextDestroy");
}

/* An adopted context belongs to the caller. */
void kdl_ze_device_close(void *handle, void *queue) {
  kdl_ze_device *device = handle;
  kdl_ze_queue_destroy(device, queue);
  kdl_ze_timestamps_destroy(device);
  kdl_open_devices_remove(&ze_open_devices, device);
  if (!device->adopted)
    ze_release_context(device);
}
