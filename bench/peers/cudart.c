/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The CUDA runtime's way: a fat binary that is registered before main, as what nvcc makes of a
 * .cu file does, and loaded by the runtime when its kernel is first needed. The fat binary is made
 * here around the image that every peer launches, so that nvcc is not needed; the layout is in
 * docs/formats.md, the wrapper in fatbinary_section.h of NVIDIA's toolkit.
 */
#include "peer.h"

#include "lib/backends/common/driver.h"
#include "lib/inspect/images.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  unsigned x, y, z;
} dimensions;

typedef struct {
  int magic;
  int version;
  const void *data;
  void *unused;
} fat_wrapper;

enum { wrapper_magic = 0x466243b1, wrapper_version = 1 };
enum { to_device = 1, to_host = 2 }; /* cudaMemcpyKind */
enum { container_size = 16, entry_size = 64, entry_ptx = 1, entry_cubin = 2 };

typedef struct {
  const char *(*error_text)(int error);
  int (*device_count)(int *count);
  int (*set_device)(int device);
  int (*stream_create)(void **stream, unsigned flags);
  int (*stream_sync)(void *stream);
  int (*alloc)(void **memory, size_t size);
  int (*copy)(void *to, const void *from, size_t size, int kind, void *stream);
  int (*launch)(const void *function, dimensions grid, dimensions block, void **args, size_t shared,
                void *stream);
  int (*attributes)(void *attributes, const void *function);
  void **(*add)(void *wrapper);
  void (*add_end)(void **handle);
  void (*add_function)(void **handle, const char *host, char *name, const char *device_name,
                       int thread_limit, void *, void *, void *, void *, int *);
  void (*remove)(void **handle);
} runtime_api;

#define NEEDED(field, name) {name, offsetof(runtime_api, field), KDL_DRIVER_REQUIRED}
static const kdl_driver_symbol cudart_symbols[] = {
    NEEDED(error_text, "cudaGetErrorString"),
    NEEDED(device_count, "cudaGetDeviceCount"),
    NEEDED(set_device, "cudaSetDevice"),
    NEEDED(stream_create, "cudaStreamCreateWithFlags"),
    NEEDED(stream_sync, "cudaStreamSynchronize"),
    NEEDED(alloc, "cudaMalloc"),
    NEEDED(copy, "cudaMemcpyAsync"),
    NEEDED(launch, "cudaLaunchKernel"),
    NEEDED(attributes, "cudaFuncGetAttributes"),
    NEEDED(add, "__cudaRegisterFatBinary"),
    NEEDED(add_end, "__cudaRegisterFatBinaryEnd"),
    NEEDED(add_function, "__cudaRegisterFunction"),
    NEEDED(remove, "__cudaUnregisterFatBinary"),
};
#undef NEEDED

typedef struct {
  peer_head head;
  runtime_api cuda;
  void *fat; /* the container around the image */
  fat_wrapper wrapper;
  void **handle;
  char host_function; /* its address is what nvcc would use the stub's for */
  void *stream;
  void *buffer;
} runtime_state;
_Static_assert(sizeof(runtime_state) <= PEER_STATE_LIMIT, "fits");

static bool cudart_check(const runtime_state *at, int error, const char *call) {
  return error == 0 || peer_fail("%s: error %d: %s", call, error, at->cuda.error_text(error));
}

/* "sm_90a" is 90. */
static unsigned arch_number(const char *arch) {
  return strncmp(arch, "sm_", 3) == 0 ? (unsigned)strtoul(arch + 3, NULL, 10) : 0;
}

static void put32(uint8_t *at, uint32_t value) {
  memcpy(at, &value, sizeof value);
}

static void put64(uint8_t *at, uint64_t value) {
  memcpy(at, &value, sizeof value);
}

/* One entry, stored as it is. Flags 0x11: 64 bits, Linux; 0x100000 marks code for one generation
 * alone, as sm_90a. */
static bool cudart_wrap_image(runtime_state *at, const peer_job *job) {
  kdl_image_target target;
  kdl_image_kind kind = kdl_image_sniff(job->image, job->image_size);
  if ((kind != KDL_IMAGE_CUBIN && kind != KDL_IMAGE_PTX) ||
      kdl_image_read_target(kind, job->image, job->image_size, &target) != KDL_OK)
    return peer_fail("the image is neither a cubin nor PTX");
  size_t payload = (job->image_size + 1 + 7) / 8 * 8;
  uint8_t *data = calloc(1, container_size + entry_size + payload);
  if (!data)
    return peer_fail("out of memory");
  put32(data, 0xba55ed50);
  put32(data + 4, 1 | container_size << 16);
  put64(data + 8, entry_size + payload);
  uint8_t *entry = data + container_size;
  bool specific = target.arch[0] && target.arch[strlen(target.arch) - 1] == 'a';
  put32(entry, (kind == KDL_IMAGE_PTX ? entry_ptx : entry_cubin) | 0x01010000);
  put32(entry + 4, entry_size);
  put64(entry + 8, payload);
  put32(entry + 24, kind == KDL_IMAGE_PTX ? 0x00090000 : 0x00010007);
  put32(entry + 28, arch_number(target.arch));
  put64(entry + 40, specific ? 0x100011 : 0x11);
  memcpy(entry + entry_size, job->image, job->image_size);
  at->fat = data;
  at->wrapper = (fat_wrapper){wrapper_magic, wrapper_version, data, NULL};
  return true;
}

