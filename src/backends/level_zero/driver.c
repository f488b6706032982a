/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "backends/level_zero/driver.h"

#include "backends/common/voice.h"
#include "backends/level_zero/objects.h"
#include "device/driver.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

kdl_ze_api kdl_ze;
const kdl_backend_host *kdl_ze_host;

static const kdl_driver_symbol symbols[] = {
#define KDL_DRIVER_SYMBOL(need, field, name, result, parameters)                                   \
  {#name, offsetof(kdl_ze_api, lister.field), KDL_DRIVER_##need},
#include "device/level_zero_symbols.def"
#undef KDL_DRIVER_SYMBOL
#define KDL_DRIVER_SYMBOL(need, field, name, result, parameters)                                   \
  {#name, offsetof(kdl_ze_api, field), KDL_DRIVER_##need},
#include "backends/level_zero/symbols.def"
#undef KDL_DRIVER_SYMBOL
};

/* ------------------------------------------------------------------------------------------ */
/* Failures                                                                                     */

static const char *result_name(int error) {
  static const struct {
    int number;
    const char *name;
  } names[] = {
#define KDL_ZE_RESULT(name, number) {number, "ZE_RESULT_" #name},
#include "backends/level_zero/results.def"
#undef KDL_ZE_RESULT
  };
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    if (names[i].number == error)
      return names[i].name;
  }
  return "unknown error";
}

/* The device whose call failed, while that is being told. */
static _Thread_local const kdl_ze_device *speaking;

/* What the driver has to add; it keeps that for each thread. */
static const char *last_words(void) {
  const char *words = NULL;
  if (!speaking || !kdl_ze.last_error || speaking->version < KDL_ZE_HAS_HOST_SYNC ||
      kdl_ze.last_error(speaking->driver, &words) != KDL_ZE_SUCCESS || !words)
    return "";
  return words;
}

static void describe(int error, char *text, size_t size) {
  const char *more =
      error == KDL_ZE_UNINITIALIZED ? "the loader found no driver that works" : last_words();
  snprintf(text, size, "%s (0x%x)%s%s", result_name(error), (unsigned)error, *more ? ": " : "",
           more);
}

static kdl_status status_of(int error) {
  switch (error) {
  case KDL_ZE_OUT_OF_HOST_MEMORY:
  case KDL_ZE_OUT_OF_DEVICE_MEMORY:
    return KDL_NO_MEMORY;
  case KDL_ZE_INVALID_KERNEL_NAME:
  case KDL_ZE_INVALID_GLOBAL_NAME:
    return KDL_NO_MATCH;
  default:
    return KDL_DEVICE;
  }
}

static const kdl_voice voice = {"level_zero", &kdl_ze_host, describe, status_of};

kdl_status(kdl_ze_fail)(const kdl_ze_device *device, int error, const char *format, ...) {
  va_list args;
  va_start(args, format);
  speaking = device;
  kdl_status status = kdl_voice_fail(&voice, device->ordinal, error, format, args);
  speaking = NULL;
  va_end(args);
  return status;
}

void kdl_ze_note(const kdl_ze_device *device, int error, const char *call) {
  speaking = device;
  kdl_voice_note(&voice, device->ordinal, error, call);
  speaking = NULL;
}

kdl_status(kdl_ze_no_memory)(const kdl_ze_device *device) {
  return kdl_ze_host->fail(KDL_NO_MEMORY, 0, "level_zero:%u: no memory", device->ordinal);
}

kdl_status kdl_ze_no_start(const char *call, int error) {
  return kdl_voice_no_start(&voice, kdl_ze_libraries[0], call, error);
}

/* ------------------------------------------------------------------------------------------ */
/* Loading                                                                                      */

static pthread_mutex_t load_lock = PTHREAD_MUTEX_INITIALIZER;
static bool loaded;

static kdl_status load_locked(void) {
  kdl_driver_report report = {0};
  if (!kdl_driver_load(&kdl_driver_system, kdl_ze_libraries, symbols,
                       sizeof symbols / sizeof *symbols, &kdl_ze, &report))
    return kdl_ze_host->fail(KDL_DEVICE, 0, "%s: %s", report.library, report.words);
  loaded = true;
  kdl_ze_host->log("%s: opened", report.library);
  return KDL_OK;
}

kdl_status kdl_ze_load(void) {
  pthread_mutex_lock(&load_lock);
  kdl_status status = loaded ? KDL_OK : load_locked();
  pthread_mutex_unlock(&load_lock);
  return status;
}
