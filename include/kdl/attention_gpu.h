/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Attention on GPUs, O = softmax(scale * Q K^T) V for each head, without the matrix of scores in
 * memory. It is part of libkdl_matmul; the kernels are in kdl-matmul.offload:
 *
 *     kdl_open("kdl-matmul", NULL, &lib);
 *     kdl_attention_gpu_find(lib, device, &attention);
 *     kdl_attention_gpu_problem p = kdl_attention_gpu_problem_of(batch, heads, queries, keys, 128);
 *     p.q = kdl_attention_rows(q, heads, queries, 128);      batch, row, head: as projections write
 *     p.k = kdl_attention_rows(k, heads, keys, 128);
 *     p.v = kdl_attention_rows(v, heads, keys, 128);
 *     p.o = kdl_attention_rows(o, heads, queries, 128);
 *     p.is_causal = 1;
 *     kdl_attention_gpu_run(attention, queue, &p);
 *
 * bf16, heads of 64 and 128 values, on sm_90a. docs/gpu-attention.md is the manual.
 */
#ifndef KDL_ATTENTION_GPU_H
#define KDL_ATTENTION_GPU_H

#include <kdl/kdl.h>

#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kdl_attention_gpu kdl_attention_gpu;

/* Values of bf16 on the device, with distances in elements. Values of a row follow each other; the
 * address and the distances are multiples of 16 bytes. */
typedef struct kdl_attention_tensor {
  void *elements;
  int64_t batch_stride, head_stride, row_stride;
} kdl_attention_tensor;

/* A tensor without gaps, of the order batch, row, head (BSHD). */
static inline kdl_attention_tensor kdl_attention_rows(void *elements, uint32_t heads, uint32_t rows,
                                                      uint32_t head) {
  kdl_attention_tensor tensor;
  tensor.elements = elements;
  tensor.head_stride = head;
  tensor.row_stride = (int64_t)heads * head;
  tensor.batch_stride = rows * tensor.row_stride;
  return tensor;
}

typedef struct kdl_attention_gpu_problem {
  size_t size; /* sizeof(kdl_attention_gpu_problem) */
  uint32_t batch;
  uint32_t heads, kv_heads; /* of Q and O; of K and V: heads / kv_heads of Q share one */
  uint32_t queries, keys;   /* rows of Q and O; of K and V */
  uint32_t head;            /* values of a row: 64 or 128 */
  kdl_attention_tensor q, k, v, o;
  float *sums; /* f32 on the device for each batch, head and query, without gaps: the logarithm
                  of the sum of exponentials of its scaled scores; or NULL */
  float scale; /* of scores, above 0 */
  int32_t is_causal; /* 1: query i has the keys up to i + diagonal; without any, O is 0 */
  int32_t diagonal;
  kdl_buffer workspace; /* optional, 4 bytes: zero before the first launch, and not shared by
                           launches that run at one time. Groups take tiles by it as they get free:
                           causal masks are faster */
} kdl_attention_gpu_problem;

/* A scale of 1 / sqrt(head), as many heads of K and V as of Q, no mask. */
static inline kdl_attention_gpu_problem kdl_attention_gpu_problem_of(uint32_t batch, uint32_t heads,
                                                                     uint32_t queries,
                                                                     uint32_t keys, uint32_t head) {
  kdl_attention_gpu_problem problem;
  memset(&problem, 0, sizeof problem);
  problem.size = sizeof problem;
  problem.batch = batch;
  problem.heads = problem.kv_heads = heads;
  problem.queries = queries;
  problem.keys = keys;
  problem.head = head;
  problem.scale = head == 64 ? 0.125f : 0.0883883476f;
  return problem;
}

/* Finds the kernels for a GPU and reads the tiles of its microkernels, which waits for the device's
 * own queue. */
KDL_API kdl_status kdl_attention_gpu_find(kdl_library *lib, kdl_device *device,
                                          kdl_attention_gpu **out_attention);
KDL_API void kdl_attention_gpu_free(kdl_attention_gpu *attention);

/* Enqueues one launch. */
KDL_API kdl_status kdl_attention_gpu_run(const kdl_attention_gpu *attention, kdl_queue *queue,
                                         const kdl_attention_gpu_problem *problem);

#ifdef __cplusplus
}
#endif

#endif
