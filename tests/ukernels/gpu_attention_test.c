/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Attention on a GPU against its definition in f64:
 *
 *     gpu_attention_test LIBRARY.offload [--few] [--large]
 *
 * The result of a row may differ by what rounding exponentials and results to bf16 allows, and a
 * little for f32. O is filled with a pattern before: what lies between its rows must stay, and
 * every element must be written. A second launch must give the same bits. Large shapes are compared
 * in some rows. Exit status 77: no GPU of NVIDIA, or no kernels for it.
 */
#include "tests/ukernels/gpu_test.h"

#include <kdl/attention_gpu.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { pattern = 0xabcd, most_rows = 512 /* compared */ };

static kdl_device *device;
static kdl_queue *queue;
static kdl_attention_gpu *attention;
static kdl_buffer workspace;
static int failures, checks;

/* ------------------------------------------------------------------------------------------ */
/* Numbers                                                                                      */

static uint32_t below(uint32_t limit) {
  return (uint32_t)((uint64_t)next_random() * limit >> 32);
}

static double value_of(uint16_t bf16) {
  return (double)float_of((uint32_t)bf16 << 16);
}

/* Nearly normal, with the variance 1. */
static float next_normal(void) {
  float sum = 0;
  for (int i = 0; i < 4; ++i)
    sum += (float)(next_random() >> 8) * 0x1p-24f - 0.5f;
  return sum * 1.7320508f;
}

/* ------------------------------------------------------------------------------------------ */
/* Cases                                                                                        */

typedef enum order { BY_ROWS, BY_HEADS, WITH_GAPS } order;

typedef struct attention_case {
  uint32_t batch, heads, kv_heads, queries, keys, head;
  int32_t is_causal, diagonal;
  order order;
  float size; /* of values of Q: large ones give softmax with one large value */
} attention_case;

/* A tensor on both sides. */
typedef struct side {
  uint16_t *values;
  size_t count;
  kdl_buffer buffer;
  kdl_attention_tensor tensor; /* of the device */
} side;

static side make_side(const attention_case *c, uint32_t heads, uint32_t rows, float size) {
  side s = {0};
  kdl_attention_tensor t = kdl_attention_rows(NULL, heads, rows, c->head);
  if (c->order == BY_HEADS) {
    t.head_stride = (int64_t)rows * c->head;
    t.row_stride = c->head;
  }
  if (c->order == WITH_GAPS) {
    t.head_stride += 8;
    t.row_stride = heads * t.head_stride + 16;
    t.batch_stride = rows * t.row_stride + 64;
  }
  s.count = (size_t)c->batch * (size_t)t.batch_stride + 8;
  s.values = malloc(s.count * 2);
  if (!s.values)
    exit(1);
  for (size_t i = 0; i < s.count; ++i)
    s.values[i] = size > 0 ? bf16_of(next_normal() * size) : pattern;
  must(kdl_alloc(device, s.count * 2, &s.buffer), "kdl_alloc");
  must(kdl_write(queue, &s.buffer, 0, s.values, s.count * 2), "kdl_write");
  t.elements = (void *)(uintptr_t)s.buffer.address;
  s.tensor = t;
  return s;
}
static void free_side(side *s) {
  kdl_free(&s->buffer);
  free(s->values);
}

static size_t place(const side *s, uint32_t batch, uint32_t head, uint32_t row) {
  return (size_t)(batch * s->tensor.batch_stride + head * s->tensor.head_stride +
                  row * s->tensor.row_stride);
}

/* ------------------------------------------------------------------------------------------ */
/* Comparing                                                                                    */

typedef struct problem_sides {
  const attention_case *c;
  side q, k, v, o;
  float *sums;
  float scale;
  double worst, worst_sum; /* difference by what is allowed */
} problem_sides;

/* `score` is what tensor cores may add to the scores of the row: they round to f32 with terms of
 * other sizes. Exponentials are rounded to bf16, and so is the result. */
static double allowed(double size, double result, double score) {
  return size * (0x1p-8 + 0x1p-12 + 2 * score) + fabs(result) * (0x1p-8 + 0x1p-12) + 1e-30;
}

