/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Launches through the HIP and Level Zero backends, for callgrind: no such device is measured here,
 * so that what counts is how many instructions libkdl adds to the driver's own function.
 *
 *     bench_vendor_launch hip|level_zero N CASE      N launches of one kind
 */
#define KDL_CHECK_ARGUMENTS 0 /* as a program built for release has it */
#include "measure/harness.h"

#include "backends/hip/driver.h"
#include "backends/level_zero/objects.h"
#include "launch/queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  kdl_kernel *empty, *saxpy, *weigh;
  kdl_queue *queue;
  kdl_buffer x, y;
  void *function, *stream; /* HIP's, of a kernel with one argument */
  void *list, *handle;     /* Level Zero's, of one without, and of one with four */
  void *saxpy_handle;
  kdl_launch_desc desc;
  float a;
  uint32_t n;
} subject;

static void must(kdl_status status, const char *what) {
  if (status != KDL_OK) {
    fprintf(stderr, "bench vendor_launch: %s: %s\n", what, kdl_error_message());
    exit(1);
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Launching. Not inlined, so that callgrind can tell them apart.                                */

#define CASE __attribute__((noinline)) static void

CASE hip_direct(subject *at) {
  void *params[] = {&at->x.address};
  int error = kdl_hip.launch(at->function, 16, 1, 1, 128, 1, 1, 0, at->stream, params, NULL);
  bench_keep((const void *)(uintptr_t)error);
}

CASE ze_direct(subject *at) {
  int error = kdl_ze.launch(at->list, at->handle, at->desc.grid, NULL, 0, NULL);
  bench_keep((const void *)(uintptr_t)error);
}

/* As a program does it that remembers nothing. */
CASE ze_direct_saxpy(subject *at) {
  kdl_ze.kernel_group(at->saxpy_handle, 128, 1, 1);
  kdl_ze.kernel_argument(at->saxpy_handle, 0, sizeof at->a, &at->a);
  kdl_ze.kernel_argument(at->saxpy_handle, 1, sizeof at->x.address, &at->x.address);
  kdl_ze.kernel_argument(at->saxpy_handle, 2, sizeof at->y.address, &at->y.address);
  kdl_ze.kernel_argument(at->saxpy_handle, 3, sizeof at->n, &at->n);
  int error = kdl_ze.launch(at->list, at->saxpy_handle, at->desc.grid, NULL, 0, NULL);
  bench_keep((const void *)(uintptr_t)error);
}

/* The driver's function alone, for the kernel with arguments. */
CASE ze_append_saxpy(subject *at) {
  int error = kdl_ze.launch(at->list, at->saxpy_handle, at->desc.grid, NULL, 0, NULL);
  bench_keep((const void *)(uintptr_t)error);
}

CASE hip_launch(subject *at) {
  kdl_status status = kdl_launch(at->weigh, at->queue, &at->desc, KDL_ARGS(&at->x.address));
  bench_keep((const void *)(uintptr_t)status);
}

CASE launch_empty(subject *at) {
  kdl_status status = kdl_launch(at->empty, at->queue, &at->desc, KDL_NO_ARGS);
  bench_keep((const void *)(uintptr_t)status);
}

CASE launch_saxpy(subject *at) {
  kdl_status status =
      kdl_launch(at->saxpy, at->queue, &at->desc, KDL_ARGS(&at->a, &at->x, &at->y, &at->n));
  bench_keep((const void *)(uintptr_t)status);
}

CASE launch_changed(subject *at) {
  ++at->n;
  launch_saxpy(at);
}

static const struct {
  const char *name;
  void (*run)(subject *at);
} cases[] = {
    {"hip_direct", hip_direct},
    {"hip_launch", hip_launch},
    {"ze_direct", ze_direct},
    {"ze_direct_saxpy", ze_direct_saxpy},
    {"ze_append_saxpy", ze_append_saxpy},
    {"launch_empty", launch_empty},
    {"launch_saxpy", launch_saxpy},
    {"launch_changed", launch_changed},
};

/* ------------------------------------------------------------------------------------------ */
/* Setting up                                                                                   */

static void open_subject(subject *at, const char *backend, bool is_hip) {
  kdl_device *device;
  kdl_library *lib;
  must(kdl_device_find(backend, &device), "kdl_device_find");
  must(kdl_open(is_hip ? KDL_BENCH_HSACO : KDL_BENCH_SPIRV, NULL, &lib), "kdl_open");
  must(kdl_queue_create(device, NULL, &at->queue), "kdl_queue_create");
  must(kdl_sym(lib, device, "empty", NULL, &at->empty), "kdl_sym");
  must(kdl_sym(lib, device, "saxpy", NULL, &at->saxpy), "kdl_sym");
  must(kdl_sym(lib, device, "weigh", NULL, &at->weigh), "kdl_sym");
  must(kdl_alloc(device, 1024, &at->x), "kdl_alloc");
  must(kdl_alloc(device, 1024, &at->y), "kdl_alloc");
  at->desc = kdl_grid(16, 1, 1);
  at->desc.block[0] = 128;
  at->desc.block[1] = at->desc.block[2] = 1;
}

/* Not counted. */
static void warm(subject *at, bool with_arguments) {
  kdl_args none = KDL_NO_ARGS, four = KDL_ARGS(&at->a, &at->x, &at->y, &at->n);
  must(with_arguments ? kdl_launch_call(at->saxpy, at->queue, &at->desc, &four)
                      : kdl_launch_call(at->empty, at->queue, &at->desc, &none),
       "kdl_launch_call");
}

static void open_native(subject *at, bool is_hip) {
  warm(at, true);
  if (is_hip) {
    must(kdl_kernel_native(at->weigh, &at->function), "kdl_kernel_native");
    must(kdl_queue_native(at->queue, &at->stream), "kdl_queue_native");
    return;
  }
  const kdl_ze_queue *queue = at->queue->head.queue;
  at->list = queue->list;
  at->saxpy_handle = queue->last->handle;
  warm(at, false);
  at->handle = queue->last->handle;
}

int main(int argc, char **argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: bench_vendor_launch hip|level_zero N CASE\n");
    return 2;
  }
  static subject at;
  bool is_hip = strcmp(argv[1], "hip") == 0;
  open_subject(&at, argv[1], is_hip);
  must(kdl_prefetch(at.empty), "kdl_prefetch");
  open_native(&at, is_hip);
  size_t i = 0;
  while (i < sizeof cases / sizeof *cases && strcmp(cases[i].name, argv[3]) != 0)
    ++i;
  if (i == sizeof cases / sizeof *cases)
    return 2;
  warm(&at, strcmp(argv[3], "launch_empty") != 0 && !is_hip); /* the last kernel on the queue */
  for (long left = strtol(argv[2], NULL, 10); left > 0; --left)
    cases[i].run(&at);
  return 0;
}
