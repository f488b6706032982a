/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What differs in <kdl/gpu_mma.h> on AMD's GPUs, which have neither bulk copies nor barriers in
 * group memory.
 *
 * All subgroups copy and multiply: a tile has no producers. The caller loads the operands of the
 * next stage into registers, calls the microkernel with a k_outer of 1 for the present one, and
 * stores the registers into the next stage; then the group has a barrier. So a microkernel never
 * waits: the ring's functions below but kdl_gpu_ring_next are empty.
 *
 * Stages and panels are the same, but no operand is by K: the caller transposes when it stores.
 *
 * A fragment of the sums is 16 by 16, as in the instructions MFMA and WMMA. Lane l has values of
 * column l % 16, in the rows kdl_gpu_mma_fragment_row:
 *
 *                       columns 0 to 15 of the fragment are lanes
 *                       gfx9, 64 lanes       gfx11, 32 lanes     gfx12, 32 lanes
 *     row 0             0 to 15,  value 0    0 to 15,  value 0   0 to 15,  value 0
 *     row 1             0 to 15,  value 1    16 to 31, value 0   0 to 15,  value 1
 *     row 2             0 to 15,  value 2    0 to 15,  value 1   0 to 15,  value 2
 *     row 4             16 to 31, value 0    0 to 15,  value 2   0 to 15,  value 4
 *     row 8             32 to 47, value 0    0 to 15,  value 4   16 to 31, value 0
 *     row 15            48 to 63, value 3    16 to 31, value 7   16 to 31, value 7
 *
 * A subgroup's fragment (i, j) begins at row 16 * (i * subgroups_m + m) and column
 * 16 * (n * intrinsics_n + j), and is kdl_gpu_mma_values numbers from
 * acc[kdl_gpu_mma_values * (i * intrinsics_n + j)] on.
 *
 * Values of f32_e4m3fnuz are those of gfx942: half of what the same bits are in f32_e4m3. 0x80 is
 * not a number, and there is no negative zero.
 */
#ifndef KDL_GPU_MMA_AMD_H
#define KDL_GPU_MMA_AMD_H

#include <kdl/ukernel.h>

#ifdef __AMDGPU__

enum {
  kdl_gpu_mma_fragment_rows = 16,
  kdl_gpu_mma_fragment_columns = 16,
#ifdef __GFX9__
  kdl_gpu_mma_lanes = 64,
#else
  kdl_gpu_mma_lanes = 32,
#endif
  kdl_gpu_mma_values = 16 * 16 / kdl_gpu_mma_lanes, /* of a lane, in a fragment */
};

static inline __attribute__((always_inline)) uint32_t kdl_gpu_mma_fragment_row(uint32_t lane,
                                                                               uint32_t value) {
#ifdef __GFX11__
  return 2 * value + lane / 16;
#else
  return kdl_gpu_mma_values * (lane / 16) + value;
#endif
}

#endif
#endif
