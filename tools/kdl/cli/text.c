/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "cli/text.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>
#include <wchar.h>

enum { longest_printable = 4 * 4 + 1 }; /* of one character: four bytes, each as \xNN */

/* The character at `*at`, which is left behind, as it is printed; returns its length. */
static size_t next_printable(kdl_string text, size_t *at, char out[longest_printable]) {
  uint32_t code = 0;
  size_t length = kdl_utf8_decode(text.data + *at, text.length - *at, &code);
  char *end = out;
  if (length && wcwidth((wchar_t)code) > 0) {
    memcpy(out, text.data + *at, length);
    *at += length;
    return length;
  }
  for (size_t bytes = length ? length : 1; bytes; --bytes, ++*at)
    end += sprintf(end, "\\x%02x", (unsigned)(uint8_t)text.data[*at]);
  return (size_t)(end - out);
}

char *cli_text_printable(kdl_string text) {
  char *out = malloc(text.length * 4 + 1);
  if (!out)
    return NULL;
  char *end = out;
  for (size_t at = 0; at < text.length;) {
    char shown[longest_printable];
    size_t length = next_printable(text, &at, shown);
    memcpy(end, shown, length);
    end += length;
  }
  *end = '\0';
  return out;
}

void cli_text_put(FILE *file, kdl_string text) {
  for (size_t at = 0; at < text.length;) {
    char shown[longest_printable];
    size_t length = next_printable(text, &at, shown);
    fwrite(shown, 1, length, file);
  }
}

void cli_text_print(kdl_string text, const char *end) {
  cli_text_put(stdout, text);
  fputs(end, stdout);
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
