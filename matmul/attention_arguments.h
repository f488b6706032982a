/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The parameter of the kernels of attention: matmul/attention.c fills it, ukernels/gpu_attention/
 * reads it. */
#ifndef KDL_MATMUL_ATTENTION_ARGUMENTS_H
#define KDL_MATMUL_ATTENTION_ARGUMENTS_H

#include "matmul/gpu_arguments.h"

/* Maps have the dimensions head, row, head's number, batch. */
typedef struct kdl_grid_constant_attention {
  gpu_tensor_map q_map, k_map, v_map, o_map;
  uint64_t counter; /* a uint32_t, 0 before and after: groups take tiles by it; or 0: in turns */
  uint64_t sums;    /* log of the sum of exponentials, f32 for each query, or 0 */
  uint32_t queries, keys; /* rows of Q and O, and of K and V */
  uint32_t heads;         /* of Q and O */
  uint32_t heads_of_keys; /* how many of these share one head of K and V */
  uint32_t tiles;         /* of queries */
  uint32_t slices;        /* heads of all batches */
  uint32_t band;          /* slices whose tiles are neighbours in the order of tiles */
  int32_t diagonal;       /* causal: query i has the keys up to i + diagonal */
  float scale;            /* of scores, times log2 e */
} kdl_grid_constant_attention;

/* What the kernel `tiles` writes for a head. */
typedef struct attention_tile {
  uint32_t rows, keys; /* queries of a tile, and keys of a block */
  uint32_t threads;
  uint32_t group_bytes;
} attention_tile;

enum { ATTENTION_HEADS = 2 }; /* 64 and 128 */

#endif
