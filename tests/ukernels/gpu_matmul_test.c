/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The matrix multiplication on a GPU against its definition:
 *
 *     gpu_matmul_test LIBRARY.offload [f32_bf16|f32_f16|s32_s8|f32_e4m3|f32_e4m3fnuz]
 *                     [--few] [--large] [--hip]
 *
 * Small integers are exact in every order of additions; real numbers are compared with sums in f64.
 * C is filled with a pattern before: what lies between its elements must stay, and every element
 * must be written. Large shapes are compared in 4096 places. Exit status 77: no GPU
 * of NVIDIA, or with --hip of AMD.
 */
#include "tests/ukernels/gpu_test.h"

#include <kdl/matmul_gpu.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static kdl_library *library;
static kdl_device *device;
static kdl_queue *queue;
static kdl_matmul_gpu *matmul;
static kdl_matmul_type type = KDL_MATMUL_F32_BF16;
static uint32_t size_count; /* of tiles */
static int failures, checks;

/* ------------------------------------------------------------------------------------------ */
/* Numbers                                                                                      */

/* Normal numbers and those below, to the nearest even. */
static uint16_t f16_of(float value) {
  float size = fabsf(value), unit = size < 0x1p-14f ? 0x1p-24f : ldexpf(1.0f, ilogbf(size) - 10);
  float rounded = nearbyintf(size / unit) * unit;
  uint16_t sign = (uint16_t)(bits_of(value) >> 16 & 0x8000);
  if (rounded < 0x1p-14f)
    return (uint16_t)(sign | (uint16_t)(rounded * 0x1p24f));
  if (rounded > 65504.0f)
    return (uint16_t)(sign | 0x7c00);
  return (uint16_t)(sign | (uint16_t)((bits_of(rounded) >> 13) - (112 << 10)));
}
static float f16_value(uint16_t half) {
  uint32_t exponent = half >> 10 & 31, mantissa = half & 1023;
  float size = exponent ? ldexpf((float)(1024 + mantissa), (int)exponent - 25)
                        : ldexpf((float)mantissa, -24);
  return half & 0x8000 ? -size : size;
}

/* Numbers from 2^-9 to 448, in steps of 2^-9 at least. Those of gfx942 are half of these, with one
 * zero. */
static uint8_t e4m3_of(float value) {
  float size = fabsf(value), unit = size < 0x1p-6f ? 0x1p-9f : ldexpf(1.0f, ilogbf(size) - 3);
  float rounded = nearbyintf(size / unit) * unit;
  uint8_t sign = (uint8_t)(bits_of(value) >> 24 & 0x80);
  if (rounded < 0x1p-6f)
    return (uint8_t)(sign | (uint8_t)(rounded * 0x1p9f));
  return (uint8_t)(sign | (uint8_t)((bits_of(rounded) >> 20) - (120 << 3)));
}
static float e4m3_value(uint8_t bits) {
  uint32_t exponent = bits >> 3 & 15, mantissa = bits & 7;
  float size =
      exponent ? ldexpf((float)(8 + mantissa), (int)exponent - 10) : ldexpf((float)mantissa, -9);
  return bits & 0x80 ? -size : size;
}

static uint8_t e4m3fnuz_of(float value) {
  uint8_t bits = e4m3_of(2.0f * value);
  return bits == 0x80 ? 0 : bits;
}

static uint32_t element_size(void) {
  return type == KDL_MATMUL_F32_BF16 || type == KDL_MATMUL_F32_F16 ? 2 : 1;
}
static void put_element(uint8_t *at, float value) {
  uint16_t half = type == KDL_MATMUL_F32_BF16 ? bf16_of(value) : f16_of(value);
  if (type == KDL_MATMUL_S32_S8)
    *(int8_t *)at = (int8_t)value;
  else if (type == KDL_MATMUL_F32_E4M3)
    *at = e4m3_of(value);
  else if (type == KDL_MATMUL_F32_E4M3FNUZ)
    *at = e4m3fnuz_of(value);
  else
    memcpy(at, &half, 2);
}
static float element_values[1 << 16]; /* of all bits */
static void list_values(void) {
  for (uint32_t i = 0; i < 1 << 16; ++i)
    element_values[i] = type == KDL_MATMUL_F32_BF16   ? float_of(i << 16)
                        : type == KDL_MATMUL_F32_F16  ? f16_value((uint16_t)i)
                        : type == KDL_MATMUL_S32_S8   ? (float)(int8_t)i
                        : type == KDL_MATMUL_F32_E4M3 ? e4m3_value((uint8_t)i)
                                                      : e4m3_value((uint8_t)i) / 2;
}
static float get_element(const uint8_t *at) {
  uint16_t half = *at;
  if (element_size() == 2)
    memcpy(&half, at, 2);
  return element_values[half];
}

