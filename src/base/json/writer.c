/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "base/json/writer.h"

#include "base/text.h"

#include <string.h>

size_t kdl_json_escape(const char *text, size_t size, char out[KDL_JSON_ESCAPED]) {
  size_t length = kdl_utf8_length(text, size);
  unsigned char first = (unsigned char)*text;
  if (length == 0)
    snprintf(out, KDL_JSON_ESCAPED, "\\ufffd");
  else if (first == '"' || first == '\\')
    snprintf(out, KDL_JSON_ESCAPED, "\\%c", first);
  else if (first == '\n' || first == '\t')
    snprintf(out, KDL_JSON_ESCAPED, "%s", first == '\n' ? "\\n" : "\\t");
  else if (first < 0x20 || first == 0x7f)
    snprintf(out, KDL_JSON_ESCAPED, "\\u%04x", first);
  else
    *(char *)mempcpy(out, text, length) = '\0';
  return length ? length : 1;
}

void kdl_json_write_string(FILE *file, kdl_string text) {
  putc('"', file);
  for (size_t at = 0; at < text.length;) {
    char escaped[KDL_JSON_ESCAPED];
    at += kdl_json_escape(text.data + at, text.length - at, escaped);
    fputs(escaped, file);
  }
  putc('"', file);
}
