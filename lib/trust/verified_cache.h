/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Images whose signatures were valid, compared by all signed bytes instead of a hash. Keeps the
 * last 256, of at most 64 KiB each. */
#ifndef KDL_LIB_TRUST_VERIFIED_CACHE_H
#define KDL_LIB_TRUST_VERIFIED_CACHE_H

#include "lib/inspect/trust.h"

#include <stdbool.h>

/* `detached` is the text of a detached signature; empty where there is none. */
bool kdl_verified_cache_has(kdl_string detached, const kdl_signed_image *images, size_t count);
void kdl_verified_cache_add(kdl_string detached, const kdl_signed_image *images, size_t count);

#endif
