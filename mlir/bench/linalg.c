/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Compares products that kdl-lower-linalg compiled from linalg.matmul with kdl-matmul.offload, in
 * interleaved blocks of one process. linalg.py makes the modules and runs this.
 *
 *     bench_mlir_linalg BLOCKS THREADS kdl-matmul.offload FILE [--weights=FOLDER] TYPE_MxNxK...
 *
 * FILE is a shared object with a function of each name, which takes unpacked A, B and C. Both sides
 * pack in each run. With --weights, B is FOLDER/NAME: the functions take A and C and were compiled
 * with B, and the library packs B beforehand. Before the measurement each result is compared with
 * the library's: bytes exactly, the others within the rounding error of their additions.
 *
 * With one thread the time is CPU time of this process, which other processes do not add to; with
 * more it is wall-clock time.
 */
#include "measure/must.h"
#include "operands.h"

#include <kdl/matmul.h>

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { limit_blocks = 1000 };

typedef struct {
  const char *name;
  kdl_matmul_type type;
  size_t size; /* of an operand's element */
} kind;

static const kind kinds[] = {
    {"bf16", KDL_MATMUL_F32_BF16, 2},
    {"i8", KDL_MATMUL_S32_S8, 1},
    {"f32", KDL_MATMUL_F32_F32, 4},
    {"f16", KDL_MATMUL_F32_F16, 2},
};
enum { kind_count = sizeof kinds / sizeof *kinds };

/* MLIR's descriptor of a memref of rank 2. */
typedef struct {
  void *allocated, *aligned;
  int64_t offset, sizes[2], strides[2];
} memref;

typedef struct {
  const char *name;
  const kind *kind;
  uint32_t m, n, k;
  void (*function)(void); /* of A, B and C, or of A and C; NULL: the library */
  int has_weights;        /* B is a constant */
  kdl_matmul library;
  char *a, *b, *c, *scratch;
} way;

static memref make_memref(void *data, int64_t rows, int64_t columns) {
  return (memref){data, data, 0, {rows, columns}, {columns, 1}};
}

static void run_way(void *context) {
  way *at = context;
  if (!at->function && at->has_weights) {
    bench_require(kdl_matmul_run(&at->library, NULL, kdl_matmul_rows(at->a, at->k), at->scratch,
                                 kdl_matmul_rows(at->c, at->n), at->m, at->n, at->k,
                                 KDL_MATMUL_SET),
                  at->name);
    return;
  }
  if (!at->function) {
    bench_require(kdl_matmul_run_unpacked(&at->library, NULL, kdl_matmul_rows(at->a, at->k),
                                          kdl_matmul_rows(at->b, at->n), at->scratch,
                                          kdl_matmul_rows(at->c, at->n), at->m, at->n, at->k,
                                          KDL_MATMUL_SET),
                  at->name);
    return;
  }
  memref a = make_memref(at->a, at->m, at->k), b = make_memref(at->b, at->k, at->n);
  memref c = make_memref(at->c, at->m, at->n);
  if (at->has_weights)
    ((void (*)(memref *, memref *))at->function)(&a, &c);
  else
    ((void (*)(memref *, memref *, memref *))at->function)(&a, &b, &c);
}

