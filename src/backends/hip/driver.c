/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "backends/hip/driver.h"

#include "backends/common/voice.h"
#include "base/layer.h"
#include "device/driver.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

kdl_hip_api kdl_hip;
const kdl_backend_host *kdl_hip_host;

static const char *const libraries[] = {KDL_HIP_LIBRARIES, NULL};

static const kdl_driver_symbol symbols[] = {
#define KDL_DRIVER_SYMBOL(need, field, name, result, parameters)                                   \
  {#name, offsetof(kdl_hip_api, field), KDL_DRIVER_##need},
#include "backends/hip/symbols.def"
#undef KDL_DRIVER_SYMBOL
};

/* ------------------------------------------------------------------------------------------ */
/* Failures                                                                                     */

/* "hipErrorOutOfMemory (2): out of memory"; ROCm 5 has no words beside the name. */
static void describe(int error, char *text, size_t size) {
  const char *name = kdl_hip.error_name(error);
  const char *words = kdl_hip.error_string(error);
  name = name ? name : "unknown error";
  words = words && strcmp(words, name) != 0 ? words : "";
  snprintf(text, size, "%s (%d)%s%s", name, error, *words ? ": " : "", words);
  (void)kdl_hip.last_error();
}

static kdl_status status_of(int error) {
  switch (error) {
  case KDL_HIP_ERROR_OUT_OF_MEMORY:
    return KDL_NO_MEMORY;
  case KDL_HIP_ERROR_NOT_FOUND:
    return KDL_NO_MATCH;
  default:
    return KDL_DEVICE;
  }
}

static const kdl_voice voice = {"hip", &kdl_hip_host, describe, status_of};

kdl_status kdl_hip_fail_va(uint32_t ordinal, int error, const char *format, va_list args) {
  return kdl_voice_fail(&voice, ordinal, error, format, args);
}

kdl_status kdl_hip_fail(uint32_t ordinal, int error, const char *format, ...) {
  va_list args;
  va_start(args, format);
  kdl_status status = kdl_hip_fail_va(ordinal, error, format, args);
  va_end(args);
  return status;
}

void kdl_hip_note(uint32_t ordinal, int error, const char *call) {
  kdl_voice_note(&voice, ordinal, error, call);
}

/* ------------------------------------------------------------------------------------------ */
/* Loading                                                                                      */

static pthread_mutex_t load_lock = PTHREAD_MUTEX_INITIALIZER;
static bool loaded;

static kdl_status load_locked(void) {
  kdl_driver_report report = {0};
  if (!kdl_driver_load(&kdl_driver_system, libraries, symbols, sizeof symbols / sizeof *symbols,
                       &kdl_hip, &report))
    return kdl_hip_host->fail(KDL_DEVICE, 0, "%s: %s", report.library, report.words);
  kdl_layer_enter(KDL_LAYER_INIT);
  int error = kdl_hip.init(0);
  kdl_layer_leave(KDL_LAYER_INIT,
                  &(kdl_layer_about){.driver = report.library, .failed = error != KDL_HIP_SUCCESS});
  if (error != KDL_HIP_SUCCESS)
    return kdl_voice_no_start(&voice, report.library, "hipInit", error);
  loaded = true;
  kdl_hip_host->log("%s: opened", report.library);
  return KDL_OK;
}

kdl_status kdl_hip_load(void) {
  pthread_mutex_lock(&load_lock);
  kdl_status status = loaded ? KDL_OK : load_locked();
  pthread_mutex_unlock(&load_lock);
  return status;
}
