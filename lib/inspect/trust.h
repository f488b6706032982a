/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Signatures, and which images may be loaded: KDL_TRUST, keys of /etc/kdl/keys.d. Valid signatures
 * are cached until the process ends.
 */
#ifndef KDL_LIB_INSPECT_TRUST_H
#define KDL_LIB_INSPECT_TRUST_H

#include "support/base/text.h"

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ------------------------------------------------------------------------------------------ */
/* Keys and signatures                                                                          */

/*
 * minisign's keys and signatures. A file has a comment line, then a line of base64:
 *
 *     untrusted comment: minisign public key 0123456789ABCDEF
 *     RWQ...
 *
 * A signature file has two such pairs; the second signs the first signature and its own comment. In
 * metadata a signature is one line: both base64 texts and the comment, separated by blanks.
 */

enum { KDL_ED25519_PUBLIC = 32, KDL_ED25519_SECRET = 64, KDL_ED25519_SIGNATURE = 64 };
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
  bool is_hashed; /* signs the BLAKE2b-512 of the message, minisign's default */
  uint8_t id[KDL_KEY_ID];
  uint8_t signature[KDL_ED25519_SIGNATURE];
  uint8_t over_comment[KDL_ED25519_SIGNATURE];
  kdl_string comment; /* points into the text it was read from */
} kdl_signature;

/* KDL_BAD_FILE with what was found and expected; `name` is the file's. */
kdl_status kdl_public_key_read(const char *name, kdl_string text, kdl_public_key *out_key);
kdl_status kdl_secret_key_read(const char *name, kdl_string text, kdl_secret_key *out_key);
kdl_status kdl_signature_read_file(const char *name, kdl_string text, kdl_signature *out);
/* The line of metadata. */
kdl_status kdl_signature_read_line(kdl_string line, kdl_signature *out);

void kdl_signature_write_line(const kdl_signature *signature, char out_line[KDL_SIGNATURE_LINE]);

/* Opens libsodium. KDL_UNSUPPORTED with the library's name where it is not installed. */
kdl_status kdl_sodium_open(void);

/* The signature refers to `comment`. Call kdl_sodium_open() before this and the following. */
void kdl_signature_make(const kdl_secret_key *key, kdl_string message, kdl_string comment,
                        kdl_signature *out);

/* ------------------------------------------------------------------------------------------ */
/* The signed message                                                                           */

/*
 * The message that signs images: their metadata with kdl.digest, which covers their bytes. It has a
 * line for each image and one for each key, sorted by bytes, with lengths, so that no two lists
 * give the same text (docs/signatures.md):
 *
 *     kdl image 1: 5 keys, kinds 1 1, flags 0
 *     4:arch=9:x86-64-v3
 */

#define KDL_SIGNATURE_KEY "kdl.signature"

typedef struct kdl_signed_image {
  uint16_t declared_kind, offload_kind;
  uint32_t flags;
  const kdl_pair *pairs; /* all; a signature among them is ignored */
  size_t pair_count;
} kdl_signed_image;

/* malloc'ed. KDL_BAD_FILE where an image has no digest: its bytes would not be signed. */
kdl_status kdl_signed_message(const kdl_signed_image *images, size_t count, kdl_string *out_text);

/* ------------------------------------------------------------------------------------------ */
/* The policy                                                                                   */

/* For a program that will drop its rights: opens everything that checking needs or, where another
 * program has checked the input, disables all checks. Call it before the other functions. */
void kdl_trust_prepare(bool is_checked);

/* Whether the image's own signature permits loading it; under `warn`, prints a warning that names
 * `file` and permits it. */
kdl_status kdl_trust_check(const char *file, uint32_t index, const kdl_signed_image *image);

/* Whether one of the keys made the signature of the message. `where` describes the keys in
 * messages. */
kdl_status kdl_trust_check_with_keys(const kdl_signature *signature, kdl_string message,
                                     const kdl_public_key *keys, size_t count, const char *where);

#endif