static void compare_results(const way *native, const way *other) {
  run_way((void *)(uintptr_t)native);
  run_way((void *)(uintptr_t)other);
  for (size_t i = 0; i < (size_t)native->m * native->n; ++i) {
    float a, b;
    memcpy(&a, native->c + 4 * i, 4);
    memcpy(&b, other->c + 4 * i, 4);
    /* Products are below 4, and there are k of them. */
    int same = native->kind->type == KDL_MATMUL_S32_S8
                   ? !memcmp(native->c + 4 * i, other->c + 4 * i, 4)
                   : fabs((double)a - b) <= 4.0 * native->k * native->k * 0x1p-24;
    if (!same)
      fail(other->name, "its result is not the library's");
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Time                                                                                         */

static double seconds(uint32_t threads) {
  struct timespec now;
  clock_gettime(threads == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double time_of(way *at, uint32_t runs, uint32_t threads) {
  double begin = seconds(threads);
  for (uint32_t i = 0; i < runs; ++i)
    run_way(at);
  return (seconds(threads) - begin) / runs;
}

static int compare_doubles(const void *a, const void *b) {
  double first = *(const double *)a, second = *(const double *)b;
  return (first > second) - (first < second);
}

static double quantile(double *sorted, size_t count, double part) {
  return sorted[(size_t)(part * (double)(count - 1) + 0.5)];
}

static void read_weights(const char *folder, const char *name, char *to, size_t size) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "rb");
  if (!file || fread(to, 1, size, file) != size)
    fail(path, "expected a file of as many bytes as B has");
  fclose(file);
}

static void measure_product(kdl_library *library, void *object, const char *weights,
                            const char *name, uint32_t threads, size_t blocks) {
  static double native[limit_blocks], linalg[limit_blocks], ratio[limit_blocks];
  way at = {.name = name};
  char type[8], symbol[128];
  if (sscanf(name, "%7[a-z0-9]_%ux%ux%u", type, &at.m, &at.n, &at.k) != 4)
    fail(name, "expected TYPE_MxNxK");
  for (size_t i = 0; i < kind_count; ++i)
    if (!strcmp(kinds[i].name, type))
      at.kind = &kinds[i];
  if (!at.kind)
    fail(name, "expected bf16, f16, f32 or i8");
  snprintf(symbol, sizeof symbol, "_mlir_ciface_%s", name);
  at.a = allocate((size_t)at.m * at.k * at.kind->size);
  at.b = allocate((size_t)at.k * at.n * at.kind->size);
  at.c = allocate((size_t)at.m * at.n * 4);
  at.scratch = allocate(kdl_matmul_packed_size(at.kind->type, at.n, at.k));
  operands_fill(at.kind->type, at.a, (size_t)at.m * at.k, 1);
  operands_fill(at.kind->type, at.b, (size_t)at.k * at.n, 2);
  kdl_device *host;
  bench_require(kdl_device_find("host", &host), "host");
  bench_require(kdl_matmul_find(library, host, at.kind->type, threads, &at.library), type);
  at.has_weights = weights != NULL;
  if (weights) {
    read_weights(weights, name, at.b, (size_t)at.k * at.n * at.kind->size);
    bench_require(
        kdl_matmul_pack(&at.library, NULL, kdl_matmul_rows(at.b, at.n), at.scratch, at.n, at.k),
        name);
  }
  way other = at;
  other.c = allocate((size_t)at.m * at.n * 4);
  *(void **)&other.function = dlsym(object, symbol);
  if (!other.function)
    fail(name, dlerror());
  compare_results(&at, &other);
  double operations = 2.0 * at.m * at.n * at.k;
  uint32_t runs = operations > 5e8 ? 1 : (uint32_t)(5e8 / operations);
  for (size_t i = 0; i < blocks; ++i) {
    native[i] = time_of(&at, runs, threads);
    linalg[i] = time_of(&other, runs, threads);
    ratio[i] = native[i] / linalg[i];
  }
  qsort(native, blocks, sizeof *native, compare_doubles);
  qsort(linalg, blocks, sizeof *linalg, compare_doubles);
  qsort(ratio, blocks, sizeof *ratio, compare_doubles);
  double a = quantile(native, blocks, 0.5), b = quantile(linalg, blocks, 0.5);
  printf("%-20s %10.1f %10.1f %8.1f %8.1f   %.3f [%.3f, %.3f]\n", name, a * 1e6, b * 1e6,
         operations / a / 1e9, operations / b / 1e9, quantile(ratio, blocks, 0.5),
         quantile(ratio, blocks, 0.1), quantile(ratio, blocks, 0.9));
  fflush(stdout);
  char *memory[] = {at.a, at.b, at.c, at.scratch, other.c};
  for (size_t i = 0; i < sizeof memory / sizeof *memory; ++i)
    free(memory[i]);
}

int main(int argc, char **argv) {
  kdl_library *library;
  size_t blocks = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
  uint32_t threads = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0;
  if (argc < 6 || !blocks || blocks > limit_blocks || !threads) {
    fprintf(stderr,
            "usage: bench_mlir_linalg BLOCKS THREADS kdl-matmul.offload FILE [--weights=FOLDER] "
            "TYPE_MxNxK...\n");
    return 2;
  }
  bench_require(kdl_open(argv[3], NULL, &library), argv[3]);
  void *object = dlopen(argv[4], RTLD_NOW);
  if (!object)
    fail(argv[4], dlerror());
  printf("%-20s %10s %10s %8s %8s   linalg's speed over native's [10%%, 90%%]\n", "C = A B",
         "native us", "linalg us", "GOP/s", "GOP/s");
  static const char option[] = "--weights=";
  int first = strncmp(argv[5], option, sizeof option - 1) ? 5 : 6;
  const char *weights = first == 6 ? argv[5] + sizeof option - 1 : NULL;
  for (int i = first; i < argc; ++i)
    measure_product(library, object, weights, argv[i], threads, blocks);
  kdl_close(library);
  return 0;
}
