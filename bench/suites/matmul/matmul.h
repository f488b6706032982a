/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kdl bench matmul: the multiplication of matrices that comes with libkdl, next to others. */
#ifndef KDL_BENCH_SUITES_MATMUL_MATMUL_H
#define KDL_BENCH_SUITES_MATMUL_MATMUL_H

#include "measure/results.h"
#include "peers/gemm.h"

enum { MATMUL_TYPES = 4, MATMUL_PEERS = 2, MATMUL_SHAPES = 64, MATMUL_THREADS = 8 };

/* Whether weights are packed before the first run, by those that can, or in each run. */
enum { MATMUL_PACKED = 1, MATMUL_PLAIN = 2 };

typedef struct matmul_shape {
  uint32_t m, n, k;
} matmul_shape;

typedef struct matmul_request {
  kdl_library *library;
  kdl_device *host;
  unsigned types; /* bits, by kdl_matmul_type */
  unsigned weights;
  matmul_shape shapes[MATMUL_SHAPES];
  size_t shape_count;
  uint32_t threads[MATMUL_THREADS];
  size_t thread_count;
  const gemm_peer *peers[MATMUL_PEERS]; /* that were opened */
  size_t peer_count;
  size_t blocks;
  int pin; /* of what has one thread */
} matmul_request;

/* By kdl_matmul_type. */
extern const char *const matmul_type_names[MATMUL_TYPES];

/* All there are. */
extern const gemm_peer *const matmul_peers[MATMUL_PEERS];

/* Figures are called matmul/TYPE/THREADS/WEIGHTS/SHAPE/WHO; WHO is kdl, the title of a peer, or
 * peak, which is the time that the shape's operations would take at the peak. Comparisons are of
 * WHO to kdl: above 1 where kdl takes less time. */
kdl_status suite_matmul(const matmul_request *request, bench_results *results);

#endif
