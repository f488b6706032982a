/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* UTF-8: reading it, refusing what is none, and writing it. */
#ifndef KDL_BASE_UTF8_H
#define KDL_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the character at `text`, 1 to 4, with its code point; 0 where there is none: a stray or
 * missing continuation byte, an overlong form, a surrogate, a number beyond Unicode. `size` is at
 * least 1. */
static inline size_t kdl_utf8_decode(const char *text, size_t size, uint32_t *out_code) {
  static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const uint8_t *b = (const uint8_t *)text;
  if (b[0] < 0x80) {
    *out_code = b[0];
    return 1;
  }
  size_t length = b[0] >= 0xf0 ? 4 : b[0] >= 0xe0 ? 3 : 2;
  if (b[0] < 0xc0 || b[0] > 0xf7 || length > size)
    return 0;
  uint32_t code = b[0] & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((b[i] & 0xc0) != 0x80)
      return 0;
    code = code << 6 | (b[i] & 0x3fu);
  }
  if (code < smallest[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
    return 0;
  *out_code = code;
  return length;
}

static inline size_t kdl_utf8_length(const char *text, size_t size) {
  uint32_t code;
  return kdl_utf8_decode(text, size, &code);
}

static inline bool kdl_utf8_is_valid(const char *text, size_t size) {
  for (size_t at = 0, length; at < size; at += length) {
    length = kdl_utf8_length(text + at, size - at);
    if (length == 0)
      return false;
  }
  return true;
}

/* Writes a character that is neither a surrogate nor beyond Unicode; returns its bytes, 1 to 4. */
static inline size_t kdl_utf8_encode(uint32_t code, char out[4]) {
  if (code < 0x80) {
    out[0] = (char)code;
    return 1;
  }
  size_t length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  for (size_t i = length - 1; i > 0; --i, code >>= 6)
    out[i] = (char)(0x80 | (code & 0x3f));
  out[0] = (char)((0xf00u >> length & 0xf0) | code);
  return length;
}

#endif
