/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Matrix-multiply microkernels: the inner loop over K of one tile, acc += lhs * rhs.
 *
 * All of them share one layout for every instruction set, so that packed weights have one form and
 * one microkernel can replace another. It has three units:
 *
 *     word       4 bytes of the left operand: one row, the next 1, 2 or 4 values along K
 *     vector     16 columns of the right operand, the same values along K of each
 *     fragment   16 columns of the result, of one row: 16 numbers of 4 bytes
 *
 *                         n = 0         n = 1
 *                      .---------.   .---------.
 *                      |16 x word|   |16 x word|      one step along K: intrinsics_n vectors
 *                      '---------'   '---------'
 *     .----.           .---------.   .---------.
 *     |word| m = 0     |fragment |   |fragment |      a step multiplies each of intrinsics_m
 *     '----'           '---------'   '---------'      words with each vector, and adds the
 *     .----.           .---------.   .---------.      products to the fragment between them
 *     |word| m = 1     |fragment |   |fragment |
 *     '----'           '---------'   '---------'
 *
 * A microkernel takes k_outer times intrinsics_k steps. In memory, slowest first:
 *
 *     lhs   [k_outer][intrinsics_m][intrinsics_k]      words
 *     rhs   [k_outer][intrinsics_k][intrinsics_n]      vectors
 *     acc            [intrinsics_m][intrinsics_n]      fragments
 *
 * If the left operand is packed and K is long, intrinsics_k is 16: then a row has 64 contiguous
 * bytes, as in a row-major matrix, packing moves full cache lines, and AMX loads a tile without a
 * conversion. With one k_outer, intrinsics_k is the distance of rows: the remainder of K is such a
 * block, and so is an unpacked row-major matrix. The right operand is in the order of its use for
 * any intrinsics_k: with few rows, its speed is that of reading memory in sequence.
 *
 * Each operand is a base and an offset in elements, as in calls that compilers emit. Once the
 * microkernel is inlined, the intrinsics_* are constants: the arrays below become registers, and a
 * narrow matrix is the same code with a smaller intrinsics_m.
 *
 * A second function of the same image, KDL_MMA_TILE, returns the tile that fits the registers of an
 * instruction set. If the registers are tiles themselves, a third one computes more than a tile:
 * KDL_MMA_BLOCK_PARAMETERS.
 */
#ifndef KDL_MMA_H
#define KDL_MMA_H

#include <kdl/ukernel.h>

enum {
  kdl_mma_columns = 16, /* of a vector and of a fragment */
  kdl_mma_steps = 16,   /* intrinsics_k of packed operands */
};

/* The values in a word, and how they are multiplied:
 *   f32_bf16   2 bf16 by 2 bf16, accumulated in f32. Subnormal numbers depend on the
 *              instruction set: AVX-512 BF16, AMX and BFMMLA treat those of the operands as 0,
 *              and flush subnormal sums to 0; the others keep both
 *   s32_u8s8   4 u8 by 4 s8, accumulated in s32, without saturation
 *   f32_f32    1 f32 by 1 f32
 *   f32_f16    1 f32 by 1 f16: the left operand is converted when it is packed; a vector has 32
 * bytes */
typedef uint16_t kdl_bf16;
typedef uint16_t kdl_f16;

/* A mark (<kdl/ukernel.h>) identifies the layout above, so that a microkernel for another one, such
 * as IREE's with [n][k] in the right operand, is refused and does not compute wrong results. */
#define KDL_MMA_UKERNEL KDL_UKERNEL KDL_UKERNEL_LAYOUT(KDL_MMA_LAYOUT)

#define KDL_MMA_PARAMETERS(lhs_type, rhs_type, acc_type)                                           \
  const lhs_type *lhs_base, int64_t lhs_offset, const rhs_type *rhs_base, int64_t rhs_offset,      \
      acc_type *acc_base, int64_t acc_offset, int32_t k_outer, int32_t intrinsics_m,               \
      int32_t intrinsics_n, int32_t intrinsics_k

KDL_MMA_UKERNEL void kdl_uk_mma_f32_bf16(KDL_MMA_PARAMETERS(kdl_bf16, kdl_bf16, float));
KDL_MMA_UKERNEL void kdl_uk_mma_s32_u8s8(KDL_MMA_PARAMETERS(uint8_t, int8_t, int32_t));
KDL_MMA_UKERNEL void kdl_uk_mma_f32_f32(KDL_MMA_PARAMETERS(float, float, float));
KDL_MMA_UKERNEL void kdl_uk_mma_f32_f16(KDL_MMA_PARAMETERS(float, kdl_f16, float));

