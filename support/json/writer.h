/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Text as a JSON string. Invalid UTF-8 becomes U+FFFD, and control characters (kdl_utf8_is_control)
 * are written as \uXXXX. */
#ifndef KDL_SUPPORT_JSON_WRITER_H
#define KDL_SUPPORT_JSON_WRITER_H

#include <kdl/kdl.h>

#include <stdio.h>

enum { KDL_JSON_ESCAPED = 7 };

/* Escapes the character at `text` for a JSON string, with a NUL. Returns how many bytes of `text`
 * it takes; `size` is at least 1. */
size_t kdl_json_escape(const char *text, size_t size, char out[KDL_JSON_ESCAPED]);

/* The complete string, in quotes. */
void kdl_json_write_string(FILE *file, kdl_string text);

#endif
