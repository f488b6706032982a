/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A growing list of strings: the words of a command line, or an environment. */
#ifndef KDL_SUPPORT_BASE_STRING_LIST_H
#define KDL_SUPPORT_BASE_STRING_LIST_H

#include "support/base/arena.h"

#include <stdbool.h>
#include <stdio.h>

/* Strings are copied into the arena. `failed` is set when memory runs out. */
typedef struct kdl_string_list {
  kdl_arena *arena;
  const char **items; /* NULL after the last, unless empty */
  size_t count;
  size_t capacity;
  bool failed;
} kdl_string_list;

void kdl_string_list_append(kdl_string_list *words, const char *word);
void kdl_string_list_append_format(kdl_string_list *words, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The command line quoted for a shell, malloc'ed; NULL when out of memory. */
char *kdl_string_list_shell_command(const kdl_string_list *words);

/* One word, in quotes where a shell needs them. */
void kdl_shell_quote(FILE *file, const char *word);

#endif
