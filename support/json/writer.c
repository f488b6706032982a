/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "support/json/writer.h"

#include "support/base/text.h"

#include <string.h>

size_t kdl_json_escape(const char *text, size_t size, char out[KDL_JSON_ESCAPED]) {
  uint32_t code = 0;
  size_t length = kdl_utf8_decode(text, size, &code);
  if (length == 0)
    snprintf(out, KDL_JSON_ESCAPED, "\\ufffd");
  else if (code == '"' || code == '\\')
    snprintf(out, KDL_JSON_ESCAPED, "\\%c", (char)code);
  else if (code == '\n' || code == '\t')
    snprintf(out, KDL_JSON_ESCAPED, "%s", code == '\n' ? "\\n" : "\\t");
  else if (kdl_utf8_is_control(code)) /* all of them below U+10000 */
    snprintf(out, KDL_JSON_ESCAPED, "\\u%04x", (unsigned)(uint16_t)code);
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
