/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* MD5 (RFC 1321), which is in the header of Clang's compressed bundles. */
#ifndef KDL_TOOLS_COMMON_DIGESTS_MD5_H
#define KDL_TOOLS_COMMON_DIGESTS_MD5_H

#include <stddef.h>
#include <stdint.h>

enum { MD5_SIZE = 16 };

void md5(const void *data, size_t size, uint8_t out[MD5_SIZE]);

#endif
