/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The matrix multiplication of libkdl: libkdl_matmul, which launches kernels of
 * kdl-matmul.offload, an ordinary library of images.
 *
 *     kdl_open("kdl-matmul", NULL, &lib);
 *     kdl_device_find("host", &cpu);
 *     kdl_matmul_find(lib, cpu, KDL_MATMUL_F32_BF16, threads, &matmul);
 *     packed = malloc(kdl_matmul_packed_size(matmul.type, n, k));
 *     kdl_matmul_pack(&matmul, queue, kdl_matmul_rows(b, n), packed, n, k);         weights, once
 *     kdl_matmul_run(&matmul, queue, kdl_matmul_rows(a, k), packed, kdl_matmul_rows(c, n),
 *                    m, n, k, KDL_MATMUL_SET);
 *
 * Packed weights depend on the device they were packed on; do not store them. Weights that are used
 * once need no packing: kdl_matmul_run_unpacked.
 */
#ifndef KDL_MATMUL_H
#define KDL_MATMUL_H

#include <kdl/extension.h>

/* The type of the result, then that of both operands. */
typedef enum kdl_matmul_type {
  KDL_MATMUL_F32_BF16 = 0,
  KDL_MATMUL_S32_S8 = 1,
  KDL_MATMUL_F32_F32 = 2,
  KDL_MATMUL_F32_F16 = 3,
  /* Types that GPUs alone have kernels for: 8-bit floating-point numbers, and those of gfx942: half
   * the value of the same bits, 0x80 is not a number, and nothing else is. */
  KDL_MATMUL_F32_E4M3 = 4,
  KDL_MATMUL_F32_E4M3FNUZ = 5,
} kdl_matmul_type;

typedef enum kdl_matmul_mode {
  KDL_MATMUL_SET = 0, /* C = A B  */
  KDL_MATMUL_ADD = 1, /* C += A B */
} kdl_matmul_mode;

/* A matrix in memory. Strides count elements; a transposed matrix has them exchanged. */
typedef struct kdl_matmul_matrix {
  void *elements;
  int64_t row_stride, column_stride;
} kdl_matmul_matrix;

static inline kdl_matmul_matrix kdl_matmul_rows(const void *elements, int64_t row_stride) {
  kdl_matmul_matrix matrix = {(void *)(uintptr_t)elements, row_stride, 1};
  return matrix;
}

/* Caches for data: bytes of one of them, and how many hardware threads share it. */
typedef struct kdl_matmul_machine {
  uint32_t l1, l2;
  uint64_t l3; /* 0: there is none */
  uint32_t l2_threads, l3_threads;
  uint32_t page; /* bytes */
} kdl_matmul_machine;

typedef struct kdl_matmul {
  kdl_matmul_type type;
  uint32_t threads; /* number of threads that a launch is divided among */
  kdl_kernel *pack, *multiply, *unpacked, *sum;
  uint32_t tile; /* of the microkernel: KDL_MMA_TILE of <kdl/mma.h> */
  int whole_k;   /* not 0: K is never divided, and results do not depend on the threads */
  kdl_matmul_machine machine;
  struct kdl_matmul_gpu *gpu; /* of <kdl/matmul_gpu.h>; NULL: the CPU's */
  /* Of kdl_matmul_run and kdl_matmul_run_unpacked, under the policy `adaptive`; NULL: groups by the
   * sizes and the machine alone */
  kdl_tuner *tuner, *unpacked_tuner;
} kdl_matmul;

/* More than any host has. */
enum { KDL_MATMUL_MAX_THREADS = 1 << 16 };

#define KDL_MATMUL_MAX_SIZE 2146435072u /* 2^31 - 2^20: the most rows, columns and steps of K */

#ifdef __cplusplus
extern "C" {
#endif

/* Finds the kernels for a type, their tile and the caches. `threads` is the number of threads that
 * a launch may have, at most KDL_MATMUL_MAX_THREADS; with 1, only the calling thread works.
 *
 * For a GPU of NVIDIA or AMD, matrices and packed weights are addresses of device memory. B is
 * mostly read as fast as it lies: kdl_matmul_run_unpacked, without a scratch. When packing pays,
 * epilogues and batches: <kdl/matmul_gpu.h>. */
KDL_API kdl_status kdl_matmul_find(kdl_library *lib, kdl_device *device, kdl_matmul_type type,
                                   uint32_t threads, kdl_matmul *out_matmul);

/* Frees what kdl_matmul_find allocated, before the library is closed. NULL is accepted. */
KDL_API void kdl_matmul_free(kdl_matmul *matmul);

/* Bytes of a packed K by N matrix, on any CPU. 0 for an unknown type, and for sizes that exceed
 * size_t. */
KDL_API size_t kdl_matmul_packed_size(kdl_matmul_type type, uint32_t n, uint32_t k);

/* These check their arguments: KDL_BAD_CALL for NULL, for an unknown type or mode, for sizes above
 * KDL_MATMUL_MAX_SIZE or whose packed bytes exceed size_t, and for a struct that kdl_matmul_find
 * did not fill, or with other numbers of threads than it gives. */
KDL_API kdl_status kdl_matmul_pack(const kdl_matmul *matmul, kdl_queue *queue, kdl_matmul_matrix b,
                                   void *packed, uint32_t n, uint32_t k);

KDL_API kdl_status kdl_matmul_run(const kdl_matmul *matmul, kdl_queue *queue, kdl_matmul_matrix a,
                                  const void *packed, kdl_matmul_matrix c, uint32_t m, uint32_t n,
                                  uint32_t k, kdl_matmul_mode mode);

/* The same with unpacked B. `scratch` has kdl_matmul_packed_size bytes. */
KDL_API kdl_status kdl_matmul_run_unpacked(const kdl_matmul *matmul, kdl_queue *queue,
                                           kdl_matmul_matrix a, kdl_matmul_matrix b, void *scratch,
                                           kdl_matmul_matrix c, uint32_t m, uint32_t n, uint32_t k,
                                           kdl_matmul_mode mode);

#ifdef __cplusplus
}
#endif

#endif
