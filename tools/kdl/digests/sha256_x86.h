/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* SHA-256 by the instructions that x86 CPUs have for it. */
#ifndef KDL_TOOL_SHA256_X86_H
#define KDL_TOOL_SHA256_X86_H

#include "digests/blocks.h"

extern const uint32_t sha256_rounds[64];

/* NULL where this CPU has none. */
digest_block *sha256_block_x86(void);

#endif