static uint32_t result_size(kdl_matmul_result result) {
  return result == KDL_MATMUL_RESULT_BF16 || result == KDL_MATMUL_RESULT_F16 ? 2 : 4;
}
static double get_result(const uint8_t *at, kdl_matmul_result result) {
  uint32_t bits = 0;
  memcpy(&bits, at, result_size(result));
  if (result == KDL_MATMUL_RESULT_BF16)
    return float_of(bits << 16);
  if (result == KDL_MATMUL_RESULT_F16)
    return f16_value((uint16_t)bits);
  if (result == KDL_MATMUL_RESULT_ACC && type == KDL_MATMUL_S32_S8)
    return (int32_t)bits;
  return float_of(bits);
}
/* Of the last place of a result, relative to it. */
static double result_rounding(kdl_matmul_result result) {
  return result == KDL_MATMUL_RESULT_BF16  ? 0x1p-8
         : result == KDL_MATMUL_RESULT_F16 ? 0x1p-11
                                           : 0x1p-23;
}

/* Of a sum, relative to that of the sizes of its terms. Tensor cores add 8-bit numbers with 13 bits
 * after the point of the largest. */
static double sum_rounding(void) {
  return type == KDL_MATMUL_F32_E4M3 || type == KDL_MATMUL_F32_E4M3FNUZ ? 0x1p-11 : 0x1p-18;
}

/* ------------------------------------------------------------------------------------------ */
/* Matrices                                                                                     */

typedef struct {
  uint8_t *bytes;
  uint64_t size;
  kdl_buffer buffer;
  int64_t row, column, batch; /* strides, in elements */
  uint32_t shift;             /* elements before the first */
} matrix;

typedef struct {
  const char *name;
  uint32_t m, n, k, batch;
  char a, b, c; /* 'r': rows, 'c': columns, 'p': rows with a gap, 'o': with an odd one */
  kdl_matmul_result result;
  bool is_exact; /* small integers */
  int epilogue;  /* bits: 1 scale, 2 bias, 4 residual, 8 ReLU, 16 GELU, 32 C is the residual;
                    64: B is packed before */
  uint32_t tile, parts;
} test;

static matrix make(uint32_t rows, uint32_t columns, uint32_t batch, char form, uint32_t size) {
  matrix x = {0};
  int64_t gap = form == 'p' ? 16 : form == 'o' ? 3 : 0;
  x.shift = form == 'o' ? 1 : 0;
  x.row = form == 'c' ? 1 : (int64_t)columns + gap;
  x.column = form == 'c' ? (int64_t)rows + gap : 1;
  x.batch = form == 'c' ? x.column * (int64_t)columns : x.row * (int64_t)rows;
  if (form != 'o')
    x.batch = (x.batch + 15) / 16 * 16;
  x.size = ((uint64_t)x.batch * batch + x.shift + 1) * size;
  x.bytes = malloc(x.size);
  must(kdl_alloc(device, x.size, &x.buffer), "kdl_alloc");
  return x;
}
static void drop(matrix *x) {
  free(x->bytes);
  kdl_free(&x->buffer);
}
static uint64_t index_of(const matrix *x, uint32_t row, uint32_t column, uint32_t batch) {
  return x->shift + (uint64_t)((int64_t)row * x->row + (int64_t)column * x->column +
                               (int64_t)batch * x->batch);
}
static kdl_matmul_matrix on_device(const matrix *x, uint32_t size) {
  return (kdl_matmul_matrix){(void *)(uintptr_t)(x->buffer.address + (uint64_t)x->shift * size),
                             x->row, x->column};
}
static float random_value(bool is_exact) {
  if (is_exact || type == KDL_MATMUL_S32_S8)
    return (float)(next_random() % 7) - 3;
  return (float)(int32_t)next_random() * 0x1p-31f;
}
/* By drawing from a few of them, since rounding each takes long. */
static void randomise(matrix *x, bool is_exact) {
  enum { count = 1024 };
  const uint32_t size = element_size();
  uint8_t drawn[count][2];
  for (uint32_t i = 0; i < count; ++i)
    put_element(drawn[i], random_value(is_exact));
  for (uint64_t i = 0; i < x->size / size; ++i)
    memcpy(x->bytes + i * size, drawn[next_random() % count], size);
  must(kdl_write(queue, &x->buffer, 0, x->bytes, x->size), "kdl_write");
}

