/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Text that came out of a file: it may hold anything, and a terminal or a JSON reader must not
 * notice. */
#ifndef KDL_TOOL_TEXT_H
#define KDL_TOOL_TEXT_H

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A malloc'ed copy that is safe to print: what the locale cannot print in a column of its own is
 * written as \xNN. NULL when out of memory. */
char *cli_text_printable(kdl_string text);

/* Writes the text as cli_text_printable has it; without memory of its own. */
void cli_text_put(FILE *file, kdl_string text);

/* Writes it, and `end`, on standard output. */
void cli_text_print(kdl_string text, const char *end);

/* Columns that a printable text takes. */
size_t cli_text_width(const char *printable);

/* The longest start of a printable text that takes at most `columns`, in bytes. */
size_t cli_text_fit(const char *printable, size_t columns);

#endif
