/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Compares mmt4d.mlir with kdl-matmul.offload on one core, in interleaved blocks of one process.
 * Each result is first compared with sums in double: bytes exactly, the others within the rounding
 * error of their additions.
 *
 *     bench_mlir_mmt4d BLOCKS kdl-matmul.offload NAME=FILE...
 *
 * A FILE is mmt4d.mlir compiled to a shared object. Both sides get the right operand packed and add
 * to C. mmt4d also gets its left operand packed, by definition; the library packs it in each run.
 */
#include "measure/harness.h"
#include "measure/must.h"
#include "operands.h"

#include <kdl/matmul.h>

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { m = 504, n = 512, k = 512, m0 = 14, n0 = 32, max_ways = 8 };

/* An operand's bytes per element, and elements per step along K. */
typedef struct {
  const char *name;
  kdl_matmul_type type;
  size_t size, k0;
} kind;

static const kind kinds[] = {
    {"bf16", KDL_MATMUL_F32_BF16, 2, 2},
    {"s8", KDL_MATMUL_S32_S8, 1, 4},
    {"f32", KDL_MATMUL_F32_F32, 4, 1},
    {"f16", KDL_MATMUL_F32_F16, 2, 1},
};
enum { kind_count = sizeof kinds / sizeof *kinds };

/* MLIR's descriptor of a memref of rank 4. */
typedef struct {
  void *allocated, *aligned;
  int64_t offset, sizes[4], strides[4];
} memref;

typedef void (*mmt4d)(memref *a, memref *b, memref *c);

typedef struct {
  const char *name; /* of a file, or "native" */
  mmt4d function;   /* NULL: the library */
  const kind *kind;
  kdl_matmul library;
  char *a, *b, *c; /* b is packed */
} way;

/* ------------------------------------------------------------------------------------------ */
/* Operands                                                                                     */

static float of_bits(uint32_t bits) {
  float number;
  memcpy(&number, &bits, sizeof number);
  return number;
}

static double read_value(const kind *of, const char *from) {
  uint32_t bits = 0;
  memcpy(&bits, from, of->size);
  switch (of->type) {
  case KDL_MATMUL_S32_S8:
    return (int8_t)bits;
  case KDL_MATMUL_F32_BF16:
    return of_bits(bits << 16);
  case KDL_MATMUL_F32_F16: /* none of them is subnormal */
    return of_bits((bits & 0x8000) << 16 | (((bits & 0x7fff) << 13) + (112u << 23)));
  default: /* f32 */
    break;
  }
  return of_bits(bits);
}

/* [rows][k] to [rows / tile][k / k0][tile][k0]. */
static void pack_operand(const kind *of, char *to, const char *from, size_t rows, size_t tile,
                         size_t row_stride, size_t column_stride) {
  for (size_t row = 0; row < rows; ++row)
    for (size_t column = 0; column < k; ++column) {
      size_t step = (row / tile * (k / of->k0) + column / of->k0) * tile + row % tile;
      memcpy(to + (step * of->k0 + column % of->k0) * of->size,
             from + (row * row_stride + column * column_stride) * of->size, of->size);
    }
}

static memref make_memref(void *data, int64_t outer, int64_t next, int64_t tile, int64_t inner) {
  return (memref){
      data, data, 0, {outer, next, tile, inner}, {next * tile * inner, tile * inner, inner, 1}};
}

/* ------------------------------------------------------------------------------------------ */
/* One product                                                                                  */

static void run_way(void *context) {
  way *at = context;
  if (!at->function) {
    bench_require(kdl_matmul_run(&at->library, NULL, kdl_matmul_rows(at->a, k), at->b,
                                 kdl_matmul_rows(at->c, n), m, n, k, KDL_MATMUL_ADD),
                  at->name);
    return;
  }
  int64_t k0 = (int64_t)at->kind->k0;
  memref a = make_memref(at->a, m / m0, k / k0, m0, k0),
         b = make_memref(at->b, n / n0, k / k0, n0, k0);
  memref c = make_memref(at->c, m / m0, n / n0, m0, n0);
  at->function(&a, &b, &c);
}

static size_t result_offset(const way *at, size_t row, size_t column) {
  return at->function ? ((row / m0 * (n / n0) + column / n0) * m0 + row % m0) * n0 + column % n0
                      : row * n + column;
}

static void check_results(const way *at, const double *sums, const double *sizes) {
  for (size_t i = 0; i < (size_t)m * n; ++i) {
    const char *from = at->c + result_offset(at, i / n, i % n) * 4;
    int32_t integer;
    float number;
    memcpy(&integer, from, 4);
    memcpy(&number, from, 4);
    double found = at->kind->type == KDL_MATMUL_S32_S8 ? integer : (double)number;
    double most = at->kind->type == KDL_MATMUL_S32_S8 ? 0 : sizes[i] * k * 0x1p-24;
    if (fabs(found - sums[i]) <= most)
      continue;
    fprintf(stderr, "bench_mlir_mmt4d: %s, %s: found %g at %zu, %zu, expected %g\n", at->kind->name,
            at->name, found, i / n, i % n, sums[i]);
    exit(1);
  }
}