/* ------------------------------------------------------------------------------------------ */
/* Comparing                                                                                    */

typedef struct {
  const test *t;
  matrix a, b, c, residual;
  uint8_t *before; /* of C */
  float *bias, scale;
  float *lhs, *rhs; /* A and B, as list_lines has them */
  double worst;
  int reported;
} state;

/* The elements of an operand as numbers, along K: of each row of A, or of each column of B. */
static float *list_lines(const matrix *x, uint32_t lines, const test *t, bool is_rhs) {
  const uint32_t bytes = element_size();
  float *values = malloc(((uint64_t)lines * t->k * t->batch + 1) * sizeof *values), *next = values;
  for (uint32_t batch = 0; batch < t->batch; ++batch)
    for (uint32_t line = 0; line < lines; ++line)
      for (uint32_t k = 0; k < t->k; ++k)
        *next++ = get_element(x->bytes +
                              bytes * index_of(x, is_rhs ? k : line, is_rhs ? line : k, batch));
  return values;
}

static double expected_of(const state *s, uint32_t row, uint32_t column, uint32_t batch,
                          double *out_size) {
  enum { lanes = 8 }; /* so that the compiler uses vectors */
  double sums[lanes] = {0}, sizes[lanes] = {0}, sum = 0, size = 0;
  const uint32_t depth = s->t->k;
  const float *a = s->lhs + ((uint64_t)batch * s->t->m + row) * depth;
  const float *b = s->rhs + ((uint64_t)batch * s->t->n + column) * depth;
  uint32_t k = 0;
  for (; k + lanes <= depth; k += lanes)
    for (uint32_t i = 0; i < lanes; ++i) {
      double product = (double)a[k + i] * (double)b[k + i];
      sums[i] += product, sizes[i] += fabs(product);
    }
  for (; k < depth; ++k)
    sums[0] += (double)a[k] * (double)b[k], sizes[0] += fabs((double)a[k] * (double)b[k]);
  for (uint32_t i = 0; i < lanes; ++i)
    sum += sums[i], size += sizes[i];
  const uint32_t out = result_size(s->t->result);
  sum *= s->scale, size *= fabs(s->scale);
  if (s->bias)
    sum += s->bias[column], size += fabs(s->bias[column]);
  if (s->t->epilogue & (4 | 32)) {
    const matrix *from = s->t->epilogue & 32 ? &s->c : &s->residual;
    const uint8_t *values = s->t->epilogue & 32 ? s->before : from->bytes;
    double value = get_result(values + index_of(from, row, column, batch) * out, s->t->result);
    sum += value, size += fabs(value);
  }
  if (s->t->epilogue & 8)
    sum = sum > 0 ? sum : 0;
  if (s->t->epilogue & 16)
    sum = 0.5 * sum * (1 + tanh(0.7978845608028654 * (sum + 0.044715 * sum * sum * sum)));
  *out_size = size;
  return sum;
}

static void compare(state *s, uint32_t row, uint32_t column, uint32_t batch) {
  double size, wanted = expected_of(s, row, column, batch, &size);
  double found = get_result(
      s->c.bytes + index_of(&s->c, row, column, batch) * result_size(s->t->result), s->t->result);
  double error = fabs(found - wanted);
  double allowed = fabs(wanted) * result_rounding(s->t->result) +
                   size * (s->t->is_exact && !(s->t->epilogue & 16) ? 0 : sum_rounding()) +
                   0x1p-126;
  if (!(error <= allowed) && !s->reported) {
    printf("  [%u][%u][%u]: found %.9g, expected %.9g, allowed error %.3g; tile of 128x256: (%u, "
           "%u) at (%u, %u)\n",
           batch, row, column, found, wanted, allowed, row / 128, column / 256, row % 128,
           column % 256);
    s->reported = 1;
  }
  if (!(error <= allowed))
    s->worst = INFINITY;
  else if (allowed > 0 && error / allowed > s->worst)
    s->worst = error / allowed;
}

