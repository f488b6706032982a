/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * libkdl next to OpenCL itself, in one process, on one device: launches that repeat the last one,
 * launches in which one argument differs, and kernels with more and fewer arguments.
 *
 *     bench_opencl_launch [BLOCKS]      at least 30 of them
 *
 * Returns 77 where there is no OpenCL device.
 */
#define KDL_CHECK_ARGUMENTS 0 /* as a program built for release has it */
#include "measure/harness.h"
#include "measure/must.h"

#include "lib/backends/opencl/driver.h"

#include <kdl/kdl.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { queued = 100, least_blocks = 30, group = 64, most_arguments = 16 };

typedef struct {
  kdl_device *device;
  kdl_library *lib;
  kdl_queue *queue;
  kdl_kernel *kernel;
  kdl_launch_desc desc;
  void *native_queue;
  void *native_kernel; /* of our own, with its arguments set */
  uint32_t values[most_arguments];
  const void *pointers[most_arguments];
  kdl_args args;
} subject;

/* ------------------------------------------------------------------------------------------ */
/* Launching                                                                                    */

#define CASE __attribute__((noinline)) static void

CASE launch_direct(void *context) {
  const subject *at = context;
  static const size_t global[3] = {group, 1, 1}, local[3] = {group, 1, 1};
  int32_t error =
      kdl_opencl.launch(at->native_queue, at->native_kernel, 3, NULL, global, local, 0, NULL, NULL);
  bench_do_not_optimize((const void *)(uintptr_t)error);
}

CASE launch_set(void *context) {
  subject *at = context;
  static const size_t global[3] = {group, 1, 1}, local[3] = {group, 1, 1};
  ++at->values[0];
  int32_t error = kdl_opencl.set_arg(at->native_kernel, 0, sizeof at->values[0], &at->values[0]);
  error |=
      kdl_opencl.launch(at->native_queue, at->native_kernel, 3, NULL, global, local, 0, NULL, NULL);
  bench_do_not_optimize((const void *)(uintptr_t)error);
}

CASE launch_kdl(void *context) {
  const subject *at = context;
  kdl_status status = kdl_launch(at->kernel, at->queue, &at->desc, at->args);
  bench_do_not_optimize((const void *)(uintptr_t)status);
}

CASE launch_items(void *context) {
  const subject *at = context;
  kdl_status status = kdl_launch_items(at->kernel, at->queue, kdl_extent1(group), at->args);
  bench_do_not_optimize((const void *)(uintptr_t)status);
}

CASE launch_changed(void *context) {
  subject *at = context;
  ++at->values[0];
  kdl_status status = kdl_launch(at->kernel, at->queue, &at->desc, at->args);
  bench_do_not_optimize((const void *)(uintptr_t)status);
}

/* ------------------------------------------------------------------------------------------ */
/* Set-up                                                                                       */

/* kernel void takeN(uint a0, uint a1, ...) */
static void write_source(char *text, size_t size, unsigned count) {
  size_t used = (size_t)snprintf(text, size, "kernel void take%u(", count);
  for (unsigned i = 0; i < count; ++i)
    used += (size_t)snprintf(text + used, size - used, "%suint a%u", i ? ", " : "", i);
  snprintf(text + used, size - used, ") {}\n");
}

static kdl_string to_kdl_string(const char *words) {
  return (kdl_string){words, strlen(words)};
}

static void open_subject_library(subject *at, const char *source, const char *name) {
  kdl_writer *writer;
  void *data;
  size_t size;
  char key[64], value[32];
  snprintf(key, sizeof key, "kdl.kernel.%s", name);
  snprintf(value, sizeof value, "block=%d", group);
  kdl_pair pairs[] = {{to_kdl_string("triple"), to_kdl_string("spir64-unknown-unknown")},
                      {to_kdl_string("kdl.kind"), to_kdl_string("cl")},
                      {to_kdl_string(key), to_kdl_string(value)}};
  kdl_writer_image image = {.size = sizeof image,
                            .pairs = pairs,
                            .pair_count = 3,
                            .data = source,
                            .data_size = strlen(source)};
  bench_require(kdl_writer_create(KDL_FORMAT_V1, &writer), "writer");
  bench_require(kdl_writer_add(writer, &image), "writer");
  bench_require(kdl_writer_finish(writer, &data, &size), "writer");
  kdl_writer_destroy(writer);
  bench_require(kdl_open_memory(data, size, NULL, &at->lib), "open");
}

