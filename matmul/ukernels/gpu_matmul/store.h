/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The sums of a tile: the epilogue, and the store to the result. */
#ifndef KDL_MATMUL_UKERNELS_GPU_MATMUL_STORE_H
#define KDL_MATMUL_UKERNELS_GPU_MATMUL_STORE_H

#include "schedule.h"

/* A subgroup stores 16 rows of 128 bytes at a time, through group memory: from there, each row is a
 * line of the result. Chunks of 16 bytes are swizzled as in the panels. With bulk
 * copies there is room for two: one is written while the other is copied. */
enum { line_bytes = 128, lines_bytes = 16 * line_bytes };

INLINE uint32_t staging_bytes(int32_t is_bulk) {
  return is_bulk ? 2 * lines_bytes : lines_bytes;
}

typedef uint32_t two __attribute__((vector_size(8)));

INLINE __gpu_local uint8_t *staged(__gpu_local uint8_t *staging, uint32_t row, uint32_t byte) {
  return staging + row * line_bytes + 16 * ((byte / 16) ^ (row % 8)) + byte % 16;
}

INLINE uint32_t pack_bf16(float low, float high) {
  uint32_t pair;
  __asm__("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
INLINE uint32_t pack_f16(float low, float high) {
  uint32_t pair;
  __asm__("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
INLINE uint32_t pack(uint32_t value, float low, float high) {
  return value == GPU_BF16 ? pack_bf16(low, high) : pack_f16(low, high);
}
INLINE float unpack(uint32_t value, uint16_t bits) {
  float result;
  if (value == GPU_BF16)
    return kdl_f32_bits((uint32_t)bits << 16);
  __asm__("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(bits));
  return result;
}

/* A tile, as one subgroup sees it. */
typedef struct {
  uint64_t result, residual; /* addresses, of the batch */
  uint32_t value_bytes;      /* of the result and the residual */
  uint32_t lane;
  __gpu_local uint8_t *staging;
} place;

INLINE uint64_t address_in(const gpu_matrix *matrix, uint64_t first, uint32_t row, uint32_t column,
                           uint32_t bytes) {
  return first + (uint64_t)((int64_t)row * matrix->outer + (int64_t)column * matrix->inner) * bytes;
}

/* ------------------------------------------------------------------------------------------ */
/* Without an epilogue, by bulk copies                                                          */

/* 16 rows by 64 columns, eight fragments, as two bytes a value. */
INLINE void stage_short(const kdl_grid_constant_matmul *args, const place *at,
                        const acc_type *acc) {
  const uint32_t row = at->lane % 16;
#pragma clang loop unroll(full)
  for (uint32_t j = 0; j < 8; j += 2) {
    const acc_type *d = acc + 4 * j;
    __asm__ volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                         (uint32_t)(uintptr_t)staged(at->staging, row, 16 * (j + at->lane / 16))),
                     "r"(pack(args->value, (float)d[0], (float)d[1])),
                     "r"(pack(args->value, (float)d[2], (float)d[3])),
                     "r"(pack(args->value, (float)d[4], (float)d[5])),
                     "r"(pack(args->value, (float)d[6], (float)d[7]))
                     : "memory");
  }
}

/* 16 rows by 32 columns, four fragments, as they are. */
INLINE void stage(const place *at, const acc_type *acc) {
#pragma clang loop unroll(full)
  for (uint32_t j = 0; j < 4; ++j) {
    uint32_t bits[4];
    __builtin_memcpy(bits, acc + 4 * j, sizeof bits);
    const uint32_t row = at->lane / 4, byte = 32 * j + 8 * (at->lane % 4);
    *(__gpu_local two *)staged(at->staging, row, byte) = (two){bits[0], bits[1]};
    *(__gpu_local two *)staged(at->staging, row + 8, byte) = (two){bits[2], bits[3]};
  }
}

/* By bulk copies: before staging, those of these lines have been read; the first of a tile waits
 * for all, since their number may be odd. The copy itself leaves out what is outside of the result.
 */
INLINE void begin_bulk(const place *at, int32_t is_first) {
  if (at->lane == 0 && is_first)
    __asm__ volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
  else if (at->lane == 0)
    __asm__ volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
  __gpu_sync_lane(~(uint64_t)0);
}
INLINE void store_bulk(const kdl_grid_constant_matmul *args, const place *at, uint32_t row,
                       uint32_t column, uint32_t batch) {
  __asm__ volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __gpu_sync_lane(~(uint64_t)0);
  if (at->lane == 0)
    __asm__ volatile(
        "cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%2, %3, %4}], [%1];"
        "\n\tcp.async.bulk.commit_group;" ::"l"(&args->result_map),
        "r"((uint32_t)(uintptr_t)at->staging), "r"(column), "r"(row), "r"(batch)
        : "memory");
}
/* Before a subgroup ends, what its copies read has been read. */
INLINE void end_bulk(void) {
  if (__gpu_lane_id() == 0)
    __asm__ volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}

/* ------------------------------------------------------------------------------------------ */
/* With an epilogue                                                                             */

INLINE float gelu(float x) { /* x / (1 + exp(-2 z)), with tanh's argument z */
  float z = 0.7978845608f * (x + 0.044715f * x * x * x);
  return x * __nvvm_rcp_approx_ftz_f(1.0f + kdl_exp(-2.0f * z));
}

INLINE uint32_t load_value(uint64_t address, uint32_t bytes) {
  return bytes == 2 ? *(const __gpu_global uint16_t *)address
                    : *(const __gpu_global uint32_t *)address;
}

INLINE float as_float(uint32_t value, uint32_t bits) {
  return value == GPU_F32 ? kdl_f32_bits(bits) : unpack(value, (uint16_t)bits);
}

/* The results of four fragments, in the place of their sums: as they are, or of two bytes each as
 * pairs in the first half. One thing after the other is done for all of them, so that there is one
 * branch for each. */
INLINE void finish_four(const kdl_grid_constant_matmul *args, const place *at, acc_type *acc,
                        uint32_t row, uint32_t column) {
  const int is_integer = args->value == GPU_S32;
  uint32_t bits[16];
  float values[16];
  __builtin_memcpy(bits, acc, sizeof bits);
#pragma clang loop unroll(full)
  for (uint32_t i = 0; i < 16; ++i)
    values[i] = (acc_is_integer ? (float)(int32_t)bits[i] : kdl_f32_bits(bits[i])) * args->scale;
  column += 2 * (at->lane % 4);
  row += at->lane / 4;
  if (args->bias) {
#pragma clang loop unroll(full)
    for (uint32_t i = 0; i < 8; ++i) {
      const uint32_t at_column = column + i / 2 * 8 + i % 2, first = i / 2 * 4 + i % 2;
      if (at_column < args->n) {
        const float bias = ((const __gpu_global float *)args->bias)[at_column];
        values[first] += bias;
        values[first + 2] += bias;
      }
    }
  }
  if (args->residual.address) {
#pragma clang loop unroll(full)
    for (uint32_t i = 0; i < 16; ++i) {
      const uint32_t at_row = row + i / 2 % 2 * 8, at_column = column + i / 4 * 8 + i % 2;
      if (at_row < args->m && at_column < args->n) {
        const uint32_t before = load_value(
            address_in(&args->residual, at->residual, at_row, at_column, at->value_bytes),
            at->value_bytes);
        bits[i] += before; /* of integers */
        values[i] += as_float(args->value, before);
      }
    }
  }
  if (args->activation == GPU_RELU) {
#pragma clang loop unroll(full)
    for (uint32_t i = 0; i < 16; ++i)
      values[i] = values[i] < 0.0f ? 0.0f : values[i]; /* NaN stays */
  } else if (args->activation == GPU_GELU) {
#pragma clang loop unroll(full)
    for (uint32_t i = 0; i < 16; ++i)
      values[i] = gelu(values[i]);
  }
  if (at->value_bytes == 2) {
#pragma clang loop unroll(full)
    for (uint32_t i = 0; i < 8; ++i)
      bits[i] = pack(args->value, values[2 * i], values[2 * i + 1]);
  } else if (!is_integer) {
    __builtin_memcpy(bits, values, sizeof bits);
  }
  __builtin_memcpy(acc, bits, sizeof bits);
}

/* Asks for the bias of some columns, 32 of each lane: all of it is there after one wait. */
INLINE void prefetch_bias(const kdl_grid_constant_matmul *args, uint32_t lane, uint32_t column,
                          uint32_t columns) {
  const uint32_t mine = column + 32 * lane;
  if (args->bias && 32 * lane < columns && mine < args->n)
    __asm__ volatile("prefetch.global.L1 [%0];" ::"l"(args->bias + 4 * (uint64_t)mine) : "memory");
}

/* Pairs of four fragments, as the left or right half of lines. */
INLINE void stage_half(const place *at, const acc_type *acc, uint32_t half) {
  uint32_t pairs[8];
  __builtin_memcpy(pairs, acc, sizeof pairs);
#pragma clang loop unroll(full)
  for (uint32_t j = 0; j < 2; ++j)
    __asm__ volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                         (uint32_t)(uintptr_t)staged(at->staging, at->lane % 16,
                                                     64 * half + 16 * (2 * j + at->lane / 16))),
                     "r"(pairs[4 * j]), "r"(pairs[4 * j + 1]), "r"(pairs[4 * j + 2]),
                     "r"(pairs[4 * j + 3])
                     : "memory");
}

/* ------------------------------------------------------------------------------------------ */
/* With an epilogue, to any strides, and on any device                                          */

/* The bits of a value of the result, from those of its sum. */
INLINE uint32_t finish_value(const kdl_grid_constant_matmul *args, const place *at, uint32_t sum,
                             uint32_t row, uint32_t column) {
  uint32_t before = 0;
  if (args->residual.address)
    before = load_value(address_in(&args->residual, at->residual, row, column, at->value_bytes),
                        at->value_bytes);
  if (args->value == GPU_S32)
    return sum + before;
  float value = (acc_is_integer ? (float)(int32_t)sum : kdl_f32_bits(sum)) * args->scale;
  if (args->bias)
    value += ((const __gpu_global float *)args->bias)[column];
  if (args->residual.address)
    value += as_float(args->value, before);
  if (args->activation == GPU_RELU)
    value = value < 0.0f ? 0.0f : value; /* NaN stays */
  else if (args->activation == GPU_GELU)
    value = gelu(value);
  return args->value == GPU_F32 ? kdl_bits_f32(value) : pack(args->value, value, 0.0f);
}

/* The staged rows of 32 sums, a row at a time. */
INLINE void finish_lines(const kdl_grid_constant_matmul *args, const place *at, uint32_t row,
                         uint32_t column) {
  const uint32_t bytes = at->value_bytes, mine = column + at->lane;
  __gpu_sync_lane(~(uint64_t)0);
#pragma clang loop unroll(disable)
  for (uint32_t r = 0; r < 16 && row + r < args->m && mine < args->n; ++r) {
    uint32_t sum = *(const __gpu_local uint32_t *)staged(at->staging, r, 4 * at->lane);
    uint32_t value = finish_value(args, at, sum, row + r, mine);
    uint64_t to = address_in(&args->result, at->result, row + r, mine, bytes);
    if (bytes == 2)
      *(__gpu_global uint16_t *)to = (uint16_t)value;
    else
      *(__gpu_global uint32_t *)to = value;
  }
  __gpu_sync_lane(~(uint64_t)0);
}

/* ------------------------------------------------------------------------------------------ */
/* A tile                                                                                       */

/* Fragments of `fragments` by 8 columns, one after the other. Values move down in `acc`, so that
 * the epilogue is in the code once. */
INLINE void finish_fragments(const kdl_grid_constant_matmul *args, const place *at, acc_type *acc,
                             int32_t fragments, uint32_t row, uint32_t column) {
#pragma clang loop unroll(disable)
  for (int32_t j = 0; j < fragments; j += 4) {
    stage(at, acc);
    finish_lines(args, at, row, column + 8 * (uint32_t)j);
#pragma clang loop unroll(full)
    for (int32_t i = 0; i < 4 * fragments - 16; ++i)
      acc[i] = acc[i + 16];
  }
}

INLINE void store_fragments(const kdl_grid_constant_matmul *args, place at, const acc_type *acc,
                            int32_t fragments, uint32_t row, uint32_t column, uint32_t batch) {
  const int32_t step = at.value_bytes == 2 ? 8 : 4;
  __gpu_local uint8_t *first = at.staging;
  if (step == 8) {
#pragma clang loop unroll(full)
    for (int32_t j = 0; j < fragments; j += 8) {
      at.staging = first + j / 8 % 2 * lines_bytes;
      begin_bulk(&at, j == 0);
      stage_short(args, &at, acc + 4 * j);
      store_bulk(args, &at, row, column + 8 * (uint32_t)j, batch);
    }
    return;
  }
#pragma clang loop unroll(full)
  for (int32_t j = 0; j < fragments; j += 4) {
    at.staging = first + j / 4 % 2 * lines_bytes;
    begin_bulk(&at, j == 0);
    stage(&at, acc + 4 * j);
    store_bulk(args, &at, row, column + 8 * (uint32_t)j, batch);
  }
}

/* With an epilogue, which is in the code once, too. */
INLINE void finish_fragments_bulk(const kdl_grid_constant_matmul *args, place at, acc_type *acc,
                                  int32_t fragments, uint32_t row, uint32_t column,
                                  uint32_t batch) {
  const uint32_t is_short = at.value_bytes == 2;
  __gpu_local uint8_t *first = at.staging;
  prefetch_bias(args, at.lane, column, 8 * (uint32_t)fragments);
#pragma clang loop unroll(disable)
  for (uint32_t j = 0; j < (uint32_t)fragments; j += 4) {
    const uint32_t half = is_short ? j / 4 % 2 : 0, line = is_short ? j / 8 : j / 4;
    at.staging = first + line % 2 * lines_bytes;
    finish_four(args, &at, acc, row, column + 8 * j);
    if (!half)
      begin_bulk(&at, j == 0);
    if (is_short)
      stage_half(&at, acc, half);
    else
      stage(&at, acc);
    if (!is_short || half)
      store_bulk(args, &at, row, column + 8 * (j - 4 * half), batch);
#pragma clang loop unroll(full)
    for (int32_t i = 0; i < 4 * fragments - 16; ++i)
      acc[i] = acc[i + 16];
  }
}

INLINE void store_tile(const kdl_grid_constant_matmul *args, tiling t, work w, acc_type *acc,
                       __gpu_local uint8_t *staging, uint32_t number) {
  const uint32_t subgroup = opaque(number);
  const uint32_t at_m = subgroup % (uint32_t)t.subgroups_m,
                 at_n = subgroup / (uint32_t)t.subgroups_m;
  const uint32_t bytes = args->value == GPU_F32 || args->value == GPU_S32 ? 4 : 2;
  place at = {.value_bytes = bytes,
              .lane = lane_of_store(),
              .staging = staging + subgroup * staging_bytes(t.is_bulk)};
  at.result = args->result.address + (uint64_t)((int64_t)w.batch * args->result.batch * bytes);
  at.residual =
      args->residual.address + (uint64_t)((int64_t)w.batch * args->residual.batch * bytes);
#pragma clang loop unroll(full)
  for (int32_t i = 0; i < t.intrinsics_m; ++i) {
    const uint32_t row = w.row + 16 * ((uint32_t)i * (uint32_t)t.subgroups_m + at_m);
    const uint32_t column = w.column + 8 * at_n * (uint32_t)t.intrinsics_n;
    acc_type *d = acc + 4 * i * t.intrinsics_n;
    const uint32_t flags = args->flags & (GPU_RESULT_BULK | GPU_EPILOGUE);
    if (t.is_plain || (t.is_bulk && flags == GPU_RESULT_BULK))
      store_fragments(args, at, d, t.intrinsics_n, row, column, w.batch);
    else if (t.is_bulk && flags == (GPU_RESULT_BULK | GPU_EPILOGUE))
      finish_fragments_bulk(args, at, d, t.intrinsics_n, row, column, w.batch);
    else
      finish_fragments(args, &at, d, t.intrinsics_n, row, column);
  }
}

#endif
