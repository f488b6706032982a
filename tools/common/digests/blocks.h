/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Bytes in blocks, as MD5 and SHA-256 take them: a bit, zeros and the size follow the last. */
#ifndef KDL_TOOL_BLOCKS_H
#define KDL_TOOL_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef void digest_block(uint32_t *state, const uint8_t *block);

/* `is_big`: the size in the order of bytes that has the highest first. */
void digest_blocks(const void *data, size_t size, bool is_big, digest_block *take, uint32_t *state);

/* SHA-256 by the instructions that x86 CPUs have for it; NULL where this CPU has none. */
digest_block *sha256_block_x86(void);
extern const uint32_t sha256_rounds[64];

#endif
