/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The functions of MLIR's CUDA runtime that #gpu.select_object calls: the same driver calls in the
 * same order, with the primary context pushed and popped where upstream does. Debian ships no such
 * library. The functions have other names, so that one program can also link libkdl_mlir_runtime;
 * the object that calls them is renamed to match.
 */
#include "upstream.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DRIVER(X)                                                                                  \
  X(init, cuInit, (unsigned))                                                                      \
  X(device, cuDeviceGet, (int *, int))                                                             \
  X(retain, cuDevicePrimaryCtxRetain, (void **, int))                                              \
  X(push, cuCtxPushCurrent_v2, (void *))                                                           \
  X(pop, cuCtxPopCurrent_v2, (void **))                                                            \
  X(load, cuModuleLoadDataEx, (void **, const void *, unsigned, int *, void **))                   \
  X(unload, cuModuleUnload, (void *))                                                              \
  X(function, cuModuleGetFunction, (void **, void *, const char *))                                \
  X(stream_create, cuStreamCreate, (void **, unsigned))                                            \
  X(stream_destroy, cuStreamDestroy_v2, (void *))                                                  \
  X(stream_sync, cuStreamSynchronize, (void *))                                                    \
  X(launch, cuLaunchKernel,                                                                        \
    (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,         \
     void **, void **))

#define DECLARE(field, name, parameters) int(*field) parameters;
static struct {
  DRIVER(DECLARE)
} driver;
static void *context;

enum { non_blocking = 1 };

static void check_driver_call(int code, const char *what) {
  if (code == 0)
    return;
  fprintf(stderr, "upstream: %s: error %d\n", what, code);
  exit(1);
}

bool upstream_open(void) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW);
  int device = 0;
  if (!library)
    return false;
#define FIND(field, name, parameters)                                                              \
  {                                                                                                \
    void *symbol = dlsym(library, #name);                                                          \
    if (!symbol)                                                                                   \
      return false;                                                                                \
    memcpy(&driver.field, &symbol, sizeof symbol);                                                 \
  }
  DRIVER(FIND)
  if (driver.init(0) != 0 || driver.device(&device, 0) != 0)
    return false;
  check_driver_call(driver.retain(&context, device), "cuDevicePrimaryCtxRetain");
  return true;
}

static void push_context(void) {
  check_driver_call(driver.push(context), "cuCtxPushCurrent");
}

static void pop_context(void) {
  void *popped;
  check_driver_call(driver.pop(&popped), "cuCtxPopCurrent");
}

/* Constructors run before main, when the program does not know yet whether there is a driver. */
static const char *waiting_text;
static void *module;

void *upstreamModuleLoadJIT(const char *text, int32_t opt_level) {
  (void)opt_level;
  waiting_text = text;
  return &module;
}

void upstreamModuleUnload(void *handle) {
  (void)handle;
  if (module)
    driver.unload(module); /* the driver may be unloaded by now */
}

void upstream_load(void) {
  push_context();
  check_driver_call(driver.load(&module, waiting_text, 0, NULL, NULL), "cuModuleLoadDataEx");
  pop_context();
}

void *upstreamModuleGetFunction(void **handle, const char *name) {
  void *function;
  check_driver_call(driver.function(&function, *handle, name), "cuModuleGetFunction");
  return function;
}

void *upstreamStreamCreate(void) {
  void *stream;
  push_context();
  check_driver_call(driver.stream_create(&stream, non_blocking), "cuStreamCreate");
  pop_context();
  return stream;
}

void upstreamStreamDestroy(void *stream) {
  check_driver_call(driver.stream_destroy(stream), "cuStreamDestroy");
}

void upstreamStreamSynchronize(void *stream) {
  check_driver_call(driver.stream_sync(stream), "cuStreamSynchronize");
}

void upstreamLaunchKernel(void *function, intptr_t grid_x, intptr_t grid_y, intptr_t grid_z,
                          intptr_t block_x, intptr_t block_y, intptr_t block_z, int32_t shared,
                          void *stream, void **params, void **extra, uint64_t count) {
  (void)count;
  push_context();
  check_driver_call(driver.launch(function, (unsigned)grid_x, (unsigned)grid_y, (unsigned)grid_z,
                                  (unsigned)block_x, (unsigned)block_y, (unsigned)block_z,
                                  (unsigned)shared, stream, params, extra),
                    "cuLaunchKernel");
  pop_context();
}
