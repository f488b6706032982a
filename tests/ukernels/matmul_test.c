/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The matrix multiplication of one type against its definition:
 *
 *     matmul_test f32_bf16|s32_s8|f32_f32|f32_f16 IMAGE.so [--few]
 *
 * The image is called through <kdl/host_abi.h>, as the host backend does, so that images for
 * other CPUs can be tried under an emulator. Built with KDL_MATMUL_LINKED, the kernels are part of
 * the program, and are instrumented with it.
 *
 * Small integers give the same bits in every order of additions; real numbers are compared with
 * sums in f64. Whatever lies between the elements of C must stay as it was.
 */
#include <kdl/host_abi.h>

#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef enum number_type { f32_bf16, s32_s8, f32_f32, f32_f16 } number_type;
static const char *const type_names[] = {"f32_bf16", "s32_s8", "f32_f32", "f32_f16"};
static const size_t element_sizes[] = {2, 1, 4, 2};

static number_type type;
static const kdl_host_kernel *pack, *multiply, *plain, *sum;

static void die(const char *what, const char *more) {
  fprintf(stderr, "matmul_test: %s%s\n", what, more);
  exit(2);
}

static void *allocate(size_t size) {
  void *memory = NULL;
  if (posix_memalign(&memory, 64, size ? size : 1))
    die("out of memory", "");
  return memory;
}

/* -------------------------------------------------------------------------------------------- */
/* Numbers                                                                                      */

static uint32_t seed = 1;
static uint32_t next_random(void) {
  seed ^= seed << 13;
  seed ^= seed >> 17;
  seed ^= seed << 5;
  return seed;
}

static uint16_t f16_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  uint32_t sign = bits >> 16 & 0x8000, exponent = bits >> 23 & 0xff, mantissa = bits & 0x7fffff;
  if (exponent < 113)
    return (uint16_t)sign;
  return (uint16_t)(sign | (exponent - 112) << 10 | mantissa >> 13);
}
static double f16_value(uint16_t bits) {
  int exponent = bits >> 10 & 31;
  double value = exponent ? ldexp(1024 + (bits & 1023), exponent - 25) : 0;
  return bits & 0x8000 ? -value : value;
}

/* Stores a number, and returns what was stored. */
static double put(void *elements, ptrdiff_t at, double value) {
  float number = (float)value;
  uint32_t bits;
  memcpy(&bits, &number, sizeof bits);
  switch (type) {
  case f32_bf16:
    ((uint16_t *)elements)[at] = (uint16_t)(bits >> 16);
    bits &= 0xffff0000;
    memcpy(&number, &bits, sizeof bits);
    return number;
  case s32_s8:
    ((int8_t *)elements)[at] = (int8_t)value;
    return (int8_t)value;
  case f32_f32:
    ((float *)elements)[at] = number;
    return number;
  case f32_f16:
    ((uint16_t *)elements)[at] = f16_of(number);
    return f16_value(f16_of(number));
  }
  return 0;
}

static double get_result(const void *c, ptrdiff_t at) {
  return type == s32_s8 ? (double)((const int32_t *)c)[at] : (double)((const float *)c)[at];
}
static void put_result(void *c, ptrdiff_t at, double value) {
  if (type == s32_s8)
    ((int32_t *)c)[at] = (int32_t)value;
  else
    ((float *)c)[at] = (float)value;
}

/* -------------------------------------------------------------------------------------------- */
/* Launching                                                                                    */

static void launch(const kdl_host_kernel *kernel, uint32_t x, uint32_t y, uint32_t z,
                   uint32_t more_memory, const void *const *args) {
  kdl_host_group group = {.size = sizeof group,
                          .group_count = {x, y, z},
                          .block = {1, 1, 1},
                          .tile = {1, 1, 1},
                          .shared_size = kernel->shared + more_memory};
  group.shared = group.shared_size ? allocate(group.shared_size) : NULL;
  if (group.shared)
    memset(group.shared, 0xa5, group.shared_size);
  for (uint32_t i = 0; i < x * y * z; ++i) {
    group.group[0] = i % x;
    group.group[1] = i / x % y;
    group.group[2] = i / x / y;
    kernel->run(&group, args);
  }
  free(group.shared);
}

typedef struct layout {
  int64_t row_stride, column_stride, offset;
  size_t count; /* elements that it reaches over */
} layout;

