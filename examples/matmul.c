/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Two layers of a network, y = W2 relu(W1 x), in bf16 on the CPU: the weights are packed once, and
 * then multiplied with batch after batch.
 *
 *     matmul [./other.offload]
 */
#include <kdl/matmul.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { batch = 24, inputs = 96, hidden = 200, outputs = 50, batches = 3 };
enum {
  batch_inputs = batch * inputs,
  batch_hidden = batch * hidden,
  batch_outputs = batch * outputs
};

static void must(kdl_status status) {
  if (status != KDL_OK) {
    fprintf(stderr, "matmul: %s\n", kdl_error_message());
    exit(1);
  }
}

static uint16_t bf16_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return (uint16_t)(bits >> 16);
}
static float value_of(uint16_t bf16) {
  uint32_t bits = (uint32_t)bf16 << 16;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* Small integers: every sum is exact, so the result can be compared with a plain loop's. */
static void fill(uint16_t *elements, size_t count, uint32_t seed) {
  for (size_t i = 0; i < count; ++i)
    elements[i] = bf16_of((float)((seed = seed * 1103515245u + 12345u) >> 30) - 1);
}

static void relu(uint16_t *to, const float *from, size_t count) {
  for (size_t i = 0; i < count; ++i)
    to[i] = bf16_of(from[i] > 0 ? from[i] : 0);
}

static bool are_equal(const float *some, const float *others, size_t count) {
  for (size_t i = 0; i < count; ++i)
    if (some[i] != others[i])
      return false;
  return true;
}

typedef struct layer {
  uint32_t in, out;
  uint16_t *weights; /* in rows of `out` */
  void *packed;
} layer;

static layer make_layer(const kdl_matmul *matmul, uint32_t in, uint32_t out) {
  layer l = {in, out, malloc((size_t)in * out * sizeof(uint16_t)),
             malloc(kdl_matmul_packed_size(matmul->type, out, in))};
  if (!l.weights || !l.packed)
    exit(1);
  fill(l.weights, (size_t)in * out, in);
  must(kdl_matmul_pack(matmul, NULL, kdl_matmul_rows(l.weights, out), l.packed, out, in));
  return l;
}

static void apply(const kdl_matmul *matmul, const layer *l, const uint16_t *x, float *y) {
  must(kdl_matmul_run(matmul, NULL, kdl_matmul_rows(x, l->in), l->packed,
                      kdl_matmul_rows(y, l->out), batch, l->out, l->in, KDL_MATMUL_SET));
}

static void apply_plainly(const layer *l, const uint16_t *x, float *y) {
  for (uint32_t i = 0; i < batch; ++i)
    for (uint32_t j = 0; j < l->out; ++j) {
      float sum = 0;
      for (uint32_t k = 0; k < l->in; ++k)
        sum += value_of(x[i * l->in + k]) * value_of(l->weights[k * l->out + j]);
      y[i * l->out + j] = sum;
    }
}

int main(int argc, char **argv) {
  static uint16_t x[batch_inputs], h[batch_hidden];
  static float sums[batch_hidden], y[batch_outputs], expected[batch_outputs];
  kdl_library *lib;
  kdl_device *cpu;
  kdl_matmul matmul;
  must(kdl_open(argc > 1 ? argv[1] : "kdl-matmul", NULL, &lib));
  must(kdl_device_find("host", &cpu));
  must(kdl_matmul_find(lib, cpu, KDL_MATMUL_F32_BF16, 1, &matmul));
  layer first = make_layer(&matmul, inputs, hidden), second = make_layer(&matmul, hidden, outputs);

  int wrong = 0;
  for (uint32_t i = 0; i < batches; ++i) {
    fill(x, batch_inputs, i + 1);
    apply(&matmul, &first, x, sums);
    relu(h, sums, batch_hidden);
    apply(&matmul, &second, h, y);
    apply_plainly(&first, x, sums);
    relu(h, sums, batch_hidden);
    apply_plainly(&second, h, expected);
    wrong += !are_equal(y, expected, batch_outputs);
  }
  kdl_kernel_info info = {.size = sizeof info};
  must(kdl_kernel_get(matmul.multiply, &info));
  printf("%d batches, %d wrong, by image %zu (%s) on %s\n", batches, wrong, info.image, info.fit,
         info.device);
  free(first.weights), free(first.packed), free(second.weights), free(second.packed);
  kdl_matmul_free(&matmul);
  kdl_close(lib);
  return wrong;
}
