/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Ed25519 and BLAKE2b-512 of libsodium, opened when they are first asked for, as the codecs are
 * (docs/decisions/0002-codecs-at-run-time.md). */
#ifndef KDL_TRUST_SODIUM_H
#define KDL_TRUST_SODIUM_H

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  KDL_ED25519_PUBLIC = 32,
  KDL_ED25519_SECRET = 64,
  KDL_ED25519_SIGNATURE = 64,
  KDL_BLAKE2B_512 = 64,
};

/* KDL_UNSUPPORTED with the library's name where it is not there. */
kdl_status kdl_sodium_open(void);

/* These behind it. */
bool kdl_sodium_verify(const uint8_t signature[KDL_ED25519_SIGNATURE], const void *data,
                       size_t size, const uint8_t key[KDL_ED25519_PUBLIC]);
void kdl_sodium_sign(const void *data, size_t size, const uint8_t key[KDL_ED25519_SECRET],
                     uint8_t out_signature[KDL_ED25519_SIGNATURE]);
void kdl_sodium_hash(const void *data, size_t size, uint8_t out_hash[KDL_BLAKE2B_512]);

#endif