/* By rows or by columns, with gaps or without. */
static layout lay_out(int64_t rows, int64_t columns, unsigned form) {
  int64_t gap = form & 1 ? 3 : 0, apart = form & 4 ? 2 : 1;
  layout l = {.offset = form & 1 ? 5 : 0};
  if (form & 2) {
    l.row_stride = apart;
    l.column_stride = rows * apart + gap;
  } else {
    l.column_stride = apart;
    l.row_stride = columns * apart + gap;
  }
  l.count =
      rows && columns
          ? (size_t)(l.offset + (rows - 1) * l.row_stride + (columns - 1) * l.column_stride + 1)
          : (size_t)l.offset;
  return l;
}

typedef struct problem {
  uint32_t m, n, k;
  unsigned a_form, b_form, c_form;
  uint32_t groups[2], more_memory, depth;
  bool accumulate, exact;
} problem;

static double random_number(bool exact) {
  if (exact)
    return type == s32_s8 ? (int)(next_random() % 256) - 128 : (int)(next_random() % 15) - 7;
  return type == s32_s8 ? (int)(next_random() % 256) - 128 : next_random() / 0x1p31 - 1;
}

static double *fill(void *elements, layout l, uint32_t rows, uint32_t columns, bool exact) {
  double *values = allocate(((size_t)rows * columns + 1) * sizeof *values);
  for (uint32_t row = 0; row < rows; ++row)
    for (uint32_t column = 0; column < columns; ++column)
      values[(size_t)row * columns + column] = put(
          elements, l.offset + row * l.row_stride + column * l.column_stride, random_number(exact));
  return values;
}

/* As <kdl/matmul.h> promises. */
static size_t packed_size(uint32_t n, uint32_t k) {
  size_t values = type == f32_bf16 ? 2 : type == s32_s8 ? 4 : 1;
  size_t words = ((k + values - 1) / values + 15) / 16 * 16, columns = ((size_t)n + 15) / 16 * 16;
  return columns * words * (type == f32_f16 ? 2 : 4) + (type == s32_s8 ? columns * 4 : 0);
}

static bool is_right(const problem *p, double expected, double magnitude, double found) {
  if (p->exact || type == s32_s8)
    return found == expected;
  /* Each addition and each conversion of the sum rounds once, to 24 bits. */
  return fabs(found - expected) <= (magnitude + fabs(expected)) * (p->k + 2) * 0x1p-24;
}

static int compare(const problem *p, layout c, const void *found, const double *before,
                   const double *a, const double *b) {
  for (uint32_t i = 0; i < p->m; ++i)
    for (uint32_t j = 0; j < p->n; ++j) {
      ptrdiff_t at = c.offset + i * c.row_stride + j * c.column_stride;
      double sum = p->accumulate ? before[at] : 0, magnitude = fabs(sum);
      for (uint32_t l = 0; l < p->k; ++l) {
        double product = a[(size_t)i * p->k + l] * b[(size_t)l * p->n + j];
        sum += product;
        magnitude += fabs(product);
      }
      if (!is_right(p, sum, magnitude, get_result(found, at))) {
        fprintf(stderr,
                "%ux%ux%u, forms %u %u %u, %ux%u groups, %s: row %u, column %u: found %.9g, "
                "expected %.9g\n",
                p->m, p->n, p->k, p->a_form, p->b_form, p->c_form, p->groups[0], p->groups[1],
                p->accumulate ? "added" : "set", i, j, get_result(found, at), sum);
        return 1;
      }
    }
  return 0;
}

/* Of what C reaches over, all that is no element of it. */
static int compare_gaps(const problem *p, layout c, const void *found, const double *before) {
  bool *is_element = calloc(c.count + 1, sizeof *is_element);
  if (!is_element)
    die("out of memory", "");
  for (uint32_t i = 0; i < p->m; ++i)
    for (uint32_t j = 0; j < p->n; ++j)
      is_element[c.offset + i * c.row_stride + j * c.column_stride] = true;
  int wrong = 0;
  for (size_t at = 0; at < c.count && !wrong; ++at)
    wrong = !is_element[at] && get_result(found, (ptrdiff_t)at) != before[at];
  if (wrong)
    fprintf(stderr, "%ux%ux%u, form %u: wrote between the elements of C\n", p->m, p->n, p->k,
            p->c_form);
  free(is_element);
  return wrong;
}

/* Whether C has the same bits when more groups compute it, and in shorter blocks of K, but for
 * the few rows that are added up in several places at a time. */
