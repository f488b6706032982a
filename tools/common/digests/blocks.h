/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Splits data into blocks for MD5 and SHA-256, and pads the last: a bit, zeros and the size. */
#ifndef KDL_TOOLS_COMMON_DIGESTS_BLOCKS_H
#define KDL_TOOLS_COMMON_DIGESTS_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef void digest_block(uint32_t *state, const uint8_t *block);

/* `is_big`: the size is big-endian. */
void digest_blocks(const void *data, size_t size, bool is_big, digest_block *take, uint32_t *state);

/* SHA-256 by the x86 instructions; NULL where this CPU lacks them. */
digest_block *sha256_block_x86(void);
extern const uint32_t sha256_rounds[64];

#endif
