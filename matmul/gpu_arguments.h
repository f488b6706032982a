/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The parameter of the kernels for GPUs: matmul/gpu.c fills it, ukernels/gpu_matmul/ reads it. */
#ifndef KDL_MATMUL_GPU_ARGUMENTS_H
#define KDL_MATMUL_GPU_ARGUMENTS_H

#include <stdint.h>

typedef struct gpu_tensor_map {
  _Alignas(64) uint64_t words[16];
} gpu_tensor_map;

/* A matrix, with distances in elements. */
typedef struct gpu_matrix {
  uint64_t address;
  int64_t outer, inner; /* lhs: rows, K; rhs: columns, K; result and residual: rows, columns */
  int64_t batch;
} gpu_matrix;

typedef enum gpu_value { GPU_F32 = 0, GPU_BF16 = 1, GPU_F16 = 2, GPU_S32 = 3 } gpu_value;
typedef enum gpu_activation { GPU_NONE = 0, GPU_RELU = 1, GPU_GELU = 2 } gpu_activation;

/* Of `flags`. */
enum {
  GPU_LHS_BULK = 1,    /* by bulk copies of lhs_map */
  GPU_RHS_BULK = 2,    /* by bulk copies of rhs_map */
  GPU_RESULT_BULK = 4, /* by bulk copies of result_map */
  GPU_EPILOGUE = 8,    /* values change after they are summed up */
};

/* The linker passes the address of such a structure, not a copy, since its name begins with
 * kdl_grid_constant: the maps must lie where the launch put them. */
typedef struct kdl_grid_constant_matmul {
  gpu_tensor_map lhs_map, rhs_map, result_map;
  gpu_matrix lhs, rhs, result, residual; /* of values of the result's type, or address 0 */
  uint64_t bias;                         /* f32 for each column, or 0 */
  uint64_t partial;                      /* sums of the parts of K that are added up in memory */
  uint64_t counters; /* a uint32_t for each tile, or subgroup of one; zero before and after */
  uint32_t m, n, k, batch;
  uint32_t parts;                /* of K */
  uint32_t whole;                /* tiles before the first one that has parts */
  uint32_t cluster;              /* parts that are added up in a cluster: divides parts */
  uint32_t stages;               /* of the ring */
  uint32_t band;                 /* tiles along M that are neighbours in the order of tiles */
  uint32_t lhs_lines, rhs_lines; /* of a panel that bulk copies fill: fewer where the matrix has */
  uint32_t flags;
  uint32_t value;      /* gpu_value: of the result and the residual */
  uint32_t activation; /* gpu_activation */
  float scale;
} kdl_grid_constant_matmul;

/* What a kernel TYPE_tiles writes for each size, zeros after the last. */
typedef struct gpu_tile {
  uint32_t rows, columns, depth; /* depth: values of K in a stage */
  uint32_t threads;
  uint32_t stage_bytes, other_bytes; /* of dynamic group memory: for each stage, and besides */
  uint32_t is_bulk;
  uint32_t stages;    /* 0: the kernels have no code for such a tile */
  uint32_t subgroups; /* that multiply */
} gpu_tile;

/* Whether a launch may give the ring more stages than the microkernel asks for: groups of fewer
 * than 8 subgroups share a multiprocessor, or have its memory alone. */
#define GPU_HAS_DEEPER_RING(is_bulk, subgroups) ((is_bulk) && (subgroups) < 8)

/* The kernel that packs B: a group turns a square of so many elements. */
enum { gpu_pack_side = 64, gpu_pack_threads = 256 };

enum { GPU_SIZES = 6 }; /* the most sizes of tiles that are looked for */

#endif