static int compare_division(const problem *p, layout c, const kdl_host_kernel *kernel,
                            const void *const *args, void *c_memory, const double *before) {
  static const uint32_t divisions[][3] = {{3, 2, 0}, {7, 1, 32}, {1, 5, 128}};
  size_t size = c.count * 4;
  void *expected = allocate(size);
  const void *others[14];
  int wrong = 0;
  memcpy(expected, c_memory, size);
  for (size_t i = 0; i < sizeof divisions / sizeof *divisions && !wrong; ++i) {
    int last = kernel == multiply ? 11 : 13;
    memcpy(others, args, (size_t)(last + 1) * sizeof *others);
    if (p->m > 4)
      others[last] = &divisions[i][2];
    for (size_t at = 0; at < c.count; ++at)
      put_result(c_memory, (ptrdiff_t)at, before[at]);
    launch(kernel, divisions[i][0], divisions[i][1], 1, p->more_memory, others);
    wrong = memcmp(expected, c_memory, size) != 0;
    if (wrong)
      fprintf(stderr, "%ux%ux%u: other bits with %ux%u groups and blocks of %u words\n", p->m, p->n,
              p->k, divisions[i][0], divisions[i][1], divisions[i][2]);
  }
  free(expected);
  return wrong;
}

/* K in parts, the last of which may have none of it. Integers are the same numbers, whatever the
 * parts. */
static void run_divided(const problem *p, const void *const *plain_args) {
  enum { parts = 3 };
  const int64_t row_stride = p->n, column_stride = 1;
  const uint32_t count = parts, accumulate = 0;
  void *sums = allocate((size_t)parts * p->m * p->n * 4 + 1);
  const void *args[14];
  memcpy(args, plain_args, sizeof args);
  args[6] = &sums;
  args[7] = &row_stride;
  args[8] = &column_stride;
  args[12] = &accumulate;
  launch(plain, p->groups[0], p->groups[1], parts, p->more_memory, args);
  const void *sum_args[] = {&sums,         &count, plain_args[6], plain_args[7],
                            plain_args[8], &p->m,  &p->n,         plain_args[12]};
  launch(sum, p->groups[0] + 1, 1, 1, 0, sum_args);
  free(sums);
}

static int try(const problem *p) {
  layout a = lay_out(p->m, p->k, p->a_form), b = lay_out(p->k, p->n, p->b_form);
  layout c = lay_out(p->m, p->n, p->c_form);
  char *a_memory = allocate(a.count * element_sizes[type]);
  char *b_memory = allocate(b.count * element_sizes[type]);
  char *c_memory = allocate(c.count * 4), *packed = allocate(packed_size(p->n, p->k));
  double *a_values = fill(a_memory, a, p->m, p->k, p->exact);
  double *b_values = fill(b_memory, b, p->k, p->n, p->exact);
  double *before = allocate((c.count + 1) * sizeof *before);
  for (size_t at = 0; at < c.count; ++at) {
    put_result(c_memory, (ptrdiff_t)at, (int)(next_random() % 100) - 50);
    before[at] = get_result(c_memory, (ptrdiff_t)at);
  }
  void *a_first = a_memory + (size_t)a.offset * element_sizes[type];
  void *b_first = b_memory + (size_t)b.offset * element_sizes[type];
  void *c_first = c_memory + c.offset * 4;
  uint32_t accumulate = p->accumulate;
  const void *pack_args[] = {&b_first, &b.row_stride, &b.column_stride, &packed, &p->n, &p->k};
  const void *args[] = {&a_first, &a.row_stride, &a.column_stride, &packed,
                        &c_first, &c.row_stride, &c.column_stride, &p->m,
                        &p->n,    &p->k,         &accumulate,      &p->depth};
  const void *plain_args[] = {
      &a_first,    &a.row_stride, &a.column_stride, &b_first, &b.row_stride, &b.column_stride,
      &c_first,    &c.row_stride, &c.column_stride, &p->m,    &p->n,         &p->k,
      &accumulate, &p->depth};
  launch(pack, p->groups[0], 1, 1, 0, pack_args);
  launch(multiply, p->groups[0], p->groups[1], 1, p->more_memory, args);
  int wrong =
      compare(p, c, c_memory, before, a_values, b_values) || compare_gaps(p, c, c_memory, before);
  if (!wrong && !p->exact)
    wrong = compare_division(p, c, multiply, args, c_memory, before);
  for (size_t at = 0; at < c.count; ++at)
    put_result(c_memory, (ptrdiff_t)at, before[at]);
  launch(plain, p->groups[0], p->groups[1], 1, p->more_memory, plain_args);
  int wrong_plain =
      compare(p, c, c_memory, before, a_values, b_values) || compare_gaps(p, c, c_memory, before);
  if (!wrong_plain && !p->exact)
    wrong_plain = compare_division(p, c, plain, plain_args, c_memory, before);
  if (wrong_plain)
    fprintf(stderr, "... with B as it lies\n");
  wrong = wrong || wrong_plain;
  for (size_t at = 0; at < c.count; ++at)
    put_result(c_memory, (ptrdiff_t)at, before[at]);
  run_divided(p, plain_args);
  if (compare(p, c, c_memory, before, a_values, b_values) || compare_gaps(p, c, c_memory, before)) {
    fprintf(stderr, "... with K in parts\n");
    wrong = 1;
  }
  free(a_memory), free(b_memory), free(c_memory), free(packed);
  free(a_values), free(b_values), free(before);
  return wrong;
}