/* Which elements are wrong, by rows and columns of 8. */
static void print_map(state *s) {
  const uint32_t rows = s->t->m < 128 ? s->t->m : 128, columns = s->t->n < 256 ? s->t->n : 256;
  for (uint32_t row = 0; row < rows; row += 8) {
    char line[64] = "";
    for (uint32_t column = 0; column < columns; column += 8) {
      double size, wanted = expected_of(s, row, column, 0, &size);
      double found = get_result(
          s->c.bytes + index_of(&s->c, row, column, 0) * result_size(s->t->result), s->t->result);
      double allowed =
          fabs(wanted) * result_rounding(s->t->result) + size * sum_rounding() + 0x1p-126;
      strcat(line, found != found ? "n" : fabs(found - wanted) <= allowed ? "." : "x");
    }
    printf("    %s\n", line);
  }
}

static bool gaps_are_whole(const state *s) {
  const uint32_t size = result_size(s->t->result);
  uint8_t *is_element = calloc(s->c.size / size + 1, 1);
  for (uint32_t batch = 0; batch < s->t->batch; ++batch)
    for (uint32_t row = 0; row < s->t->m; ++row)
      for (uint32_t column = 0; column < s->t->n; ++column)
        is_element[index_of(&s->c, row, column, batch)] = 1;
  bool whole = true;
  for (uint64_t i = 0; i < s->c.size / size; ++i)
    whole &= is_element[i] || !memcmp(s->c.bytes + i * size, s->before + i * size, size);
  free(is_element);
  return whole;
}

/* ------------------------------------------------------------------------------------------ */
/* One test                                                                                     */

static void fill_c(state *s) {
  const uint32_t size = result_size(s->t->result);
  for (uint64_t i = 0; i < s->c.size / size; ++i) {
    uint32_t bits = 0xffffffff; /* NaN */
    if (s->t->epilogue & 32) {
      float value = random_value(s->t->is_exact);
      bits = s->t->result == KDL_MATMUL_RESULT_BF16  ? bf16_of(value)
             : s->t->result == KDL_MATMUL_RESULT_F16 ? f16_of(value)
             : type == KDL_MATMUL_S32_S8 && s->t->result == KDL_MATMUL_RESULT_ACC
                 ? (uint32_t)(int32_t)value
                 : bits_of(value);
    }
    memcpy(s->c.bytes + i * size, &bits, size);
  }
  memcpy(s->before, s->c.bytes, s->c.size);
  must(kdl_write(queue, &s->c.buffer, 0, s->c.bytes, s->c.size), "kdl_write");
}

