/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A trusted key, and images that it signed. */
#ifndef KDL_TESTS_UNIT_TRUST_SUPPORT_H
#define KDL_TESTS_UNIT_TRUST_SUPPORT_H

#include "launch_support.h"

#include "lib/inspect/trust.h"
#include "support/base/blake2b.h"

#include <sys/stat.h>

/* RFC 8032, test 1: the seed and its public key. */
static const uint8_t trust_secret[KDL_ED25519_SECRET] = {
    0x9d, 0x61, 0xb1, 0x9d, 0xef, 0xfd, 0x5a, 0x60, 0xba, 0x84, 0x4a, 0xf4, 0x92, 0xec, 0x2c, 0xc4,
    0x44, 0x49, 0xc5, 0x69, 0x7b, 0x32, 0x69, 0x19, 0x70, 0x3b, 0xac, 0x03, 0x1c, 0xae, 0x7f, 0x60,
    0xd7, 0x5a, 0x98, 0x01, 0x82, 0xb1, 0x0a, 0xb7, 0xd5, 0x4b, 0xfe, 0xd3, 0xc9, 0x64, 0x07, 0x3a,
    0x0e, 0xe1, 0x72, 0xf3, 0xda, 0xa6, 0x23, 0x25, 0xaf, 0x02, 0x1a, 0x68, 0xf7, 0x07, 0x51, 0x1a};
/* "Ed", "12345678" and that public key. */
#define TRUST_PUBLIC_KEY                                                                           \
  "untrusted comment: a test's\n"                                                                  \
  "RWQxMjM0NTY3ONdamAGCsQq31Uv+08lkBzoO4XLz2qYjJa8CGmj3B1Ea\n"

static char trust_folder[] = "/tmp/kdl-trust-XXXXXX";

static inline void trust_path(const char *name, char out_path[256]) {
  snprintf(out_path, 256, "%s/%s", trust_folder, name);
}

static inline void write_bytes(const char *path, const void *data, size_t size) {
  FILE *out = fopen(path, "wbe");
  assert_non_null(out);
  assert_int_equal(fwrite(data, 1, size, out), size);
  assert_int_equal(fclose(out), 0);
}

/* A folder in the place of /etc/kdl, which trusts the key. Ends the program where there is no
 * libsodium. */
static inline void trust_begin(const char *policy) {
  char path[256];
  if (kdl_sodium_open() != KDL_OK) {
    printf("skipped: libsodium.so.23 not found (Debian: libsodium23)\n");
    exit(77);
  }
  assert_non_null(mkdtemp(trust_folder));
  setenv("KDL_TRUST", policy, 1);
  setenv("KDL_TRUST_DIR", trust_folder, 1);
  trust_path("keys.d", path);
  assert_int_equal(mkdir(path, 0700), 0);
  trust_path("keys.d/test.pub", path);
  write_bytes(path, TRUST_PUBLIC_KEY, sizeof TRUST_PUBLIC_KEY - 1);
}

static inline void trust_end(void) {
  char path[256];
  trust_path("keys.d/test.pub", path);
  unlink(path);
  trust_path("keys.d", path);
  rmdir(path);
  rmdir(trust_folder);
}

static inline void trust_sign(const kdl_signed_image *what, char out_line[KDL_SIGNATURE_LINE]) {
  kdl_secret_key key = {.id = {'1', '2', '3', '4', '5', '6', '7', '8'}};
  kdl_string message;
  kdl_signature signature;
  memcpy(key.key, trust_secret, sizeof trust_secret);
  assert_ok(kdl_signed_message(what, 1, &message));
  kdl_signature_make(&key, message, text_of("a comment"), &signature);
  kdl_signature_write_line(&signature, out_line);
  free((char *)message.data);
}

enum { TRUST_DIGEST = 77 };

static inline void trust_digest(const void *data, size_t size, char out_value[TRUST_DIGEST]) {
  kdl_digest of = kdl_digest_of(data, size);
  memcpy(out_value, "blake2b-256:", 12);
  kdl_digest_print(&of, out_value + 12);
}

/* What an image has: nothing, a digest, or a signature. */
typedef enum trust_says { TRUST_NOTHING, TRUST_DIGESTED, TRUST_SIGNED } trust_says;

/* Adds an image with a digest, and a signature. */
static inline void trust_add(kdl_writer *writer, const kdl_writer_image *plain, trust_says says) {
  kdl_pair pairs[16];
  char digest[TRUST_DIGEST], line[KDL_SIGNATURE_LINE];
  kdl_writer_image image = *plain;
  assert_true(plain->pair_count <= 14);
  if (plain->pair_count)
    memcpy(pairs, plain->pairs, plain->pair_count * sizeof *pairs);
  image.pairs = pairs;
  trust_digest(plain->data, plain->data_size, digest);
  if (says != TRUST_NOTHING)
    pairs[image.pair_count++] = (kdl_pair){text_of("kdl.digest"), text_of(digest)};
  if (says == TRUST_SIGNED) {
    const kdl_signed_image what = {image.declared_kind, image.offload_kind, image.flags, pairs,
                                   image.pair_count};
    trust_sign(&what, line);
    pairs[image.pair_count++] = (kdl_pair){text_of("kdl.signature"), text_of(line)};
  }
  assert_ok(kdl_writer_add(writer, &image));
}

#endif
