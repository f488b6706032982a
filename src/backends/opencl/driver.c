/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "backends/opencl/driver.h"

#include "backends/common/voice.h"
#include "device/driver.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

kdl_opencl_api kdl_opencl;
const kdl_backend_host *kdl_opencl_host;

static const kdl_driver_symbol symbols[] = {
#define KDL_DRIVER_SYMBOL(need, field, name, result, parameters)                                   \
  {#name, offsetof(kdl_opencl_api, lister.field), KDL_DRIVER_##need},
#include "device/opencl_symbols.def"
#undef KDL_DRIVER_SYMBOL
#define KDL_DRIVER_SYMBOL(need, field, name, result, parameters)                                   \
  {#name, offsetof(kdl_opencl_api, field), KDL_DRIVER_##need},
#include "backends/opencl/symbols.def"
#undef KDL_DRIVER_SYMBOL
};

/* ------------------------------------------------------------------------------------------ */
/* Failures                                                                                     */

static const char *error_name(int error) {
  static const struct {
    int32_t number;
    const char *name;
  } names[] = {
#define KDL_CL_ERROR(name, number) {number, "CL_" #name},
#include "backends/opencl/errors.def"
#undef KDL_CL_ERROR
  };
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    if (names[i].number == error)
      return names[i].name;
  }
  return "unknown error";
}

/* CL_OUT_OF_RESOURCES is what NVIDIA's driver says of a kernel that wrote where it may not, so it
 * does not count as a lack of memory. */
static kdl_status status_of(int error) {
  switch (error) {
  case KDL_CL_MEM_OBJECT_ALLOCATION_FAILURE:
  case KDL_CL_OUT_OF_HOST_MEMORY:
  case KDL_CL_INVALID_BUFFER_SIZE:
    return KDL_NO_MEMORY;
  case KDL_CL_INVALID_KERNEL_NAME:
    return KDL_NO_MATCH;
  default:
    return KDL_DEVICE;
  }
}

/* "CL_OUT_OF_RESOURCES (-5)" */
static void describe(int error, char *text, size_t size) {
  snprintf(text, size, "%s (%d)", error_name(error), error);
}

static const kdl_voice voice = {"opencl", &kdl_opencl_host, describe, status_of};

kdl_status kdl_opencl_fail(uint32_t ordinal, int32_t error, const char *format, ...) {
  va_list args;
  va_start(args, format);
  kdl_status status = kdl_voice_fail(&voice, ordinal, error, format, args);
  va_end(args);
  return status;
}

void kdl_opencl_note(uint32_t ordinal, int32_t error, const char *call) {
  kdl_voice_note(&voice, ordinal, error, call);
}

kdl_status kdl_opencl_no_memory(uint32_t ordinal) {
  return kdl_opencl_host->fail(KDL_NO_MEMORY, 0, "opencl:%u: no memory", ordinal);
}

/* ------------------------------------------------------------------------------------------ */
/* Loading                                                                                      */

static pthread_mutex_t load_lock = PTHREAD_MUTEX_INITIALIZER;
static bool loaded;

kdl_status kdl_opencl_load(void) {
  kdl_status status = KDL_OK;
  pthread_mutex_lock(&load_lock);
  if (!loaded) {
    kdl_driver_report report = {0};
    loaded = kdl_driver_load(&kdl_driver_system, kdl_opencl_libraries, symbols,
                             sizeof symbols / sizeof *symbols, &kdl_opencl, &report);
    if (!loaded)
      status = kdl_opencl_host->fail(KDL_DEVICE, 0, "%s: %s", report.library, report.words);
  }
  pthread_mutex_unlock(&load_lock);
  return status;
}
