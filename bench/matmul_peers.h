/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Matrix multiplications of other libraries, on row-major matrices without gaps. */
#ifndef KDL_BENCH_MATMUL_PEERS_H
#define KDL_BENCH_MATMUL_PEERS_H

#include <kdl/matmul.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct bench_matmul {
  kdl_matmul_type type;
  uint32_t m, n, k;
  const void *a, *b;
  void *c;
} bench_matmul;

typedef struct bench_peer {
  const char *name;
  /* NULL where the library is not there or does not take the type. With `pack`, weights are brought
   * into the library's own form before the first run. */
  void *(*prepare)(const bench_matmul *problem, uint32_t threads, bool pack);
  void (*run)(void *prepared);
  void (*release)(void *prepared);
} bench_peer;

/* name is NULL where it was not built. */
extern const bench_peer bench_onednn;
extern const bench_peer bench_openblas;

#endif
