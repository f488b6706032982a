/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Kernels of bench/adaptive for bench/adaptive.py, which reads the lines that this prints. Shapes
 * are lines of numbers on standard input.
 *
 *     bench_adaptive FILE KERNEL DEVICE ELEMENT all
 *         ns of each image, in turns: the least of several rounds
 *     bench_adaptive FILE KERNEL DEVICE ELEMENT POLICY MS [MOST_MS [all]]
 *         launches of each shape for so long, and until the choice is made, but not longer than
 *         MOST_MS: the image at the end, ns, launches, whether the choice is made; then ns of each
 *         image, in the same process and memory
 *
 * ELEMENT is the number of bytes of an element of matmul's operands.
 */
#define KDL_CHECK_ARGUMENTS 0
#include <kdl/kdl.h>

#include "lib/inspect/launches.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { most_images = 64, rounds = 9, most_buffers = 4, most_numbers = 3 };

typedef struct {
  kdl_library *lib;
  const char *kernel;
  kdl_device *device;
  kdl_queue *queue;
  size_t element;
} subject;

typedef struct {
  kdl_buffer buffers[most_buffers];
  uint32_t numbers[most_numbers];
  const void *pointers[most_buffers + most_numbers];
  kdl_args args;
  kdl_extent items;
} problem;

static void require(kdl_status status, const char *what) {
  if (status == KDL_OK)
    return;
  fprintf(stderr, "bench_adaptive: %s: %s\n", what, kdl_error_message());
  exit(1);
}

static double now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* ------------------------------------------------------------------------------------------ */
/* Problems                                                                                     */

static void add_buffer(const subject *of, problem *to, size_t bytes) {
  kdl_buffer *buffer = &to->buffers[to->args.count];
  uint32_t pattern = 0;
  require(kdl_alloc(of->device, bytes, buffer), "alloc");
  require(kdl_fill(of->queue, buffer, 0, bytes / 4 * 4, &pattern, 4), "fill");
  to->pointers[to->args.count++] = buffer;
}

static void make_problem(const subject *of, const uint64_t numbers[most_numbers], problem *out) {
  size_t count = 2, a = numbers[0], b = numbers[1], c = numbers[2];
  *out = (problem){.args.pointers = out->pointers};
  if (strcmp(of->kernel, "matmul") == 0) {
    count = 3;
    add_buffer(of, out, a * c * of->element + 4);
    add_buffer(of, out, c * b * of->element + 4);
    add_buffer(of, out, a * b * 4);
    out->items = kdl_extent2(b, a);
  } else if (strcmp(of->kernel, "attention") == 0) {
    add_buffer(of, out, a * 256);
    add_buffer(of, out, b * 256);
    add_buffer(of, out, b * 256);
    add_buffer(of, out, a * 256);
    out->items = kdl_extent1(a);
  } else {
    add_buffer(of, out, a * b * 4);
    add_buffer(of, out, a * b * 4);
    out->items = kdl_extent1(a);
  }
  for (size_t i = 0; i < count; ++i) {
    out->numbers[i] = (uint32_t)numbers[i];
    out->pointers[out->args.count++] = &out->numbers[i];
  }
  require(kdl_sync(of->queue), "sync");
}

static void free_problem(problem *made) {
  for (size_t i = 0; i < most_buffers; ++i)
    if (made->buffers[i].device)
      require(kdl_free(&made->buffers[i]), "free");
}

/* ns of one of `count` launches. */
static double run_launches(const subject *of, kdl_kernel *kernel, const problem *on, size_t count) {
  double begin = now_ns();
  for (size_t i = 0; i < count; ++i) {
    require(kdl_launch_items_call(kernel, of->queue, &on->items, &on->args), "launch");
    if (i % 64 == 63)
      require(kdl_sync(of->queue), "sync");
  }
  require(kdl_sync(of->queue), "sync");
  return (now_ns() - begin) / (double)count;
}

/* ------------------------------------------------------------------------------------------ */
/* Every image                                                                                  */