static void compare_row(problem_sides *p, uint32_t batch, uint32_t head, uint32_t row) {
  const attention_case *c = p->c;
  const uint32_t kv = head / (c->heads / c->kv_heads);
  const int64_t limit = c->is_causal ? (int64_t)row + c->diagonal + 1 : c->keys;
  const uint32_t keys = limit < 0 ? 0 : limit < c->keys ? (uint32_t)limit : c->keys;
  double *scores = malloc((keys + 1) * sizeof *scores), most = -INFINITY, sum = 0, error = 0;
  double result[128] = {0}, size[128] = {0};
  if (!scores)
    exit(1);
  const uint16_t *q = p->q.values + place(&p->q, batch, head, row);
  for (uint32_t i = 0; i < keys; ++i) {
    const uint16_t *k = p->k.values + place(&p->k, batch, kv, i);
    double score = 0, terms = 0;
    for (uint32_t d = 0; d < c->head; ++d) {
      const double term = value_of(q[d]) * value_of(k[d]);
      score += term;
      terms += fabs(term);
    }
    scores[i] = score * (double)p->scale;
    error = fmax(error, terms * (double)p->scale * 0x1p-21);
    most = fmax(most, scores[i]);
  }
  for (uint32_t i = 0; i < keys; ++i) {
    const uint16_t *v = p->v.values + place(&p->v, batch, kv, i);
    const double e = exp(scores[i] - most);
    sum += e;
    for (uint32_t d = 0; d < c->head; ++d) {
      result[d] += e * value_of(v[d]);
      size[d] += e * fabs(value_of(v[d]));
    }
  }
  const uint16_t *o = p->o.values + place(&p->o, batch, head, row);
  for (uint32_t d = 0; d < c->head; ++d) {
    const double wanted = keys ? result[d] / sum : 0, found = value_of(o[d]);
    const double share = fabs(found - wanted) / allowed(keys ? size[d] / sum : 0, wanted, error);
    if (!(share <= p->worst))
      p->worst = isnan(share) ? INFINITY : share;
  }
  const double log_sum = keys ? most + log(sum) : -INFINITY;
  const double found = (double)p->sums[((size_t)batch * c->heads + head) * c->queries + row];
  const double share = keys ? fabs(found - log_sum) / (error + 1e-6 + 1e-6 * fabs(log_sum))
                       : found == log_sum ? 0.0
                                          : INFINITY;
  if (!(share <= p->worst_sum))
    p->worst_sum = isnan(share) ? INFINITY : share;
  free(scores);
}

/* What is between rows of O stays. */
static bool has_changed_gaps(const problem_sides *p) {
  const attention_case *c = p->c;
  uint8_t *is_row = calloc(p->o.count, 1);
  bool has = false;
  if (!is_row)
    exit(1);
  for (uint32_t batch = 0; batch < c->batch; ++batch)
    for (uint32_t head = 0; head < c->heads; ++head)
      for (uint32_t row = 0; row < c->queries; ++row)
        memset(is_row + place(&p->o, batch, head, row), 1, c->head);
  for (size_t i = 0; i < p->o.count; ++i)
    has |= !is_row[i] && p->o.values[i] != pattern;
  free(is_row);
  return has;
}

static void compare(problem_sides *p) {
  const attention_case *c = p->c;
  const uint64_t rows = (uint64_t)c->batch * c->heads * c->queries;
  const uint64_t work = rows * c->keys * c->head;
  const bool is_whole = work < 1u << 26;
  for (uint64_t i = 0; i < (is_whole ? rows : most_rows); ++i) {
    const uint64_t at = is_whole ? i : ((uint64_t)next_random() << 32 | next_random()) % rows;
    compare_row(p, (uint32_t)(at / c->queries / c->heads), (uint32_t)(at / c->queries % c->heads),
                (uint32_t)(at % c->queries));
  }
}