static bool cudart_open(void *state, const peer_job *job) {
  runtime_state *at = state;
  return peer_open_head(state, job) && cudart_wrap_image(at, job);
}

static void cudart_close(void *state) {
  const runtime_state *at = state;
  free(at->fat);
}

/* ------------------------------------------------------------------------------------------ */
/* Start                                                                                        */

static bool cudart_load_runtime(void *state) {
  runtime_state *at = state;
  static const char *const libraries[] = {"libcudart.so.13", "libcudart.so.12", NULL};
  return peer_load_library(libraries, cudart_symbols,
                           sizeof cudart_symbols / sizeof *cudart_symbols, &at->cuda);
}

/* The first call opens libcuda and initialises it. */
static bool cudart_init(void *state) {
  runtime_state *at = state;
  int count;
  return cudart_check(at, at->cuda.device_count(&count), "cudaGetDeviceCount");
}

static bool cudart_get_context(void *state) {
  runtime_state *at = state;
  const peer_job *job = at->head.job;
  enum { non_blocking = 1 };
  if (!cudart_check(at, at->cuda.set_device((int)peer_ordinal(job->device)), "cudaSetDevice") ||
      !cudart_check(at, at->cuda.stream_create(&at->stream, non_blocking),
                    "cudaStreamCreateWithFlags") ||
      (job->buffer_size &&
       !cudart_check(at, at->cuda.alloc(&at->buffer, job->buffer_size), "cudaMalloc")))
    return false;
  at->head.buffer = (uintptr_t)at->buffer;
  return !job->buffer_data || cudart_check(at,
                                           at->cuda.copy(at->buffer, job->buffer_data,
                                                         job->buffer_size, to_device, at->stream),
                                           "cudaMemcpyAsync");
}

/* ------------------------------------------------------------------------------------------ */
/* Load                                                                                         */

static bool cudart_register_fat_binary(void *state) {
  runtime_state *at = state;
  at->handle = at->cuda.add(&at->wrapper);
  at->cuda.add_function(at->handle, &at->host_function, (char *)(uintptr_t)at->head.job->kernel,
                        at->head.job->kernel, -1, NULL, NULL, NULL, NULL, NULL);
  at->cuda.add_end(at->handle);
  return true;
}

/* The first question about a kernel makes the runtime choose an image and load it. */
static bool cudart_load(void *state) {
  runtime_state *at = state;
  char room[1024];
  return cudart_check(at, at->cuda.attributes(room, &at->host_function), "cudaFuncGetAttributes");
}

static bool cudart_unload(void *state) {
  runtime_state *at = state;
  at->cuda.remove(at->handle);
  return true;
}

/* ------------------------------------------------------------------------------------------ */
/* Launch                                                                                       */

static bool launch(void *state) {
  runtime_state *at = state;
  const uint32_t *grid = at->head.job->grid;
  const uint32_t *block = at->head.job->block;
  return cudart_check(at,
                      at->cuda.launch(&at->host_function, (dimensions){grid[0], grid[1], grid[2]},
                                      (dimensions){block[0], block[1], block[2]},
                                      at->head.args.pointers, 0, at->stream),
                      "cudaLaunchKernel");
}

static bool cudart_sync(void *state) {
  runtime_state *at = state;
  return cudart_check(at, at->cuda.stream_sync(at->stream), "cudaStreamSynchronize");
}

static bool cudart_read_back(void *state, void *byte) {
  runtime_state *at = state;
  return cudart_check(at, at->cuda.copy(byte, at->buffer, 1, to_host, at->stream),
                      "cudaMemcpyAsync");
}

const peer peer_cudart = {
    .name = "cudart",
    .what = "the CUDA runtime, a registered fat binary",
    .backend = "cuda",
    .open = cudart_open,
    .close = cudart_close,
    .start = {{KDL_TRACE_PHASE_DLOPEN, cudart_load_runtime},
              {KDL_TRACE_PHASE_INIT, cudart_init},
              {KDL_TRACE_PHASE_CONTEXT, cudart_get_context}},
    .load = {{KDL_TRACE_PHASE_OPEN, cudart_register_fat_binary},
             {KDL_TRACE_PHASE_LOAD, cudart_load}},
    .unload = cudart_unload,
    .arguments = peer_fill_arguments,
    .launch = launch,
    .sync = cudart_sync,
    .read = cudart_read_back,
};
