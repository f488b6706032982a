/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "tools/common/digests/digests.h"

#include <string.h>

const uint32_t sha256_rounds[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t turn(uint32_t word, unsigned by) {
  return word >> by | word << (32 - by);
}

static void sha256_block(uint32_t *state, const uint8_t *block) {
  uint32_t w[64], s[8];
  for (size_t i = 0; i < 16; ++i)
    w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
           (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
  for (int i = 16; i < 64; ++i) {
    uint32_t a = turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ w[i - 15] >> 3;
    uint32_t b = turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ w[i - 2] >> 10;
    w[i] = w[i - 16] + a + w[i - 7] + b;
  }
  memcpy(s, state, sizeof s);
  for (int i = 0; i < 64; ++i) {
    uint32_t e = turn(s[4], 6) ^ turn(s[4], 11) ^ turn(s[4], 25);
    uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]);
    uint32_t one = s[7] + e + choice + sha256_rounds[i] + w[i];
    uint32_t a = turn(s[0], 2) ^ turn(s[0], 13) ^ turn(s[0], 22);
    uint32_t two = a + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
    memmove(s + 1, s, 7 * sizeof *s);
    s[4] += one;
    s[0] = one + two;
  }
  for (int i = 0; i < 8; ++i)
    state[i] += s[i];
}

static void digest(const void *data, size_t size, digest_block *take, uint8_t out[SHA256_SIZE]) {
  uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                       0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  digest_blocks(data, size, true, take, state);
  for (int i = 0; i < SHA256_SIZE; ++i)
    out[i] = (uint8_t)(state[i / 4] >> (24 - 8 * (i % 4)));
}

void sha256(const void *data, size_t size, uint8_t out[SHA256_SIZE]) {
  digest_block *fast = sha256_block_x86();
  digest(data, size, fast ? fast : sha256_block, out);
}

void sha256_plain(const void *data, size_t size, uint8_t out[SHA256_SIZE]) {
  digest(data, size, sha256_block, out);
}

void sha256_record(const uint8_t digest[SHA256_SIZE], char out[SHA256_RECORD]) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  for (int i = 0; i < SHA256_RECORD - 1; ++i) {
    int bit = i * 6, byte = bit / 8;
    unsigned pair = (unsigned)digest[byte] << 8 | (byte + 1 < SHA256_SIZE ? digest[byte + 1] : 0);
    out[i] = digits[pair >> (10 - bit % 8) & 63];
  }
  out[SHA256_RECORD - 1] = '\0';
}

/* ------------------------------------------------------------------------------------------ */
/* Blocks                                                                                       */

enum { block_size = 64, number_size = 8 };

void digest_blocks(const void *data, size_t size, bool is_big, digest_block *take,
                   uint32_t *state) {
  const uint8_t *from = data;
  size_t left = size;
  for (; left >= block_size; left -= block_size, from += block_size)
    take(state, from);
  uint8_t last[2 * block_size] = {0};
  if (left)
    memcpy(last, from, left);
  last[left] = 0x80;
  size_t end = left < block_size - number_size ? block_size : 2 * block_size;
  const uint64_t bits = (uint64_t)size * 8;
  for (size_t i = 0; i < number_size; ++i)
    last[is_big ? end - 1 - i : end - number_size + i] = (uint8_t)(bits >> 8 * i);
  for (size_t at = 0; at < end; at += block_size)
    take(state, last + at);
}
