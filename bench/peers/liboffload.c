/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * LLVM's liboffload, opened at run time. Its interface is not stable: what is declared here is that
 * of LLVM 22, OffloadAPI.h, and only that library is opened.
 *
 * It sees its devices when it is initialised; a context comes with the first use of one, which here
 * is the queue. Its host device is a stub that crashes, so that only GPUs are taken.
 */
#include "peer.h"

#include "lib/backends/common/driver.h"

#include <string.h>

typedef const struct {
  int code;
  const char *details;
} *offload_result;

typedef struct {
  uint32_t x, y, z;
} offload_dimensions;

typedef struct {
  size_t dimensions;
  offload_dimensions groups;
  offload_dimensions group_size;
  size_t shared;
} offload_shape;

enum { device_platform = 1, platform_backend = 3, symbol_kernel = 0, allocate_on_device = 1 };
enum { backend_unknown = 0, backend_cuda = 1 };

typedef struct {
  offload_result (*init)(void);
  offload_result (*iterate)(bool (*visit)(void *device, void *user), void *user);
  offload_result (*device_info)(void *device, int which, size_t size, void *value);
  offload_result (*platform_info)(void *platform, int which, size_t size, void *value);
  offload_result (*create_queue)(void *device, void **queue);
  offload_result (*sync_queue)(void *queue);
  offload_result (*create_program)(void *device, const void *data, size_t size, void **program);
  offload_result (*destroy_program)(void *program);
  offload_result (*get_symbol)(void *program, const char *name, int kind, void **symbol);
  offload_result (*launch)(void *queue, void *device, void *symbol, const void *args, size_t size,
                           const offload_shape *shape);
  offload_result (*alloc)(void *device, int type, size_t size, void **memory);
  offload_result (*copy)(void *queue, void *to, void *to_device, const void *from,
                         void *from_device, size_t size);
} offload_api;

static const kdl_driver_symbol offload_symbols[] = {
    {"olInit", offsetof(offload_api, init), KDL_DRIVER_REQUIRED},
    {"olIterateDevices", offsetof(offload_api, iterate), KDL_DRIVER_REQUIRED},
    {"olGetDeviceInfo", offsetof(offload_api, device_info), KDL_DRIVER_REQUIRED},
    {"olGetPlatformInfo", offsetof(offload_api, platform_info), KDL_DRIVER_REQUIRED},
    {"olCreateQueue", offsetof(offload_api, create_queue), KDL_DRIVER_REQUIRED},
    {"olSyncQueue", offsetof(offload_api, sync_queue), KDL_DRIVER_REQUIRED},
    {"olCreateProgram", offsetof(offload_api, create_program), KDL_DRIVER_REQUIRED},
    {"olDestroyProgram", offsetof(offload_api, destroy_program), KDL_DRIVER_REQUIRED},
    {"olGetSymbol", offsetof(offload_api, get_symbol), KDL_DRIVER_REQUIRED},
    {"olLaunchKernel", offsetof(offload_api, launch), KDL_DRIVER_REQUIRED},
    {"olMemAlloc", offsetof(offload_api, alloc), KDL_DRIVER_REQUIRED},
    {"olMemcpy", offsetof(offload_api, copy), KDL_DRIVER_REQUIRED},
};

typedef struct {
  peer_head head;
  offload_api ol;
  unsigned skip; /* devices before the one that is wanted */
  void *device;
  void *host; /* the stub: what copies name for the host's side */
  void *queue;
  void *program;
  void *kernel;
  void *buffer;
  offload_shape shape;
} offload_state;
_Static_assert(sizeof(offload_state) <= PEER_STATE_LIMIT, "fits");

static bool offload_check(offload_result result, const char *call) {
  return !result ||
         peer_fail("%s: error %d: %s", call, result->code, result->details ? result->details : "");
}

static bool offload_open(void *state, const peer_job *job) {
  offload_state *at = state;
  at->skip = peer_ordinal(job->device);
  at->shape = (offload_shape){3,
                              {job->grid[0], job->grid[1], job->grid[2]},
                              {job->block[0], job->block[1], job->block[2]},
                              0};
  return peer_open_head(state, job);
}