static void run_case(const attention_case *c) {
  problem_sides p = {.c = c};
  kdl_buffer sums;
  uint32_t counter = 1;
  const size_t rows = (size_t)c->batch * c->heads * c->queries;
  p.q = make_side(c, c->heads, c->queries, c->size);
  p.k = make_side(c, c->kv_heads, c->keys, 1.0f);
  p.v = make_side(c, c->kv_heads, c->keys, 1.0f);
  p.o = make_side(c, c->heads, c->queries, 0.0f);
  p.sums = malloc(rows * 4 + 4);
  uint16_t *again = malloc(p.o.count * 2);
  if (!p.sums || !again)
    exit(1);
  must(kdl_alloc(device, rows * 4 + 4, &sums), "kdl_alloc");
  kdl_attention_gpu_problem problem =
      kdl_attention_gpu_problem_of(c->batch, c->heads, c->queries, c->keys, c->head);
  problem.kv_heads = c->kv_heads;
  problem.q = p.q.tensor;
  problem.k = p.k.tensor;
  problem.v = p.v.tensor;
  problem.o = p.o.tensor;
  problem.sums = (float *)(uintptr_t)sums.address;
  problem.is_causal = c->is_causal;
  problem.diagonal = c->diagonal;
  p.scale = problem.scale;
  must(kdl_attention_gpu_run(attention, queue, &problem), "kdl_attention_gpu_run");
  must(kdl_read(queue, p.o.values, &p.o.buffer, 0, p.o.count * 2), "kdl_read");
  must(kdl_read(queue, p.sums, &sums, 0, rows * 4), "kdl_read");
  problem.workspace = workspace;
  must(kdl_attention_gpu_run(attention, queue, &problem), "kdl_attention_gpu_run");
  must(kdl_read(queue, &counter, &workspace, 0, 4), "kdl_read");
  must(kdl_read(queue, again, &p.o.buffer, 0, p.o.count * 2), "kdl_read");
  must(kdl_sync(queue), "kdl_sync");
  compare(&p);
  const bool is_same = memcmp(again, p.o.values, p.o.count * 2) == 0 && counter == 0;
  const bool has_changed = has_changed_gaps(&p);
  const bool is_good = p.worst <= 1.0 && p.worst_sum <= 1.0 && is_same && !has_changed;
  ++checks;
  failures += !is_good;
  printf("%s head %u batch %u heads %u/%u queries %u keys %u causal %d%+d order %d size %g: %.3f "
         "and %.3f of "
         "the bounds%s%s\n",
         is_good ? "ok" : "FAILED", c->head, c->batch, c->heads, c->kv_heads, c->queries, c->keys,
         c->is_causal, c->diagonal, (int)c->order, (double)c->size, p.worst, p.worst_sum,
         is_same ? "" : ", differs the second time", has_changed ? ", gaps changed" : "");
  fflush(stdout);
  kdl_free(&sums);
  free_side(&p.q);
  free_side(&p.k);
  free_side(&p.v);
  free_side(&p.o);
  free(p.sums);
  free(again);
}

static const attention_case cases[] = {
    {1, 1, 1, 128, 128, 0, 0, 0, BY_ROWS, 1},    {1, 1, 1, 192, 512, 0, 0, 0, BY_ROWS, 1},
    {1, 1, 1, 1, 1, 0, 0, 0, BY_HEADS, 1},       {2, 4, 4, 256, 384, 0, 0, 0, BY_ROWS, 1},
    {2, 4, 2, 200, 200, 0, 0, 0, BY_HEADS, 1},   {1, 2, 2, 129, 257, 0, 0, 0, WITH_GAPS, 1},
    {2, 3, 1, 77, 501, 0, 0, 0, WITH_GAPS, 8},   {1, 1, 1, 1, 1000, 0, 0, 0, BY_ROWS, 1},
    {1, 2, 1, 500, 100, 0, 0, 0, BY_ROWS, 30},   {1, 2, 2, 40, 0, 0, 0, 0, BY_ROWS, 1},
    {1, 1, 1, 128, 128, 0, 1, 0, BY_ROWS, 1},    {1, 1, 1, 192, 192, 0, 1, 0, BY_ROWS, 1},
    {2, 4, 2, 513, 513, 0, 1, 0, BY_HEADS, 1},   {1, 3, 3, 100, 700, 0, 1, 600, BY_ROWS, 1},
    {1, 2, 2, 700, 100, 0, 1, 0, WITH_GAPS, 1},  {1, 2, 2, 300, 300, 0, 1, -70, BY_ROWS, 1},
    {1, 2, 1, 600, 300, 0, 1, -300, BY_ROWS, 8}, {1, 2, 2, 260, 400, 0, 1, 131, BY_HEADS, 1},
    {4, 40, 8, 300, 300, 0, 1, 0, BY_ROWS, 1},
};

