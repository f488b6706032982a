/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Kernels of bench/specialize, general and specialized by repetition (docs/specialize.md).
 *
 *     bench_specialize FILE [DEVICE]
 *     bench_specialize FILE --count=KERNEL N
 *
 * The first prints a line for each kernel: us of a launch of both, the time until the image was
 * ready, whether all results have equal bits, and us of a launch of one group. The second makes N
 * launches for callgrind, of the specialized kernel unless KDL_SPECIALIZE is off.
 *
 * FILE has bitcode: bench/specialize.py makes it.
 */
#define KDL_CHECK_ARGUMENTS 0
#include "lib/inspect/launches.h"

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { most_buffers = 4, most_arguments = 16, rounds = 15, block = 256, limit_s = 60 };

typedef union {
  uint32_t u;
  int32_t i;
  float f;
  double d;
} scalar;

typedef struct {
  const char *name;
  uint32_t items[2]; /* on a CPU, and on a GPU */
  size_t element;    /* bytes of an element of the buffers */
  size_t buffers[most_buffers];
  size_t per_item[most_buffers]; /* elements for each work-item, besides those of `buffers` */
  size_t scalar_count;
  scalar scalars[most_arguments]; /* `items` where it is the first and 0 */
  bool has_items_first;
} test_case;

static const test_case cases[] = {
    {"energy",
     {1024, 1 << 16},
     4,
     {0, 26 * 4, 938 * 4, 0},
     {4, 0, 0, 1},
     6,
     {{.u = 0}, {.u = 26}, {.u = 938}, {.f = 4.5f}, {.f = 38}, {.i = 0}},
     true},
    {"adam",
     {1 << 15, 1 << 20},
     4,
     {0},
     {1, 2, 1, 3},
     8,
     {{.u = 0},
      {.f = 1e-3f},
      {.f = 0.9f},
      {.f = 0.999f},
      {.f = 1e-8f},
      {.f = 256},
      {.i = 10},
      {.i = 0}},
     true},
    {"state",
     {1 << 15, 1 << 20},
     8,
     {0},
     {1, 1, 1, 2},
     9,
     {{.u = 0},
      {.d = -1e15},
      {.d = 0},
      {.d = 1e-7},
      {.d = 1e-7},
      {.d = 1e-9},
      {.d = 1e9},
      {.d = 1},
      {.i = 4}},
     true},
    {"convolve",
     {1 << 16, 1 << 22},
     4,
     {1 << 16, 64, 0},
     {2, 0, 1, 0},
     5,
     {{.u = 256}, {.u = 0}, {.u = 5}, {.u = 5}, {.f = 0.25f}},
     false},
    {"permute",
     {1 << 18, 1 << 24},
     4,
     {0},
     {1, 1, 0, 0},
     4,
     {{.u = 0}, {.u = 24}, {.u = 20}, {.u = 28}},
     false},
    {"series",
     {1 << 16, 1 << 22},
     4,
     {0, 64, 0},
     {1, 0, 1, 0},
     3,
     {{.u = 0}, {.u = 7}, {.u = 4}},
     true},
};

typedef struct {
  kdl_library *lib;
  kdl_device *device;
  kdl_queue *queue;
  bool is_gpu;
} subject;

typedef struct {
  const test_case *of;
  size_t buffer_count;
  size_t sizes[most_buffers];
  kdl_buffer buffers[most_buffers];
  void *contents[most_buffers];
  scalar scalars[most_arguments];
  const void *pointers[most_buffers + most_arguments];
  kdl_args args;
  kdl_launch_desc desc;
} problem;

static void require(kdl_status status, const char *what) {
  if (status == KDL_OK)
    return;
  fprintf(stderr, "bench_specialize: %s: %s\n", what, kdl_error_message());
  exit(1);
}

static double now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* ------------------------------------------------------------------------------------------ */
/* Problems                                                                                     */

static void fill_numbers(const test_case *of, void *data, size_t count, unsigned seed) {
  for (size_t i = 0; i < count; ++i) {
    seed = seed * 1664525 + 1013904223;
    double number = 0.1 + (double)(seed >> 8) / (1 << 24);
    if (of->element == 8)
      ((double *)data)[i] = number;
    else
      ((float *)data)[i] = (float)number;
  }
}

