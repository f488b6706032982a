/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Launches through the HIP, Level Zero and OpenCL backends, for callgrind: what counts is how many
 * instructions libkdl adds to the driver's own functions.
 *
 *     bench_vendor_launch hip|level_zero|opencl N CASE      N launches of one kind
 *
 * The two that take arguments one by one run on drivers that do nothing, with kernels of no, three
 * and eight arguments of which the first half is memory; HIP runs on the fake driver.
 */
#define KDL_CHECK_ARGUMENTS 0 /* as a program built for release has it */
#include "measure/harness.h"
#include "measure/must.h"

#include "lib/backends/hip/driver.h"
#include "lib/backends/level_zero/driver.h"
#include "lib/backends/opencl/driver.h"

#include <kdl/kdl.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { group = 64, kernel_count = 3 };

typedef struct {
  kdl_kernel *kernels[kernel_count]; /* of 0, 3, 8 arguments; HIP's: 0, 1, 4 */
  kdl_queue *queue;
  kdl_launch_desc desc;
  kdl_buffer x[4];
  uint32_t n[4];
  void *native_kernels[kernel_count];
  void *native_queue;
} subject;

#define keep(result) bench_do_not_optimize((const void *)(uintptr_t)(result))

/* ------------------------------------------------------------------------------------------ */
/* Launching                                                                                    */

/* Not inlined, so that callgrind can tell them apart. Each has a twin for the launches before the
 * steady state, which are not counted; the empty statement keeps the compiler from making the two
 * one. */
#define CASE(name)                                                                                 \
  static inline __attribute__((always_inline)) void do_##name(subject *at);                        \
  __attribute__((noinline)) static void name(subject *at) {                                        \
    do_##name(at);                                                                                 \
  }                                                                                                \
  __attribute__((noinline)) static void warm_##name(subject *at) {                                 \
    __asm__ volatile("# twin");                                                                    \
    do_##name(at);                                                                                 \
  }                                                                                                \
  static inline void do_##name(subject *at)

#define ARGS_0(at) KDL_NO_ARGS
#define ARGS_3(at) KDL_ARGS(&(at)->x[0], &(at)->x[1], &(at)->n[0])
#define ARGS_8(at)                                                                                 \
  KDL_ARGS(&(at)->x[0], &(at)->x[1], &(at)->x[2], &(at)->x[3], &(at)->n[0], &(at)->n[1],           \
           &(at)->n[2], &(at)->n[3])

#define LAUNCH(which, queue, args) keep(kdl_launch(at->kernels[which], queue, &at->desc, args))

CASE(launch_0) {
  LAUNCH(0, at->queue, ARGS_0(at));
}

CASE(launch_3) {
  LAUNCH(1, at->queue, ARGS_3(at));
}

CASE(launch_8) {
  LAUNCH(2, at->queue, ARGS_8(at));
}

/* A number that differs each time. */
CASE(changed_3) {
  ++at->n[0];
  LAUNCH(1, at->queue, ARGS_3(at));
}

CASE(changed_8) {
  ++at->n[0];
  LAUNCH(2, at->queue, ARGS_8(at));
}

/* Memory that differs each time. */
CASE(moved_3) {
  at->x[0].address ^= 64;
  LAUNCH(1, at->queue, ARGS_3(at));
}

CASE(moved_8) {
  at->x[0].address ^= 64;
  LAUNCH(2, at->queue, ARGS_8(at));
}

CASE(default_3) {
  LAUNCH(1, NULL, ARGS_3(at));
}

CASE(items_3) {
  keep(kdl_launch_items(at->kernels[1], at->queue, kdl_extent1(group), ARGS_3(at)));
}

/* As a program does it that remembers nothing: every argument is given, then the kernel. */
#define GIVEN(give, which, memory, numbers)                                                        \
  for (unsigned i = 0; i < (memory); ++i)                                                          \
    (give)(at->native_kernels[which], i, sizeof(uint64_t), &at->x[i].address);                     \
  for (unsigned i = 0; i < (numbers); ++i)                                                         \
  (give)(at->native_kernels[which], (memory) + i, sizeof at->n[i], &at->n[i])

