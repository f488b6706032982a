/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Declarations of functions in a vendor's header, read as text: their types are the vendor's own,
 * so only the number of parameters can be compared. */
#ifndef KDL_TESTS_UNIT_HEADER_SUPPORT_H
#define KDL_TESTS_UNIT_HEADER_SUPPORT_H

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  KDL_HEADER_OPTIONAL,
  KDL_HEADER_LAZY = KDL_HEADER_OPTIONAL,
  KDL_HEADER_REQUIRED,
  KDL_HEADER_LIST_OPTIONAL = KDL_HEADER_OPTIONAL,
  KDL_HEADER_LIST = KDL_HEADER_REQUIRED,
};

typedef struct {
  const char *name;
  const char *parameters; /* "(int *device)" */
  int need;
} header_function;

static inline char *read_header(const char *path) {
  FILE *file = fopen(path, "r");
  if (!file)
    return NULL;
  size_t room = 4 << 20;
  char *text = calloc(1, room + 1);
  size_t size = text ? fread(text, 1, room, file) : 0;
  fclose(file);
  return size ? text : NULL;
}

/* Comments have commas too. */
static inline void blank_comments(char *text) {
  for (char *at = text; (at = strchr(at, '/')); ++at) {
    const char *end = at[1] == '/' ? strchr(at, '\n') : at[1] == '*' ? strstr(at, "*/") : NULL;
    while (end && at < end)
      *at++ = ' ';
  }
}

/* "NAME(" at the beginning of a word, up to the closing parenthesis; NULL where there is none. */
static inline const char *find_declaration(const char *header, const char *name) {
  size_t length = strlen(name);
  for (const char *at = header; (at = strstr(at, name)); at += length) {
    const char *rest = at + length + strspn(at + length, " \n");
    if (*rest == '(' && at > header && isspace((unsigned char)at[-1]))
      return rest;
  }
  return NULL;
}

/* Of a list in parentheses. */
static inline unsigned count_parameters(const char *list) {
  unsigned commas = 0, depth = 0;
  const char *at = list;
  do {
    depth += *at == '(';
    depth -= *at == ')';
    commas += *at == ',' && depth == 1;
  } while (*at++ && depth);
  return strncmp(list, "(void)", 6) == 0 ? 0 : commas + 1;
}

/* 0 where all agree; what is optional may be newer than the header. */
static inline int compare_functions(const char *path, const header_function *rows, size_t count) {
  char *header = read_header(path);
  if (!header) {
    printf("skipped: %s not where it is looked for\n", path);
    return 77;
  }
  blank_comments(header);
  int wrong = 0;
  for (size_t i = 0; i < count; ++i) {
    const char *found = find_declaration(header, rows[i].name);
    if (!found && rows[i].need == KDL_HEADER_REQUIRED) {
      printf("%s: not declared\n", rows[i].name);
      ++wrong;
    } else if (found && count_parameters(found) != count_parameters(rows[i].parameters)) {
      printf("%s: %u parameters, expected %u\n", rows[i].name, count_parameters(rows[i].parameters),
             count_parameters(found));
      ++wrong;
    } else if (!found) {
      printf("%s: newer than this header\n", rows[i].name);
    }
  }
  printf("compared %zu functions with %s\n", count, path);
  free(header);
  return wrong != 0;
}

#endif
