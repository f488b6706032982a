/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "backends/cuda/driver.h"

#include "backends/common/voice.h"
#include "base/layer.h"
#include "device/driver.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

kdl_cuda_api kdl_cuda;
const kdl_backend_host *kdl_cuda_host;

static const char *const libraries[] = {"libcuda.so.1", NULL};

static const kdl_driver_symbol symbols[] = {
#define KDL_CUDA_SYMBOL(need, field, name, version, parameters)                                    \
  {#name, offsetof(kdl_cuda_api, field), KDL_DRIVER_##need},
#include "backends/cuda/symbols.def"
#undef KDL_CUDA_SYMBOL
};

static const int versions[] = {
#define KDL_CUDA_SYMBOL(need, field, name, version, parameters) version,
#include "backends/cuda/symbols.def"
#undef KDL_CUDA_SYMBOL
};

/* ------------------------------------------------------------------------------------------ */
/* Entry points at pinned versions                                                              */

/* cuGetProcAddress_v2, since CUDA 12.0. */
typedef int get_proc_address(const char *name, void **function, int version, uint64_t flags,
                             int *outcome);

/* Pinned so that a program built with per-thread default streams does not change ours. */
enum { legacy_stream = 1 };

static int version_of(const char *name) {
  for (size_t i = 0; i < sizeof symbols / sizeof *symbols; ++i) {
    if (strcmp(symbols[i].name, name) == 0)
      return versions[i];
  }
  return 0;
}

/* "cuMemAlloc_v2" without its "_v2". */
static size_t bare_length(const char *name) {
  size_t length = strlen(name);
  return length > 3 && name[length - 3] == '_' && name[length - 2] == 'v' ? length - 3 : length;
}

/* The driver's own answer where it gives one, else dlsym. */
static void *pinned_symbol(void *user, void *library, const char *name) {
  const kdl_driver_resolver *below = user;
  void *symbol = below->symbol(below->user, library, "cuGetProcAddress_v2");
  if (!symbol)
    return below->symbol(below->user, library, name);
  get_proc_address *get;
  memcpy(&get, &symbol, sizeof get);
  char bare[64];
  snprintf(bare, sizeof bare, "%.*s", (int)bare_length(name), name);
  void *function = NULL;
  int outcome;
  return get(bare, &function, version_of(name), legacy_stream, &outcome) == KDL_CUDA_SUCCESS
             ? function
             : NULL;
}

/* ------------------------------------------------------------------------------------------ */
/* Failures                                                                                     */

/* "CUDA_ERROR_OUT_OF_MEMORY (2): out of memory" */
static void describe(int error, char *text, size_t size) {
  const char *name = NULL;
  const char *words = NULL;
  if (kdl_cuda.error_name(error, &name) != KDL_CUDA_SUCCESS || !name)
    name = "unknown error";
  if (kdl_cuda.error_string(error, &words) != KDL_CUDA_SUCCESS || !words)
    words = "";
  snprintf(text, size, "%s (%d)%s%s", name, error, *words ? ": " : "", words);
}

static kdl_status status_of(int error) {
  switch (error) {
  case KDL_CUDA_ERROR_OUT_OF_MEMORY:
    return KDL_NO_MEMORY;
  case KDL_CUDA_ERROR_NOT_FOUND:
    return KDL_NO_MATCH;
  default:
    return KDL_DEVICE;
  }
}

static const kdl_voice voice = {"cuda", &kdl_cuda_host, describe, status_of};

kdl_status kdl_cuda_fail(uint32_t ordinal, int error, const char *format, ...) {
  va_list args;
  va_start(args, format);
  kdl_status status = kdl_voice_fail(&voice, ordinal, error, format, args);
  va_end(args);
  return status;
}

void kdl_cuda_note(uint32_t ordinal, int error, const char *call) {
  kdl_voice_note(&voice, ordinal, error, call);
}

/* ------------------------------------------------------------------------------------------ */
/* Loading                                                                                      */

static pthread_mutex_t load_lock = PTHREAD_MUTEX_INITIALIZER;
static bool loaded;
static bool has_libraries;
static bool is_alone;

static bool find_libraries(void) {
  const char *modules = kdl_cuda_host->environment("KDL_CUDA_MODULES");
  bool wanted = modules ? strcmp(modules, "1") != 0 : !is_alone;
  return wanted && kdl_cuda.library_load && kdl_cuda.library_unload && kdl_cuda.library_kernel &&
         kdl_cuda.library_global && kdl_cuda.kernel_function && kdl_cuda.kernel_attribute &&
         kdl_cuda.kernel_set;
}

static kdl_status load_locked(void) {
  kdl_driver_resolver resolver = kdl_driver_system;
  resolver.symbol = pinned_symbol;
  resolver.user = (void *)(uintptr_t)&kdl_driver_system;
  kdl_driver_report report = {0};
  if (!kdl_driver_load(&resolver, libraries, symbols, sizeof symbols / sizeof *symbols, &kdl_cuda,
                       &report))
    return kdl_cuda_host->fail(KDL_DEVICE, 0, "%s: %s", report.library, report.words);
  kdl_layer_enter(KDL_LAYER_INIT);
  int error = kdl_cuda.init(0);
  kdl_layer_leave(KDL_LAYER_INIT, &(kdl_layer_about){.driver = report.library,
                                                     .failed = error != KDL_CUDA_SUCCESS});
  if (error != KDL_CUDA_SUCCESS)
    return kdl_voice_no_start(&voice, report.library, "cuInit", error);
  int count = 0;
  is_alone = kdl_cuda.device_count(&count) == KDL_CUDA_SUCCESS && count == 1;
  has_libraries = find_libraries();
  loaded = true;
  kdl_cuda_host->log("%s: code is loaded %s contexts", report.library,
                     has_libraries ? "free of" : "into");
  return KDL_OK;
}

kdl_status kdl_cuda_load(void) {
  pthread_mutex_lock(&load_lock);
  kdl_status status = loaded ? KDL_OK : load_locked();
  pthread_mutex_unlock(&load_lock);
  return status;
}

bool kdl_cuda_has_libraries(void) {
  return has_libraries;
}

bool kdl_cuda_is_alone(void) {
  return is_alone;
}
