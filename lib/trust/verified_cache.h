/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Images whose signatures were found right, by all that was signed of them, byte for byte: no hash
 * that could be met by another. The last 256 are kept, of at most 64 KiB each. */
#ifndef KDL_TRUST_VERIFIED_CACHE_H
#define KDL_TRUST_VERIFIED_CACHE_H

#include "lib/inspect/trust.h"

#include <stdbool.h>

/* `beside` is the text of a signature that is not among the pairs; empty where there is none. */
bool kdl_verified_cache_has(kdl_string detached, const kdl_signed_image *images, size_t count);
void kdl_verified_cache_add(kdl_string detached, const kdl_signed_image *images, size_t count);

#endif