static void make_problem(const subject *on, const test_case *of, problem *out) {
  uint32_t items = of->items[on->is_gpu];
  *out = (problem){.of = of};
  memcpy(out->scalars, of->scalars, sizeof out->scalars);
  if (of->has_items_first)
    out->scalars[0].u = items;
  else if (strcmp(of->name, "convolve") == 0)
    out->scalars[1].u = items / of->scalars[0].u;
  else
    items = (out->scalars[0].u = items / (24 * 20 * 28)) * 24 * 20 * 28;
  for (size_t b = 0; b < most_buffers && (of->buffers[b] || of->per_item[b]); ++b) {
    size_t count = of->buffers[b] + of->per_item[b] * items;
    out->sizes[b] = count * of->element;
    out->contents[b] = malloc(out->sizes[b]);
    fill_numbers(of, out->contents[b], count, (unsigned)b + 1);
    require(kdl_alloc(on->device, out->sizes[b], &out->buffers[b]), "alloc");
    out->pointers[out->args.count++] = &out->buffers[b];
    ++out->buffer_count;
  }
  for (size_t i = 0; i < of->scalar_count; ++i)
    out->pointers[out->args.count++] = &out->scalars[i];
  out->desc = kdl_grid((items + block - 1) / block, 1, 1);
  out->desc.block[0] = block;
  out->desc.block[1] = out->desc.block[2] = 1;
}

static void reset_problem(const subject *on, problem *p) {
  for (size_t b = 0; b < p->buffer_count; ++b)
    require(kdl_write(on->queue, &p->buffers[b], 0, p->contents[b], p->sizes[b]), "write");
  require(kdl_sync(on->queue), "sync");
}

/* A digest of all buffers after one launch. */
static uint64_t run_once(const subject *on, kdl_kernel *kernel, problem *p) {
  uint64_t hash = 0xcbf29ce484222325u;
  p->args.pointers = p->pointers;
  reset_problem(on, p);
  require(kdl_launch_call(kernel, on->queue, &p->desc, &p->args), "launch");
  for (size_t b = 0; b < p->buffer_count; ++b) {
    uint8_t *data = malloc(p->sizes[b]);
    require(kdl_read(on->queue, data, &p->buffers[b], 0, p->sizes[b]), "read");
    require(kdl_sync(on->queue), "sync");
    for (size_t i = 0; i < p->sizes[b]; ++i)
      hash = (hash ^ data[i]) * 0x100000001b3u;
    free(data);
  }
  return hash;
}