/* ------------------------------------------------------------------------------------------ */
/* Start                                                                                        */

static bool offload_load_library(void *state) {
  offload_state *at = state;
  static const char *const libraries[] = {"libLLVMOffload.so.22.1", NULL};
  return peer_load_library(libraries, offload_symbols,
                           sizeof offload_symbols / sizeof *offload_symbols, &at->ol);
}

static bool init(void *state) {
  offload_state *at = state;
  return offload_check(at->ol.init(), "olInit");
}

static int backend_of(const offload_state *at, void *device) {
  void *platform = NULL;
  int backend = backend_unknown;
  if (at->ol.device_info(device, device_platform, sizeof(void *), &platform) ||
      at->ol.platform_info(platform, platform_backend, sizeof backend, &backend))
    return backend_unknown;
  return backend;
}

static bool offload_visit_device(void *device, void *user) {
  offload_state *at = user;
  if (backend_of(at, device) != backend_cuda)
    at->host = device;
  else if (!at->device && at->skip-- == 0)
    at->device = device;
  return true;
}

static bool offload_find_device(void *state) {
  offload_state *at = state;
  if (!offload_check(at->ol.iterate(offload_visit_device, at), "olIterateDevices"))
    return false;
  return at->device || peer_fail("olIterateDevices: found no %s", at->head.job->device);
}

static bool offload_make_queue(void *state) {
  offload_state *at = state;
  const peer_job *job = at->head.job;
  size_t size = job->buffer_size;
  if (!offload_check(at->ol.create_queue(at->device, &at->queue), "olCreateQueue") ||
      (size && !offload_check(at->ol.alloc(at->device, allocate_on_device, size, &at->buffer),
                              "olMemAlloc")))
    return false;
  at->head.buffer = (uintptr_t)at->buffer;
  return !job->buffer_data || offload_check(at->ol.copy(at->queue, at->buffer, at->device,
                                                        job->buffer_data, at->host, size),
                                            "olMemcpy");
}

/* ------------------------------------------------------------------------------------------ */
/* Load                                                                                         */

static bool offload_load(void *state) {
  offload_state *at = state;
  return offload_check(at->ol.create_program(at->device, at->head.job->image,
                                             at->head.job->image_size, &at->program),
                       "olCreateProgram");
}

static bool offload_find_kernel(void *state) {
  offload_state *at = state;
  return offload_check(
      at->ol.get_symbol(at->program, at->head.job->kernel, symbol_kernel, &at->kernel),
      "olGetSymbol");
}

static bool offload_unload(void *state) {
  offload_state *at = state;
  return offload_check(at->ol.destroy_program(at->program), "olDestroyProgram");
}

/* ------------------------------------------------------------------------------------------ */
/* Launch                                                                                       */

static bool launch(void *state) {
  offload_state *at = state;
  return offload_check(at->ol.launch(at->queue, at->device, at->kernel, at->head.args.values,
                                     at->head.job->args_size, &at->shape),
                       "olLaunchKernel");
}

static bool offload_sync(void *state) {
  offload_state *at = state;
  return offload_check(at->ol.sync_queue(at->queue), "olSyncQueue");
}

static bool offload_read_back(void *state, void *byte) {
  offload_state *at = state;
  return offload_check(at->ol.copy(at->queue, byte, at->host, at->buffer, at->device, 1),
                       "olMemcpy");
}

const peer peer_liboffload = {
    .name = "liboffload",
    .what = "LLVM 22's liboffload",
    .backend = "cuda",
    .open = offload_open,
    .start = {{KDL_TRACE_PHASE_DLOPEN, offload_load_library},
              {KDL_TRACE_PHASE_INIT, init},
              {KDL_TRACE_PHASE_ENUMERATE, offload_find_device},
              {KDL_TRACE_PHASE_CONTEXT, offload_make_queue}},
    .load = {{KDL_TRACE_PHASE_LOAD, offload_load}, {KDL_TRACE_PHASE_RESOLVE, offload_find_kernel}},
    .unload = offload_unload,
    .arguments = peer_fill_arguments,
    .launch = launch,
    .sync = offload_sync,
    .read = offload_read_back,
};
