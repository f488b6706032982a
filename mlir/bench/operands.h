/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Operands of the measured products, for the programs of this folder. */
#ifndef KDL_MLIR_BENCH_OPERANDS_H
#define KDL_MLIR_BENCH_OPERANDS_H

#include <kdl/matmul.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void fail(const char *what, const char *why) {
  fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, why);
  exit(1);
}

static inline void *allocate(size_t bytes) {
  void *memory;
  if (posix_memalign(&memory, 64, bytes))
    fail("memory", "there is not enough");
  memset(memory, 0, bytes);
  return memory;
}

/* Bytes take all values; other types are between 0.5 and 2, or -0.5 and -2. */
static inline void operands_fill(kdl_matmul_type type, char *to, size_t elements, uint32_t seed) {
  size_t size = type == KDL_MATMUL_S32_S8 ? 1 : type == KDL_MATMUL_F32_F32 ? 4 : 2;
  for (size_t i = 0; i < elements; ++i) {
    seed = seed * 1664525u + 1013904223u;
    uint32_t bits = (seed & 0x80ffffff) + (126u << 23);
    if (type == KDL_MATMUL_S32_S8)
      bits = seed >> 24;
    else if (type == KDL_MATMUL_F32_BF16)
      bits >>= 16;
    else if (type == KDL_MATMUL_F32_F16)
      bits = (bits >> 16 & 0x8000) | ((bits & 0x7fffffff) - (112u << 23)) >> 13;
    memcpy(to + i * size, &bits, size);
  }
}

#endif
