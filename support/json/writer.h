/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Text as a string of JSON. It may hold anything: what is no UTF-8 becomes U+FFFD, and
 * control characters (kdl_utf8_is_control) are written as \uXXXX. */
#ifndef KDL_BASE_JSON_WRITER_H
#define KDL_BASE_JSON_WRITER_H

#include <kdl/kdl.h>

#include <stdio.h>

enum { KDL_JSON_ESCAPED = 7 };

/* The character at `text`, as it stands between the quotes, with a NUL. Returns how many bytes of
 * `text` it is; `size` is at least 1. */
size_t kdl_json_escape(const char *text, size_t size, char out[KDL_JSON_ESCAPED]);

/* The whole, in quotes. */
void kdl_json_write_string(FILE *file, kdl_string text);

#endif
