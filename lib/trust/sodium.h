/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Ed25519 and BLAKE2b-512 of libsodium, which is opened on first use, as the codecs are
 * (docs/decisions/0002-codecs-at-run-time.md). */
#ifndef KDL_LIB_TRUST_SODIUM_H
#define KDL_LIB_TRUST_SODIUM_H

#include "lib/inspect/trust.h"

enum { KDL_BLAKE2B_512 = 64 };

/* Call kdl_sodium_open() before these. */
bool kdl_sodium_verify(const uint8_t signature[KDL_ED25519_SIGNATURE], const void *data,
                       size_t size, const uint8_t key[KDL_ED25519_PUBLIC]);
void kdl_sodium_sign(const void *data, size_t size, const uint8_t key[KDL_ED25519_SECRET],
                     uint8_t out_signature[KDL_ED25519_SIGNATURE]);
void kdl_sodium_hash(const void *data, size_t size, uint8_t out_hash[KDL_BLAKE2B_512]);

#endif
