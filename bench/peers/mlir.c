/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * MLIR's CUDA wrapper, libmlir_cuda_runtime.so, called as the host code that mlir-translate makes
 * of gpu.launch_func calls it. It has one device, the first, and makes its context in its first
 * call. It prints errors and returns none but null pointers. Debian does not ship it:
 * bench/flame/mlir_wrapper.sh builds it.
 */
#include "peer.h"

#include "lib/backends/common/driver.h"

typedef struct {
  void *(*stream_create)(void);
  void (*stream_sync)(void *stream);
  void *(*alloc)(uint64_t size, void *stream, bool is_host_shared);
  void (*copy)(void *to, const void *from, size_t size, void *stream);
  void *(*module_load)(const void *data, size_t size);
  void (*module_unload)(void *module);
  void *(*module_function)(void *module, const char *name);
  void (*launch)(void *function, intptr_t grid_x, intptr_t grid_y, intptr_t grid_z,
                 intptr_t block_x, intptr_t block_y, intptr_t block_z, int32_t shared, void *stream,
                 void **args, void **extra, size_t arg_count);
} wrapper_api;

#define NEEDED(field, name) {name, offsetof(wrapper_api, field), KDL_DRIVER_REQUIRED}
static const kdl_driver_symbol wrapper_symbols[] = {
    NEEDED(stream_create, "mgpuStreamCreate"),
    NEEDED(stream_sync, "mgpuStreamSynchronize"),
    NEEDED(alloc, "mgpuMemAlloc"),
    NEEDED(copy, "mgpuMemcpy"),
    NEEDED(module_load, "mgpuModuleLoad"),
    NEEDED(module_unload, "mgpuModuleUnload"),
    NEEDED(module_function, "mgpuModuleGetFunction"),
    NEEDED(launch, "mgpuLaunchKernel"),
};
#undef NEEDED

typedef struct {
  peer_head head;
  wrapper_api mlir;
  void *stream;
  void *module;
  void *function;
} mlir_state;
_Static_assert(sizeof(mlir_state) <= PEER_STATE_LIMIT, "fits");

static bool mlir_load_wrapper(void *state) {
  mlir_state *at = state;
  static const char *const libraries[] = {"libmlir_cuda_runtime.so", NULL};
  return peer_load_library(libraries, wrapper_symbols,
                           sizeof wrapper_symbols / sizeof *wrapper_symbols, &at->mlir);
}

static bool mlir_get_context(void *state) {
  mlir_state *at = state;
  const peer_job *job = at->head.job;
  at->stream = at->mlir.stream_create();
  if (!at->stream)
    return peer_fail("mgpuStreamCreate: found no stream");
  void *buffer = job->buffer_size ? at->mlir.alloc(job->buffer_size, at->stream, false) : NULL;
  if (job->buffer_size && !buffer)
    return peer_fail("mgpuMemAlloc: found no memory");
  at->head.buffer = (uintptr_t)buffer;
  if (job->buffer_data)
    at->mlir.copy(buffer, job->buffer_data, job->buffer_size, at->stream);
  return true;
}

static bool mlir_load(void *state) {
  mlir_state *at = state;
  at->module = at->mlir.module_load(at->head.job->image, at->head.job->image_size);
  return at->module || peer_fail("mgpuModuleLoad: found no module");
}

static bool mlir_find_function(void *state) {
  mlir_state *at = state;
  at->function = at->mlir.module_function(at->module, at->head.job->kernel);
  return at->function || peer_fail("mgpuModuleGetFunction: found no function");
}

static bool mlir_unload(void *state) {
  const mlir_state *at = state;
  at->mlir.module_unload(at->module);
  return true;
}

static bool mlir_launch(void *state) {
  mlir_state *at = state;
  const peer_job *job = at->head.job;
  at->mlir.launch(at->function, job->grid[0], job->grid[1], job->grid[2], job->block[0],
                  job->block[1], job->block[2], 0, at->stream, at->head.args.pointers, NULL,
                  job->arg_count);
  return true;
}

static bool mlir_sync(void *state) {
  const mlir_state *at = state;
  at->mlir.stream_sync(at->stream);
  return true;
}

static bool mlir_read_back(void *state, void *byte) {
  const mlir_state *at = state;
  /* NOLINTNEXTLINE(performance-no-int-to-ptr): an address on the device */
  at->mlir.copy(byte, (const void *)(uintptr_t)at->head.buffer, 1, at->stream);
  return true;
}

const peer peer_mlir = {
    .name = "mlir",
    .what = "MLIR's CUDA wrapper",
    .backend = "cuda",
    .open = peer_open_head,
    .start = {{KDL_TRACE_PHASE_DLOPEN, mlir_load_wrapper},
              {KDL_TRACE_PHASE_CONTEXT, mlir_get_context}},
    .load = {{KDL_TRACE_PHASE_LOAD, mlir_load}, {KDL_TRACE_PHASE_RESOLVE, mlir_find_function}},
    .unload = mlir_unload,
    .arguments = peer_fill_arguments,
    .launch = mlir_launch,
    .sync = mlir_sync,
    .read = mlir_read_back,
};