static inline __attribute__((always_inline)) int ze_append(const subject *at, int which) {
  return kdl_ze.launch(at->native_queue, at->native_kernels[which], at->desc.grid, NULL, 0, NULL);
}

CASE(ze_0) {
  keep(ze_append(at, 0));
}

CASE(ze_given_3) {
  GIVEN(kdl_ze.kernel_argument, 1, 2, 1);
  keep(ze_append(at, 1));
}

CASE(ze_given_8) {
  GIVEN(kdl_ze.kernel_argument, 2, 4, 4);
  keep(ze_append(at, 2));
}

CASE(ze_given_1) {
  ++at->n[0];
  kdl_ze.kernel_argument(at->native_kernels[1], 2, sizeof at->n[0], &at->n[0]);
  keep(ze_append(at, 1));
}

static inline __attribute__((always_inline)) int cl_enqueue(const subject *at, int which) {
  static const size_t global[3] = {group, 1, 1}, local[3] = {group, 1, 1};
  return kdl_opencl.launch(at->native_queue, at->native_kernels[which], 3, NULL, global, local, 0,
                           NULL, NULL);
}

CASE(cl_0) {
  keep(cl_enqueue(at, 0));
}

CASE(cl_given_3) {
  GIVEN(kdl_opencl.set_arg, 1, 2, 1);
  keep(cl_enqueue(at, 1));
}

CASE(cl_given_8) {
  GIVEN(kdl_opencl.set_arg, 2, 4, 4);
  keep(cl_enqueue(at, 2));
}

CASE(cl_given_1) {
  ++at->n[0];
  kdl_opencl.set_arg(at->native_kernels[1], 2, sizeof at->n[0], &at->n[0]);
  keep(cl_enqueue(at, 1));
}

#define HIP_DIRECT(which, ...)                                                                     \
  void *params[] = {__VA_ARGS__};                                                                  \
  keep(kdl_hip.launch(at->native_kernels[which], 1, 1, 1, group, 1, 1, 0, at->native_queue,        \
                      params, NULL))

CASE(hip_0) {
  keep(
      kdl_hip.launch(at->native_kernels[0], 1, 1, 1, group, 1, 1, 0, at->native_queue, NULL, NULL));
}

CASE(hip_1) {
  HIP_DIRECT(1, &at->x[0]);
}

CASE(hip_4) {
  HIP_DIRECT(2, &at->n[0], &at->x[0], &at->x[1], &at->n[1]);
}

CASE(launch_1) {
  LAUNCH(1, at->queue, KDL_ARGS(&at->x[0]));
}

CASE(launch_4) {
  LAUNCH(2, at->queue, KDL_ARGS(&at->n[0], &at->x[0], &at->x[1], &at->n[1]));
}

static const struct {
  const char *name;
  void (*run)(subject *at), (*warm)(subject *at);
} cases[] = {
#define ROW(name) {#name, name, warm_##name}
    ROW(launch_0),   ROW(launch_3),   ROW(launch_8),   ROW(changed_3), ROW(changed_8),
    ROW(moved_3),    ROW(moved_8),    ROW(default_3),  ROW(items_3),   ROW(ze_0),
    ROW(ze_given_3), ROW(ze_given_8), ROW(ze_given_1), ROW(cl_0),      ROW(cl_given_3),
    ROW(cl_given_8), ROW(cl_given_1), ROW(hip_0),      ROW(hip_1),     ROW(hip_4),
    ROW(launch_1),   ROW(launch_4),
#undef ROW
};
enum { case_count = sizeof cases / sizeof *cases };

/* ------------------------------------------------------------------------------------------ */
/* Libraries                                                                                    */

static kdl_string to_kdl_string(const char *words) {
  return (kdl_string){words, strlen(words)};
}

