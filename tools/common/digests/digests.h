/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* MD5 (RFC 1321), which is in the header of Clang's compressed bundles, and SHA-256 (FIPS 180-4),
 * as in the RECORD of wheels. */
#ifndef KDL_TOOLS_COMMON_DIGESTS_DIGESTS_H
#define KDL_TOOLS_COMMON_DIGESTS_DIGESTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MD5_SIZE = 16, SHA256_SIZE = 32, SHA256_RECORD = 44 };

void md5(const void *data, size_t size, uint8_t out[MD5_SIZE]);

void sha256(const void *data, size_t size, uint8_t out[SHA256_SIZE]);

/* The same without special instructions, for tests. */
void sha256_plain(const void *data, size_t size, uint8_t out[SHA256_SIZE]);

/* As URL-safe base64 without padding, with a NUL. */
void sha256_record(const uint8_t digest[SHA256_SIZE], char out[SHA256_RECORD]);

typedef void digest_block(uint32_t *state, const uint8_t *block);

/* Splits data into blocks for both, and pads the last: a bit, zeros and the size. `is_big`: the
 * size is big-endian. */
void digest_blocks(const void *data, size_t size, bool is_big, digest_block *take, uint32_t *state);

/* SHA-256 by the x86 instructions; NULL where this CPU lacks them. */
digest_block *sha256_block_x86(void);
extern const uint32_t sha256_rounds[64];

#endif
