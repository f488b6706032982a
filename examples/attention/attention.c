/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Self-attention on a GPU: one product makes Q, K and V of all heads, side by side in one matrix,
 * where attention reads them.
 *
 *     attention [./other.offload]
 *
 * Returns 77 where there is no GPU that kdl-matmul.offload has kernels of attention for. */
#include <kdl/attention_gpu.h>
#include <kdl/matmul_gpu.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { rows = 200, heads = 4, head = 64, width = heads * head, three = 3 * width };

static void must(kdl_status status) {
  if (status != KDL_OK) {
    fprintf(stderr, "attention: %s\n", kdl_error_message());
    exit(1);
  }
}

static uint16_t bf16_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return (uint16_t)((bits + 0x8000) >> 16);
}
static double value_of(uint16_t bf16) {
  uint32_t bits = (uint32_t)bf16 << 16;
  float value;
  memcpy(&value, &bits, sizeof value);
  return (double)value;
}

/* Numbers between -size and size, on the device. */
static kdl_buffer made(kdl_queue *q, kdl_device *dev, size_t count, float size) {
  static uint32_t seed = 12345;
  kdl_buffer buffer;
  uint16_t *values = malloc(count * sizeof *values);
  if (!values)
    exit(1);
  for (size_t i = 0; i < count; ++i) {
    seed = seed * 1664525 + 1013904223;
    values[i] = bf16_of(((float)(seed >> 8) / 8388608.0f - 1) * size);
  }
  must(kdl_alloc(dev, count * sizeof *values, &buffer));
  must(kdl_write(q, &buffer, 0, values, buffer.size));
  must(kdl_sync(q));
  free(values);
  return buffer;
}

static void *elements(kdl_buffer of, size_t first) {
  return (void *)(uintptr_t)(of.address + first * sizeof(uint16_t));
}

/* The largest difference to the same in f64. */
static double compare(uint16_t (*qkv)[three], uint16_t (*o)[width]) {
  double worst = 0;
  for (int h = 0; h < heads; ++h) {
    for (int i = 0; i < rows; ++i) {
      double sums[head] = {0}, total = 0;
      for (int j = 0; j <= i; ++j) {
        double score = 0;
        for (int d = 0; d < head; ++d)
          score += value_of(qkv[i][h * head + d]) * value_of(qkv[j][width + h * head + d]);
        score = exp(score / sqrt(head));
        total += score;
        for (int d = 0; d < head; ++d)
          sums[d] += score * value_of(qkv[j][2 * width + h * head + d]);
      }
      for (int d = 0; d < head; ++d)
        worst = fmax(worst, fabs(sums[d] / total - value_of(o[i][h * head + d])));
    }
  }
  return worst;
}

int main(int argc, char **argv) {
  static uint16_t qkv[rows][three], o[rows][width];
  kdl_library *lib;
  kdl_device *dev;
  kdl_queue *q;
  kdl_attention_gpu *attention;
  kdl_matmul_gpu *matmul;
  kdl_buffer out, result, workspace;
  must(kdl_open(argc > 1 ? argv[1] : "kdl-matmul", NULL, &lib));
  if (kdl_device_for(lib, "kdl_gpu_attention_bf16_tiles", NULL, &dev) != KDL_OK) {
    printf("skipped: %s\n", kdl_error_message());
    return 77;
  }
  must(kdl_queue_create(dev, NULL, &q));
  must(kdl_matmul_gpu_find(lib, dev, KDL_MATMUL_F32_BF16, &matmul));
  must(kdl_attention_gpu_find(lib, dev, &attention));
  kdl_buffer x = made(q, dev, rows * width, 1), weights = made(q, dev, width * three, 0.25f);
  must(kdl_alloc(dev, sizeof qkv, &out));
  must(kdl_alloc(dev, sizeof o, &result));

  kdl_matmul_gpu_problem product = kdl_matmul_gpu_problem_of(rows, three, width);
  kdl_matmul_gpu_plan plan;
  product.a = kdl_matmul_rows(elements(x, 0), width);
  product.b = kdl_matmul_rows(elements(weights, 0), three);
  product.c = kdl_matmul_rows(elements(out, 0), three);
  product.result = KDL_MATMUL_RESULT_BF16;
  product.workspace.size = UINT64_MAX; /* what would the best plan take? */
  must(kdl_matmul_gpu_plan_of(matmul, &product, &plan));
  must(kdl_alloc(dev, plan.workspace, &workspace));
  must(kdl_fill(q, &workspace, 0, workspace.size, &(const uint32_t){0}, sizeof(uint32_t)));
  product.workspace = workspace;
  must(kdl_matmul_gpu_run(matmul, q, &product));

  kdl_attention_gpu_problem p = kdl_attention_gpu_problem_of(1, heads, rows, rows, head);
  p.q = p.k = p.v = p.o = kdl_attention_rows(elements(result, 0), heads, rows, head);
  p.q.row_stride = p.k.row_stride = p.v.row_stride = three;
  p.q.elements = elements(out, 0);
  p.k.elements = elements(out, width);
  p.v.elements = elements(out, 2 * width);
  p.is_causal = 1;
  must(kdl_attention_gpu_run(attention, q, &p));
  must(kdl_read(q, qkv, &out, 0, sizeof qkv));
  must(kdl_read(q, o, &result, 0, sizeof o));
  must(kdl_sync(q));

  double worst = compare(qkv, o);
  printf("%d rows, %d heads: tiles of %u by %u, differs by %.2g at most\n", rows, heads, plan.rows,
         plan.columns, worst);
  kdl_attention_gpu_free(attention);
  kdl_matmul_gpu_free(matmul);
  kdl_free(&x), kdl_free(&weights), kdl_free(&out), kdl_free(&result), kdl_free(&workspace);
  kdl_queue_destroy(q);
  kdl_close(lib);
  return worst < 0.04 ? 0 : 1;
}
