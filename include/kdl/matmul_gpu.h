/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The matrix multiplication of libkdl on GPUs, with matrices in device memory. It is part of
 * libkdl_matmul; the kernels are in kdl-matmul.offload, with those for CPUs:
 *
 *     kdl_open("kdl-matmul", NULL, &lib);
 *     kdl_matmul_gpu_find(lib, device, KDL_MATMUL_F32_BF16, &matmul);
 *     kdl_matmul_gpu_problem p = kdl_matmul_gpu_problem_of(m, n, k);
 *     p.a = kdl_matmul_rows(a, k);
 *     p.b = kdl_matmul_rows(b, n);
 *     p.c = kdl_matmul_rows(c, n);
 *     kdl_matmul_gpu_run(matmul, queue, &p);
 *
 * docs/matmul.md has which tile a shape gets, and why.
 */
#ifndef KDL_MATMUL_GPU_H
#define KDL_MATMUL_GPU_H

#include <kdl/matmul.h>

#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kdl_matmul_gpu kdl_matmul_gpu;

/* The type of C and of the residual. */
typedef enum kdl_matmul_result {
  KDL_MATMUL_RESULT_ACC = 0, /* of the sums: f32, or s32 for bytes */
  KDL_MATMUL_RESULT_BF16 = 1,
  KDL_MATMUL_RESULT_F16 = 2,
  KDL_MATMUL_RESULT_F32 = 3, /* for bytes: scaled sums */
} kdl_matmul_result;

typedef enum kdl_matmul_activation {
  KDL_MATMUL_NO_ACTIVATION = 0,
  KDL_MATMUL_RELU = 1,
  KDL_MATMUL_GELU = 2, /* by tanh */
} kdl_matmul_activation;

/* C = activation(scale * A B + bias + residual). Matrices are addresses of the device, with strides
 * in elements; those of a batch follow each other at the distances given. */
typedef struct kdl_matmul_gpu_problem {
  size_t size;               /* sizeof(kdl_matmul_gpu_problem) */
  uint32_t m, n, k, batch;   /* each below 2^31, as is the number of tiles; k = 0: A B is zeros */
  kdl_matmul_matrix a, b, c; /* m by k, k by n, m by n */
  int64_t a_batch, b_batch, c_batch;
  kdl_matmul_result result;
  kdl_matmul_activation activation;
  float scale;
  const float *bias;          /* n numbers on the device, or NULL */
  kdl_matmul_matrix residual; /* m by n, or NULL; may be C itself: C += A B */
  int64_t residual_batch;
  kdl_buffer workspace; /* optional; zeroed once, not shared by launches that run at one time. Where
                           C has few tiles, K is divided, and that of the last tiles where they are
                           fewer than multiprocessors. Parts are added up in it; without one, only
                           in clusters of groups (from sm_90 on) */
  uint32_t tile;        /* 0: the library chooses; s + 1: the microkernel's tile of size s */
  uint32_t parts;       /* of K; 0: the library chooses */
} kdl_matmul_gpu_problem;

static inline kdl_matmul_gpu_problem kdl_matmul_gpu_problem_of(uint32_t m, uint32_t n, uint32_t k) {
  kdl_matmul_gpu_problem problem;
  memset(&problem, 0, sizeof problem);
  problem.size = sizeof problem;
  problem.m = m;
  problem.n = n;
  problem.k = k;
  problem.batch = 1;
  problem.scale = 1.0f;
  return problem;
}

/* Finds the kernels for a type on a GPU and reads the tiles of its microkernels, which waits for
 * the device's own queue. */
KDL_API kdl_status kdl_matmul_gpu_find(kdl_library *lib, kdl_device *device, kdl_matmul_type type,
                                       kdl_matmul_gpu **out_matmul);
KDL_API void kdl_matmul_gpu_free(kdl_matmul_gpu *matmul);

/* Enqueues one launch; none where m, n or batch is 0. */
KDL_API kdl_status kdl_matmul_gpu_run(const kdl_matmul_gpu *matmul, kdl_queue *queue,
                                      const kdl_matmul_gpu_problem *problem);

/* Weights that are used often, packed: B in rows along K, with zeros after them to a multiple of 32
 * bytes. It pays for bytes that lie along N, which the instructions cannot read, and for strides
 * that are not multiples of 16 bytes; values of two bytes are as fast along N. `packed` is an
 * address of the device with kdl_matmul_packed_size bytes. One launch; afterwards the matrix
 * of kdl_matmul_gpu_packed is a problem's B. */
KDL_API kdl_status kdl_matmul_gpu_pack(const kdl_matmul_gpu *matmul, kdl_queue *queue,
                                       const kdl_matmul_matrix *b, void *packed, uint32_t n,
                                       uint32_t k);
KDL_API kdl_matmul_matrix kdl_matmul_gpu_packed(const kdl_matmul_gpu *matmul, void *packed,
                                                uint32_t k);

/* What kdl_matmul_gpu_run would launch. */
typedef struct kdl_matmul_gpu_plan {
  uint32_t tile;          /* its size */
  uint32_t rows, columns; /* of the tile */
  uint32_t parts;         /* of K */
  uint32_t whole;         /* tiles before the first one that has parts */
  uint32_t cluster;       /* groups of a cluster: their parts are added up in it */
  uint32_t stages;        /* of the ring in group memory */
  uint32_t groups;        /* 0: nothing is launched */
  uint64_t workspace;     /* bytes */
} kdl_matmul_gpu_plan;
KDL_API kdl_status kdl_matmul_gpu_plan_of(const kdl_matmul_gpu *matmul,
                                          const kdl_matmul_gpu_problem *problem,
                                          kdl_matmul_gpu_plan *out_plan);

#ifdef __cplusplus
}
#endif

#endif
