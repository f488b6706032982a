/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>

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
    kdl_out_quoted(out, kdl_text_from(text, error.position));
  kdl_out_format(out, ", expected %s", error.expected);
}