static void run(const test *given, kdl_buffer workspace) {
  test own = *given;
  const test *t = &own;
  if (type == KDL_MATMUL_S32_S8 && t->result == KDL_MATMUL_RESULT_ACC &&
      t->epilogue & ~(4 | 32 | 64))
    own.result = KDL_MATMUL_RESULT_F32;
  state s = {.t = t, .scale = t->epilogue & 1 ? 0.5f : 1.0f};
  const uint32_t out = result_size(t->result);
  s.a = make(t->m, t->k, t->batch, t->a, element_size());
  s.b = make(t->k, t->n, t->batch, t->b, element_size());
  s.c = make(t->m, t->n, t->batch, t->c, out);
  s.residual = make(t->m, t->n, t->batch, 'r', out);
  s.before = malloc(s.c.size);
  randomise(&s.a, t->is_exact);
  randomise(&s.b, t->is_exact);
  kdl_buffer bias = {0};
  must(kdl_alloc(device, t->n * 4 + 4, &bias), "kdl_alloc");
  if (t->epilogue & 2) {
    s.bias = malloc(t->n * 4);
    for (uint32_t i = 0; i < t->n; ++i)
      s.bias[i] = random_value(t->is_exact);
    must(kdl_write(queue, &bias, 0, s.bias, t->n * 4), "kdl_write");
  }
  if (t->epilogue & 4) {
    matrix kept = s.c; /* the residual's numbers are as those of a C that is added to */
    test adds = *t;
    adds.epilogue = 32;
    s.t = &adds;
    s.c = s.residual;
    uint8_t *before = s.before;
    s.before = malloc(s.c.size);
    fill_c(&s);
    free(s.before);
    s.residual = s.c, s.c = kept, s.before = before, s.t = t;
  }
  fill_c(&s);
  kdl_matmul_gpu_problem p = kdl_matmul_gpu_problem_of(t->m, t->n, t->k);
  p.batch = t->batch;
  p.a = on_device(&s.a, element_size()), p.a_batch = s.a.batch;
  p.b = on_device(&s.b, element_size()), p.b_batch = s.b.batch;
  kdl_buffer packed = {0};
  must(kdl_alloc(device, kdl_matmul_packed_size(type, t->n, t->k) + 1, &packed), "kdl_alloc");
  if (t->epilogue & 64) {
    void *at = (void *)(uintptr_t)packed.address;
    must(kdl_matmul_gpu_pack(matmul, queue, &p.b, at, t->n, t->k), "kdl_matmul_gpu_pack");
    p.b = kdl_matmul_gpu_packed(matmul, at, t->k);
  }
  p.c = on_device(&s.c, out), p.c_batch = s.c.batch;
  p.result = t->result;
  p.scale = s.scale;
  p.activation = t->epilogue & 8    ? KDL_MATMUL_RELU
                 : t->epilogue & 16 ? KDL_MATMUL_GELU
                                    : KDL_MATMUL_NO_ACTIVATION;
  p.bias = s.bias ? (const float *)(uintptr_t)bias.address : NULL;
  if (t->epilogue & 4)
    p.residual = on_device(&s.residual, out), p.residual_batch = s.residual.batch;
  if (t->epilogue & 32)
    p.residual = p.c, p.residual_batch = p.c_batch;
  p.tile =
      t->tile ? 1 + (t->tile - 1) % size_count : 0; /* microkernels have unlike numbers of sizes */
  p.parts = t->parts, p.workspace = workspace;
  kdl_matmul_gpu_plan plan = {0};
  if (kdl_matmul_gpu_plan_of(matmul, &p, &plan) != KDL_OK)
    p.tile = 0; /* microkernels have different numbers of sizes */
  must(kdl_matmul_gpu_plan_of(matmul, &p, &plan), t->name);
  must(kdl_matmul_gpu_run(matmul, queue, &p), t->name);
  must(kdl_read(queue, s.c.bytes, &s.c.buffer, 0, s.c.size), "kdl_read");
  must(kdl_sync(queue), t->name);
  s.lhs = list_lines(&s.a, t->m, t, false), s.rhs = list_lines(&s.b, t->n, t, true);
  if ((uint64_t)t->m * t->n * t->k * t->batch <= 64u << 20) {
    for (uint32_t batch = 0; batch < t->batch; ++batch)
      for (uint32_t row = 0; row < t->m; ++row)
        for (uint32_t column = 0; column < t->n; ++column)
          compare(&s, row, column, batch);
  } else {
    for (int i = 0; i < 4096; ++i)
      compare(&s, next_random() % t->m, next_random() % t->n, next_random() % t->batch);
    for (uint64_t i = 0; i < (uint64_t)t->m * t->n; ++i) {
      double value = get_result(
          s.c.bytes + index_of(&s.c, (uint32_t)(i / t->n), (uint32_t)(i % t->n), 0) * out,
          t->result);
      if (value != value) {
        printf("  [%u][%u] was not written\n", (uint32_t)(i / t->n), (uint32_t)(i % t->n));
        s.worst = INFINITY;
        break;
      }
    }
  }
  bool is_whole = gaps_are_whole(&s), is_right = s.worst <= 1 && is_whole;
  ++checks;
  failures += !is_right;
  printf("%-6s %s %ux%ux%u batch %u %c%c%c result %d epilogue %d: tile %u (%ux%u), %u parts, %u "
         "groups; worst error %.3g of what is allowed%s\n",
         is_right ? "ok" : "FAILED", t->name, t->m, t->n, t->k, t->batch, t->a, t->b, t->c,
         (int)t->result, t->epilogue, plan.tile, plan.rows, plan.columns, plan.parts, plan.groups,
         s.worst, is_whole ? "" : "; wrote between the elements of C");
  if (!is_right && t->m && t->n)
    print_map(&s);
  fflush(stdout);
  drop(&s.a), drop(&s.b), drop(&s.c), drop(&s.residual);
  free(s.before), free(s.bias), free(s.lhs), free(s.rhs);
  kdl_free(&bias);
  kdl_free(&packed);
}

