/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/trust/trust.h"

#include "lib/trust/sodium.h"
#include "support/base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char base64_digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* ------------------------------------------------------------------------------------------ */
/* Base64                                                                                       */

/* Decodes exactly `size` bytes; padding must be correct, and unused bits zero. */
static bool base64_decode(kdl_string text, uint8_t *out, size_t size) {
  if (text.length != (size + 2) / 3 * 4)
    return false;
  for (size_t i = 0, made = 0; i < text.length; i += 4) {
    uint32_t bits = 0;
    size_t wanted = size - made < 3 ? size - made : 3;
    for (size_t k = 0; k < 4; ++k) {
      char c = text.data[i + k];
      const char *digit = k <= wanted ? memchr(base64_digits, c, 64) : NULL;
      if (k <= wanted ? !digit : c != '=')
        return false;
      bits = bits << 6 | (digit ? (uint32_t)(digit - base64_digits) : 0);
    }
    if (wanted < 3 && bits & ((1u << (24 - 8 * wanted)) - 1))
      return false;
    for (size_t k = 0; k < wanted; ++k)
      out[made++] = (uint8_t)(bits >> (16 - 8 * k));
  }
  return true;
}

static char *base64_encode(char *out, const uint8_t *data, size_t size) {
  for (size_t i = 0; i < size; i += 3) {
    size_t left = size - i < 3 ? size - i : 3;
    uint32_t bits = (uint32_t)data[i] << 16 | (left > 1 ? (uint32_t)data[i + 1] << 8 : 0) |
                    (left > 2 ? data[i + 2] : 0);
    for (size_t k = 0; k < 4; ++k)
      *out++ = k <= left ? base64_digits[bits >> (18 - 6 * k) & 63] : '=';
  }
  *out = '\0';
  return out;
}

/* ------------------------------------------------------------------------------------------ */
/* Lines                                                                                        */

/* Line `number` of a text, from 0, without its line end; false where there is none. */
static bool text_line(kdl_string text, size_t number, kdl_string *out_line) {
  size_t at = 0;
  for (; number && at < text.length; --number)
    at = kdl_text_find(text, at, "\n") + 1;
  if (at >= text.length)
    return false;
  *out_line = (kdl_string){text.data + at, kdl_text_find(text, at, "\n") - at};
  if (out_line->length && out_line->data[out_line->length - 1] == '\r')
    --out_line->length;
  return true;
}

static kdl_status fail_not_minisign(const char *name, const char *what) {
  return kdl_fail(KDL_BAD_FILE, "%s: found no %s of minisign's", name, what);
}

/* Decodes the line after the first comment. */
static bool read_base64_line(kdl_string text, uint8_t *out, size_t size) {
  kdl_string comment;
  kdl_string line;
  return text_line(text, 0, &comment) && kdl_text_starts(comment, "untrusted comment:") &&
         text_line(text, 1, &line) && base64_decode(line, out, size);
}

kdl_status kdl_public_key_read(const char *name, kdl_string text, kdl_public_key *out_key) {
  uint8_t bytes[2 + KDL_KEY_ID + KDL_ED25519_PUBLIC];
  if (!read_base64_line(text, bytes, sizeof bytes) || memcmp(bytes, "Ed", 2) != 0)
    return fail_not_minisign(name, "public key");
  memcpy(out_key->id, bytes + 2, KDL_KEY_ID);
  memcpy(out_key->key, bytes + 2 + KDL_KEY_ID, KDL_ED25519_PUBLIC);
  return KDL_OK;
}

/* Layout: "Ed", key derivation, "B2", its salt and limits, key ID, key, checksum. */
kdl_status kdl_secret_key_read(const char *name, kdl_string text, kdl_secret_key *out_key) {
  enum { head = 2 + 2 + 2 + 32 + 8 + 8, check = 32 };
  uint8_t bytes[head + KDL_KEY_ID + KDL_ED25519_SECRET + check];
  if (!read_base64_line(text, bytes, sizeof bytes) || memcmp(bytes, "Ed", 2) != 0)
    return fail_not_minisign(name, "secret key");
  if (memcmp(bytes + 2, "\0\0", 2) != 0)
    return kdl_fail(KDL_UNSUPPORTED,
                    "%s: the key is encrypted; expected one that minisign -G -W makes, or have "
                    "minisign sign what --message prints, and give --attach its signature",
                    name);
  memcpy(out_key->id, bytes + head, KDL_KEY_ID);
  memcpy(out_key->key, bytes + head + KDL_KEY_ID, KDL_ED25519_SECRET);
  return KDL_OK;
}

static bool parse_signature(kdl_string line, kdl_signature *out) {
  uint8_t bytes[2 + KDL_KEY_ID + KDL_ED25519_SIGNATURE];
  if (!base64_decode(line, bytes, sizeof bytes) || bytes[0] != 'E' ||
      (bytes[1] != 'd' && bytes[1] != 'D'))
    return false;
  out->is_hashed = bytes[1] == 'D';
  memcpy(out->id, bytes + 2, KDL_KEY_ID);
  memcpy(out->signature, bytes + 2 + KDL_KEY_ID, KDL_ED25519_SIGNATURE);
  return true;
}

