/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Changes to a text, noted in any order and made at once. */
#ifndef KDL_TOOL_CC_EDITS_H
#define KDL_TOOL_CC_EDITS_H

#include "base/arena.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef struct cc_edit {
  size_t at;
  size_t removed; /* bytes of the text that go */
  const char *added;
  size_t depth; /* of what it belongs to: larger inside */
  bool closes;  /* it ends something that began before */
} cc_edit;

typedef struct cc_edits {
  kdl_arena *arena;
  cc_edit *items;
  size_t count, room;
  bool failed; /* out of memory */
} cc_edits;

void cc_edits_add(cc_edits *edits, cc_edit edit);

/* `before` where a range begins, and `after` behind it. */
void cc_edits_wrap(cc_edits *edits, size_t depth, size_t begin, size_t end, const char *before,
                   const char *after);

/* The text as changed. Changes at one place: first what closes, from the inside; then what opens,
 * from the outside. */
void cc_edits_write(cc_edits *edits, kdl_string text, FILE *out);

#endif