/* ------------------------------------------------------------------------------------------ */

#define acc KDL_MATMUL_RESULT_ACC
#define bf16 KDL_MATMUL_RESULT_BF16
#define f16 KDL_MATMUL_RESULT_F16

static const test few[] = {
    {"one step", 128, 256, 64, 1, 'r', 'c', 'r', acc, true, 0, 1, 1},
    {"two steps", 128, 256, 128, 1, 'r', 'c', 'r', acc, true, 0, 1, 1},
    {"ring", 128, 256, 1024, 1, 'r', 'c', 'r', acc, true, 0, 1, 1},
    {"bf16", 128, 256, 256, 1, 'r', 'c', 'r', bf16, true, 0, 1, 1},
    {"tiles", 300, 700, 200, 1, 'r', 'c', 'r', bf16, true, 0, 1, 1},
    {"size 1", 300, 700, 200, 1, 'r', 'c', 'r', bf16, true, 0, 2, 1},
    {"size 2", 300, 700, 200, 1, 'r', 'c', 'r', bf16, true, 0, 3, 1},
    {"size 3", 300, 700, 200, 1, 'r', 'c', 'r', bf16, true, 0, 4, 1},
    {"size 4", 300, 700, 200, 1, 'r', 'c', 'r', bf16, true, 0, 5, 1},
    {"size 5", 300, 704, 200, 1, 'r', 'c', 'r', bf16, true, 0, 6, 1},
    {"size 5 f32", 300, 700, 200, 1, 'r', 'c', 'r', acc, true, 0, 6, 1},
    {"B by K", 128, 256, 64, 1, 'r', 'r', 'r', acc, true, 0, 1, 1},
    {"B by K", 128, 128, 256, 1, 'r', 'r', 'r', acc, true, 0, 2, 1},
    {"B by K", 128, 192, 256, 1, 'r', 'r', 'r', acc, true, 0, 3, 1},
    {"B by K", 64, 64, 64, 1, 'r', 'r', 'r', acc, true, 0, 6, 1},
    {"B by K", 300, 704, 200, 1, 'r', 'r', 'r', bf16, false, 0, 0, 1},
    {"A by K", 128, 256, 64, 1, 'c', 'c', 'r', acc, true, 0, 1, 1},
    {"A by K", 128, 256, 128, 1, 'c', 'r', 'r', acc, true, 0, 1, 1},
    {"A by K", 192, 304, 136, 1, 'c', 'r', 'r', bf16, false, 0, 5, 1},
    {"A by columns", 201, 300, 130, 1, 'c', 'c', 'r', acc, false, 0, 0, 1},
    {"odd strides", 150, 270, 131, 1, 'o', 'o', 'o', acc, false, 0, 0, 1},
    {"odd strides", 150, 270, 131, 1, 'o', 'o', 'o', bf16, false, 0, 1, 1},
    {"K of 0", 100, 100, 0, 1, 'r', 'r', 'r', acc, true, 0, 0, 1},
    {"one element", 1, 1, 1, 1, 'r', 'r', 'r', acc, true, 0, 0, 1},
    {"C by columns", 130, 260, 96, 1, 'r', 'c', 'c', acc, false, 0, 0, 1},
    {"gaps", 130, 260, 96, 2, 'p', 'p', 'p', bf16, false, 0, 0, 1},
    {"batch", 130, 260, 96, 5, 'r', 'c', 'r', acc, false, 0, 0, 1},
    {"parts", 64, 256, 1024, 1, 'r', 'c', 'r', acc, false, 0, 0, 4},
    {"parts", 130, 260, 1000, 1, 'r', 'c', 'r', bf16, false, 2, 1, 4},
    {"parts", 130, 260, 1000, 1, 'r', 'c', 'r', acc, false, 0, 3, 8},
    {"parts", 130, 260, 1000, 2, 'r', 'r', 'r', bf16, true, 0, 5, 2},
    {"parts", 130, 260, 1000, 1, 'r', 'c', 'r', acc, false, 0, 3, 6},
    {"parts", 130, 260, 1000, 1, 'r', 'c', 'r', bf16, false, 8, 6, 3},
    {"parts", 130, 260, 4096, 1, 'r', 'c', 'r', bf16, false, 0, 3, 16},
    {"bias", 130, 260, 96, 1, 'r', 'c', 'r', acc, false, 2, 0, 1},
    {"ReLU", 130, 260, 96, 1, 'r', 'c', 'r', bf16, false, 1 | 2 | 8, 0, 1},
    {"GELU", 130, 260, 96, 1, 'r', 'c', 'r', acc, false, 16, 0, 1},
    {"residual", 130, 260, 96, 2, 'r', 'c', 'r', bf16, false, 2 | 4, 1, 1},
    {"packed", 130, 260, 96, 1, 'r', 'r', 'r', acc, true, 64, 0, 1},
    {"packed", 200, 333, 1001, 1, 'r', 'o', 'r', bf16, false, 64 | 2, 0, 1},
    {"packed", 65, 129, 131, 1, 'r', 'c', 'r', acc, false, 64, 0, 1},
    {"C +=", 130, 260, 96, 1, 'r', 'c', 'r', acc, true, 32, 0, 1},
    {"f16 result", 130, 260, 96, 1, 'r', 'c', 'r', f16, false, 2 | 4 | 16, 0, 1},
};

