/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/backends/cuda/driver.h"

#include "lib/backends/common/driver.h"
#include "support/system/variables.h"

#include <stdio.h>
#include <string.h>

kdl_cuda_api kdl_cuda;

static const kdl_driver_symbol cuda_symbols[] = {
#define KDL_CUDA_SYMBOL(need, field, name, version, parameters)                                    \
  {#name, offsetof(kdl_cuda_api, field), KDL_DRIVER_##need},
#include "lib/backends/cuda/symbols.def"
#undef KDL_CUDA_SYMBOL
};

static const int cuda_symbol_versions[] = {
#define KDL_CUDA_SYMBOL(need, field, name, version, parameters) version,
#include "lib/backends/cuda/symbols.def"
#undef KDL_CUDA_SYMBOL
};

/* ------------------------------------------------------------------------------------------ */
/* Entry points at pinned versions                                                              */

/* Pinned, so that a program built with per-thread default streams does not affect libkdl. */
enum { legacy_stream = 1 };

/* "cuMemAlloc_v2" without its "_v2". */
static const char *cuda_unversioned_name(const char *name, char room[64]) {
  size_t length = strlen(name);
  if (length < 4 || length >= 64 || name[length - 3] != '_' || name[length - 2] != 'v')
    return name;
  memcpy(room, name, length - 3);
  room[length - 3] = '\0';
  return room;
}

/* Asks cuGetProcAddress if the driver has it, else dlsym. */
static void *cuda_find_pinned_symbol(const kdl_driver *driver, const kdl_driver_symbol *symbol) {
  if (!kdl_cuda.find)
    return driver->resolver.symbol(driver->resolver.user, driver->library, symbol->name);
  char room[64];
  void *function = NULL;
  int outcome;
  int error = kdl_cuda.find(cuda_unversioned_name(symbol->name, room), &function,
                            cuda_symbol_versions[symbol - cuda_symbols], legacy_stream, &outcome);
  return error == KDL_CUDA_SUCCESS ? function : NULL;
}

/* ------------------------------------------------------------------------------------------ */
/* Failures                                                                                     */

/* "CUDA_ERROR_OUT_OF_MEMORY (2): out of memory" */
static void cuda_describe_error(int error, char *text, size_t size) {
  const char *name = NULL;
  const char *words = NULL;
  if (!kdl_cuda.error_name || kdl_cuda.error_name(error, &name) != KDL_CUDA_SUCCESS || !name)
    name = "unknown error";
  if (!kdl_cuda.error_string || kdl_cuda.error_string(error, &words) != KDL_CUDA_SUCCESS || !words)
    words = "";
  snprintf(text, size, "%s (%d)%s%s", name, error, *words ? ": " : "", words);
}

const kdl_driver_errors kdl_cuda_errors = {
    .backend = "cuda",
    .describe = cuda_describe_error,
    .no_memory = (const int[]){KDL_CUDA_ERROR_OUT_OF_MEMORY, 0},
    .no_match = (const int[]){KDL_CUDA_ERROR_NOT_FOUND, 0},
    .no_device = (const int[]){KDL_CUDA_ERROR_NO_DEVICE, 0},
};

/* ------------------------------------------------------------------------------------------ */
/* Loading                                                                                      */

static bool cuda_uses_libraries;
static bool cuda_has_one_device;

static bool cuda_wants_libraries(void) {
  const char *modules = kdl_environment(KDL_VARIABLE_CUDA_MODULES);
  bool wanted = modules ? strcmp(modules, "1") != 0 : !cuda_has_one_device;
  return wanted && kdl_cuda.library_load && kdl_cuda.library_unload && kdl_cuda.library_kernel &&
         kdl_cuda.library_global && kdl_cuda.kernel_function && kdl_cuda.kernel_attribute &&
         kdl_cuda.kernel_set;
}

static void cuda_driver_ready(const char *library) {
  int count = 0;
  cuda_has_one_device = kdl_cuda.device_count(&count) == KDL_CUDA_SUCCESS && count == 1;
  cuda_uses_libraries = cuda_wants_libraries();
  kdl_core_services.log("%s: code is loaded %s contexts", library,
                        cuda_uses_libraries ? "free of" : "into");
}

static int cuda_start(const char **out_call) {
  *out_call = "cuInit";
  return kdl_cuda.init(0);
}

kdl_driver kdl_cuda_driver = {
    .libraries = (const char *const[]){"libcuda.so.1", NULL},
    .symbols = cuda_symbols,
    .symbol_count = sizeof cuda_symbols / sizeof *cuda_symbols,
    .table = &kdl_cuda,
    .start = cuda_start,
    .find = cuda_find_pinned_symbol,
};

kdl_status kdl_cuda_load(void) {
  return kdl_backend_start_driver(&kdl_cuda_driver, &kdl_cuda_errors, cuda_driver_ready);
}

bool kdl_cuda_has_libraries(void) {
  return cuda_uses_libraries;
}

bool kdl_cuda_is_single_device(void) {
  return cuda_has_one_device;
}
