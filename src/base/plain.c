/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "base/plain.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { escaped_size = 4 };

/* How many bytes at `text` are a control character, 0 where there is none: ASCII's, and those of
 * Latin-1 as UTF-8 has them. */
static size_t control_length(const char *text) {
  uint8_t first = (uint8_t)text[0];
  uint8_t second = first ? (uint8_t)text[1] : 0;
  if (first == 0xc2 && second >= 0x80 && second < 0xa0)
    return 2;
  bool is_further_line = first == '\n' && text[1] == ' ' && text[2] == ' ';
  return (first < ' ' && first != '\t' && !is_further_line) || first == 0x7f;
}

void kdl_plain(char *text, size_t size) {
  for (size_t at = 0; text[at]; ++at) {
    for (size_t bytes = control_length(text + at); bytes; --bytes) {
      char escaped[escaped_size + 1];
      snprintf(escaped, sizeof escaped, "\\x%02x", (unsigned)(uint8_t)text[at]);
      size_t rest = strlen(text + at + 1);
      if (at + escaped_size >= size) { /* no room: the message ends here */
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
