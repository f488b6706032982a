/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "cli/text.h"

#include "base/error.h"
#include "base/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

char *cli_text_printable(kdl_string text) {
  char *out = malloc(text.length * 4 + 1);
  if (!out)
    return NULL;
  char *end = out;
  for (size_t at = 0; at < text.length;) {
    uint32_t code = 0;
    size_t length = kdl_utf8_decode(text.data + at, text.length - at, &code);
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
    size_t length = kdl_utf8_decode(printable + at, size - at, &code);
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
    at += kdl_utf8_decode(printable + at, size - at, &code);
    width += (size_t)wcwidth((wchar_t)code);
  }
  return width;
}
