/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "support/base/text.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

void kdl_out_format(kdl_out *out, const char *format, ...) {
  if (out->used + 1 >= out->size)
    return;
  size_t left = out->size - out->used;
  va_list args;
  va_start(args, format);
  int length = vsnprintf(out->data + out->used, left, format, args);
  va_end(args);
  if (length > 0)
    out->used += (size_t)length < left ? (size_t)length : left - 1;
}

void kdl_out_quoted(kdl_out *out, kdl_string text) {
  enum { shown = 64 };
  kdl_out_format(out, "\"");
  for (size_t i = 0; i < text.length && i < shown; ++i) {
    unsigned char c = (unsigned char)text.data[i];
    if (c >= 0x20 && c < 0x7f && c != '"' && c != '\\')
      kdl_out_format(out, "%c", c);
    else
      kdl_out_format(out, "\\x%02x", c);
  }
  kdl_out_format(out, text.length > shown ? "...\"" : "\"");
}

void kdl_out_parse_error(kdl_out *out, kdl_string text, kdl_parse_error error) {
  kdl_out_format(out, "position %zu: found ", error.position);
  if (error.position >= text.length)
    kdl_out_format(out, "the end");
  else
    kdl_out_quoted(out, kdl_text_substr(text, error.position));
  kdl_out_format(out, ", expected %s", error.expected);
}

/* ------------------------------------------------------------------------------------------ */
/* Messages without control characters                                                          */

enum { escaped_size = 4 };

/* The length of the control character at `text`, which is not empty; 0 for any other character. */
static size_t control_length(const char *text) {
  enum { longest = 3 };
  uint32_t code = 0;
  size_t length = kdl_utf8_decode(text, strnlen(text, longest), &code);
  bool is_further_line = code == '\n' && text[1] == ' ' && text[2] == ' ';
  return length && code != '\t' && !is_further_line && kdl_utf8_is_control(code) ? length : 0;
}

void kdl_text_escape_controls(char *text, size_t size) {
  for (size_t at = 0; text[at]; ++at) {
    for (size_t bytes = control_length(text + at); bytes; --bytes) {
      char escaped[escaped_size + 1];
      snprintf(escaped, sizeof escaped, "\\x%02x", (unsigned)(uint8_t)text[at]);
      size_t rest = strlen(text + at + 1);
      if (at + escaped_size >= size) { /* no room: truncate */
        text[at] = '\0';
        return;
      }
      if (at + escaped_size + rest >= size)
        rest = size - at - escaped_size - 1;
      memmove(text + at + escaped_size, text + at + 1, rest);
      memcpy(text + at, escaped, escaped_size);
      text[at + escaped_size + rest] = '\0';
      at += escaped_size;
      if (bytes == 1)
        --at;
    }
  }
}