static const test large[] = {
    {"large", 4096, 4096, 4096, 1, 'r', 'c', 'r', bf16, false, 0, 1, 1},
    {"large", 4096, 4096, 4096, 1, 'r', 'r', 'r', bf16, false, 0, 1, 1},
    {"large", 4096, 4096, 4096, 1, 'r', 'c', 'r', acc, false, 0, 2, 1},
    {"parts", 512, 512, 16384, 1, 'r', 'c', 'r', bf16, true, 0, 3, 8},
    {"last tiles in parts", 512, 10240, 4096, 1, 'r', 'c', 'r', bf16, false, 0, 1, 0},
    {"last tiles in parts", 520, 10200, 4096, 1, 'r', 'r', 'r', acc, true, 2, 1, 0},
    {"odd", 1000, 3000, 1048, 1, 'r', 'c', 'r', bf16, false, 0, 0, 0},
    {"narrow", 16, 14336, 4096, 1, 'r', 'c', 'r', bf16, false, 0, 0, 0},
    {"narrow", 64, 4096, 4096, 1, 'r', 'c', 'r', bf16, false, 0, 0, 0},
    {"deep", 128, 4096, 14336, 1, 'r', 'c', 'r', bf16, false, 2, 0, 0},
    {"batch", 512, 512, 512, 16, 'r', 'c', 'r', bf16, false, 0, 0, 0},
};

/* Shapes at random, all forms and epilogues. */
static void run_random(int count, kdl_buffer workspace) {
  static const char forms[] = {'r', 'c', 'p', 'o'};
  static const int epilogues[] = {0, 0, 0, 1, 2, 4, 8, 16, 32, 1 | 2 | 4 | 16};
  for (int i = 0; i < count; ++i) {
    test t = {"random",
              1 + next_random() % 400,
              1 + next_random() % 600,
              next_random() % 500,
              1 + next_random() % 3,
              forms[next_random() % 4],
              forms[next_random() % 4],
              forms[next_random() % 4],
              acc,
              false,
              0,
              0,
              0};
    t.result = (kdl_matmul_result)(next_random() % 3);
    t.epilogue = epilogues[next_random() % 10];
    t.is_exact = next_random() % 2;
    t.tile = next_random() % 7;
    t.parts = next_random() % 3 ? 1 : 1u << next_random() % 3;
    run(&t, workspace);
  }
}

