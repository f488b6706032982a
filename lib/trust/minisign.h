/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * minisign's keys and signatures. A file of it has lines of base64 behind lines of comments:
 *
 *     untrusted comment: minisign public key 0123456789ABCDEF
 *     RWQ...
 *
 * and a signature two pairs, of which the second signs the first and its comment. In metadata a
 * signature is one line: both lines of base64 and the comment, with a blank between them.
 */
#ifndef KDL_TRUST_MINISIGN_H
#define KDL_TRUST_MINISIGN_H

#include "lib/trust/sodium.h"
#include "support/base/text.h"

#include <kdl/kdl.h>

enum { KDL_KEY_ID = 8, KDL_KEY_ID_TEXT = 17, KDL_SIGNATURE_COMMENT = 512 };
/* 74 and 64 bytes as base64, two blanks and a NUL. */
enum { KDL_SIGNATURE_LINE = 100 + 88 + 2 + KDL_SIGNATURE_COMMENT + 1 };

typedef struct kdl_public_key {
  uint8_t id[KDL_KEY_ID];
  uint8_t key[KDL_ED25519_PUBLIC];
} kdl_public_key;

typedef struct kdl_secret_key {
  uint8_t id[KDL_KEY_ID];
  uint8_t key[KDL_ED25519_SECRET];
} kdl_secret_key;

typedef struct kdl_signature {
  bool is_hashed; /* it signs BLAKE2b-512 of the message, as minisign does by default */
  uint8_t id[KDL_KEY_ID];
  uint8_t signature[KDL_ED25519_SIGNATURE];
  uint8_t over_comment[KDL_ED25519_SIGNATURE];
  kdl_string comment; /* lies in the text it was read from */
} kdl_signature;

/* KDL_BAD_FILE with what was found and expected; `name` is the file's. */
kdl_status kdl_public_key_read(const char *name, kdl_string text, kdl_public_key *out_key);
kdl_status kdl_secret_key_read(const char *name, kdl_string text, kdl_secret_key *out_key);
kdl_status kdl_signature_read_file(const char *name, kdl_string text, kdl_signature *out);
/* The line of metadata. */
kdl_status kdl_signature_read_line(kdl_string line, kdl_signature *out);

/* As minisign prints it: the number in hexadecimal, its last byte first. */
void kdl_key_id_print(const uint8_t id[KDL_KEY_ID], char out_text[KDL_KEY_ID_TEXT]);

void kdl_signature_write_line(const kdl_signature *signature, char out_line[KDL_SIGNATURE_LINE]);

/* `comment` is kept. kdl_sodium_open() comes first, here and below. */
void kdl_signature_make(const kdl_secret_key *key, kdl_string message, kdl_string comment,
                        kdl_signature *out);

/* Whether the key made it, of this message and with this comment. */
kdl_status kdl_signature_check(const kdl_signature *signature, const kdl_public_key *key,
                               kdl_string message, bool *out_fits);

#endif
