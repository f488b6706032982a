/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * From nothing to a queue on a device of a fake driver, once, for callgrind: what it costs next to
 * the driver to find the device and to make the first queue on it.
 *
 *     bench_cold cuda
 */
#include "measure/must.h"

#include <kdl/kdl.h>

#include <stdio.h>
#include <stdlib.h>

/* Not inlined and not renamed, so that callgrind can tell them apart. */
#if defined(__clang__)
#define STEP __attribute__((noinline)) static void
#else
#define STEP __attribute__((noipa)) static void
#endif

STEP step_find(const char *name, kdl_device **out_device) {
  bench_require(kdl_device_find(name, out_device), "kdl_device_find");
}

STEP step_queue(kdl_device *device, kdl_queue **out_queue) {
  bench_require(kdl_queue_create(device, NULL, out_queue), "kdl_queue_create");
}

int main(int argc, char **argv) {
  kdl_device *device;
  kdl_queue *queue;
  step_find(argc > 1 ? argv[1] : "cuda", &device);
  step_queue(device, &queue);
  kdl_queue_destroy(queue);
  return 0;
}
