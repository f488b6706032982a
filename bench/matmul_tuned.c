/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The matmul library under the policy `adaptive`, next to the same under `best`: for each shape the
 * times of both, after launches for so many ms in which divisions and tiles are tried. The results
 * of every launch are compared bit by bit: of random numbers on CPUs, where all ways add up alike,
 * of small whole numbers on GPUs, whose sums are exact.
 *
 *     bench_matmul_tuned FILE DEVICE f32|bf16 THREADS MS
 */
#define KDL_CHECK_ARGUMENTS 0
#include <kdl/matmul_gpu.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { rounds = 9 };

typedef struct {
  kdl_device *device;
  kdl_queue *queue;
  kdl_matmul model, tuned;
  kdl_matmul_type type;
  bool is_host;
} subject;

typedef struct {
  uint32_t m, n, k;
  kdl_buffer a, b, c, scratch;
  size_t c_bytes;
  bool is_packed;
} product;

static void require(kdl_status status, const char *what) {
  if (status == KDL_OK)
    return;
  fprintf(stderr, "bench_matmul_tuned: %s: %s\n", what, kdl_error_message());
  exit(1);
}

static double now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void fill(const subject *of, kdl_buffer *buffer, size_t count) {
  size_t element = of->type == KDL_MATMUL_F32_F32 ? 4 : 2;
  char *values = malloc(count * element + 4);
  uint32_t state = 12345;
  for (size_t i = 0; values && i < count; ++i) {
    state = state * 1664525 + 1013904223;
    float value = of->is_host ? (float)(state >> 8) / 8388608.0f - 1 : (float)(state >> 29) - 3;
    uint32_t bits;
    memcpy(&bits, &value, 4);
    if (element == 2)
      bits >>= 16;
    memcpy(values + i * element, &bits, element);
  }
  require(kdl_alloc(of->device, count * element + 4, buffer), "alloc");
  require(kdl_write(of->queue, buffer, 0, values, count * element), "write");
  require(kdl_sync(of->queue), "sync");
  free(values);
}

static void *address(const kdl_buffer *buffer) {
  return (void *)(uintptr_t)buffer->address;
}

static void run(const subject *of, const kdl_matmul *matmul, const product *on) {
  kdl_matmul_matrix a = kdl_matmul_rows(address(&on->a), on->k),
                    b = kdl_matmul_rows(address(&on->b), on->n),
                    c = kdl_matmul_rows(address(&on->c), on->n);
  if (!of->is_host && matmul == &of->model) { /* a tile that is asked for is not tuned */
    kdl_matmul_gpu_problem problem = kdl_matmul_gpu_problem_of(on->m, on->n, on->k);
    kdl_matmul_gpu_plan plan;
    problem.a = a;
    problem.b = b;
    problem.c = c;
    require(kdl_matmul_gpu_plan_of(matmul->gpu, &problem, &plan), "plan");
    problem.tile = plan.tile + 1;
    require(kdl_matmul_gpu_run(matmul->gpu, of->queue, &problem), "run");
    return;
  }
  require(on->is_packed ? kdl_matmul_run(matmul, of->queue, a, address(&on->scratch), c, on->m,
                                         on->n, on->k, KDL_MATMUL_SET)
                        : kdl_matmul_run_unpacked(matmul, of->queue, a, b, address(&on->scratch), c,
                                                  on->m, on->n, on->k, KDL_MATMUL_SET),
          "run");
}

static double time_of(const subject *of, const kdl_matmul *matmul, const product *on,
                      size_t count) {
  double begin = now_ns();
  for (size_t i = 0; i < count; ++i)
    run(of, matmul, on);
  require(kdl_sync(of->queue), "sync");
  return (now_ns() - begin) / (double)count;
}

static void read_result(const subject *of, const product *on, char *to) {
  require(kdl_read(of->queue, to, &on->c, 0, on->c_bytes), "read");
  require(kdl_sync(of->queue), "sync");
}

/* Returns the ratio of the times. */
static double compare(const subject *of, const product *on, double ms, bool *out_equal) {
  char *expected = malloc(on->c_bytes), *found = malloc(on->c_bytes);
  double best[2] = {1e30, 1e30};
  if (!expected || !found)
    exit(1);
  *out_equal = true;
  run(of, &of->model, on);
  read_result(of, on, expected);
  size_t count = 1;
  while (time_of(of, &of->model, on, count) * (double)count < 5e5)
    count *= 2;
  for (double begin = now_ns(); now_ns() - begin < ms * 1e6;) {
    time_of(of, &of->tuned, on, of->is_host ? 1 : 64);
    if (of->is_host || now_ns() - begin < 2e8) {
      read_result(of, on, found);
      *out_equal &= memcmp(expected, found, on->c_bytes) == 0;
    }
  }
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < 2; ++i) {
      double ns = time_of(of, i ? &of->tuned : &of->model, on, count);
      best[i] = ns < best[i] ? ns : best[i];
    }
  }
  printf("%5u x %5u x %5u %-8s  model %9.2f us  tuned %9.2f us  %.3f%s\n", on->m, on->n, on->k,
         on->is_packed ? "packed" : "plain", best[0] / 1000, best[1] / 1000, best[0] / best[1],
         *out_equal ? "" : "  RESULTS DIFFER");
  fflush(stdout);
  free(expected);
  free(found);
  return best[0] / best[1];
}

