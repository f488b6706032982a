/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Text that grows as it is printed. open_memstream does the same, but glibc's loses what there is
 * no memory for, and says so neither when it prints nor when it closes. */
#ifndef KDL_BASE_TEXT_STREAM_H
#define KDL_BASE_TEXT_STREAM_H

#include <stddef.h>
#include <stdio.h>

/* A stream whose text is there when fclose has returned 0: malloc'ed, with a NUL behind it. Where
 * fclose fails, or this function, which returns NULL, there was no memory, and the text is NULL.
 * fclose must be called before the text's variables go. */
FILE *kdl_text_stream(char **out_text, size_t *out_length);

#endif
