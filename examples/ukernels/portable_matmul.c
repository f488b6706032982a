/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * c = a b, of bf16 and accumulated in f32: one portable image, into which kdl-ld links the device's
 * own microkernel when it is loaded (tensor cores, AVX-512 BF16, AMX, ...):
 *
 *     kdl cc portable_matmul.c --targets=portable --emit=bitcode -o matmul.offload
 *     kdl explain matmul.offload matmul --device=h200
 *
 * A group has a tile of c. a has m rows of k values, b has k rows of n.
 */
#include <kdl/kernel.h>
#include <kdl/ukernels.h>

typedef uint32_t line __attribute__((vector_size(16)));

KDL_BLOCK(256)
__gpu_kernel void matmul(const __gpu_global uint16_t *a, const __gpu_global uint16_t *b,
                         __gpu_global float *c, uint32_t m, uint32_t n, uint32_t k) {
  KDL_LOCAL(line, memory[kdl_uk_group_bytes / sizeof(line)]);
  const uint32_t row = __gpu_block_id(1) * kdl_uk_group_tile;
  const uint32_t column = __gpu_block_id(0) * kdl_uk_group_tile;
  const uint32_t rows = m - row < kdl_uk_group_tile ? m - row : kdl_uk_group_tile;
  const uint32_t columns = n - column < kdl_uk_group_tile ? n - column : kdl_uk_group_tile;
  if (!KDL_HOST || __gpu_thread_id(0) == 0)
    kdl_uk_group_matmul_f32_bf16((const uint16_t *)(a + (uint64_t)row * k), k,
                                 (const uint16_t *)(b + column), n,
                                 (float *)(c + (uint64_t)row * n + column), n, (int32_t)rows,
                                 (int32_t)columns, (int32_t)k, (void *)memory);
}
