/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* BLAKE2b (RFC 7693) with digests of 32 bytes and no key. It names cache entries and detects
 * damaged images. It is fast on 64-bit machines without special instructions. */
#ifndef KDL_SUPPORT_BASE_BLAKE2B_H
#define KDL_SUPPORT_BASE_BLAKE2B_H

#include <stddef.h>
#include <stdint.h>

enum { KDL_DIGEST_SIZE = 32, KDL_BLAKE2B_BLOCK = 128 };

typedef struct kdl_digest {
  uint8_t bytes[KDL_DIGEST_SIZE];
} kdl_digest;

typedef struct kdl_blake2b {
  uint64_t state[8];
  uint64_t count; /* bytes compressed so far */
  size_t used;    /* bytes buffered in the block */
  uint8_t block[KDL_BLAKE2B_BLOCK];
} kdl_blake2b;

void kdl_blake2b_start(kdl_blake2b *hash);
void kdl_blake2b_add(kdl_blake2b *hash, const void *data, size_t size);
kdl_digest kdl_blake2b_finish(kdl_blake2b *hash);

kdl_digest kdl_digest_of(const void *data, size_t size);

/* Lower-case hexadecimal, and a NUL. */
enum { KDL_DIGEST_TEXT = 2 * KDL_DIGEST_SIZE + 1 };
void kdl_digest_print(const kdl_digest *digest, char text[KDL_DIGEST_TEXT]);

#endif
