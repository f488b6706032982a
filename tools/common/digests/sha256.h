/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* SHA-256 (FIPS 180-4), as in the RECORD of wheels. */
#ifndef KDL_TOOLS_COMMON_DIGESTS_SHA256_H
#define KDL_TOOLS_COMMON_DIGESTS_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { SHA256_SIZE = 32, SHA256_RECORD = 44 };

void sha256(const void *data, size_t size, uint8_t out[SHA256_SIZE]);

/* The same without special instructions, for tests. */
void sha256_plain(const void *data, size_t size, uint8_t out[SHA256_SIZE]);

/* As URL-safe base64 without padding, with a NUL. */
void sha256_record(const uint8_t digest[SHA256_SIZE], char out[SHA256_RECORD]);

#endif
