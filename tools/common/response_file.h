/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Response files: a word @FILE is replaced by the words in FILE, as in LLVM's tools. Blanks and
 * line ends separate words, single and double quotes group them, and a backslash quotes the next
 * character, also within quotes. A file may name further files; @FILE stays as it is where there is
 * no such file. */
#ifndef KDL_TOOLS_COMMON_RESPONSE_FILE_H
#define KDL_TOOLS_COMMON_RESPONSE_FILE_H

#include "support/base/arena.h"

#include <kdl/kdl.h>

typedef struct cli_expanded_args {
  char **items;
  size_t count;
  size_t capacity;
  size_t files;    /* number of files read */
  kdl_arena arena; /* holds words from files */
} cli_expanded_args;

/* Limits: 1,000 files, 16 deep, of 16 MiB each; a million words. The caller frees *out_words, also
 * after a failure. */
kdl_status cli_expanded_args_read(int count, char **words, cli_expanded_args *out_words);
void cli_expanded_args_free(cli_expanded_args *words);

#endif
