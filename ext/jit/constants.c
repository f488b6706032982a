/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "ext/jit/constants.h"

#include "support/base/error.h"
#include "support/base/text_stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { limit_constants = 256, limit_text = 4096 };

static kdl_status validate_constant(const kdl_constant *constant) {
  const char *name = constant->name ? constant->name : "";
  const char *value = constant->value ? constant->value : "";
  if (!*name || strpbrk(name, "=\n") || strlen(name) > limit_text)
    return kdl_fail(KDL_BAD_CALL, "constants: found the name \"%.128s\", expected an identifier",
                    name);
  if (!*value || strchr(value, '\n') || strlen(value) > limit_text)
    return kdl_fail(KDL_BAD_CALL,
                    "constants: %.128s: found the value \"%.128s\", expected a number", name,
                    value);
  return KDL_OK;
}

static int compare_constant_names(const void *left, const void *right) {
  const kdl_constant *const *a = left;
  const kdl_constant *const *b = right;
  return strcmp((*a)->name, (*b)->name);
}

static kdl_status sort_constants(const kdl_constant *constants, size_t count,
                                 const kdl_constant *out_sorted[limit_constants]) {
  for (size_t i = 0; i < count; ++i) {
    kdl_status status = validate_constant(&constants[i]);
    if (status != KDL_OK)
      return status;
    out_sorted[i] = &constants[i];
  }
  qsort(out_sorted, count, sizeof *out_sorted, compare_constant_names);
  for (size_t i = 1; i < count; ++i) {
    if (strcmp(out_sorted[i]->name, out_sorted[i - 1]->name) == 0)
      return kdl_fail(KDL_BAD_CALL, "constants: found \"%.128s\" twice, expected each once",
                      out_sorted[i]->name);
  }
  return KDL_OK;
}

kdl_status kdl_constants_print(const kdl_constant *constants, size_t count, char **out_text) {
  const kdl_constant *sorted[limit_constants];
  char *text = NULL;
  size_t size;
  if (count == 0) {
    *out_text = NULL;
    return KDL_OK;
  }
  if (count > limit_constants)
    return kdl_fail(KDL_BAD_CALL, "constants: found %zu, expected at most %d", count,
                    limit_constants);
  KDL_TRY(sort_constants(constants, count, sorted));
  FILE *out = kdl_text_stream(&text, &size);
  for (size_t i = 0; out && i < count; ++i)
    fprintf(out, "const %s=%s\n", sorted[i]->name, sorted[i]->value);
  if (!out || fclose(out) != 0) {
    free(text);
    return kdl_fail(KDL_NO_MEMORY, "out of memory for constants");
  }
  *out_text = text;
  return KDL_OK;
}
