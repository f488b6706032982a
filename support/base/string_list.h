/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Words of a command line, or of an environment. */
#ifndef KDL_BASE_STRING_LIST_H
#define KDL_BASE_STRING_LIST_H

#include "support/base/arena.h"

#include <stdbool.h>
#include <stdio.h>

/* They grow, and are copied into the arena; `failed` where memory ran out. */
typedef struct kdl_string_list {
  kdl_arena *arena;
  const char **items; /* NULL behind the last, once there is one */
  size_t count;
  size_t capacity;
  bool failed;
} kdl_string_list;

void kdl_string_list_append(kdl_string_list *words, const char *word);
void kdl_string_list_append_format(kdl_string_list *words, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The command as a shell takes it, malloc'ed; NULL when out of memory. */
char *kdl_string_list_shell_command(const kdl_string_list *words);

/* A word as a shell takes it: in quotes where it would be taken apart. */
void kdl_shell_quote(FILE *file, const char *word);

#endif
