/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Which images are loaded, by who signed them: KDL_TRUST, keys of /etc/kdl/keys.d. What was found
 * right is remembered for as long as the process lives.
 */
#ifndef KDL_INSPECT_TRUST_H
#define KDL_INSPECT_TRUST_H

#include "support/base/blake2b.h"
#include "support/base/text.h"

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ------------------------------------------------------------------------------------------ */
/* Keys and signatures                                                                          */

/*
 * minisign's keys and signatures. A file of it has lines of base64 behind lines of comments:
 *
 *     untrusted comment: minisign public key 0123456789ABCDEF
 *     RWQ...
 *
 * and a signature two pairs, of which the second signs the first and its comment. In metadata a
 * signature is one line: both lines of base64 and the comment, with a blank between them.
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

/* Opens libsodium. KDL_UNSUPPORTED with the library's name where it is not there. */
kdl_status kdl_sodium_open(void);

/* `comment` is kept. kdl_sodium_open() comes first, here and below. */
void kdl_signature_make(const kdl_secret_key *key, kdl_string message, kdl_string comment,
                        kdl_signature *out);

/* Whether the key made it, of this message and with this comment. */
kdl_status kdl_signature_check(const kdl_signature *signature, const kdl_public_key *key,
                               kdl_string message, bool *out_fits);

/* ------------------------------------------------------------------------------------------ */
/* What is signed                                                                               */

/*
 * What is signed of images: their metadata, among it kdl.digest, which stands for their bytes. For
 * each image a line, and one for each key in the order of their bytes, with lengths before them so
 * that no two lists are alike (docs/signatures.md):
 *
 *     kdl image 1: 5 keys, kinds 1 1, flags 0
 *     4:arch=9:x86-64-v3
 */

#define KDL_SIGNATURE_KEY "kdl.signature"

typedef struct kdl_signed_image {
  uint16_t declared_kind, offload_kind;
  uint32_t flags;
  const kdl_pair *pairs; /* all; a signature among them is left out */
  size_t pair_count;
} kdl_signed_image;

/* malloc'ed. KDL_BAD_FILE where an image has no digest: its bytes would not be signed. */
kdl_status kdl_signed_message(const kdl_signed_image *images, size_t count, kdl_string *out_text);

/* ------------------------------------------------------------------------------------------ */
/* What is loaded                                                                               */

typedef enum kdl_trust_policy {
  KDL_TRUST_OFF,
  KDL_TRUST_WARN,
  KDL_TRUST_REQUIRE,
} kdl_trust_policy;

const char *kdl_trust_policy_name(kdl_trust_policy policy);

/* For a program that is given what another one has checked: nothing is read, and nothing looked at.
 * Called before the first of the other calls. */
void kdl_trust_disable(void);

/* KDL_TRUST, else what /etc/kdl/trust says, else off; read once. Where the program has more rights
 * than its user, the stricter of the two. KDL_BAD_CALL where it is none of the words. */
kdl_status kdl_trust_read_policy(kdl_trust_policy *out_policy);

/* Of the keys that images must be signed by; false where they need not be. */
bool kdl_trust_keys_digest(kdl_digest *out_digest);

/* Reads and opens what checking needs, for a program that soon may not. */
void kdl_trust_preload(void);

/* Whether an image may be loaded by its own signature; under `warn` what speaks against it goes to
 * standard error, and it may. `file` is named there. */
kdl_status kdl_trust_check(const char *file, uint32_t index, const kdl_signed_image *image);

/* Whether all the images of a file may be by the signature in FILE.minisig, as it is now. What
 * speaks against it is to be judged for each image that is wanted. */
kdl_status kdl_trust_check_detached(const char *file, const kdl_signed_image *images, size_t count);

/* Under `warn`, what the last error says goes to standard error, and the image may be loaded. */
kdl_status kdl_trust_apply_policy(kdl_status status, const char *file, uint32_t index);

/* Whether a signature of a message is by one of the keys. `where` says which keys they are. */
kdl_status kdl_trust_check_with_keys(const kdl_signature *signature, kdl_string message,
                                     const kdl_public_key *keys, size_t count, const char *where);

#endif