static void free_problem(problem *p) {
  for (size_t b = 0; b < p->buffer_count; ++b) {
    require(kdl_free(&p->buffers[b]), "free");
    free(p->contents[b]);
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Times                                                                                        */

static double run_launches(const subject *on, kdl_kernel *kernel, problem *p, unsigned count) {
  p->args.pointers = p->pointers;
  double begin = now_ns();
  for (unsigned i = 0; i < count; ++i)
    require(kdl_launch_call(kernel, on->queue, &p->desc, &p->args), "launch");
  require(kdl_sync(on->queue), "sync");
  return (now_ns() - begin) / count;
}

static unsigned count_ready(const kdl_kernel *kernel) {
  unsigned ready, failed;
  kdl_kernel_count_specialized(kernel, &ready, &failed);
  if (failed) {
    fprintf(stderr, "bench_specialize: not specialized: see KDL_DEBUG=link\n");
    exit(1);
  }
  return ready;
}

/* Launches until the image is there: seconds, and the launches meanwhile. */
static double wait_for_image(const subject *on, kdl_kernel *kernel, problem *p,
                             unsigned *out_launches) {
  double begin = now_ns();
  for (*out_launches = 0; !count_ready(kernel); ++*out_launches) {
    (void)run_launches(on, kernel, p, 1);
    if (now_ns() - begin > limit_s * 1e9) {
      fprintf(stderr, "bench_specialize: no image after %d s\n", limit_s);
      exit(1);
    }
  }
  return (now_ns() - begin) / 1e9;
}

static kdl_kernel *open_kernel(subject *on, const char *file, const char *name, const char *device,
                               const char *mode) {
  kdl_kernel *kernel;
  setenv("KDL_SPECIALIZE", mode, 1);
  if (device && !on->device)
    require(kdl_device_find(device, &on->device), "device");
  require(kdl_open(file, NULL, &on->lib), "open");
  if (!on->device)
    require(kdl_device_for(on->lib, name, NULL, &on->device), "device");
  require(kdl_sym(on->lib, on->device, name, NULL, &kernel), "kernel");
  require(kdl_prefetch(kernel), "load");
  return kernel;
}

/* us of a launch of each: the least of several rounds. */
static void measure_both(const subject *on, kdl_kernel *const kernels[2], problem *p,
                         double out_us[2]) {
  double once = run_launches(on, kernels[0], p, 3);
  unsigned count = (unsigned)(2e7 / once) + 1;
  out_us[0] = out_us[1] = 1e30;
  for (int r = 0; r < rounds; ++r) {
    for (int i = 0; i < 2; ++i) {
      double us = run_launches(on, kernels[i], p, count) / 1000;
      out_us[i] = us < out_us[i] ? us : out_us[i];
    }
  }
}

static void compare_case(subject *on, const char *file, const char *device, const test_case *of) {
  problem p;
  unsigned launches;
  kdl_kernel *general = open_kernel(on, file, of->name, device, "off");
  kdl_library *general_lib = on->lib;
  kdl_kernel *special = open_kernel(on, file, of->name, device, "auto");
  kdl_device_info info = {.size = sizeof info};
  require(kdl_device_get(on->device, &info), "device");
  on->is_gpu = strcmp(info.backend, "host") != 0;
  if (!on->queue)
    require(kdl_queue_create(on->device, NULL, &on->queue), "queue");
  make_problem(on, of, &p);
  reset_problem(on, &p);
  double ready = wait_for_image(on, special, &p, &launches);
  bool is_equal = run_once(on, general, &p) == run_once(on, special, &p);
  kdl_kernel *const kernels[2] = {general, special};
  double whole[2], group[2];
  measure_both(on, kernels, &p, whole);
  p.desc.grid[0] = 1; /* what a launch costs */
  measure_both(on, kernels, &p, group);
  printf("%s general_us %.2f special_us %.2f speedup %.3f ready_s %.3f launches %u equal %d "
         "group_general_us %.3f group_special_us %.3f\n",
         of->name, whole[0], whole[1], whole[0] / whole[1], ready, launches, is_equal, group[0],
         group[1]);
  fflush(stdout);
  free_problem(&p);
  kdl_close(on->lib);
  kdl_close(general_lib);
}

/* The image is in the cache, so that the first launch has it. */
static void count_case(subject *on, const char *file, const test_case *of, unsigned times) {
  problem p;
  const char *mode = getenv("KDL_SPECIALIZE");
  kdl_kernel *kernel = open_kernel(on, file, of->name, NULL, mode ? mode : "auto");
  require(kdl_queue_create(on->device, NULL, &on->queue), "queue");
  make_problem(on, of, &p);
  reset_problem(on, &p);
  (void)run_launches(on, kernel, &p, times);
  fprintf(stderr, "%u images\n", count_ready(kernel));
  free_problem(&p);
  kdl_close(on->lib);
}

int main(int argc, char **argv) {
  subject on = {.lib = NULL};
  static const char option[] = "--count=";
  bool counts = argc == 4 && strncmp(argv[2], option, sizeof option - 1) == 0;
  if (argc < 2 || argc > 4 || (argc == 4 && !counts)) {
    fprintf(stderr, "usage: bench_specialize FILE [DEVICE] | FILE --count=KERNEL N\n");
    return 2;
  }
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    if (!counts)
      compare_case(&on, argv[1], argc > 2 ? argv[2] : NULL, &cases[i]);
    else if (strcmp(cases[i].name, argv[2] + sizeof option - 1) == 0)
      count_case(&on, argv[1], &cases[i], (unsigned)strtoul(argv[3], NULL, 10));
  }
  return 0;
}