/* The raw side uses the same context and queue. */
static void open_raw_opencl(subject *at, const char *source, const char *name, unsigned count) {
  void *context, *device;
  int32_t error;
  bench_require(kdl_device_native(at->device, KDL_NATIVE_CONTEXT, &context), "context");
  bench_require(kdl_device_native(at->device, KDL_NATIVE_DEVICE, &device), "device");
  bench_require(kdl_queue_native(at->queue, &at->native_queue), "queue");
  size_t length = strlen(source);
  void *program = kdl_opencl.program_source(context, 1, &source, &length, &error);
  bench_require_call(error, "clCreateProgramWithSource");
  bench_require_call(kdl_opencl.program_build(program, 1, &device, "", NULL, NULL),
                     "clBuildProgram");
  at->native_kernel = kdl_opencl.kernel_create(program, name, &error);
  bench_require_call(error, "clCreateKernel");
  for (unsigned i = 0; i < count; ++i)
    bench_require_call(
        kdl_opencl.set_arg(at->native_kernel, i, sizeof at->values[i], &at->values[i]),
        "clSetKernelArg");
}

static void open_opencl_subject(subject *at, unsigned count) {
  char source[512], name[16];
  write_source(source, sizeof source, count);
  snprintf(name, sizeof name, "take%u", count);
  for (unsigned i = 0; i < count; ++i)
    at->pointers[i] = &at->values[i];
  at->args = (kdl_args){count, at->pointers, NULL};
  at->desc = kdl_grid(1, 1, 1);
  bench_require(kdl_queue_create(at->device, NULL, &at->queue), "queue");
  open_subject_library(at, source, name);
  bench_require(kdl_sym(at->lib, at->device, name, NULL, &at->kernel), "sym");
  bench_require(kdl_prefetch(at->kernel), "load");
  open_raw_opencl(at, source, name, count);
  launch_kdl(at);
}

/* ------------------------------------------------------------------------------------------ */
/* Times                                                                                        */

static void sync_subject(const subject *at) {
  bench_require(kdl_sync(at->queue), "kdl_sync");
}

#define QUEUED(name, launch)                                                                       \
  static void queued_##name(void *context) {                                                       \
    for (int i = 0; i < queued; ++i)                                                               \
      launch(context);                                                                             \
    sync_subject(context);                                                                         \
  }
QUEUED(direct, launch_direct)
QUEUED(kdl, launch_kdl)
QUEUED(items, launch_items)
QUEUED(set, launch_set)
QUEUED(changed, launch_changed)

static void report_arguments(const subject *at, unsigned count, size_t blocks) {
  static bench_run run;
  void *context = (void *)(uintptr_t)at;
  const bench_case cases[] = {
      {"clEnqueueNDRangeKernel", queued_direct, context},
      {"kdl_launch, nothing differs", queued_kdl, context},
      {"kdl_launch_items, nothing differs", queued_items, context},
      {"clSetKernelArg, clEnqueueNDRangeKernel", queued_set, context},
      {"kdl_launch, one argument differs", queued_changed, context},
  };
  static const size_t peers[] = {0, 0, 0, 3, 3};
  bench_measure(cases, sizeof cases / sizeof *cases, blocks, 3, &run);
  printf("%d launches of an empty kernel with %u arguments, then a wait: per launch\n", queued,
         count);
  printf("  %-42s %10s %10s %10s   %s\n", "", "median ns", "p5", "p95",
         "ns more than its peer, 95% interval");
  const double launches = queued;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    bench_summary each = bench_summarise(&run, i);
    bench_interval more = bench_difference(&run, i, peers[i]);
    printf("  %-42s %10.1f %10.1f %10.1f", cases[i].name, each.median / launches,
           each.p5 / launches, each.p95 / launches);
    if (i != peers[i])
      printf("   %.2f  %.2f .. %.2f", more.median / launches, more.low / launches,
             more.high / launches);
    putchar('\n');
  }
  putchar('\n');
  fflush(stdout);
}

int main(int argc, char **argv) {
  static subject subjects[3];
  static const unsigned counts[] = {1, 4, 16};
  kdl_device *device;
  if (kdl_device_find("opencl", &device) != KDL_OK) {
    printf("skipped: %s\n", kdl_error_message());
    return 77;
  }
  size_t blocks = argc > 1 ? strtoul(argv[1], NULL, 10) : 60;
  blocks = blocks < least_blocks ? least_blocks : blocks;
  printf("kdl bench opencl_launch, libkdl %s: %zu interleaved blocks\n%s\n\n", kdl_version(),
         blocks, kdl_device_spec_text(device));
  for (size_t i = 0; i < 3; ++i) {
    subjects[i].device = device;
    open_opencl_subject(&subjects[i], counts[i]);
    report_arguments(&subjects[i], counts[i], blocks);
  }
  return 0;
}