/* The largest tile that stays in registers: rows, vectors, and a divisor of every fast
 * intrinsics_k: 1, 2, or 16. With 16 no other is supported, so that zeros must be added. The caller
 * may use fewer rows and vectors. */
#define KDL_MMA_TILE(rows, vectors, steps)                                                         \
  ((uint32_t)(rows) | (uint32_t)(vectors) << 8 | (uint32_t)(steps) << 16)

KDL_MMA_UKERNEL uint32_t kdl_uk_mma_f32_bf16_tile(void);
KDL_MMA_UKERNEL uint32_t kdl_uk_mma_s32_u8s8_tile(void);
KDL_MMA_UKERNEL uint32_t kdl_uk_mma_f32_f32_tile(void);
KDL_MMA_UKERNEL uint32_t kdl_uk_mma_f32_f16_tile(void);

/* Computes a block of a matrix C: C = lhs rhs, or C += lhs rhs if `adds` is not 0. Tile registers
 * are configured, cleared and stored to C, each of which takes as long as several multiplications:
 * they stay configured from one block to the next. *configured is 0 before the first block, and
 * the function's own then; a call with 0 rows follows the last block. The caller takes as many
 * columns of rhs as L2 keeps, and so many lots that L1 keeps a tile of lhs. There are functions for
 * CPUs with such registers, and generic ones; a caller uses them if the tile's steps are 16.
 * Distances are in elements:
 *
 *     lhs   tiles of 32 rows, lhs_tile apart; in a tile, rows are lhs_row, step blocks of 16 words
 *           lhs_lot apart, in a last tile of fewer rows lhs_last_lot: packed, or the matrix itself
 *     rhs   panels of 2 vectors, the last of 1 or 2. They have rhs_words words; the block begins
 *           with the word rhs_first
 *     c     `rows` by `columns`, with c_row between rows
 *
 * All of them take `lots` step blocks of 16 words of K. s32_s8 multiplies signed bytes on both
 * sides. */
#define KDL_MMA_BLOCK_PARAMETERS(element_type, acc_type)                                           \
  const element_type *lhs, int64_t lhs_row, int64_t lhs_lot, int64_t lhs_last_lot,                 \
      int64_t lhs_tile, const element_type *rhs, int64_t rhs_words, int64_t rhs_first,             \
      acc_type *c, int64_t c_row, int32_t adds, int32_t rows, int32_t columns, int32_t lots,       \
      int32_t *configured

KDL_MMA_UKERNEL void kdl_uk_mma_f32_bf16_block(KDL_MMA_BLOCK_PARAMETERS(kdl_bf16, float));
KDL_MMA_UKERNEL void kdl_uk_mma_s32_s8_block(KDL_MMA_BLOCK_PARAMETERS(int8_t, int32_t));

enum { kdl_mma_block_rows = 32, kdl_mma_block_vectors = 2 }; /* of a tile, of a panel */

static inline float kdl_mma_word_f32(const void *word) {
  float value;
  __builtin_memcpy(&value, word, sizeof value);
  return value;
}

static inline int32_t kdl_mma_word_s32(const void *word) {
  int32_t value;
  __builtin_memcpy(&value, word, sizeof value);
  return value;
}

static inline float kdl_mma_bf16_value(kdl_bf16 bits) {
  return __builtin_bit_cast(float, (uint32_t)bits << 16);
}

/* Moves exponent and mantissa to their position in f32 and scales by the difference of the
 * biases, which is also correct for f16's subnormal numbers; infinity and NaN keep their
 * exponent of ones. */
static inline float kdl_mma_f16_value(kdl_f16 half) {
  uint32_t magnitude = (half & 0x7fffu) << 13;
  uint32_t special = magnitude >= 0x0f800000 ? 0x7f800000 : 0;
  float value = __builtin_bit_cast(float, magnitude) * 0x1p112f;
  uint32_t bits = __builtin_bit_cast(uint32_t, value) | special | (half & 0x8000u) << 16;
  return __builtin_bit_cast(float, bits);
}

#endif