/* -------------------------------------------------------------------------------------------- */

static int try_forms(uint32_t m, uint32_t n, uint32_t k) {
  int wrong = 0;
  for (unsigned turn = 0; turn < 4; ++turn) {
    problem p = {.m = m, .n = n, .k = k, .accumulate = turn & 1, .exact = turn < 3};
    p.groups[0] = turn == 1 ? 3 : 1;
    p.groups[1] = turn == 2 ? 2 : 1;
    p.more_memory = turn == 3 ? 200000 : 0;
    p.depth = turn == 2 ? 64 : 0;
    if (turn == 1)
      p.a_form = 1, p.b_form = 2, p.c_form = 1;
    if (turn == 2)
      p.a_form = 6, p.b_form = 5, p.c_form = next_random() % 8;
    wrong += try(&p);
  }
  return wrong;
}

static const uint32_t shapes[][3] = {
    {0, 5, 5},      {5, 0, 5},      {5, 5, 0},     {1, 1, 1},       {81, 19, 41},
    {14, 32, 32},   {14, 33, 2049}, {29, 31, 513}, {457, 330, 512}, {1, 1000, 1000},
    {1000, 4, 512}, {4, 1000, 512}, {2, 64, 4100}, {8, 40, 300},    {37, 8, 300},
    {33, 1, 129},   {20, 9, 40},    {15, 7, 2050}, {3, 700, 70},    {30, 64, 1024},
    {2, 3000, 65},  {40, 35, 300},  {50, 65, 517}, {5, 4500, 300},  {18, 2100, 140},
};

#ifdef __x86_64__
/* What libkdl asks of the kernel before it loads an image that needs AMX; harmless elsewhere. */
static void permit_amx(void) {
  enum { request_permission = 0x1023, tile_data = 18 };
  syscall(SYS_arch_prctl, request_permission, tile_data);
}
#else
static void permit_amx(void) {}
#endif

static const void *symbol(void *image, const char *kernel) {
  char name[128];
  snprintf(name, sizeof name, "kdl_host_kernel_%s%s", kernel, type_names[type]);
  const void *found = dlsym(image, name);
  if (!found)
    die("no symbol ", name);
  return found;
}

int main(int argc, char **argv) {
#ifdef KDL_MATMUL_LINKED
  if (argc != 2)
    die("usage: matmul_test TYPE", "");
  void *image = dlopen(NULL, RTLD_NOW);
#else
  if (argc != 3 && argc != 4)
    die("usage: matmul_test TYPE IMAGE [--few]", "");
  void *image = dlopen(argv[2], RTLD_NOW);
#endif
  if (!image)
    die("cannot load: ", dlerror());
  permit_amx();
  while (strcmp(type_names[type], argv[1]) != 0)
    if (++type > f32_f16)
      die("unknown type ", argv[1]);
  pack = symbol(image, "kdl_matmul_pack_");
  multiply = symbol(image, "kdl_matmul_");
  plain = symbol(image, "kdl_matmul_plain_");
  sum = symbol(image, "kdl_matmul_sum_");

  int wrong = 0, tried = 0, few = argc == 4 && !strcmp(argv[3], "--few");
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i)
    if (!few || (uint64_t)shapes[i][0] * shapes[i][1] * shapes[i][2] < 300000)
      ++tried, wrong += try_forms(shapes[i][0], shapes[i][1], shapes[i][2]);
  for (int i = 0; i < (few ? 30 : 150); ++i, ++tried)
    wrong += try_forms(1 + next_random() % 33, 1 + next_random() % 33, 1 + next_random() % 33);
  printf("%s: %d shapes, %d wrong\n", type_names[type], tried, wrong);
  return wrong != 0;
}
