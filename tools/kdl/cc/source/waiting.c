/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "cc/source/waiting.h"

#include "base/error.h"

#include <string.h>

typedef struct {
  kdl_string name;
  bool waits;
} function;

typedef struct {
  size_t user; /* the index of a function */
  kdl_string used;
} use;

static bool is_of_name(char c) {
  return kdl_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         c == '.' || c == '$' || c == '-';
}

/* The next name with an '@' in the line, from *at on; in quotes where it has them. */
static bool next_name(kdl_string line, size_t *at, kdl_string *out_name) {
  size_t begin = kdl_text_find(line, *at, "@") + 1;
  if (begin >= line.length)
    return false;
  size_t end = begin;
  if (line.data[begin] == '"')
    end = kdl_text_find(line, begin + 1, "\"") + 1;
  while (end < line.length && line.data[begin] != '"' && is_of_name(line.data[end]))
    ++end;
  *at = end;
  *out_name = (kdl_string){line.data + begin, end - begin};
  return true;
}

/* Functions, and what they use, into the arrays; counts them where these are NULL. */
static void read_ir(kdl_string ir, function *functions, size_t *function_count, use *uses,
                    size_t *use_count) {
  bool is_inside = false;
  *function_count = *use_count = 0;
  for (size_t at = 0, end; at < ir.length; at = end + 1) {
    end = kdl_text_find(ir, at, "\n");
    kdl_string line = {ir.data + at, end - at};
    kdl_string name;
    size_t from = 0;
    if (kdl_text_starts(line, "define ") && next_name(line, &from, &name)) {
      if (functions)
        functions[*function_count] = (function){name, false};
      ++*function_count;
      is_inside = true;
    } else if (kdl_text_is(line, "}")) {
      is_inside = false;
    }
    while (is_inside && next_name(line, &from, &name)) {
      if (uses)
        uses[*use_count] = (use){*function_count - 1, name};
      ++*use_count;
    }
  }
}

static bool does_wait(const function *functions, size_t count, kdl_string name) {
  if (kdl_text_is(name, "kdl_cc_barrier"))
    return true;
  for (size_t i = 0; i < count; ++i) {
    if (functions[i].waits && kdl_text_equal(functions[i].name, name))
      return true;
  }
  return false;
}

kdl_status cc_waiting_read(kdl_arena *arena, kdl_string ir, cc_kernels *kernels) {
  size_t count, use_count;
  read_ir(ir, NULL, &count, NULL, &use_count);
  function *functions = kdl_arena_alloc(arena, (count + 1) * sizeof *functions);
  use *uses = kdl_arena_alloc(arena, (use_count + 1) * sizeof *uses);
  if (!functions || !uses)
    return kdl_fail(KDL_NO_MEMORY, "out of memory for the functions of a source");
  read_ir(ir, functions, &count, uses, &use_count);
  kernels->has_atomics = kdl_text_contains(ir, " atomicrmw ") || kdl_text_contains(ir, " cmpxchg ");
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < use_count; ++i) {
      function *user = &functions[uses[i].user];
      if (user->waits || !does_wait(functions, count, uses[i].used))
        continue;
      user->waits = changed = true;
    }
  }
  for (size_t i = 0; i < kernels->count; ++i)
    kernels->items[i].waits |= does_wait(functions, count, kdl_text_of(kernels->items[i].function));
  return KDL_OK;
}
