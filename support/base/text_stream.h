/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A stream that writes to growing memory. Unlike glibc's open_memstream, it reports that memory ran
 * out: glibc's drops the text and reports success when it prints and when it closes. */
#ifndef KDL_SUPPORT_BASE_TEXT_STREAM_H
#define KDL_SUPPORT_BASE_TEXT_STREAM_H

#include <stddef.h>
#include <stdio.h>

/* Returns a stream, or NULL when out of memory. Once fclose returns 0, *out_text is malloc'ed text
 * with a NUL after it. Where fclose fails, memory ran out and the text is NULL. Call fclose before
 * the variables go out of scope. */
FILE *kdl_text_stream(char **out_text, size_t *out_length);

#endif
