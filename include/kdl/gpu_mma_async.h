/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Matrix-multiply microkernels for the tensor cores of GPUs that are started and waited for: their
 * caller computes in between. They are for kernels in which products are not alone, such as
 * attention, where the results of one product are an operand of the next.
 *
 * Fragments, subgroups and the swizzle of operands are those of <kdl/gpu_mma.h>. In place of the
 * loop over K with its ring, a call multiplies with operands that are there; the caller has the
 * ring. One of them may stay for many calls, and the left one may be in registers.
 *
 *     NAME_start       acc = lhs * rhs, or acc += lhs * rhs, with lhs and rhs in group memory
 *     NAME_start_held  the same with lhs in registers, as NAME_hold makes it
 *     NAME_hold        fragments of sums as fragments of lhs, rounded to its type: row stays row,
 *                      and a column is a k
 *     NAME_wait        waits until all but the last `pending` calls of start are done
 *
 * A matrix in group memory is made of blocks, each with 128 bytes of every row: block b has bytes
 * 128 b to 128 b + 127. Rows of a block are 128 bytes apart, in 8 chunks of 16 bytes, and chunk c
 * of row r is at the place c ^ (r % 8). A block begins at a multiple of 1024 bytes.
 *
 *     block 0               block 1 (`distance` elements after it)
 *     .-----------------.   .-----------------.
 *     | row 0: 128 bytes |  | row 0: the next  |     rows: of the tile, each with its values along
 *     | row 1            |  | row 1            |           K; or, by K, one row for each k, with
 * the | ...              |  | ...              |           tile's rows or columns along it
 *     '-----------------'   '-----------------'
 *
 * Operands must be there before start, for the copies of the hardware and for all subgroups alike,
 * and stay until wait. What was started last may read its registers until then: acc and a held lhs
 * are not to be touched. All subgroups of a tile of four call the functions together.
 *
 *     NAME_tile         the tile of the first product, where the second has `columns` columns
 *     NAME_group_bytes  bytes for the operands of both that change: a multiple of
 *                       2 * columns * element size * the tile's columns
 *     NAME_role         as in <kdl/gpu_mma.h>
 */
#ifndef KDL_GPU_MMA_ASYNC_H
#define KDL_GPU_MMA_ASYNC_H

#include <kdl/gpu_mma.h>

/* Of `layout`, with KDL_GPU_MMA_RHS_BY_K: the sums begin at zero, and acc need not be set. */
enum { KDL_GPU_MMA_FROM_ZERO = 4 };

/* `steps` are of 32 bytes of K. The other parameters are those of KDL_GPU_MMA_PARAMETERS. */
#define KDL_GPU_MMA_START_PARAMETERS(element_type, acc_type)                                       \
  const element_type *lhs_base, int64_t lhs_offset, int64_t lhs_distance,                          \
      const element_type *rhs_base, int64_t rhs_offset, int64_t rhs_distance, acc_type *acc_base,  \
      int64_t acc_offset, int32_t steps, int32_t intrinsics_n, int32_t subgroups_m,                \
      int32_t subgroup, int32_t layout

/* The four words of step s are at held[4 * s]. */
#define KDL_GPU_MMA_START_HELD_PARAMETERS(element_type, acc_type)                                  \
  const uint32_t *held, const element_type *rhs_base, int64_t rhs_offset, int64_t rhs_distance,    \
      acc_type *acc_base, int64_t acc_offset, int32_t steps, int32_t intrinsics_n, int32_t layout

#define KDL_GPU_MMA_ASYNC_DECLARE(name, element_type, acc_type)                                    \
  KDL_GPU_MMA_UKERNEL void name##_start(KDL_GPU_MMA_START_PARAMETERS(element_type, acc_type));     \
  KDL_GPU_MMA_UKERNEL void name##_start_held(                                                      \
      KDL_GPU_MMA_START_HELD_PARAMETERS(element_type, acc_type));                                  \
  KDL_GPU_MMA_UKERNEL void name##_hold(const acc_type *acc, uint32_t *held, int32_t intrinsics_n); \
  KDL_GPU_MMA_UKERNEL void name##_wait(acc_type *acc, int32_t intrinsics_n, int32_t pending);      \
  KDL_GPU_MMA_UKERNEL uint32_t name##_tile(int32_t columns);                                       \
  KDL_GPU_MMA_UKERNEL uint32_t name##_group_bytes(int32_t columns);                                \
  KDL_GPU_MMA_UKERNEL void name##_role(int32_t columns, kdl_gpu_mma_role role)

KDL_GPU_MMA_ASYNC_DECLARE(kdl_uk_gpu_mma_async_f32_bf16, kdl_gpu_bf16, float);

#endif
