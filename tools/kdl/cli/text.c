/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "cli/text.h"

#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

size_t cli_text_decode(const char *text, size_t size, uint32_t *out_code) {
  static const struct {
    uint8_t mask, lead;
    uint32_t smallest; /* less is an overlong form */
  } forms[] = {{0x80, 0x00, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};
  const uint8_t *bytes = (const uint8_t *)text;
  for (size_t length = 1; length <= 4; ++length) {
    if ((bytes[0] & forms[length - 1].mask) != forms[length - 1].lead)
      continue;
    if (length > size)
      return 0;
    uint32_t code = bytes[0] & (uint8_t)~forms[length - 1].mask;
    for (size_t i = 1; i < length; ++i) {
      if ((bytes[i] & 0xc0) != 0x80)
        return 0;
      code = code << 6 | (bytes[i] & 0x3f);
    }
    bool surrogate = code >= 0xd800 && code < 0xe000;
    if (code < forms[length - 1].smallest || code > 0x10ffff || surrogate)
      return 0;
    *out_code = code;
    return length;
  }
  return 0;
}

bool cli_text_is_utf8(kdl_string text) {
  uint32_t code;
  for (size_t at = 0, length; at < text.length; at += length) {
    length = cli_text_decode(text.data + at, text.length - at, &code);
    if (length == 0)
      return false;
  }
  return true;
}

char *cli_text_printable(kdl_string text) {
  char *out = malloc(text.length * 4 + 1);
  if (!out)
    return NULL;
  char *end = out;
  for (size_t at = 0; at < text.length;) {
    uint32_t code = 0;
    size_t length = cli_text_decode(text.data + at, text.length - at, &code);
    if (length && wcwidth((wchar_t)code) > 0) {
      memcpy(end, text.data + at, length);
      end += length;
      at += length;
      continue;
    }
    for (size_t bytes = length ? length : 1; bytes; --bytes, ++at)
      end += sprintf(end, "\\x%02x", (unsigned)(uint8_t)text.data[at]);
  }
  *end = '\0';
  return out;
}

kdl_status cli_text_print(kdl_string text, const char *end) {
  char *printable = cli_text_printable(text);
  if (!printable)
    return kdl_fail(KDL_NO_MEMORY, "out of memory for a text of %zu bytes", text.length);
  printf("%s%s", printable, end);
  free(printable);
  return KDL_OK;
}

size_t cli_text_fit(const char *printable, size_t columns) {
  size_t size = strlen(printable);
  size_t at = 0;
  while (at < size) {
    uint32_t code = 0;
    size_t length = cli_text_decode(printable + at, size - at, &code);
    size_t width = (size_t)wcwidth((wchar_t)code);
    if (width > columns)
      break;
    columns -= width;
    at += length;
  }
  return at;
}

size_t cli_text_width(const char *printable) {
  size_t size = strlen(printable);
  size_t width = 0;
  for (size_t at = 0; at < size;) {
    uint32_t code = 0;
    at += cli_text_decode(printable + at, size - at, &code);
    width += (size_t)wcwidth((wchar_t)code);
  }
  return width;
}
