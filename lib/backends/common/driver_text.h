/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Helpers for texts and patterns of drivers. */
#ifndef KDL_LIB_BACKENDS_COMMON_DRIVER_TEXT_H
#define KDL_LIB_BACKENDS_COMMON_DRIVER_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Joins a compiler's lines by "; ", truncated to the buffer. */
static inline void kdl_join_lines(const char *lines, char *text, size_t size) {
  static const char blank[] = "\r\n ";
  size_t used = 0;
  for (const char *at = lines + strspn(lines, blank); *at && used + 3 < size; ++at) {
    if (*at != '\n' && *at != '\r') {
      text[used++] = *at;
    } else if (at[strspn(at, blank)]) {
      text[used++] = ';';
      text[used++] = ' ';
      at += strspn(at, blank) - 1;
    }
  }
  while (used && strchr(blank, text[used - 1]))
    --used;
  text[used] = '\0';
}

/* The shortest pattern that gives the same bytes; `size` is a power of two. */
static inline size_t kdl_shorten_pattern(const uint8_t *pattern, size_t size) {
  while (size > 1 && memcmp(pattern, pattern + size / 2, size / 2) == 0)
    size /= 2;
  return size;
}

#endif
