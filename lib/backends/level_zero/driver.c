/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/backends/level_zero/driver.h"

#include "lib/backends/common/driver.h"
#include "lib/backends/level_zero/objects.h"

#include <stdarg.h>
#include <stdio.h>

kdl_ze_api kdl_ze;

static const kdl_driver_symbol ze_symbols[] = {
#define KDL_DRIVER_SYMBOL(need, field, name, result, parameters)                                   \
  {#name, offsetof(kdl_ze_api, field), KDL_DRIVER_##need},
#include "lib/backends/level_zero/symbols.def"
#undef KDL_DRIVER_SYMBOL
};

/* ------------------------------------------------------------------------------------------ */
/* Failures                                                                                     */

static const kdl_driver_error_name ze_result_names[] = {
#define KDL_ZE_RESULT(name, number) {number, "ZE_RESULT_" #name},
#include "lib/backends/level_zero/results.def"
#undef KDL_ZE_RESULT
};

static const char *ze_result_name(int error) {
  return kdl_driver_error_name_of(ze_result_names, sizeof ze_result_names / sizeof *ze_result_names,
                                  error);
}

/* The device whose call failed, while the error is formatted. */
static _Thread_local const kdl_ze_device *ze_failed_device;

/* The driver's own message, which it keeps per thread. */
static const char *ze_last_error_text(void) {
  const char *words = NULL;
  if (!ze_failed_device || !kdl_ze.last_error || ze_failed_device->version < KDL_ZE_HAS_HOST_SYNC ||
      kdl_ze.last_error(ze_failed_device->driver, &words) != KDL_ZE_SUCCESS || !words)
    return "";
  return words;
}

static void ze_describe_error(int error, char *text, size_t size) {
  const char *more = error == KDL_ZE_UNINITIALIZED ? "the loader found no driver that works"
                                                   : ze_last_error_text();
  snprintf(text, size, "%s (0x%x)%s%s", ze_result_name(error), (unsigned)error, *more ? ": " : "",
           more);
}

const kdl_driver_errors kdl_ze_errors = {
    .backend = "level_zero",
    .describe = ze_describe_error,
    .no_memory = (const int[]){KDL_ZE_OUT_OF_HOST_MEMORY, KDL_ZE_OUT_OF_DEVICE_MEMORY, 0},
    .no_match = (const int[]){KDL_ZE_INVALID_KERNEL_NAME, KDL_ZE_INVALID_GLOBAL_NAME, 0},
};

kdl_status(kdl_ze_fail)(const kdl_ze_device *device, int error, const char *format, ...) {
  va_list args;
  va_start(args, format);
  ze_failed_device = device;
  kdl_status status =
      kdl_driver_errors_fail_va(&kdl_ze_errors, device->ordinal, error, format, args);
  ze_failed_device = NULL;
  va_end(args);
  return status;
}

void kdl_ze_log_error(const kdl_ze_device *device, int error, const char *call) {
  ze_failed_device = device;
  kdl_driver_errors_log(&kdl_ze_errors, device->ordinal, error, call);
  ze_failed_device = NULL;
}

kdl_status(kdl_ze_no_memory)(const kdl_ze_device *device) {
  return kdl_driver_errors_no_memory(&kdl_ze_errors, device->ordinal);
}

/* ------------------------------------------------------------------------------------------ */
/* Loading                                                                                      */

enum { max_drivers = 16, max_devices = 256 };

typedef struct {
  void *items[max_drivers];
  uint32_t count;
} driver_list;

static pthread_mutex_t ze_drivers_lock = PTHREAD_MUTEX_INITIALIZER;
static driver_list ze_drivers;

/* zeInitDrivers and zeInit must not be mixed: the latter is for loaders and drivers that lack the
 * former. */
static int ze_init_drivers(driver_list *list, const char **out_call) {
  /* After zeInit has failed, zeInitDrivers of loader 1.20 (Debian 13) dereferences NULL. */
  static bool init_failed;
  kdl_ze_init_driver_type gpus = {.type = KDL_ZE_INIT_DRIVER_TYPE, .flags = KDL_ZE_INIT_GPU};
  list->count = max_drivers;
  if (kdl_ze.init_drivers && !init_failed &&
      kdl_ze.init_drivers(&list->count, list->items, &gpus) == KDL_ZE_SUCCESS && list->count)
    return KDL_ZE_SUCCESS;
  *out_call = "zeInit";
  int error = kdl_ze.init(KDL_ZE_INIT_GPU);
  init_failed = error != KDL_ZE_SUCCESS;
  if (error != KDL_ZE_SUCCESS)
    return error;
  list->count = max_drivers;
  *out_call = "zeDriverGet";
  return kdl_ze.driver_get(&list->count, list->items);
}

static int ze_start(const char **out_call) {
  driver_list list;
  int error = ze_init_drivers(&list, out_call);
  if (error != KDL_ZE_SUCCESS)
    return error;
  kdl_lock(&ze_drivers_lock);
  ze_drivers = list;
  kdl_unlock(&ze_drivers_lock);
  return KDL_ZE_SUCCESS;
}

kdl_driver kdl_ze_driver = {
    .libraries = (const char *const[]){"libze_loader.so.1", NULL},
    .symbols = ze_symbols,
    .symbol_count = sizeof ze_symbols / sizeof *ze_symbols,
    .table = &kdl_ze,
    .start = ze_start,
};

kdl_status kdl_ze_load(void) {
  return kdl_backend_start_driver(&kdl_ze_driver, &kdl_ze_errors, NULL);
}

void kdl_ze_walk(kdl_ze_visit_device *visit, void *user) {
  kdl_lock(&ze_drivers_lock);
  driver_list list = ze_drivers;
  kdl_unlock(&ze_drivers_lock);
  uint32_t ordinal = 0;
  bool continues = true;
  void *devices[max_devices];
  for (uint32_t i = 0; continues && i < list.count && i < max_drivers; ++i) {
    uint32_t count = max_devices;
    if (kdl_ze.device_get(list.items[i], &count, devices) != KDL_ZE_SUCCESS)
      continue;
    for (uint32_t k = 0; continues && k < count && k < max_devices; ++k)
      continues = visit(user, ordinal++, list.items[i], devices[k]);
  }
}