static double compare_shape(const subject *of, const uint32_t shape[3], bool is_packed, double ms,
                            bool *out_equal) {
  product on = {.m = shape[0], .n = shape[1], .k = shape[2], .is_packed = is_packed};
  kdl_matmul_matrix b;
  fill(of, &on.a, (size_t)on.m * on.k);
  fill(of, &on.b, (size_t)on.k * on.n);
  on.c_bytes = (size_t)on.m * on.n * 4;
  require(kdl_alloc(of->device, on.c_bytes, &on.c), "alloc");
  require(kdl_alloc(of->device, kdl_matmul_packed_size(of->type, on.n, on.k) + 64, &on.scratch),
          "alloc");
  b = kdl_matmul_rows(address(&on.b), on.n);
  if (is_packed)
    require(kdl_matmul_pack(&of->model, of->queue, b, address(&on.scratch), on.n, on.k), "pack");
  double ratio = compare(of, &on, ms, out_equal);
  kdl_free(&on.a);
  kdl_free(&on.b);
  kdl_free(&on.c);
  kdl_free(&on.scratch);
  return ratio;
}

int main(int argc, char **argv) {
  static const uint32_t host_shapes[][3] = {
      {64, 512, 512}, {256, 256, 256},  {7, 1000, 333}, {33, 300, 700},  {512, 512, 64},
      {1, 2048, 512}, {128, 1024, 256}, {300, 40, 900}, {40, 1500, 100}, {100, 100, 100}};
  static const uint32_t gpu_shapes[][3] = {
      {1, 4096, 4096},    {16, 4096, 4096},   {32, 8192, 1024},   {64, 2048, 2048},
      {128, 128, 4096},   {200, 6000, 300},   {256, 1024, 1024},  {512, 512, 512},
      {1000, 777, 555},   {1024, 1024, 1024}, {2048, 2048, 2048}, {4096, 4096, 512},
      {4096, 2048, 4096}, {768, 3072, 768},   {96, 12288, 512},   {3000, 3000, 300}};
  if (argc != 6) {
    fputs("usage: bench_matmul_tuned FILE DEVICE f32|bf16 THREADS MS\n", stderr);
    return 2;
  }
  setenv("KDL_POLICY", "adaptive", 1);
  subject of = {.type = strcmp(argv[3], "f32") == 0 ? KDL_MATMUL_F32_F32 : KDL_MATMUL_F32_BF16};
  uint32_t threads = (uint32_t)strtoul(argv[4], NULL, 10);
  double ms = strtod(argv[5], NULL), sum = 0;
  kdl_library *lib;
  kdl_open_opts file = {.size = sizeof file, .flags = KDL_OPEN_FILE};
  kdl_device_info info = {.size = sizeof info};
  require(kdl_open(argv[1], &file, &lib), "open");
  require(kdl_device_find(argv[2], &of.device), "device");
  require(kdl_device_get(of.device, &info), "device");
  of.is_host = info.is_host;
  require(kdl_queue_create(of.device, NULL, &of.queue), "queue");
  require(kdl_matmul_find(lib, of.device, of.type, threads, &of.tuned), "find");
  of.model = of.tuned;
  of.model.tuner = of.model.unpacked_tuner = NULL;
  size_t count = of.is_host ? sizeof host_shapes / sizeof *host_shapes
                            : sizeof gpu_shapes / sizeof *gpu_shapes;
  size_t done = 0;
  bool are_equal = true, is_equal;
  for (int is_packed = 0; is_packed <= of.is_host; ++is_packed) {
    for (size_t i = 0; i < count; ++i, ++done) {
      sum += log(compare_shape(&of, of.is_host ? host_shapes[i] : gpu_shapes[i], is_packed, ms,
                               &is_equal));
      are_equal &= is_equal;
    }
  }
  printf("%s, %u threads: tuned is %.3f times as fast as the model, geometric mean of %zu; results "
         "%s\n",
         argv[3], threads, exp(sum / (double)done), done, are_equal ? "equal" : "differ");
  kdl_matmul_free(&of.tuned);
  kdl_queue_destroy(of.queue);
  kdl_close(lib);
  return are_equal ? 0 : 1;
}
