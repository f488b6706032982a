/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* group_matmul_test ROUTE FILE [TURNS]: examples/ukernels/portable_matmul.c, compiled and perhaps
 * linked, on the first device of ROUTE, against sums of double. With TURNS, the least time of a
 * large product is printed as well. Exits with 77 where there is no such device. */
#include "tests/ukernels/gpu_test.h"

#include <kdl/launch.h>

#include <math.h>
#include <time.h>

enum { tile = 128 };

typedef struct {
  kdl_device *device;
  kdl_queue *queue;
  kdl_kernel *kernel;
} runner;

static float value_of(uint16_t bits) {
  return float_of((uint32_t)bits << 16);
}

static uint16_t *random_matrix(size_t count) {
  uint16_t *made = malloc(count * sizeof *made);
  must(made ? KDL_OK : KDL_NO_MEMORY, "malloc");
  for (size_t i = 0; i < count; ++i)
    made[i] = bf16_of((float)((int)(next_random() % 17) - 8) / 8);
  return made;
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void compare(const uint16_t *a, const uint16_t *b, const float *c, uint32_t m, uint32_t n,
                    uint32_t k) {
  size_t checked = 0, step = (size_t)m * n > 100000 ? 997 : 1;
  for (size_t at = 0; at < (size_t)m * n; at += step, ++checked) {
    double sum = 0;
    for (uint32_t i = 0; i < k; ++i)
      sum += (double)value_of(a[at / n * k + i]) * (double)value_of(b[(size_t)i * n + at % n]);
    if (fabs(sum - (double)c[at]) <= 1e-3)
      continue;
    printf("FAILED %u x %u x %u: at %zu found %g, expected %g\n", m, n, k, at, (double)c[at], sum);
    exit(1);
  }
  printf("%u x %u x %u: %zu numbers are right\n", m, n, k, checked);
}

static void multiply(runner *r, uint32_t m, uint32_t n, uint32_t k, int turns) {
  uint16_t *a = random_matrix((size_t)m * k), *b = random_matrix((size_t)k * n);
  float *c = calloc((size_t)m * n, sizeof *c);
  kdl_buffer in_a, in_b, in_c;
  must(c ? KDL_OK : KDL_NO_MEMORY, "calloc");
  must(kdl_alloc(r->device, (size_t)m * k * 2, &in_a), "kdl_alloc");
  must(kdl_alloc(r->device, (size_t)k * n * 2, &in_b), "kdl_alloc");
  must(kdl_alloc(r->device, (size_t)m * n * 4, &in_c), "kdl_alloc");
  must(kdl_write(r->queue, &in_a, 0, a, (size_t)m * k * 2), "kdl_write");
  must(kdl_write(r->queue, &in_b, 0, b, (size_t)k * n * 2), "kdl_write");
  kdl_launch_desc desc = {.size = sizeof desc,
                          .grid = {(n + tile - 1) / tile, (m + tile - 1) / tile, 1}};
  double best = 1e9;
  for (int turn = 0; turn <= turns; ++turn) {
    double begin = seconds();
    must(kdl_launch_checked(r->kernel, r->queue, &desc, &KDL_ARGS(&in_a, &in_b, &in_c, &m, &n, &k)),
         "kdl_launch");
    must(kdl_sync(r->queue), "kdl_sync");
    double took = seconds() - begin;
    best = took < best ? took : best;
  }
  must(kdl_read(r->queue, c, &in_c, 0, (size_t)m * n * 4), "kdl_read");
  must(kdl_sync(r->queue), "kdl_sync");
  compare(a, b, c, m, n, k);
  if (turns)
    printf("%u x %u x %u: %.1f us, %.3f TFLOP/s\n", m, n, k, best * 1e6, 2e-12 * m * n * k / best);
  kdl_free(&in_a);
  kdl_free(&in_b);
  kdl_free(&in_c);
  free(a);
  free(b);
  free(c);
}

int main(int argc, char **argv) {
  runner r;
  kdl_library *library;
  if (argc < 3) {
    fputs("usage: group_matmul_test ROUTE FILE [TURNS]\n", stderr);
    return 2;
  }
  if (kdl_device_find(argv[1], &r.device) != KDL_OK) {
    printf("skipped: %s\n", kdl_error_message());
    return 77;
  }
  must(kdl_queue_create(r.device, NULL, &r.queue), "kdl_queue_create");
  must(kdl_open(argv[2], NULL, &library), argv[2]);
  must(kdl_sym(library, r.device, "matmul", NULL, &r.kernel), "matmul");
  static const uint32_t shapes[][3] = {{128, 128, 32}, {1, 1, 1},    {130, 257, 97},
                                       {5, 130, 300},  {128, 16, 7}, {256, 256, 512},
                                       {129, 64, 513}};
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i)
    multiply(&r, shapes[i][0], shapes[i][1], shapes[i][2], 0);
  int turns = argc > 3 ? atoi(argv[3]) : 0;
  if (turns) {
    uint32_t large = strncmp(argv[1], "host", 4) == 0 ? 1024 : 4096;
    multiply(&r, large, large, large, turns);
  }
  kdl_close(library);
  kdl_queue_destroy(r.queue);
  return 0;
}
