/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "runtime.h"
#include "support/system/variables.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t device_lock = PTHREAD_MUTEX_INITIALIZER;
static kdl_mlir_device process_device;
static const kdl_mlir_device *ready_device; /* `chosen`, once it is complete */
static int32_t default_number = -1;

static bool is_host(const kdl_device *device) {
  kdl_device_info info = {.size = sizeof info};
  return kdl_device_get(device, &info) == KDL_OK && info.is_host;
}

/* ------------------------------------------------------------------------------------------ */
/* Selection                                                                                    */

/* How many modules a device could run. */
typedef struct {
  kdl_device *device;
  bool translates; /* SPIR-V counts where the driver does not take it and kdl-ld translates it */
  size_t modules;
  size_t served;
  size_t needs_host_fallback; /* modules that need a fallback to the host */
} candidate;

static kdl_status try_module(void *user, kdl_mlir_module *module) {
  candidate *tried = user;
  kdl_mlir_select select;
  kdl_selection choice = {.size = sizeof choice};
  kdl_status status = kdl_mlir_module_open(module);
  if (status != KDL_OK)
    return status;
  ++tried->modules;
  kdl_mlir_module_select(module, &select);
  if (kdl_select(module->library, tried->device, NULL, select.overrides, &choice) != KDL_OK ||
      (!tried->translates && strcmp(choice.fit, "translated") == 0))
    return KDL_OK;
  if (is_host(tried->device) && module->declared.fallback != KDL_MLIR_FALLBACK_HOST)
    ++tried->needs_host_fallback;
  else
    ++tried->served;
  return KDL_OK;
}

static bool is_cpu(const kdl_device *device) {
  kdl_device_info info = {.size = sizeof info};
  return kdl_device_get(device, &info) == KDL_OK && info.device_class == KDL_DEVICE_CPU;
}

/* Fails if the host is missing because KDL_CPU is invalid. */
static kdl_status check_host(void) {
  kdl_device *host;
  kdl_status status = kdl_device_find("host", &host);
  return status == KDL_NO_MATCH ? KDL_OK : status;
}

static kdl_status search_devices(bool translates, candidate *best, bool *out_is_held_back) {
  for (size_t i = 0; i < kdl_device_count(); ++i) {
    candidate tried = {.device = kdl_device_at(i), .translates = translates};
    kdl_status status = kdl_mlir_modules_visit(try_module, &tried);
    if (status != KDL_OK)
      return status;
    *out_is_held_back |= tried.needs_host_fallback > 0;
    if (!best->device || tried.served > best->served)
      *best = tried;
    if (tried.served == tried.modules)
      break;
  }
  return KDL_OK;
}

/* The first device that runs every module, or the first of those that run most: launches from the
 * other modules fail with reasons. One whose driver takes the images goes before one for which they
 * are translated. Without modules, the first device. */
static kdl_status choose_device(kdl_device **out_device) {
  candidate best = {0};
  bool held_back = false;
  kdl_status status = search_devices(false, &best, &held_back);
  if (status == KDL_OK && best.served < best.modules)
    status = search_devices(true, &best, &held_back);
  if (status != KDL_OK)
    return status;
  bool is_gpus = best.device && best.served == best.modules && !is_cpu(best.device);
  status = is_gpus ? KDL_OK : check_host();
  if (status != KDL_OK)
    return status;
  if (!best.device)
    return kdl_mlir_set_error(KDL_NO_MATCH, "this machine has no device");
  if (best.modules && !best.served && held_back)
    return kdl_mlir_set_error(
        KDL_NO_MATCH, "only the CPU could run it, and its binary says fallback = error: compile "
                      "it with fallback = host, or set KDL_DEVICE=host");
  *out_device = best.device;
  return KDL_OK;
}

/* The device of that number among those of one backend. */
static kdl_status find_numbered_device(int32_t number, kdl_device **device) {
  kdl_device_info one = {.size = sizeof one}, two = {.size = sizeof two};
  kdl_status status = kdl_device_get(*device, &one);
  int32_t seen = 0;
  for (size_t i = 0; i < kdl_device_count() && status == KDL_OK; ++i) {
    kdl_device *other = kdl_device_at(i);
    status = kdl_device_get(other, &two);
    if (status != KDL_OK || strcmp(one.backend, two.backend) != 0)
      continue;
    if (seen++ == number) {
      *device = other;
      return KDL_OK;
    }
  }
  if (status != KDL_OK)
    return status;
  return kdl_mlir_set_error(KDL_NO_MATCH,
                            "found device number %d, expected less than %d: so many of %s are here",
                            (int)number, (int)seen, one.backend);
}

static kdl_status open_process_device(kdl_mlir_device *out_device) {
  kdl_mlir_device made = {.is_host = false};
  const char *wanted = kdl_environment(KDL_VARIABLE_DEVICE);
  kdl_status status = wanted ? kdl_device_find(wanted, &made.device) : choose_device(&made.device);
  if (status == KDL_OK && !wanted && default_number >= 0)
    status = find_numbered_device(default_number, &made.device);
  if (status == KDL_OK)
    status = kdl_queue_create(made.device, NULL, &made.queue);
  if (status != KDL_OK)
    return status;
  made.is_host = is_host(made.device);
  *out_device = made;
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Queries                                                                                      */

kdl_status kdl_mlir_device_get(const kdl_mlir_device **out_device) {
  const kdl_mlir_device *known = __atomic_load_n(&ready_device, __ATOMIC_ACQUIRE);
  kdl_status status = KDL_OK;
  if (!known) {
    pthread_mutex_lock(&device_lock);
    if (!ready_device)
      status = open_process_device(&process_device);
    if (status == KDL_OK)
      __atomic_store_n(&ready_device, &process_device, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&device_lock);
    known = &process_device;
  }
  if (status == KDL_OK)
    *out_device = known;
  return status;
}

const kdl_mlir_device *kdl_mlir_device_for(const char *what) {
  const kdl_mlir_device *device = NULL;
  return kdl_mlir_ok(kdl_mlir_device_get(&device), what) ? device : NULL;
}

kdl_status kdl_mlir_device_set_default(int32_t number) {
  kdl_status status = KDL_OK;
  pthread_mutex_lock(&device_lock);
  if (!ready_device) {
    default_number = number;
  } else {
    kdl_device *same = process_device.device;
    status = find_numbered_device(number, &same);
    if (status == KDL_OK && same != process_device.device)
      status =
          kdl_mlir_set_error(KDL_BAD_CALL,
                             "found device number %d, expected the one in use: a program uses one "
                             "device, chosen before the first allocation, stream or launch",
                             (int)number);
  }
  pthread_mutex_unlock(&device_lock);
  return status;
}