static void multiply_in_double(const kind *of, const char *a, const char *b, double *sums,
                               double *sizes) {
  double *right = allocate(sizeof(double) * n * k);
  for (size_t i = 0; i < (size_t)n * k; ++i)
    right[i] = read_value(of, b + i * of->size);
  for (size_t row = 0; row < m; ++row)
    for (size_t step = 0; step < k; ++step) {
      double left = read_value(of, a + (row * k + step) * of->size);
      for (size_t column = 0; column < n; ++column) {
        double product = left * right[step * n + column];
        sums[row * n + column] += product;
        sizes[row * n + column] += fabs(product);
      }
    }
  free(right);
}

/* ------------------------------------------------------------------------------------------ */
/* The table                                                                                    */

static void measure_ways(way *ways, size_t count, size_t blocks) {
  static bench_run results;
  bench_case cases[max_ways];
  for (size_t i = 0; i < count; ++i)
    cases[i] = (bench_case){ways[i].name, run_way, &ways[i]};
  bench_measure(cases, count, blocks, 5, &results);
  for (size_t i = 0; i < count; ++i) {
    bench_summary time = bench_summarise(&results, i);
    bench_interval ratio = bench_ratio(&results, 0, i);
    double operations = 2.0 * m * n * k;
    printf("%-5s %-10s %9.1f %8.1f %7.1f %7.1f   %.3f [%.3f, %.3f]\n", ways[i].kind->name,
           ways[i].name, time.median / 1e3, operations / time.median, operations / time.p95,
           operations / time.p5, ratio.median, ratio.low, ratio.high);
  }
}

static void measure_kind(const kind *of, kdl_library *library, char **files, size_t file_count,
                         size_t blocks) {
  char *a = allocate((size_t)m * k * of->size), *b = allocate((size_t)n * k * of->size);
  char *packed_a = allocate((size_t)m * k * of->size),
       *packed_b = allocate((size_t)n * k * of->size);
  double *sums = allocate(sizeof(double) * m * n), *sizes = allocate(sizeof(double) * m * n);
  way ways[max_ways] = {{.name = "native", .kind = of, .a = a, .c = allocate((size_t)m * n * 4)}};
  kdl_device *host;
  bench_require(kdl_device_find("host", &host), "host");
  bench_require(kdl_matmul_find(library, host, of->type, 1, &ways[0].library), of->name);
  operands_fill(of->type, a, (size_t)m * k, 1);
  operands_fill(of->type, b, (size_t)n * k, 2);
  pack_operand(of, packed_a, a, m, m0, k, 1);
  pack_operand(of, packed_b, b, n, n0, 1, n);
  ways[0].b = allocate(kdl_matmul_packed_size(of->type, n, k));
  bench_require(kdl_matmul_pack(&ways[0].library, NULL, kdl_matmul_rows(b, n), ways[0].b, n, k),
                of->name);
  multiply_in_double(of, a, b, sums, sizes);
  char symbol[64];
  snprintf(symbol, sizeof symbol, "_mlir_ciface_%s", of->name);
  for (size_t i = 0; i < file_count; ++i) {
    char *path = strchr(files[i], '=');
    void *object = path ? dlopen(path + 1, RTLD_NOW) : NULL;
    way made = {.kind = of, .a = packed_a, .b = packed_b, .c = allocate((size_t)m * n * 4)};
    if (!path || !object)
      fail(files[i], path ? dlerror() : "expected NAME=FILE");
    *(void **)&made.function = dlsym(object, symbol);
    if (!made.function)
      fail(files[i], dlerror());
    made.name = strndup(files[i], (size_t)(path - files[i]));
    ways[i + 1] = made;
  }
  for (size_t i = 0; i <= file_count; ++i) {
    run_way(&ways[i]);
    check_results(&ways[i], sums, sizes);
  }
  measure_ways(ways, file_count + 1, blocks);
}

int main(int argc, char **argv) {
  kdl_library *library;
  size_t blocks = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
  if (argc < 4 || argc > 3 + max_ways - 1 || !blocks || blocks > KDL_BENCH_LIMIT_BLOCKS) {
    fprintf(stderr, "usage: bench_mlir_mmt4d BLOCKS kdl-matmul.offload NAME=FILE...\n");
    return 2;
  }
  bench_require(kdl_open(argv[2], NULL, &library), argv[2]);
  printf("%d x %d x %d, one core, %zu blocks\n", m, n, k, blocks);
  printf(
      "type  way               us  GFLOP/s      p5     p95   speed over native's, 95%% interval\n");
  for (size_t i = 0; i < kind_count; ++i)
    measure_kind(&kinds[i], library, argv + 3, (size_t)argc - 3, blocks);
  kdl_close(library);
  return 0;
}