/* An image of which the drivers that do nothing read nothing; the keys tell libkdl its kernels. */
static void open_keys(bool is_source, kdl_library **out_lib) {
  static const uint32_t spirv[5] = {0x07230203, 0x00010000, 0, 1, 0};
  static const char source[] = "kernel void take0() {}";
  kdl_pair pairs[] = {
      {to_kdl_string("triple"),
       to_kdl_string(is_source ? "spir64-unknown-unknown" : "spirv64-unknown-unknown")},
      {to_kdl_string("kdl.kernel.take0"), to_kdl_string("sig=; block=64")},
      {to_kdl_string("kdl.kernel.take3"), to_kdl_string("sig=ptr<u32> ptr<u32> u32; block=64")},
      {to_kdl_string("kdl.kernel.take8"),
       to_kdl_string("sig=ptr<u32> ptr<u32> ptr<u32> ptr<u32> u32 u32 u32 u32; block=64")},
      {to_kdl_string("kdl.kind"), to_kdl_string("cl")},
  };
  kdl_writer_image image = {
      .size = sizeof image,
      .declared_kind = is_source ? 0 : kdl_llvm_image_kind(KDL_IMAGE_SPIRV),
      .pairs = pairs,
      .pair_count = is_source ? 5 : 4,
      .data = is_source ? (const void *)source : spirv,
      .data_size = is_source ? sizeof source - 1 : sizeof spirv,
  };
  kdl_writer *writer;
  void *data;
  size_t size;
  bench_require(kdl_writer_create(KDL_FORMAT_V1, &writer), "kdl_writer_create");
  bench_require(kdl_writer_add(writer, &image), "kdl_writer_add");
  bench_require(kdl_writer_finish(writer, &data, &size), "kdl_writer_finish");
  kdl_writer_destroy(writer);
  bench_require(kdl_open_memory(data, size, NULL, out_lib), "kdl_open_memory");
}

/* ------------------------------------------------------------------------------------------ */
/* Running                                                                                      */

static void open_vendor_subject(subject *at, const char *backend) {
  static const char *const names[2][kernel_count] = {{"take0", "take3", "take8"},
                                                     {"empty", "weigh", "saxpy"}};
  bool is_hip = strcmp(backend, "hip") == 0;
  kdl_device *device;
  kdl_library *lib;
  bench_require(kdl_device_find(backend, &device), "kdl_device_find");
  if (is_hip)
    bench_require(kdl_open(KDL_BENCH_HSACO, NULL, &lib), "kdl_open");
  else
    open_keys(strcmp(backend, "opencl") == 0, &lib);
  bench_require(kdl_queue_create(device, NULL, &at->queue), "kdl_queue_create");
  bench_require(kdl_queue_native(at->queue, &at->native_queue), "kdl_queue_native");
  for (int i = 0; i < 4; ++i)
    bench_require(kdl_alloc(device, 1024, &at->x[i]), "kdl_alloc");
  for (int i = 0; i < kernel_count; ++i) {
    bench_require(kdl_sym(lib, device, names[is_hip][i], NULL, &at->kernels[i]), "kdl_sym");
    bench_require(kdl_prefetch(at->kernels[i]), "kdl_prefetch");
    bench_require(kdl_kernel_native(at->kernels[i], &at->native_kernels[i]), "kdl_kernel_native");
  }
  at->desc = kdl_grid(1, 1, 1);
  at->desc.block[0] = group;
  at->desc.block[1] = at->desc.block[2] = 1;
}

typedef struct {
  subject *at;
  size_t which;
  long count;
} work;

/* The first launch gives the arguments, the second finds that memory is libkdl's own. */
static void *run_launches(void *user) {
  const work *w = user;
  for (int i = 0; i < 3; ++i)
    cases[w->which].warm(w->at);
  for (long i = 0; i < w->count; ++i)
    cases[w->which].run(w->at);
  return NULL;
}

int main(int argc, char **argv) {
  static subject at;
  if (argc < 4) {
    fprintf(stderr, "usage: bench_vendor_launch hip|level_zero|opencl N CASE [thread]\n");
    return 2;
  }
  size_t i = 0;
  while (i < case_count && strcmp(cases[i].name, argv[3]) != 0)
    ++i;
  if (i == case_count)
    return 2;
  work w = {&at, i, strtol(argv[2], NULL, 10)};
  open_vendor_subject(&at, argv[1]);
  if (argc > 4) { /* from a second thread */
    pthread_t thread;
    warm_launch_3(&at);
    pthread_create(&thread, NULL, run_launches, &w);
    pthread_join(thread, NULL);
  } else {
    run_launches(&w);
  }
  return 0;
}
