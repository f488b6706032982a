/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What all reports share: the kernels with changes in order, and the numbers that changed. */
#include "pack/diff/diff.h"
#include "support/base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const diff_field diff_fields[DIFF_FIELDS] = {
#define FIELD(name) {#name, offsetof(kdl_kernel_resources, name)}
    FIELD(vector_registers),
    FIELD(scalar_registers),
    FIELD(accumulator_registers),
    FIELD(vector_spills),
    FIELD(scalar_spills),
    FIELD(spill_bytes),
    FIELD(stack),
    FIELD(local),
    FIELD(shared),
    FIELD(max_block),
    FIELD(params),
    FIELD(param_bytes),
    FIELD(code_bytes),
    FIELD(barriers),
#undef FIELD
};

uint32_t diff_field_value(const kdl_kernel_resources *uses, size_t field) {
  uint32_t value;
  memcpy(&value, (const char *)uses + diff_fields[field].offset, sizeof value);
  return value;
}

uint32_t diff_failures(const diff *d) {
  uint32_t failures = 0;
  for (int i = 0; i < DIFF_CHANGES; ++i)
    failures |= d->totals[i] ? DIFF_BIT(i) & d->fail_on : 0;
  return failures;
}

/* ------------------------------------------------------------------------------------------ */
/* Lists                                                                                        */

/* The kernels that carry the changes: new ones, and old ones that are gone. */
static bool next_item(const diff *d, uint32_t changes, diff_item *item) {
  const diff_side *of = &d->sides[item->side];
  const diff_kernel *kernel = item->kernel ? item->kernel + 1 : of->kernels;
  for (;; kernel = (of = &d->sides[++item->side])->kernels) {
    for (; kernel < of->kernels + of->kernel_count; ++kernel) {
      if (kernel->changes & changes &&
          (item->side == DIFF_NEW || kernel->partner == DIFF_NO_MATCH)) {
        item->kernel = kernel;
        return true;
      }
    }
    if (item->side == DIFF_NEW)
      return false;
  }
}

typedef struct {
  diff_item item;
  const char *place;
  kdl_string name;
  const char *target;
} sorted_item;

static int compare_items(const void *left, const void *right) {
  const sorted_item *a = left, *b = right;
  int order = strcmp(a->place, b->place);
  order = order ? order : kdl_text_compare(a->name, b->name);
  order = order ? order : strcmp(a->target, b->target);
  order = order ? order : (int)a->item.side - (int)b->item.side;
  return order ? order : (a->item.kernel > b->item.kernel) - (a->item.kernel < b->item.kernel);
}

diff_item *diff_list(const diff *d, uint32_t changes, size_t *out_count) {
  size_t count = 0;
  diff_item next = {NULL, DIFF_OLD};
  while (next_item(d, changes, &next))
    ++count;
  sorted_item *sorted = xcalloc(count + 1, sizeof *sorted);
  diff_item *items = xcalloc(count + 1, sizeof *items);
  next = (diff_item){NULL, DIFF_OLD};
  for (size_t i = 0; next_item(d, changes, &next); ++i)
    sorted[i] =
        (sorted_item){next, d->sides[next.side].libraries[next.kernel->library].place,
                      diff_kernel_name(d, next.kernel), diff_kernel_target(d, next.kernel)->label};
  if (count)
    qsort(sorted, count, sizeof *sorted, compare_items);
  for (size_t i = 0; i < count; ++i)
    items[i] = sorted[i].item;
  free(sorted);
  *out_count = count;
  return items;
}

/* How bad the change is. */
static uint64_t weight(const diff *d, const diff_item *item, diff_change change) {
  const diff_kernel *old = diff_partner(d, item->side, item->kernel);
  const kdl_kernel_resources *uses = &item->kernel->uses;
  if (!old || item->side == DIFF_OLD)
    return uses->code_bytes == KDL_NO_RESOURCE ? 0 : uses->code_bytes;
  const kdl_kernel_resources *before = &old->uses;
  switch (change) {
  case DIFF_SPILLS:
  case DIFF_STACK:
    return (uint64_t)uses->stack - before->stack;
  case DIFF_REGISTERS:
    return (uint64_t)uses->vector_registers - before->vector_registers;
  case DIFF_SHARED:
    return (uint64_t)uses->shared - before->shared;
  case DIFF_SIZE:
    return (uint64_t)uses->code_bytes - before->code_bytes;
  default:
    return uses->code_bytes == KDL_NO_RESOURCE ? 0 : uses->code_bytes;
  }
}

/* One target of a kernel stands for all. */
static bool has_name(const diff *d, const diff_item *items, size_t count, const diff_item *item) {
  for (size_t i = 0; i < count; ++i) {
    if (d->names.items[items[i].kernel->name].key == d->names.items[item->kernel->name].key)
      return true;
  }
  return false;
}

size_t diff_worst(const diff *d, diff_change change, diff_item *items, size_t room) {
  size_t count = 0;
  while (count < room) {
    diff_item best = {NULL, DIFF_OLD}, next = {NULL, DIFF_OLD};
    while (next_item(d, DIFF_BIT(change), &next)) {
      if (has_name(d, items, count, &next))
        continue;
      uint64_t ours = weight(d, &next, change);
      uint64_t theirs = best.kernel ? weight(d, &best, change) : 0;
      if (!best.kernel || ours > theirs ||
          (ours == theirs && kdl_text_compare(diff_kernel_name(d, next.kernel),
                                              diff_kernel_name(d, best.kernel)) < 0))
        best = next;
    }
    if (!best.kernel)
      break;
    items[count++] = best;
  }
  return count;
}

/* ------------------------------------------------------------------------------------------ */
/* Numbers                                                                                      */

static void put_occupancy(const diff *d, FILE *stream, const diff_kernel *old,
                          const diff_kernel *new, const char *separator) {
  kdl_occupancy before, after;
  if (diff_occupancy(d, old, &before) && diff_occupancy(d, new, &after) &&
      before.subgroups != after.subgroups)
    fprintf(stream, "%soccupancy %" PRIu32 "/%" PRIu32 " -> %" PRIu32 "/%" PRIu32, separator,
            before.subgroups, before.most_subgroups, after.subgroups, after.most_subgroups);
}

char *diff_item_text(const diff *d, const diff_item *item) {
  char *text;
  size_t size;
  FILE *stream = xtext_stream(&text, &size);
  const diff_kernel *new = item->kernel;
  const diff_kernel *old = item->side == DIFF_NEW ? diff_partner(d, DIFF_NEW, new) : NULL;
  const char *separator = "";
  for (size_t i = 0; old && i < DIFF_FIELDS; ++i) {
    uint32_t before = diff_field_value(&old->uses, i), after = diff_field_value(&new->uses, i);
    if (before == after || before == KDL_NO_RESOURCE || after == KDL_NO_RESOURCE)
      continue;
    fprintf(stream, "%s%s %" PRIu32 " -> %" PRIu32, separator, diff_fields[i].key, before, after);
    separator = ", ";
  }
  if (old)
    put_occupancy(d, stream, old, new, separator);
  else if (new->uses.code_bytes != KDL_NO_RESOURCE)
    fprintf(stream, "code_bytes %" PRIu32, new->uses.code_bytes);
  xtext_close(stream);
  return text;
}
