/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * From a library to the end of a kernel's first launch in this process, step by step: what linking
 * and loading cost a program.
 *
 *     bench_first_launch LIBRARY KERNEL DEVICE THREADS GROUP_BYTES ARGUMENT...
 *
 * One group is launched. An ARGUMENT is "buffer", 1 MiB of zeros on the device, or an int32_t.
 * Prints the microseconds of each step as JSON. The cache decides whether kdl_prefetch links:
 * bench/gpu_first_launch.py runs this with an empty and with a full one.
 */
#include "measure/must.h"

#include <kdl/kdl.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { most_arguments = 16, buffer_bytes = 1 << 20 };

typedef struct {
  const char *name;
  double us;
} step;

static step steps[16];
static size_t step_count;
static double last;

static double now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void end_step(const char *name, kdl_status status) {
  double now = now_us();
  bench_require(status, name);
  steps[step_count++] = (step){name, now - last};
  last = now_us();
}

int main(int argc, char **argv) {
  if (argc < 6 || argc > 6 + most_arguments) {
    fprintf(stderr, "usage: %s LIBRARY KERNEL DEVICE THREADS GROUP_BYTES ARGUMENT...\n", argv[0]);
    return 2;
  }
  kdl_library *library;
  kdl_device *device;
  kdl_queue *queue;
  kdl_kernel *kernel;
  kdl_buffer buffer;
  const void *pointers[most_arguments];
  int32_t numbers[most_arguments];
  last = now_us();
  end_step("device", kdl_device_find(argv[3], &device));
  end_step("queue", kdl_queue_create(device, NULL, &queue));
  bench_require(kdl_alloc(device, buffer_bytes, &buffer), "kdl_alloc");
  bench_require(kdl_fill(queue, &buffer, 0, buffer_bytes, &(uint32_t){0}, 4), "kdl_fill");
  bench_require(kdl_sync(queue), "kdl_sync");
  for (int i = 6; i < argc; ++i) {
    numbers[i - 6] = (int32_t)strtol(argv[i], NULL, 10);
    pointers[i - 6] = strcmp(argv[i], "buffer") == 0 ? (const void *)&buffer : &numbers[i - 6];
  }
  kdl_args args = {(size_t)argc - 6, pointers, NULL};
  kdl_launch_desc desc = kdl_grid(1, 1, 1);
  desc.block[0] = (uint32_t)strtoul(argv[4], NULL, 10);
  desc.block[1] = desc.block[2] = 1;
  desc.shared = (uint32_t)strtoul(argv[5], NULL, 10);
  last = now_us();
  end_step("open", kdl_open(argv[1], NULL, &library));
  end_step("sym", kdl_sym(library, device, argv[2], NULL, &kernel));
  end_step("prefetch", kdl_prefetch(kernel));
  end_step("launch", kdl_launch_call(kernel, queue, &desc, &args));
  end_step("sync", kdl_sync(queue));
  bench_require(kdl_launch_call(kernel, queue, &desc, &args), "kdl_launch");
  end_step("again", kdl_sync(queue));
  kdl_kernel_info info = {.size = sizeof info};
  bench_require(kdl_kernel_get(kernel, &info), "kdl_kernel_get");
  printf("{\"image\": \"%s\"", kdl_image_kind_name(info.kind));
  for (size_t i = 0; i < step_count; ++i)
    printf(", \"%s\": %.1f", steps[i].name, steps[i].us);
  printf("}\n");
  kdl_queue_destroy(queue);
  kdl_close(library);
  return 0;
}
