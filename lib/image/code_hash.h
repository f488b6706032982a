/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A hash of machine code, the same in every process. It finds changes; it does not withstand
 * somebody who looks for collisions. */
#ifndef KDL_LIB_IMAGE_CODE_HASH_H
#define KDL_LIB_IMAGE_CODE_HASH_H

#include "support/base/hash.h"

typedef struct kdl_code_hash {
  uint64_t lanes[2];
} kdl_code_hash;

static inline kdl_code_hash kdl_code_hash_begin(void) {
  return (kdl_code_hash){{0x243f6a8885a308d3u, 0x13198a2e03707344u}};
}

static inline void kdl_code_hash_add(kdl_code_hash *hash, uint64_t low, uint64_t high) {
  hash->lanes[0] = kdl_hash_mix(hash->lanes[0], low) + 1;
  hash->lanes[1] = kdl_hash_mix(hash->lanes[1], high) + 1;
}

static inline void kdl_code_hash_bytes(kdl_code_hash *hash, const void *data, size_t size) {
  const char *at = data;
  for (; size >= 16; at += 16, size -= 16)
    kdl_code_hash_add(hash, kdl_hash_word(at), kdl_hash_word(at + 8));
  size_t half = size / 2;
  kdl_code_hash_add(hash, kdl_hash_tail(at, half), kdl_hash_tail(at + half, size - half) + size);
}

/* Never two zeros, which stand for code that is not read. */
static inline void kdl_code_hash_end(const kdl_code_hash *hash, uint64_t out[2]) {
  out[0] = kdl_hash_mix(hash->lanes[0], hash->lanes[1]) | 1;
  out[1] = kdl_hash_mix(hash->lanes[1], ~hash->lanes[0]);
}

/* Adds a parameter to a hash of parameters, which starts as KDL_NO_PARAMS_HASH. */
#define KDL_NO_PARAMS_HASH UINT64_C(0xa4093822299f31d1)
static inline uint64_t kdl_code_hash_param(uint64_t hash, uint32_t size, uint32_t offset) {
  return kdl_hash_mix(hash, (uint64_t)size << 32 | offset) | 1;
}

#endif
