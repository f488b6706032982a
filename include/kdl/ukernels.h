/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The built-in microkernels, for kernels in bitcode; kdl-ld selects the variants. <kdl/ukernel.h>
 * explains microkernels. */
#ifndef KDL_UKERNELS_H
#define KDL_UKERNELS_H

#include <kdl/ukernel.h>

/* Sets *sum to the sum of a[i] * b[i] over n elements, for the calling work-item alone. The order
 * of the additions depends on the variant. */
KDL_UKERNEL void kdl_uk_dot_f32(const float *a, const float *b, int32_t n, float *sum);

/* Returns the sum of `value` over the subgroup to each of its work-items, all of which must call
 * it. On a CPU, where a work-item is a subgroup, that is the value. */
KDL_UKERNEL int32_t kdl_uk_subgroup_sum_i32(int32_t value);

/* c = a b of bf16, accumulated in f32, for a tile of c of at most kdl_uk_group_tile rows and
 * columns. a has `rows` rows of k values, b has k rows of `columns` values; distances of rows are
 * in elements. All kdl_uk_group_items work-items of a group in one dimension call it; on a CPU one
 * of them alone, as in if (!KDL_HOST || __gpu_thread_id(0) == 0). group_memory has
 * kdl_uk_group_bytes bytes, at a multiple of 16. Not for SPIR-V, where plain pointers do not reach
 * global memory. */
enum { kdl_uk_group_tile = 128, kdl_uk_group_items = 256, kdl_uk_group_bytes = 32768 };
KDL_UKERNEL void kdl_uk_group_matmul_f32_bf16(const uint16_t *a, int64_t a_row, const uint16_t *b,
                                              int64_t b_row, float *c, int64_t c_row, int32_t rows,
                                              int32_t columns, int32_t k, void *group_memory);

#endif
