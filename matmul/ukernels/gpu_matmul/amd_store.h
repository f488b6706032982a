/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The sums of a tile: parts of K added up, the epilogue, and the store to the result. */
#ifndef KDL_MATMUL_UKERNELS_GPU_MATMUL_AMD_STORE_H
#define KDL_MATMUL_UKERNELS_GPU_MATMUL_AMD_STORE_H

#include "schedule.h"

/* ------------------------------------------------------------------------------------------ */
/* Values                                                                                       */

INLINE uint32_t bits_of(uint32_t value, float number) {
  if (value == GPU_BF16)
    return __builtin_bit_cast(uint16_t, (__bf16)number);
  return value == GPU_F16 ? __builtin_bit_cast(uint16_t, (_Float16)number) : kdl_bits_f32(number);
}

INLINE float number_of(uint32_t value, uint32_t bits) {
  if (value == GPU_BF16)
    return kdl_f32_bits(bits << 16);
  return value == GPU_F16 ? (float)__builtin_bit_cast(_Float16, (uint16_t)bits)
                          : kdl_f32_bits(bits);
}

INLINE float gelu(float x) { /* x / (1 + exp(-2 z)), with tanh's argument z */
  const float z = 0.7978845608f * (x + 0.044715f * x * x * x);
  return x * __builtin_amdgcn_rcpf(1.0f + kdl_exp(-2.0f * z));
}

INLINE uint64_t address_in(const gpu_matrix *matrix, uint32_t batch, uint32_t row, uint32_t column,
                           uint32_t bytes) {
  return matrix->address +
         (uint64_t)((int64_t)batch * matrix->batch + (int64_t)row * matrix->outer +
                    (int64_t)column * matrix->inner) *
             bytes;
}

/* The bits of a value of the result, from its sum. */
INLINE uint32_t finish_value(const kdl_grid_constant_matmul *args, acc_type sum, uint32_t batch,
                             uint32_t row, uint32_t column, uint32_t bytes) {
  uint32_t before = 0;
  if (args->residual.address) {
    const uint64_t from = address_in(&args->residual, batch, row, column, bytes);
    before =
        bytes == 2 ? *(const __gpu_global uint16_t *)from : *(const __gpu_global uint32_t *)from;
  }
  if (args->value == GPU_S32)
    return (uint32_t)sum + before;
  float number = (float)sum * args->scale;
  if (args->bias)
    number += ((const __gpu_global float *)args->bias)[column];
  if (args->residual.address)
    number += number_of(args->value, before);
  if (args->activation == GPU_RELU)
    number = number < 0.0f ? 0.0f : number; /* NaN stays */
  else if (args->activation == GPU_GELU)
    number = gelu(number);
  return bits_of(args->value, number);
}

/* Fragments one after the other. Values move down in `acc`, so that the epilogue is in the code
 * once for each value of a fragment. */
INLINE void store_tile(const kdl_grid_constant_matmul *args, tiling t, work w, acc_type *acc,
                       uint32_t subgroup) {
  enum { values = kdl_gpu_mma_values };
  const uint32_t lane = __gpu_lane_id(), at_m = subgroup % (uint32_t)t.subgroups_m;
  const uint32_t at_n = subgroup / (uint32_t)t.subgroups_m;
  const uint32_t bytes = args->value == GPU_F32 || args->value == GPU_S32 ? 4 : 2;
  const uint32_t fragments = (uint32_t)(t.intrinsics_m * t.intrinsics_n);
#pragma clang loop unroll(disable)
  for (uint32_t f = 0; f < fragments; ++f) {
    const uint32_t i = f / (uint32_t)t.intrinsics_n, j = f % (uint32_t)t.intrinsics_n;
    const uint32_t first = w.row + 16 * (i * (uint32_t)t.subgroups_m + at_m);
    const uint32_t column = w.column + 16 * (at_n * (uint32_t)t.intrinsics_n + j) + lane % 16;
#pragma clang loop unroll(full)
    for (uint32_t v = 0; v < values; ++v) {
      const uint32_t row = first + kdl_gpu_mma_fragment_row(lane, v);
      if (row >= args->m || column >= args->n)
        continue;
      const uint32_t value = finish_value(args, acc[v], w.batch, row, column, bytes);
      const uint64_t to = address_in(&args->result, w.batch, row, column, bytes);
      if (bytes == 2)
        *(__gpu_global uint16_t *)to = (uint16_t)value;
      else
        *(__gpu_global uint32_t *)to = value;
    }
#pragma clang loop unroll(full)
    for (uint32_t v = 0; v + values < values * fragments; ++v)
      acc[v] = acc[v + values];
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Parts of K                                                                                   */

/* Puts the sums of a part into memory. The group that is the last of its tile adds all parts up in
 * their order, so that the result does not depend on which one that is: it returns 1. */
INLINE int add_parts(const kdl_grid_constant_matmul *args, tiling t, work w, acc_type *acc,
                     __gpu_local uint32_t *seen, uint32_t thread, uint32_t threads) {
  const uint32_t count = (uint32_t)(t.intrinsics_m * t.intrinsics_n) * kdl_gpu_mma_values;
  const uint64_t of_tile = (uint64_t)w.tile * args->parts;
  __gpu_global acc_type *partial = (__gpu_global acc_type *)args->partial + thread;
  __gpu_global uint32_t *counter = (__gpu_global uint32_t *)args->counters + w.tile;
  __gpu_global acc_type *mine = partial + (of_tile + w.part) * count * threads;
#pragma clang loop unroll(full)
  for (uint32_t i = 0; i < count; ++i)
    mine[i * threads] = acc[i];
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
  __gpu_sync_threads();
  if (thread == 0)
    *seen = kdl_atomic_add(counter, 1u);
  __gpu_sync_threads();
  const uint32_t before = *seen;
  __gpu_sync_threads(); /* read by all, before a stage is stored there */
  if (before + 1 != args->parts)
    return 0;
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
  if (thread == 0)
    *counter = 0;
#pragma clang loop unroll(full)
  for (uint32_t i = 0; i < count; ++i)
    acc[i] = 0;
#pragma clang loop unroll(disable)
  for (uint32_t part = 0; part < args->parts; ++part) {
    const __gpu_global acc_type *sums = partial + (of_tile + part) * count * threads;
#pragma clang loop unroll(full)
    for (uint32_t i = 0; i < count; ++i)
      acc[i] += sums[i * threads];
  }
  return 1;
}

#endif
