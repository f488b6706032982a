/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The CUDA driver itself, as a program that knows its one image would use it: with modules, which
 * belong to a context, and with libraries, which do not. */
#include "peer.h"

#include "lib/backends/common/driver.h"
#include "lib/backends/cuda/driver.h"

#include <string.h>

typedef struct {
  peer_head head;
  kdl_cuda_api cuda;
  void *context;
  void *stream;
  void *code; /* CUmodule or CUlibrary */
  void *function;
} driver_state;
_Static_assert(sizeof(driver_state) <= PEER_STATE_LIMIT, "fits");

static bool driver_check(const driver_state *at, int error, const char *call) {
  if (error == KDL_CUDA_SUCCESS)
    return true;
  const char *name = NULL;
  at->cuda.error_name(error, &name);
  return peer_fail("%s: %s (%d)", call, name ? name : "unknown error", error);
}

/* ------------------------------------------------------------------------------------------ */
/* Start                                                                                        */

static bool driver_load(void *state) {
  driver_state *at = state;
  static const char *const libraries[] = {"libcuda.so.1", NULL};
  static const kdl_driver_symbol symbols[] = {
#define KDL_CUDA_SYMBOL(need, field, name, version, parameters)                                    \
  {#name, offsetof(kdl_cuda_api, field), KDL_DRIVER_##need},
#include "lib/backends/cuda/symbols.def"
#undef KDL_CUDA_SYMBOL
  };
  return peer_load_library(libraries, symbols, sizeof symbols / sizeof *symbols, &at->cuda);
}

static bool driver_init(void *state) {
  driver_state *at = state;
  return driver_check(at, at->cuda.init(0), "cuInit");
}

static bool driver_get_context(void *state) {
  driver_state *at = state;
  const kdl_cuda_api *cuda = &at->cuda;
  int device;
  return driver_check(at, cuda->device_get(&device, (int)peer_ordinal(at->head.job->device)),
                      "cuDeviceGet") &&
         driver_check(at, cuda->context_retain(&at->context, device), "cuDevicePrimaryCtxRetain") &&
         driver_check(at, cuda->context_push(at->context), "cuCtxPushCurrent") &&
         driver_check(at, cuda->stream_create(&at->stream, KDL_CUDA_STREAM_NON_BLOCKING, 0),
                      "cuStreamCreateWithPriority") &&
         (!at->head.job->buffer_size ||
          driver_check(at, cuda->alloc(&at->head.buffer, at->head.job->buffer_size),
                       "cuMemAlloc")) &&
         (!at->head.job->buffer_data ||
          driver_check(at,
                       cuda->write(at->head.buffer, at->head.job->buffer_data,
                                   at->head.job->buffer_size, at->stream),
                       "cuMemcpyHtoDAsync"));
}

/* ------------------------------------------------------------------------------------------ */
/* Load                                                                                         */

static bool driver_load_module(void *state) {
  driver_state *at = state;
  return driver_check(at, at->cuda.module_load(&at->code, at->head.job->image, 0, NULL, NULL),
                      "cuModuleLoadDataEx");
}

static bool driver_find_function(void *state) {
  driver_state *at = state;
  return driver_check(at, at->cuda.module_function(&at->function, at->code, at->head.job->kernel),
                      "cuModuleGetFunction");
}

static bool driver_unload_module(void *state) {
  driver_state *at = state;
  return driver_check(at, at->cuda.module_unload(at->code), "cuModuleUnload");
}

/* The driver loads a library's code into a context when a kernel of it is first used there;
 * cuKernelGetFunction is that use. */
static bool driver_load_library(void *state) {
  driver_state *at = state;
  if (!at->cuda.library_load)
    return peer_fail("libcuda.so.1: it has no cuLibraryLoadData, which came with CUDA 12");
  return driver_check(
      at, at->cuda.library_load(&at->code, at->head.job->image, NULL, NULL, 0, NULL, NULL, 0),
      "cuLibraryLoadData");
}

static bool driver_find_library_kernel(void *state) {
  driver_state *at = state;
  void *loaded;
  return driver_check(at, at->cuda.library_kernel(&at->function, at->code, at->head.job->kernel),
                      "cuLibraryGetKernel") &&
         driver_check(at, at->cuda.kernel_function(&loaded, at->function), "cuKernelGetFunction");
}

static bool driver_unload_library(void *state) {
  driver_state *at = state;
  return driver_check(at, at->cuda.library_unload(at->code), "cuLibraryUnload");
}

/* ------------------------------------------------------------------------------------------ */
/* Launch                                                                                       */

static bool driver_launch(void *state) {
  driver_state *at = state;
  const uint32_t *grid = at->head.job->grid;
  const uint32_t *block = at->head.job->block;
  return driver_check(at,
                      at->cuda.launch(at->function, grid[0], grid[1], grid[2], block[0], block[1],
                                      block[2], 0, at->stream, at->head.args.pointers, NULL),
                      "cuLaunchKernel");
}

static bool driver_sync(void *state) {
  driver_state *at = state;
  return driver_check(at, at->cuda.stream_sync(at->stream), "cuStreamSynchronize");
}

static bool driver_read_back(void *state, void *byte) {
  driver_state *at = state;
  return driver_check(at, at->cuda.read(byte, at->head.buffer, 1, at->stream), "cuMemcpyDtoHAsync");
}

const peer peer_driver = {
    .name = "driver",
    .what = "the CUDA driver, modules",
    .backend = "cuda",
    .open = peer_open_head,
    .start = {{KDL_TRACE_PHASE_DLOPEN, driver_load},
              {KDL_TRACE_PHASE_INIT, driver_init},
              {KDL_TRACE_PHASE_CONTEXT, driver_get_context}},
    .load = {{KDL_TRACE_PHASE_LOAD, driver_load_module},
             {KDL_TRACE_PHASE_RESOLVE, driver_find_function}},
    .unload = driver_unload_module,
    .arguments = peer_fill_arguments,
    .launch = driver_launch,
    .sync = driver_sync,
    .read = driver_read_back,
};

const peer peer_driver_library = {
    .name = "driver-library",
    .what = "the CUDA driver, libraries",
    .backend = "cuda",
    .open = peer_open_head,
    .start = {{KDL_TRACE_PHASE_DLOPEN, driver_load},
              {KDL_TRACE_PHASE_INIT, driver_init},
              {KDL_TRACE_PHASE_CONTEXT, driver_get_context}},
    .load = {{KDL_TRACE_PHASE_LOAD, driver_load_library},
             {KDL_TRACE_PHASE_RESOLVE, driver_find_library_kernel}},
    .unload = driver_unload_library,
    .arguments = peer_fill_arguments,
    .launch = driver_launch,
    .sync = driver_sync,
    .read = driver_read_back,
};
