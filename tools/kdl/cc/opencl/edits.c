/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "cc/opencl/edits.h"

#include <stdlib.h>
#include <string.h>

void cc_edits_add(cc_edits *edits, cc_edit edit) {
  if (edits->count == edits->room) {
    size_t room = edits->room ? edits->room * 2 : 64;
    cc_edit *items = kdl_arena_alloc(edits->arena, room * sizeof *items);
    edits->failed |= !items;
    if (!items)
      return;
    if (edits->count)
      memcpy(items, edits->items, edits->count * sizeof *items);
    edits->items = items;
    edits->room = room;
  }
  edits->items[edits->count++] = edit;
}

void cc_edits_wrap(cc_edits *edits, size_t depth, size_t begin, size_t end, const char *before,
                   const char *after) {
  cc_edits_add(edits, (cc_edit){.at = begin, .added = before, .depth = depth});
  cc_edits_add(edits, (cc_edit){.at = end, .added = after, .depth = depth, .closes = true});
}

static int compare(const void *left, const void *right) {
  const cc_edit *a = left, *b = right;
  if (a->at != b->at)
    return a->at < b->at ? -1 : 1;
  if (a->closes != b->closes)
    return a->closes ? -1 : 1;
  if (a->depth == b->depth)
    return 0;
  return (a->depth < b->depth) == a->closes ? 1 : -1;
}

void cc_edits_write(cc_edits *edits, kdl_string text, FILE *out) {
  size_t done = 0;
  if (edits->count)
    qsort(edits->items, edits->count, sizeof *edits->items, compare);
  for (size_t i = 0; i < edits->count; ++i) {
    const cc_edit *edit = &edits->items[i];
    if (edit->at > done) {
      fwrite(text.data + done, 1, edit->at - done, out);
      done = edit->at;
    }
    fputs(edit->added, out);
    if (edit->at + edit->removed > done)
      done = edit->at + edit->removed;
  }
  fwrite(text.data + done, 1, text.length - done, out);
}
