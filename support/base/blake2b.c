/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "support/base/blake2b.h"

#include "support/base/bytes.h"

#include <string.h>

static const uint64_t initial[8] = {
    0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
    0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179,
};

/* Which words of the message a round mixes in; rounds 10 and 11 are 0 and 1 again. */
static const uint8_t order[10][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
    {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
    {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
    {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
    {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
};

static inline uint64_t rotate(uint64_t word, unsigned by) {
  return word >> by | word << (64 - by);
}

/* Inlined with constant indices, so that compilers keep the sixteen words in registers. */
#define INLINE static inline __attribute__((always_inline))

INLINE void mix(uint64_t v[16], int a, int b, int c, int d, uint64_t x, uint64_t y) {
  v[a] += v[b] + x;
  v[d] = rotate(v[d] ^ v[a], 32);
  v[c] += v[d];
  v[b] = rotate(v[b] ^ v[c], 24);
  v[a] += v[b] + y;
  v[d] = rotate(v[d] ^ v[a], 16);
  v[c] += v[d];
  v[b] = rotate(v[b] ^ v[c], 63);
}

INLINE void mix_all(uint64_t v[16], const uint64_t m[16], const uint8_t at[16]) {
  mix(v, 0, 4, 8, 12, m[at[0]], m[at[1]]);
  mix(v, 1, 5, 9, 13, m[at[2]], m[at[3]]);
  mix(v, 2, 6, 10, 14, m[at[4]], m[at[5]]);
  mix(v, 3, 7, 11, 15, m[at[6]], m[at[7]]);
  mix(v, 0, 5, 10, 15, m[at[8]], m[at[9]]);
  mix(v, 1, 6, 11, 12, m[at[10]], m[at[11]]);
  mix(v, 2, 7, 8, 13, m[at[12]], m[at[13]]);
  mix(v, 3, 4, 9, 14, m[at[14]], m[at[15]]);
}

static void blake2b_compress(kdl_blake2b *hash, const uint8_t block[KDL_BLAKE2B_BLOCK],
                             size_t length, uint64_t last) {
  uint64_t m[16], v[16];
  hash->count += length;
  for (size_t i = 0; i < 16; ++i)
    m[i] = kdl_load_u64(&block[8 * i]);
  for (int i = 0; i < 8; ++i) {
    v[i] = hash->state[i];
    v[i + 8] = initial[i];
  }
  v[12] ^= hash->count;
  v[14] ^= last;
#pragma GCC unroll 12
  for (int round = 0; round < 12; ++round)
    mix_all(v, m, order[round % 10]);
  for (int i = 0; i < 8; ++i)
    hash->state[i] ^= v[i] ^ v[i + 8];
}

void kdl_blake2b_start(kdl_blake2b *hash) {
  const uint64_t parameters = 0x01010000 | KDL_DIGEST_SIZE; /* depth 1, fan-out 1, no key */
  *hash = (kdl_blake2b){.used = 0};
  memcpy(hash->state, initial, sizeof hash->state);
  hash->state[0] ^= parameters;
}

/* A full block is kept until more data comes, since the last block is compressed differently. */
void kdl_blake2b_add(kdl_blake2b *hash, const void *data, size_t size) {
  const uint8_t *at = data;
  while (size) {
    if (hash->used == KDL_BLAKE2B_BLOCK) {
      blake2b_compress(hash, hash->block, KDL_BLAKE2B_BLOCK, 0);
      hash->used = 0;
    }
    if (hash->used == 0 && size > KDL_BLAKE2B_BLOCK) {
      blake2b_compress(hash, at, KDL_BLAKE2B_BLOCK, 0);
      at += KDL_BLAKE2B_BLOCK;
      size -= KDL_BLAKE2B_BLOCK;
      continue;
    }
    size_t room = KDL_BLAKE2B_BLOCK - hash->used;
    size_t taken = size < room ? size : room;
    memcpy(hash->block + hash->used, at, taken);
    hash->used += taken;
    at += taken;
    size -= taken;
  }
}

kdl_digest kdl_blake2b_finish(kdl_blake2b *hash) {
  memset(hash->block + hash->used, 0, KDL_BLAKE2B_BLOCK - hash->used);
  blake2b_compress(hash, hash->block, hash->used, UINT64_MAX);
  kdl_digest digest;
  for (size_t i = 0; i < KDL_DIGEST_SIZE / 8; ++i)
    kdl_store_u64(&digest.bytes[8 * i], hash->state[i]);
  return digest;
}

kdl_digest kdl_digest_of(const void *data, size_t size) {
  kdl_blake2b hash;
  kdl_blake2b_start(&hash);
  kdl_blake2b_add(&hash, data, size);
  return kdl_blake2b_finish(&hash);
}

void kdl_digest_print(const kdl_digest *digest, char text[KDL_DIGEST_TEXT]) {
  static const char digits[] = "0123456789abcdef";
  for (size_t i = 0; i < KDL_DIGEST_SIZE; ++i) {
    text[2 * i] = digits[digest->bytes[i] >> 4];
    text[2 * i + 1] = digits[digest->bytes[i] & 15];
  }
  text[KDL_DIGEST_TEXT - 1] = '\0';
}
