/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Matrix multiplications of other libraries, on row-major matrices without gaps. */
#ifndef KDL_BENCH_PEERS_GEMM_H
#define KDL_BENCH_PEERS_GEMM_H

#include <kdl/matmul.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct gemm_problem {
  kdl_matmul_type type;
  uint32_t m, n, k;
  const void *a, *b;
  void *c;
} gemm_problem;

typedef struct gemm_peer {
  const char *name;
  const char *title; /* in results */
  /* Opens the library; NULL, or why it cannot be measured here. Each library counts CPUs now, so
   * the thread must not be pinned yet. */
  const char *(*open)(void);
  /* NULL where the library does not take the type. With `pack`, weights are put into the
   * library's own form before the first run. */
  void *(*prepare)(const gemm_problem *problem, uint32_t threads, bool pack);
  void (*run)(void *prepared);
  void (*release)(void *prepared);
} gemm_peer;

extern const gemm_peer gemm_onednn;
extern const gemm_peer gemm_openblas;

#endif
