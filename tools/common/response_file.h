/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Response files: a word @FILE stands for the words in FILE, as in LLVM's tools. Blanks and line
 * ends separate words, quotes of both kinds keep them together, and a backslash takes the next
 * character as it is, also within quotes. A word of a file may be @FILE in turn; where there is no
 * such file, the word stands for itself. */
#ifndef KDL_TOOL_RESPONSE_H
#define KDL_TOOL_RESPONSE_H

#include "support/base/arena.h"

#include <kdl/kdl.h>

typedef struct cli_expanded_args {
  char **items;
  size_t count;
  size_t capacity;
  size_t files;    /* that were read */
  kdl_arena arena; /* what came from files */
} cli_expanded_args;

/* Limits: 1,000 files, 16 deep, of 16 MiB each; a million words. The caller frees *out_words, also
 * after a failure. */
kdl_status cli_expanded_args_read(int count, char **words, cli_expanded_args *out_words);
void cli_expanded_args_free(cli_expanded_args *words);

#endif