kdl_status kdl_signature_read_file(const char *name, kdl_string text, kdl_signature *out) {
  static const char trusted[] = "trusted comment: ";
  kdl_string comment;
  kdl_string line;
  if (!text_line(text, 0, &comment) || !kdl_text_starts(comment, "untrusted comment:") ||
      !text_line(text, 1, &line) || !parse_signature(line, out) || !text_line(text, 2, &comment) ||
      !kdl_text_starts(comment, trusted) ||
      comment.length - (sizeof trusted - 1) > KDL_SIGNATURE_COMMENT || !text_line(text, 3, &line) ||
      !base64_decode(line, out->over_comment, KDL_ED25519_SIGNATURE))
    return fail_not_minisign(name, "signature");
  out->comment = kdl_text_substr(comment, sizeof trusted - 1);
  return KDL_OK;
}

kdl_status kdl_signature_read_line(kdl_string line, kdl_signature *out) {
  size_t first = kdl_text_find(line, 0, " ");
  size_t second = first < line.length ? kdl_text_find(line, first + 1, " ") : line.length;
  if (second >= line.length || line.length - second - 1 > KDL_SIGNATURE_COMMENT ||
      !parse_signature((kdl_string){line.data, first}, out) ||
      !base64_decode((kdl_string){line.data + first + 1, second - first - 1}, out->over_comment,
                     KDL_ED25519_SIGNATURE))
    return kdl_fail(KDL_BAD_FILE,
                    "kdl.signature: found \"%.*s\", expected two signatures in base64 and a "
                    "comment, as `kdl sign` writes them",
                    (int)(line.length < 120 ? line.length : 120), line.data);
  out->comment = kdl_text_substr(line, second + 1);
  return KDL_OK;
}

void kdl_signature_write_line(const kdl_signature *signature, char out_line[KDL_SIGNATURE_LINE]) {
  uint8_t bytes[2 + KDL_KEY_ID + KDL_ED25519_SIGNATURE] = {'E', signature->is_hashed ? 'D' : 'd'};
  memcpy(bytes + 2, signature->id, KDL_KEY_ID);
  memcpy(bytes + 2 + KDL_KEY_ID, signature->signature, KDL_ED25519_SIGNATURE);
  char *end = base64_encode(out_line, bytes, sizeof bytes);
  *end++ = ' ';
  end = base64_encode(end, signature->over_comment, KDL_ED25519_SIGNATURE);
  snprintf(end, KDL_SIGNATURE_COMMENT + 2, " %.*s", (int)signature->comment.length,
           signature->comment.data);
}

void kdl_key_id_print(const uint8_t id[KDL_KEY_ID], char out_text[KDL_KEY_ID_TEXT]) {
  for (size_t i = 0; i < KDL_KEY_ID; ++i)
    snprintf(out_text + 2 * i, 3, "%02X", id[KDL_KEY_ID - 1 - i]);
}

/* ------------------------------------------------------------------------------------------ */
/* Signing                                                                                      */

/* The message of the global signature: the first signature, then the comment. */
static size_t global_signature_message(const kdl_signature *signature,
                                       uint8_t out[KDL_ED25519_SIGNATURE + KDL_SIGNATURE_COMMENT]) {
  memcpy(out, signature->signature, KDL_ED25519_SIGNATURE);
  memcpy(out + KDL_ED25519_SIGNATURE, signature->comment.data, signature->comment.length);
  return KDL_ED25519_SIGNATURE + signature->comment.length;
}

void kdl_signature_make(const kdl_secret_key *key, kdl_string message, kdl_string comment,
                        kdl_signature *out) {
  uint8_t hash[KDL_BLAKE2B_512], second[KDL_ED25519_SIGNATURE + KDL_SIGNATURE_COMMENT];
  *out = (kdl_signature){.is_hashed = true, .comment = comment};
  memcpy(out->id, key->id, KDL_KEY_ID);
  kdl_sodium_hash(message.data, message.length, hash);
  kdl_sodium_sign(hash, sizeof hash, key->key, out->signature);
  size_t size = global_signature_message(out, second);
  kdl_sodium_sign(second, size, key->key, out->over_comment);
}

kdl_status kdl_signature_check(const kdl_signature *signature, const kdl_public_key *key,
                               kdl_string message, bool *out_fits) {
  uint8_t hash[KDL_BLAKE2B_512], second[KDL_ED25519_SIGNATURE + KDL_SIGNATURE_COMMENT];
  KDL_TRY(kdl_sodium_open());
  if (signature->is_hashed) {
    kdl_sodium_hash(message.data, message.length, hash);
    message = (kdl_string){(const char *)hash, sizeof hash};
  }
  size_t size = global_signature_message(signature, second);
  *out_fits = memcmp(signature->id, key->id, KDL_KEY_ID) == 0 &&
              kdl_sodium_verify(signature->signature, message.data, message.length, key->key) &&
              kdl_sodium_verify(signature->over_comment, second, size, key->key);
  return KDL_OK;
}
