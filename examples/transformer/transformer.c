/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A transformer block, recorded once, carried in a file and replayed on any device:
 *
 *     transformer record KERNELS OUT [alone]     records it on the best device here; alone: without
 *                                                the images of its kernels
 *     transformer replay FILE DEVICE [KERNELS]   replays it there, launches the same one by one,
 * and compares both with each other and with plain C
 *
 * Attention with four heads, which do not wait for each other, then two layers with a non-linearity
 * between them: 42 launches of six kernels. Memory is slots, so that the file can say all of it;
 * work-items are counted, so that an image with another tile computes the same.
 */
#include <kdl/sequence.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { rows = 48, width = 40, heads = 4, head_width = 12, hidden = 72 };

static void must(kdl_status status) {
  if (status != KDL_OK) {
    fprintf(stderr, "transformer: %s\n", kdl_error_message());
    exit(1);
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Memory                                                                                       */

/* Matrices, each a slot of its own: weights, and what is between two launches. */
enum {
  X, /* the input, and in the end the output */
  GAIN1,
  BIAS1,
  GAIN2,
  BIAS2,
  UP,
  DOWN,
  NORMED,
  MIDDLE,
  BACK,
  FIRST_OF_HEADS,
};
enum {
  QUERY_W,
  KEY_W,
  VALUE_W,
  OUT_W,
  QUERY,
  KEY,
  KEY_T,
  VALUE,
  SCORE,
  PART,
  SHARE,
  OUT,
  per_head
};
enum { matrix_count = FIRST_OF_HEADS + heads * per_head };

typedef struct {
  char name[16];
  uint32_t m, n;
  bool is_given; /* a weight, or the input */
} matrix;

static matrix matrices[matrix_count];

static int of_head(int head, int which) {
  return FIRST_OF_HEADS + head * per_head + which;
}

static void name_matrices(void) {
  static const struct {
    const char *name;
    uint32_t m, n;
    bool is_given;
  } single[] = {{"x", rows, width, true},        {"gain1", 1, width, true},
                {"bias1", 1, width, true},       {"gain2", 1, width, true},
                {"bias2", 1, width, true},       {"up", width, hidden, true},
                {"down", hidden, width, true},   {"normed", rows, width, false},
                {"middle", rows, hidden, false}, {"back", rows, width, false}},
    many[] = {{"wq", width, head_width, true},    {"wk", width, head_width, true},
              {"wv", width, head_width, true},    {"wo", head_width, width, true},
              {"q", rows, head_width, false},     {"k", rows, head_width, false},
              {"kt", head_width, rows, false},    {"v", rows, head_width, false},
              {"score", rows, rows, false},       {"part", rows, rows, false},
              {"share", rows, head_width, false}, {"out", rows, width, false}};
  for (int i = 0; i < FIRST_OF_HEADS; ++i) {
    matrices[i] = (matrix){"", single[i].m, single[i].n, single[i].is_given};
    snprintf(matrices[i].name, sizeof matrices[i].name, "%s", single[i].name);
  }
  for (int head = 0; head < heads; ++head) {
    for (int i = 0; i < per_head; ++i) {
      matrix *to = &matrices[of_head(head, i)];
      *to = (matrix){"", many[i].m, many[i].n, many[i].is_given};
      snprintf(to->name, sizeof to->name, "%s%d", many[i].name, head);
    }
  }
}

static size_t size_of(int which) {
  return (size_t)matrices[which].m * matrices[which].n * sizeof(float);
}

/* Small numbers that differ, the same in every process. */
static float *made_up(int which) {
  size_t count = size_of(which) / sizeof(float);
  float *numbers = malloc(size_of(which));
  uint32_t seed = (uint32_t)which * 2654435761u + 12345;
  for (size_t i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    numbers[i] = ((float)(seed >> 8) / 16777216.0f - 0.5f) * 0.5f;
  }
  return numbers;
}

/* ------------------------------------------------------------------------------------------ */
/* The block                                                                                    */

/* A launch, to be recorded, done, or computed: up to four matrices, and numbers behind them. */
typedef struct {
  const char *kernel;
  uint32_t items[2];
  float factor; /* of saxpy, its first argument */
  int from[4];
  int from_count;
  uint32_t sizes[3];
  int size_count;
} step;

typedef struct maker {
  void (*launch)(struct maker *to, const step *made);
  void (*mark)(struct maker *to, int which); /* 0 fork, 1 branch, 2 join */
} maker;

static void multiply(maker *to, int a, int b, int c) {
  uint32_t m = matrices[a].m, n = matrices[b].n, k = matrices[a].n;
  to->launch(to, &(step){"matmul", {n, m}, 0, {a, b, c}, 3, {m, n, k}, 3});
}

static void add(maker *to, int x, int y) {
  uint32_t n = matrices[y].m * matrices[y].n;
  to->launch(to, &(step){"saxpy", {n, 1}, 1, {x, y}, 2, {n}, 1});
}

static void normalise(maker *to, int gain, int bias) {
  to->launch(to, &(step){"layernorm", {rows, 1}, 0, {X, gain, bias, NORMED}, 4, {width}, 1});
}

static void attend(maker *to, int head) {
  int q = of_head(head, QUERY), k = of_head(head, KEY), kt = of_head(head, KEY_T);
  int score = of_head(head, SCORE), part = of_head(head, PART), share = of_head(head, SHARE);
  multiply(to, NORMED, of_head(head, QUERY_W), q);
  multiply(to, NORMED, of_head(head, KEY_W), k);
  multiply(to, NORMED, of_head(head, VALUE_W), of_head(head, VALUE));
  to->launch(to, &(step){"transpose", {head_width, rows}, 0, {k, kt}, 2, {rows, head_width}, 2});
  multiply(to, q, kt, score);
  to->launch(to, &(step){"softmax", {rows, 1}, 0, {score, part}, 2, {rows}, 1});
  multiply(to, part, of_head(head, VALUE), share);
  multiply(to, share, of_head(head, OUT_W), of_head(head, OUT));
}

static void make_block(maker *to) {
  const uint32_t count = rows * hidden;
  normalise(to, GAIN1, BIAS1);
  to->mark(to, 0);
  for (int head = 0; head < heads; ++head) {
    if (head)
      to->mark(to, 1);
    attend(to, head);
  }
  to->mark(to, 2);
  for (int head = 0; head < heads; ++head)
    add(to, of_head(head, OUT), X);
  normalise(to, GAIN2, BIAS2);
  multiply(to, NORMED, UP, MIDDLE);
  to->launch(to, &(step){"gelu", {count, 1}, 0, {MIDDLE}, 1, {count}, 1});
  multiply(to, MIDDLE, DOWN, BACK);
  add(to, BACK, X);
}

static const float epsilon = 1e-5f;

/* ------------------------------------------------------------------------------------------ */
/* Recorded                                                                                     */

typedef struct {
  maker head;
  kdl_library *lib;
  kdl_device *device;
  kdl_sequence *sequence;
  kdl_slot slots[matrix_count], epsilon, rows;
} recorder;

static void record_launch(maker *to, const step *made) {
  recorder *r = (recorder *)to;
  kdl_kernel *kernel;
  kdl_operand args[8], items = kdl_operand_items(kdl_extent2(made->items[0], made->items[1]));
  size_t count = 0;
  must(kdl_sym(r->lib, r->device, made->kernel, NULL, &kernel));
  if (strcmp(made->kernel, "saxpy") == 0)
    args[count++] = KDL_VALUE(&made->factor);
  for (int i = 0; i < made->from_count; ++i)
    args[count++] = kdl_operand_slot(r->slots[made->from[i]]);
  for (int i = 0; i < made->size_count; ++i)
    args[count++] = KDL_VALUE(&made->sizes[i]);
  if (strcmp(made->kernel, "layernorm") == 0) { /* of which something may change from run to run */
    args[count++] = kdl_operand_slot(r->epsilon);
    items = kdl_operand_slot(r->rows);
  }
  must(kdl_sequence_launch_items(r->sequence, kernel, items, args, count));
}

static void record_mark(maker *to, int which) {
  static kdl_status (*const marks[])(kdl_sequence *) = {kdl_sequence_fork, kdl_sequence_branch,
                                                        kdl_sequence_join};
  must(marks[which](((recorder *)to)->sequence));
}

static int record(const char *kernels, const char *out, bool alone) {
  recorder r = {.head = {record_launch, record_mark}};
  kdl_sequence_save_opts opts = {sizeof opts, "block", alone ? KDL_SEQUENCE_NO_IMAGES : 0, 0};
  kdl_sequence_info info = {.size = sizeof info};
  must(kdl_open(kernels, NULL, &r.lib));
  must(kdl_device_for(r.lib, "matmul", NULL, &r.device));
  must(kdl_sequence_create(r.device, &r.sequence));
  for (int i = 0; i < matrix_count; ++i)
    must(kdl_sequence_add_buffer(r.sequence, matrices[i].name, size_of(i), &r.slots[i]));
  must(kdl_sequence_add_scalar(r.sequence, "epsilon", sizeof epsilon, &r.epsilon));
  must(kdl_sequence_add_items(r.sequence, "rows", &r.rows));
  make_block(&r.head);
  must(kdl_sequence_finish(r.sequence));
  must(kdl_sequence_save(r.sequence, out, &opts));
  must(kdl_sequence_get(r.sequence, &info));
  printf("%s: %zu launches, %zu slots\n", out, info.launch_count, info.slot_count);
  kdl_sequence_destroy(r.sequence);
  kdl_close(r.lib);
  return 0;
}

/* ------------------------------------------------------------------------------------------ */
/* Launched                                                                                     */

typedef struct {
  maker head;
  kdl_library *lib;
  kdl_device *device;
  kdl_queue *queue;
  kdl_buffer buffers[matrix_count];
} launcher;

static void launch(maker *to, const step *made) {
  launcher *l = (launcher *)to;
  kdl_kernel *kernel;
  const void *pointers[8];
  kdl_args args = {0, pointers, NULL};
  must(kdl_sym(l->lib, l->device, made->kernel, NULL, &kernel));
  if (strcmp(made->kernel, "saxpy") == 0)
    pointers[args.count++] = &made->factor;
  for (int i = 0; i < made->from_count; ++i)
    pointers[args.count++] = &l->buffers[made->from[i]];
  for (int i = 0; i < made->size_count; ++i)
    pointers[args.count++] = &made->sizes[i];
  if (strcmp(made->kernel, "layernorm") == 0)
    pointers[args.count++] = &epsilon;
  must(kdl_launch_items(kernel, l->queue, kdl_extent2(made->items[0], made->items[1]), args));
}

static void no_mark(maker *to, int which) {
  (void)to, (void)which;
}

/* ------------------------------------------------------------------------------------------ */
/* Computed                                                                                     */

typedef struct {
  maker head;
  double *values[matrix_count];
} computer;

static void compute_rows(const step *made, double **of) {
  const double *x = of[0];
  uint32_t n = made->sizes[0];
  bool is_norm = strcmp(made->kernel, "layernorm") == 0;
  for (uint32_t row = 0; row < rows; ++row, x += n) {
    double *y = (is_norm ? of[3] : of[1]) + (size_t)row * n;
    double sum = 0, most = x[0], squares = 0;
    for (uint32_t i = 0; i < n; ++i) {
      sum += x[i];
      most = fmax(most, x[i]);
    }
    for (uint32_t i = 0; i < n; ++i)
      squares += is_norm ? (x[i] - sum / n) * (x[i] - sum / n) : exp(x[i] - most);
    for (uint32_t i = 0; i < n; ++i)
      y[i] = is_norm ? (x[i] - sum / n) / sqrt(squares / n + (double)epsilon) * of[1][i] + of[2][i]
                     : exp(x[i] - most) / squares;
  }
}

static void compute_matmul(const step *made, double **of) {
  for (uint32_t row = 0; row < made->sizes[0]; ++row) {
    for (uint32_t column = 0; column < made->sizes[1]; ++column) {
      double sum = 0;
      for (uint32_t i = 0; i < made->sizes[2]; ++i)
        sum += of[0][row * made->sizes[2] + i] * of[1][i * made->sizes[1] + column];
      of[2][row * made->sizes[1] + column] = sum;
    }
  }
}

static void compute(maker *to, const step *made) {
  computer *c = (computer *)to;
  double *of[4];
  for (int i = 0; i < 4; ++i)
    of[i] = c->values[i < made->from_count ? made->from[i] : X];
  if (strcmp(made->kernel, "matmul") == 0) {
    compute_matmul(made, of);
  } else if (strcmp(made->kernel, "saxpy") == 0) {
    for (uint32_t i = 0; i < made->sizes[0]; ++i)
      of[1][i] += (double)made->factor * of[0][i];
  } else if (strcmp(made->kernel, "gelu") == 0) {
    for (uint32_t i = 0; i < made->sizes[0]; ++i)
      of[0][i] /= 1 + exp(-1.702 * of[0][i]);
  } else if (strcmp(made->kernel, "transpose") == 0) {
    for (uint32_t i = 0; i < made->sizes[0] * made->sizes[1]; ++i)
      of[1][i % made->sizes[1] * made->sizes[0] + i / made->sizes[1]] = of[0][i];
  } else {
    compute_rows(made, of);
  }
}

static double *computed(void) {
  computer c = {.head = {compute, no_mark}};
  for (int i = 0; i < matrix_count; ++i) {
    float *from = made_up(i);
    c.values[i] = malloc(2 * size_of(i));
    for (size_t k = 0; k < size_of(i) / sizeof(float); ++k)
      c.values[i][k] = (double)from[k];
    free(from);
  }
  make_block(&c.head);
  for (int i = 1; i < matrix_count; ++i)
    free(c.values[i]);
  return c.values[X];
}

/* ------------------------------------------------------------------------------------------ */
/* Replayed                                                                                     */

enum { output = rows * width };

static void send_all(launcher *l) {
  for (int i = 0; i < matrix_count; ++i) {
    float *from = made_up(i);
    must(kdl_write(l->queue, &l->buffers[i], 0, from, size_of(i)));
    must(kdl_sync(l->queue));
    free(from);
  }
}

static void fetch_output(const launcher *l, float *out) {
  must(kdl_read(l->queue, out, &l->buffers[X], 0, size_of(X)));
  must(kdl_sync(l->queue));
}

static void replay_file(kdl_sequence *sequence, const launcher *l, float *out) {
  kdl_binding bindings[matrix_count + 2];
  kdl_slot slot;
  for (int i = 0; i < matrix_count; ++i) {
    must(kdl_sequence_slot_find(sequence, matrices[i].name, &slot));
    bindings[i] = kdl_bind_buffer(slot, l->buffers[i]);
  }
  must(kdl_sequence_slot_find(sequence, "epsilon", &slot));
  bindings[matrix_count] = KDL_BIND_SCALAR(slot, &epsilon);
  must(kdl_sequence_slot_find(sequence, "rows", &slot));
  bindings[matrix_count + 1] = kdl_bind_items(slot, kdl_extent1(rows));
  must(kdl_sequence_run(sequence, l->queue, bindings, matrix_count + 2));
  fetch_output(l, out);
}

static int count_unlike(const float *some, const float *others) {
  int unlike = 0;
  for (int i = 0; i < output; ++i)
    unlike += some[i] != others[i];
  return unlike;
}

static int compare(const float *replayed, const float *launched) {
  double *expected = computed(), worst = 0;
  int differ = count_unlike(replayed, launched);
  for (int i = 0; i < output; ++i)
    worst = fmax(worst, fabs((double)replayed[i] - expected[i]));
  free(expected);
  printf("%d of %d numbers differ from launching one by one; at most %.2g from plain C\n", differ,
         output, worst);
  return differ == 0 && worst < 1e-4 ? 0 : 1;
}

/* Kernels that are launched one by one are those that were replayed. */
static int replay(const char *file, const char *device, const char *kernels) {
  launcher l = {.head = {launch, no_mark}};
  kdl_library *saved;
  kdl_sequence *sequence;
  kdl_sequence_info info = {.size = sizeof info};
  kdl_kernel_info kernel = {.size = sizeof kernel};
  kdl_kernel *matmul;
  static float replayed[output], again[output], launched[output];
  must(kdl_open(file, NULL, &saved));
  must(kdl_open(kernels ? kernels : file, NULL, &l.lib));
  must(kdl_device_find(device, &l.device));
  kdl_sequence_open_opts opts = {sizeof opts, "block", NULL, &l.lib, kernels ? 1 : 0};
  must(kdl_sequence_open(saved, l.device, &opts, &sequence));
  must(kdl_queue_create(l.device, NULL, &l.queue));
  for (int i = 0; i < matrix_count; ++i)
    must(kdl_alloc(l.device, size_of(i), &l.buffers[i]));
  send_all(&l);
  replay_file(sequence, &l, replayed);
  send_all(&l);
  replay_file(sequence, &l, again);
  send_all(&l);
  make_block(&l.head);
  fetch_output(&l, launched);
  must(kdl_sequence_get(sequence, &info));
  must(kdl_sym(l.lib, l.device, "matmul", NULL, &matmul));
  must(kdl_kernel_get(matmul, &kernel));
  printf("%s on %s: %zu launches by %s, matmul by image %zu with tiles of %ux%u\n", file,
         kernel.device, info.launch_count, info.replay, kernel.image, kernel.tile[0],
         kernel.tile[1]);
  int code = compare(replayed, launched);
  if (count_unlike(replayed, again)) {
    puts("the second run gave other numbers");
    code = 1;
  }
  for (int i = 0; i < matrix_count; ++i)
    must(kdl_free(&l.buffers[i]));
  kdl_queue_destroy(l.queue);
  kdl_sequence_destroy(sequence);
  kdl_close(l.lib);
  kdl_close(saved);
  return code;
}

int main(int argc, char **argv) {
  name_matrices();
  if (argc >= 4 && strcmp(argv[1], "record") == 0)
    return record(argv[2], argv[3], argc > 4);
  if (argc >= 4 && strcmp(argv[1], "replay") == 0)
    return replay(argv[2], argv[3], argc > 4 ? argv[4] : NULL);
  fputs(
      "usage: transformer record KERNELS OUT [alone] | transformer replay FILE DEVICE [KERNELS]\n",
      stderr);
  return 2;
}