/* The interface that CPUs have, too: C += A B. */
static void run_common(void) {
  enum { n = 96 };
  kdl_matmul both;
  kdl_buffer buffer;
  static uint16_t ones[n * n];
  static float sums[n * n];
  for (uint32_t i = 0; i < n * n; ++i)
    ones[i] = bf16_of(1.0f), sums[i] = 2.0f;
  must(kdl_matmul_find(library, device, KDL_MATMUL_F32_BF16, 1, &both), "find");
  must(kdl_alloc(device, sizeof ones + sizeof sums, &buffer), "kdl_alloc");
  must(kdl_write(queue, &buffer, 0, ones, sizeof ones), "kdl_write");
  must(kdl_write(queue, &buffer, sizeof ones, sums, sizeof sums), "kdl_write");
  kdl_matmul_matrix a = kdl_matmul_rows((void *)(uintptr_t)buffer.address, n);
  kdl_matmul_matrix c = kdl_matmul_rows((void *)(uintptr_t)(buffer.address + sizeof ones), n);
  must(kdl_matmul_run_unpacked(&both, queue, a, a, NULL, c, n, n, n, KDL_MATMUL_ADD),
       "run_unpacked_call");
  kdl_buffer packed;
  must(kdl_alloc(device, kdl_matmul_packed_size(KDL_MATMUL_F32_BF16, n, n), &packed), "alloc");
  void *weights = (void *)(uintptr_t)packed.address;
  must(kdl_matmul_pack(&both, queue, a, weights, n, n), "pack");
  must(kdl_matmul_run(&both, queue, a, weights, c, n, n, n, KDL_MATMUL_ADD), "run");
  must(kdl_read(queue, sums, &buffer, sizeof ones, sizeof sums), "kdl_read");
  must(kdl_sync(queue), "kdl_sync");
  bool is_right = true;
  for (uint32_t i = 0; i < n * n; ++i)
    is_right &= sums[i] == 2 * n + 2;
  ++checks;
  failures += !is_right;
  printf("%-6s C += A B by the interface of CPUs\n", is_right ? "ok" : "FAILED");
  kdl_free(&buffer);
  kdl_free(&packed);
  kdl_matmul_free(&both);
}

static bool find_gpu(const char *backend) {
  for (size_t i = 0; i < kdl_device_count(); ++i) {
    kdl_device_info info = {.size = sizeof info};
    device = kdl_device_at(i);
    must(kdl_device_get(device, &info), "kdl_device_get");
    if (!strcmp(info.backend, backend))
      return true;
  }
  return false;
}

static uint32_t count_sizes(void) {
  kdl_matmul_gpu_problem p = kdl_matmul_gpu_problem_of(1, 1, 1);
  kdl_matmul_gpu_plan plan;
  do
    ++p.tile;
  while (kdl_matmul_gpu_plan_of(matmul, &p, &plan) == KDL_OK);
  return p.tile - 1;
}

int main(int argc, char **argv) {
  bool has_large = false;
  const char *backend = "cuda";
  int randoms = 200;
  if (argc < 2) {
    fprintf(stderr, "usage: gpu_matmul_test LIBRARY.offload [TYPE] [--few] [--large] [--hip]\n");
    return 2;
  }
  for (int i = 2; i < argc; ++i) {
    has_large |= !strcmp(argv[i], "--large");
    backend = !strcmp(argv[i], "--hip") ? "hip" : backend;
    randoms = !strcmp(argv[i], "--few") ? 20 : randoms;
    type = !strcmp(argv[i], "f32_f16")        ? KDL_MATMUL_F32_F16
           : !strcmp(argv[i], "s32_s8")       ? KDL_MATMUL_S32_S8
           : !strcmp(argv[i], "f32_e4m3")     ? KDL_MATMUL_F32_E4M3
           : !strcmp(argv[i], "f32_e4m3fnuz") ? KDL_MATMUL_F32_E4M3FNUZ
                                              : type;
  }
  if (!find_gpu(backend)) {
    printf("skipped: no GPU of %s\n", backend);
    return 77;
  }
  list_values();
  must(kdl_open(argv[1], NULL, &library), "kdl_open");
  must(kdl_queue_create(device, NULL, &queue), "kdl_queue_create");
  must(kdl_matmul_gpu_find(library, device, type, &matmul), "kdl_matmul_gpu_find");
  size_count = count_sizes();
  kdl_buffer workspace;
  const uint64_t bytes = 64u << 20;
  const uint32_t zero = 0;
  must(kdl_alloc(device, bytes, &workspace), "kdl_alloc");
  must(kdl_fill(queue, &workspace, 0, bytes, &zero, 4), "kdl_fill");
  for (size_t i = 0; i < sizeof few / sizeof *few; ++i)
    run(&few[i], workspace);
  if (type == KDL_MATMUL_F32_BF16)
    run_common();
  run_random(randoms, workspace);
  for (size_t i = 0; has_large && i < sizeof large / sizeof *large; ++i)
    run(&large[i], workspace);
  printf("%d checks, %d failures\n", checks, failures);
  kdl_free(&workspace);
  kdl_matmul_gpu_free(matmul);
  kdl_queue_destroy(queue);
  kdl_close(library);
  return failures ? 1 : 0;
}
