/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * NVIDIA's tensor cores from sm_80 on. Eight subgroups have 32 by 64 numbers of the tile each.
 * Group memory has two stages of 32 values along K: one is copied while the other is multiplied.
 * Chunks of 16 bytes are swizzled, so that ldmatrix reads 8 rows of one chunk from different banks.
 */
#include <kdl/ukernels.h>

#include <gpuintrin.h>

enum {
  depth = 32,
  chunk = 8, /* values */
  lhs_bytes = kdl_uk_group_tile * depth * 2,
  stage_bytes = 2 * lhs_bytes,
  chunks_each = kdl_uk_group_tile * depth / chunk / kdl_uk_group_items,
  m_count = 2, /* of 16 rows, of a subgroup */
  n_count = 8, /* of 8 columns */
};
_Static_assert(2 * stage_bytes <= kdl_uk_group_bytes, "two stages");

typedef __gpu_local uint8_t *local_bytes;

static inline uint32_t lhs_place(uint32_t row, uint32_t at) {
  return row * depth * 2 + (at ^ (row / 2 % 4)) * 16;
}
static inline uint32_t rhs_place(uint32_t line, uint32_t at) {
  return lhs_bytes + line * kdl_uk_group_tile * 2 + (at ^ (line % 8)) * 16;
}

/* `count` values of a chunk, and zeros. */
static inline void copy_chunk(local_bytes to, const uint16_t *from, int32_t count, int is_aligned) {
  if (count >= chunk && is_aligned) {
    __asm__ volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                     :
                     : "r"((uint32_t)(uintptr_t)to),
                       "l"((const __attribute__((address_space(1))) uint16_t *)from)
                     : "memory");
    return;
  }
  for (int32_t i = 0; i < chunk; ++i)
    ((__gpu_local uint16_t *)to)[i] = i < count ? from[i] : 0;
}

typedef struct {
  const uint16_t *a, *b;
  int64_t a_row, b_row;
  int32_t rows, columns, k;
  int is_aligned;
} operands;

static inline void copy_stage(local_bytes stage, const operands *from, int32_t first,
                              uint32_t item) {
#pragma clang loop unroll(full)
  for (uint32_t i = 0; i < chunks_each; ++i) {
    const uint32_t at = item + i * kdl_uk_group_items;
    const uint32_t row = at / (depth / chunk), across = at % (depth / chunk);
    const uint32_t line = at / (kdl_uk_group_tile / chunk),
                   along = at % (kdl_uk_group_tile / chunk);
    const int32_t k = first + (int32_t)(across * chunk), column = (int32_t)(along * chunk);
    copy_chunk(stage + lhs_place(row, across), from->a + row * from->a_row + k,
               (int32_t)row < from->rows ? from->k - k : 0, from->is_aligned);
    copy_chunk(stage + rhs_place(line, along),
               from->b + (first + (int32_t)line) * from->b_row + column,
               first + (int32_t)line < from->k ? from->columns - column : 0, from->is_aligned);
  }
  __asm__ volatile("cp.async.commit_group;" ::: "memory");
}

static inline void load_matrices(uint32_t *into, local_bytes from) {
  __asm__ volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                   : "=r"(into[0]), "=r"(into[1]), "=r"(into[2]), "=r"(into[3])
                   : "r"((uint32_t)(uintptr_t)from)
                   : "memory");
}
static inline void load_transposed(uint32_t *into, local_bytes from) {
  __asm__ volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                   : "=r"(into[0]), "=r"(into[1]), "=r"(into[2]), "=r"(into[3])
                   : "r"((uint32_t)(uintptr_t)from)
                   : "memory");
}
static inline void multiply(float *sums, const uint32_t *a, const uint32_t *b) {
  __asm__ volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                   "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                   : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

static inline void multiply_stage(float (*sums)[n_count][4], local_bytes stage, uint32_t top,
                                  uint32_t left, uint32_t lane) {
#pragma clang loop unroll(full)
  for (uint32_t step = 0; step < depth / 16; ++step) {
    uint32_t a[m_count][4], b[4];
#pragma clang loop unroll(full)
    for (uint32_t i = 0; i < m_count; ++i)
      load_matrices(a[i], stage + lhs_place(top + 16 * i + lane % 16, 2 * step + lane / 16));
#pragma clang loop unroll(full)
    for (uint32_t j = 0; j < n_count; j += 2) {
      load_transposed(b, stage + rhs_place(16 * step + lane % 16, left / 8 + j + lane / 16));
#pragma clang loop unroll(full)
      for (uint32_t i = 0; i < m_count; ++i) {
        multiply(sums[i][j], a[i], b);
        multiply(sums[i][j + 1], a[i], b + 2);
      }
    }
  }
}

void kdl_uk_group_matmul_f32_bf16(const uint16_t *a, int64_t a_row, const uint16_t *b,
                                  int64_t b_row, float *c, int64_t c_row, int32_t rows,
                                  int32_t columns, int32_t k, void *group_memory) {
  const local_bytes memory = (local_bytes)group_memory;
  const uint32_t item = __gpu_thread_id(0), lane = item % 32, subgroup = item / 32;
  const uint32_t top = subgroup % 4 * 16 * m_count, left = subgroup / 4 * 8 * n_count;
  const uint64_t places = (uint64_t)a | (uint64_t)b | 2 * (uint64_t)(a_row | b_row);
  const operands from = {a, b, a_row, b_row, rows, columns, k, places % 16 == 0};
  float sums[m_count][n_count][4] = {{{0}}};
  uint32_t stage = 0;
  if (k > 0)
    copy_stage(memory, &from, 0, item);
#pragma clang loop unroll(disable)
  for (int32_t first = 0; first < k; first += depth, stage ^= 1) {
    __asm__ volatile("cp.async.wait_group 0;" ::: "memory");
    __gpu_sync_threads();
    if (first + depth < k)
      copy_stage(memory + (stage ^ 1) * stage_bytes, &from, first + depth, item);
    multiply_stage(sums, memory + stage * stage_bytes, top, left, lane);
  }
#pragma clang loop unroll(full)
  for (uint32_t i = 0; i < m_count; ++i) {
#pragma clang loop unroll(full)
    for (uint32_t j = 0; j < n_count; ++j) {
#pragma clang loop unroll(full)
      for (uint32_t part = 0; part < 4; ++part) {
        const int32_t row = (int32_t)(top + 16 * i + lane / 4 + part / 2 * 8);
        const int32_t column = (int32_t)(left + 8 * j + lane % 4 * 2 + part % 2);
        if (row < rows && column < columns)
          c[row * c_row + column] = sums[i][j][part];
      }
    }
  }
}