static size_t find_kernels(const subject *of, kdl_kernel *out_kernels[most_images]) {
  size_t count = kdl_image_count(of->lib);
  for (size_t i = 0; i < count && i < most_images; ++i) {
    const kdl_string *tag = kdl_image_value(of->lib, i, "variant_tag");
    kdl_select_opts opts = {.size = sizeof opts, .variant_tag = tag ? tag->data : NULL};
    kdl_kernel_info info = {.size = sizeof info};
    require(kdl_sym(of->lib, of->device, of->kernel, &opts, &out_kernels[i]), "kernel");
    require(kdl_kernel_get(out_kernels[i], &info), "load");
    if (info.image != i) {
      fprintf(stderr, "bench_adaptive: image %zu was selected for image %zu\n", info.image, i);
      exit(1);
    }
  }
  return count < most_images ? count : most_images;
}

static void measure_all(const subject *of, const problem *on) {
  static const double round_ns = 1e6, hopeless = 3; /* times the best */
  kdl_kernel *kernels[most_images];
  double times[most_images];
  size_t repeats[most_images], count = find_kernels(of, kernels);
  for (size_t i = 0; i < count; ++i) {
    run_launches(of, kernels[i], on, 1);
    double once = run_launches(of, kernels[i], on, 2);
    repeats[i] = once < round_ns / 2 ? (size_t)(round_ns / once) : 2;
  }
  double best = 0;
  for (size_t round = 0; round < rounds; ++round)
    for (size_t i = 0; i < count; ++i) {
      if (round > 4 && times[i] > hopeless * best)
        continue;
      double ns = run_launches(of, kernels[i], on, repeats[i]);
      times[i] = round && times[i] < ns ? times[i] : ns;
      best = best > 0 && best < times[i] ? best : times[i];
    }
  for (size_t i = 0; i < count; ++i)
    printf(" %.1f", times[i]);
}

static void run_policy(const subject *of, const problem *on, kdl_policy policy, double ms,
                       double most_ms) {
  kdl_select_opts opts = {.size = sizeof opts, .policy = policy};
  kdl_kernel *kernel, *variant;
  kdl_kernel_info info = {.size = sizeof info};
  require(kdl_sym(of->lib, of->device, of->kernel, &opts, &kernel), "kernel");
  double begin = now_ns(), ns = 0;
  size_t launches = 0;
  bool is_decided = false;
  for (; ns < (is_decided ? ms : most_ms) * 1e6; ns = now_ns() - begin, launches += 64) {
    run_launches(of, kernel, on, 64);
    is_decided = kdl_kernel_is_decided(kernel, &on->items, &on->args);
  }
  require(kdl_kernel_variant(kernel, &on->items, &on->args, &variant), "variant");
  require(kdl_kernel_get(variant, &info), "info");
  printf(" %zu %.0f %zu %d", info.image, ns, launches, is_decided);
}

int main(int argc, char **argv) {
  char line[256];
  if (argc < 6) {
    fputs(
        "usage: bench_adaptive FILE KERNEL DEVICE ELEMENT all|best|adaptive [MS [MOST_MS [all]]]\n",
        stderr);
    return 2;
  }
  subject of = {.kernel = argv[2], .element = strtoul(argv[4], NULL, 10)};
  double ms = argc > 6 ? strtod(argv[6], NULL) : 1000;
  kdl_open_opts file = {.size = sizeof file, .flags = KDL_OPEN_FILE};
  require(kdl_open(argv[1], &file, &of.lib), "open");
  require(kdl_device_find(argv[3], &of.device), "device");
  require(kdl_queue_create(of.device, NULL, &of.queue), "queue");
  while (fgets(line, sizeof line, stdin)) {
    uint64_t numbers[most_numbers] = {0};
    problem on;
    char *at = line;
    for (size_t i = 0; i < most_numbers; ++i)
      numbers[i] = strtoull(at, &at, 10);
    make_problem(&of, numbers, &on);
    line[strcspn(line, "\n")] = '\0';
    printf("%s:", line);
    if (strcmp(argv[5], "all") == 0)
      measure_all(&of, &on);
    else
      run_policy(&of, &on, strcmp(argv[5], "adaptive") == 0 ? KDL_POLICY_ADAPTIVE : KDL_POLICY_BEST,
                 ms, argc > 7 ? strtod(argv[7], NULL) : ms);
    if (argc > 8)
      measure_all(&of, &on);
    putchar('\n');
    fflush(stdout);
    free_problem(&on);
  }
  kdl_queue_destroy(of.queue);
  kdl_close(of.lib);
  return 0;
}