static const attention_case large[] = {
    {1, 16, 16, 4096, 4096, 128, 0, 0, BY_ROWS, 1}, {1, 16, 4, 4096, 4096, 128, 1, 0, BY_ROWS, 1},
    {2, 16, 16, 4096, 4096, 64, 0, 0, BY_HEADS, 1}, {2, 32, 8, 2048, 2048, 64, 1, 0, BY_ROWS, 1},
    {1, 4, 4, 16384, 16384, 128, 1, 0, BY_ROWS, 1},
};

static void run_random(int count) {
  for (int i = 0; i < count; ++i) {
    attention_case c = {.batch = 1 + below(3), .kv_heads = 1 + below(4)};
    c.heads = c.kv_heads * (1 + below(4));
    c.queries = 1 + below(600);
    c.keys = 1 + below(600);
    c.head = 64u << below(2);
    c.is_causal = (int32_t)below(2);
    c.diagonal = c.is_causal && below(2) ? (int32_t)below(800) - 400 : 0;
    c.order = (order)below(3);
    c.size = below(3) ? 1.0f : 10.0f;
    run_case(&c);
  }
}

/* What cannot be launched is refused. */
static void check_refusals(void) {
  kdl_attention_gpu_problem good = kdl_attention_gpu_problem_of(1, 4, 128, 128, 64);
  void *elements = (void *)(uintptr_t)4096;
  good.q = good.k = good.v = good.o = kdl_attention_rows(elements, 4, 128, 64);
  kdl_attention_gpu_problem bad[5] = {good, good, good, good, good};
  bad[0].head = 96;
  bad[1].kv_heads = 3;
  bad[2].scale = 0.0f;
  bad[3].k.row_stride += 1;
  bad[4].q.elements = (void *)(uintptr_t)4098;
  for (int i = 0; i < 5; ++i) {
    ++checks;
    if (kdl_attention_gpu_run(attention, queue, &bad[i]) != KDL_BAD_CALL && ++failures)
      printf("FAILED: problem %d is not refused\n", i);
  }
}

int main(int argc, char **argv) {
  kdl_library *library;
  bool has_large = false;
  int randoms = 200;
  if (argc < 2) {
    fprintf(stderr, "usage: gpu_attention_test LIBRARY.offload [--few] [--large]\n");
    return 2;
  }
  for (int i = 2; i < argc; ++i) {
    has_large |= !strcmp(argv[i], "--large");
    randoms = !strcmp(argv[i], "--few") ? 0 : randoms;
  }
  if (kdl_device_find("cuda:0", &device) != KDL_OK) {
    printf("skipped: no GPU of NVIDIA\n");
    return 77;
  }
  must(kdl_open(argv[1], NULL, &library), "kdl_open");
  must(kdl_queue_create(device, NULL, &queue), "kdl_queue_create");
  const kdl_status status = kdl_attention_gpu_find(library, device, &attention);
  if (status == KDL_NO_MATCH) {
    printf("skipped: %s\n", kdl_error_message());
    return 77;
  }
  must(status, "kdl_attention_gpu_find");
  const uint32_t zero = 0;
  must(kdl_alloc(device, 4, &workspace), "kdl_alloc");
  must(kdl_fill(queue, &workspace, 0, 4, &zero, 4), "kdl_fill");
  check_refusals();
  for (uint32_t head = 64; head <= 128; head *= 2) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
      attention_case c = cases[i];
      c.head = head;
      run_case(&c);
    }
  }
  run_random(randoms);
  for (size_t i = 0; has_large && i < sizeof large / sizeof *large; ++i)
    run_case(&large[i]);
  printf("%d checks, %d failures\n", checks, failures);
  kdl_free(&workspace);
  kdl_attention_gpu_free(attention);
  kdl_queue_destroy(queue);
  kdl_close(library);
  return failures ? 1 : 0;
}
