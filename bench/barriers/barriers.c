/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Kernels with barriers on a CPU: one line each with the best time of a launch, after the result
 * was compared with plain code.
 *
 *     bench_barriers kernels.offload host|opencl [SECONDS]
 *
 * run.sh runs it for libkdl's own images, PoCL and Intel's OpenCL.
 */
#include <kdl/kdl.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
  side = 1024,
  area = side * side,
  count = area * 4,
  matmul_side = 512,
  matmul_area = matmul_side * matmul_side,
  bins = 256,
};

static void must(kdl_status status, const char *what) {
  if (status == KDL_OK)
    return;
  fprintf(stderr, "bench_barriers: %s: %s\n", what, kdl_error_message());
  exit(status == KDL_NO_MATCH ? 77 : 1);
}

static double now(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

typedef union {
  float f;
  uint32_t u;
} word;

typedef struct {
  kdl_library *library;
  kdl_device *device;
  kdl_queue *queue;
  kdl_buffer in, more, out;
  float *x, *z;       /* what `in` holds, and what `out` held */
  uint32_t *u, *made; /* the same memory */
  double seconds;
} bench;

typedef struct {
  const char *name;
  uint32_t grid[3];
  uint32_t n; /* 0: not an argument */
  bool has_two;
  size_t results; /* words of the output */
  bool (*is_right)(const bench *b);
} subject;

/* ------------------------------------------------------------------------------------------ */
/* What is right                                                                                */

static bool is_close(float found, double expected) {
  return fabs((double)found - expected) <= 1e-4 * (fabs(expected) + 1);
}

static bool reduce_is_right(const bench *b) {
  for (size_t g = 0; g < count / 512; ++g) {
    double sum = 0;
    for (size_t i = 0; i < 512; ++i)
      sum += b->x[g * 512 + i];
    if (!is_close(b->z[g], sum))
      return false;
  }
  return true;
}

static bool scan_is_right(const bench *b) {
  double sum = 0;
  for (size_t i = 0; i < count; ++i) {
    sum = (i % 256 ? sum : 0) + b->x[i];
    if (!is_close(b->z[i], sum))
      return false;
  }
  return true;
}

static bool matmul_is_right(const bench *b) {
  for (size_t k = 0; k < matmul_area; k += 97) {
    double sum = 0;
    for (size_t i = 0; i < matmul_side; ++i)
      sum +=
          (double)b->x[k / matmul_side * matmul_side + i] * b->x[i * matmul_side + k % matmul_side];
    if (!is_close(b->z[k], sum))
      return false;
  }
  return true;
}

static bool transpose_is_right(const bench *b) {
  for (size_t i = 0; i < area; ++i) {
    if (b->z[i] != b->x[i % side * side + i / side])
      return false;
  }
  return true;
}

/* The launches add to one another; all of them counted the same. */
static bool histogram_is_right(const bench *b) {
  static uint32_t counts[bins];
  memset(counts, 0, sizeof counts);
  for (size_t i = 0; i < count; ++i)
    ++counts[b->u[i] % bins];
  for (size_t i = 0; i < bins; ++i) {
    if (b->made[i] != counts[i])
      return false;
  }
  return true;
}

static bool sort_is_right(const bench *b) {
  for (size_t g = 0; g < count; g += 512) {
    uint64_t before = b->u[g], after = b->made[g];
    for (size_t i = g + 1; i < g + 512; ++i) {
      before += b->u[i];
      after += b->made[i];
      if (b->made[i] < b->made[i - 1])
        return false;
    }
    if (before != after)
      return false;
  }
  return true;
}

static bool stencil_is_right(const bench *b) {
  for (size_t i = 0; i < area; ++i) {
    size_t column = i % side, row = i / side;
    double sum = b->x[i];
    sum += column ? b->x[i - 1] : 0;
    sum += column + 1 < side ? b->x[i + 1] : 0;
    sum += row ? b->x[i - side] : 0;
    sum += row + 1 < side ? b->x[i + side] : 0;
    if (!is_close(b->z[i], 0.2 * sum))
      return false;
  }
  return true;
}

static const subject subjects[] = {
    {"reduce", {count / 512, 1, 1}, count, false, count / 512, reduce_is_right},
    {"scan", {count / 256, 1, 1}, count, false, count, scan_is_right},
    {"matmul",
     {matmul_side / 16, matmul_side / 16, 1},
     matmul_side,
     true,
     matmul_area,
     matmul_is_right},
    {"transpose", {side / 16, side / 16, 1}, side, false, area, transpose_is_right},
    {"histogram", {count / 4096, 1, 1}, count, false, bins, histogram_is_right},
    {"sort", {count / 512, 1, 1}, 0, false, count, sort_is_right},
    {"stencil", {side / 16, side / 16, 1}, side, false, area, stencil_is_right},
};

/* ------------------------------------------------------------------------------------------ */
/* Measuring                                                                                    */

static kdl_status launch(const bench *b, kdl_kernel *kernel, const subject *s) {
  kdl_launch_desc desc = {.size = sizeof desc, .grid = {s->grid[0], s->grid[1], s->grid[2]}};
  uint32_t n = s->n;
  kdl_status status;
  if (s->has_two)
    status = kdl_launch(kernel, b->queue, &desc, KDL_ARGS(&b->in, &b->in, &b->out, &n));
  else if (n)
    status = kdl_launch(kernel, b->queue, &desc, KDL_ARGS(&b->in, &b->out, &n));
  else
    status = kdl_launch(kernel, b->queue, &desc, KDL_ARGS(&b->in, &b->out));
  return status == KDL_OK ? kdl_sync(b->queue) : status;
}

static void measure(const bench *b, const subject *s) {
  kdl_kernel *kernel = NULL;
  must(kdl_sym(b->library, b->device, s->name, NULL, &kernel), s->name);
  memset(b->z, 0, count * sizeof *b->z);
  must(kdl_write(b->queue, &b->out, 0, b->z, count * sizeof *b->z), s->name);
  must(launch(b, kernel, s), s->name);
  must(kdl_read(b->queue, b->z, &b->out, 0, s->results * sizeof *b->z), s->name);
  must(kdl_sync(b->queue), s->name);
  if (!s->is_right(b)) {
    printf("%-10s wrong\n", s->name);
    return;
  }
  double best = HUGE_VAL, end = now(CLOCK_MONOTONIC) + b->seconds;
  for (int i = 0; i < 5 || now(CLOCK_MONOTONIC) < end; ++i) {
    double start = now(CLOCK_PROCESS_CPUTIME_ID);
    must(launch(b, kernel, s), s->name);
    double took = now(CLOCK_PROCESS_CPUTIME_ID) - start;
    best = took < best ? took : best;
  }
  printf("%-10s %9.1f us\n", s->name, best * 1e6);
  fflush(stdout);
}

int main(int argc, char **argv) {
  if (argc < 3) {
    fputs("usage: bench_barriers FILE host|opencl [SECONDS]\n", stderr);
    return 2;
  }
  bench b = {.seconds = argc > 3 ? strtod(argv[3], NULL) : 1.0};
  must(kdl_open(argv[1], NULL, &b.library), argv[1]);
  must(kdl_device_find(argv[2], &b.device), argv[2]);
  must(kdl_queue_create(b.device, NULL, &b.queue), argv[2]);
  static word held[2][count];
  b.x = &held[0]->f;
  b.z = &held[1]->f;
  b.u = &held[0]->u;
  b.made = &held[1]->u;
  uint32_t seed = 1;
  for (size_t i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    b.x[i] = (float)(seed >> 8) * 0x1p-24f + 1.0f;
  }
  must(kdl_alloc(b.device, count * sizeof *b.x, &b.in), "memory");
  must(kdl_alloc(b.device, count * sizeof *b.x, &b.out), "memory");
  must(kdl_write(b.queue, &b.in, 0, b.x, count * sizeof *b.x), "memory");
  must(kdl_sync(b.queue), "memory");
  for (size_t i = 0; i < sizeof subjects / sizeof *subjects; ++i)
    measure(&b, &subjects[i]);
  return 0;
}
