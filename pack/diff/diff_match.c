/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Matches the libraries of both sides, then their kernels.
 *
 * Libraries match by their place in the operand, else by their place without hashes or numbers
 * (libx.so.12 and libx.so.13), else by their file name, else if only one is left on each side, else
 * by the kernels that they have in common. Kernels of matched libraries match by name and target;
 * then those of any libraries. A kernel whose name is gone matches one whose name is new if both
 * have the same code, or the same C++ name without template arguments, and no other does: it was
 * renamed, for all targets.
 */
#include "pack/diff/diff.h"
#include "support/base/cxx_name.h"
#include "support/base/hash.h"
#include "support/base/text.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------ */
/* Libraries                                                                                    */

typedef struct {
  const char *key;
  diff_library *library;
  int side;
} library_entry;

static int compare_library_entries(const void *left, const void *right) {
  const library_entry *a = left, *b = right;
  int order = strcmp(a->key, b->key);
  order = order ? order : a->side - b->side;
  return order ? order : strcmp(a->library->path, b->library->path);
}

/* How places are compared; each is tried for what those before it left. */
typedef enum {
  by_place,
  by_place_without_hashes,
  by_place_without_numbers,
  by_file_name,
  by_file_name_without_numbers,
  library_passes,
} library_pass;

static size_t remove_numbers(const char *text, char *out) {
  char *to = out;
  for (; *text; ++text) {
    if (!kdl_is_digit(*text))
      *to++ = *text;
    else if (to == out || to[-1] != '#')
      *to++ = '#';
  }
  return (size_t)(to - out);
}

static const char *library_key(diff *d, const char *place, library_pass pass) {
  const char *name = strrchr(place, '/');
  const char *text = pass >= by_file_name && name ? name + 1 : place;
  if (pass == by_place || pass == by_file_name)
    return text;
  char *plain = xmalloc(strlen(text) + 1);
  size_t length = pass == by_place_without_hashes ? diff_name_normalise(kdl_text_of(text), plain)
                                                  : remove_numbers(text, plain);
  const char *copy = check_copy_substring(&d->walk, plain, length);
  free(plain);
  return copy;
}

static size_t list_unmatched(diff *d, library_pass pass, library_entry *entries) {
  size_t count = 0;
  for (int side = 0; side < DIFF_SIDES; ++side) {
    for (size_t i = 0; i < d->sides[side].library_count; ++i) {
      diff_library *library = &d->sides[side].libraries[i];
      if (!library->scope)
        entries[count++] = (library_entry){library_key(d, library->place, pass), library, side};
    }
  }
  if (count)
    qsort(entries, count, sizeof *entries, compare_library_entries);
  return count;
}

/* Libraries of one key get a scope if both sides have one; only one each, if `is_unique`. */
static void match_places(library_entry *entries, size_t count, bool is_unique, uint32_t *scopes) {
  for (size_t from = 0, to; from < count; from = to) {
    size_t of[DIFF_SIDES] = {0, 0};
    for (to = from; to < count && strcmp(entries[to].key, entries[from].key) == 0; ++to)
      ++of[entries[to].side];
    if (!of[DIFF_OLD] || !of[DIFF_NEW] || (is_unique && to - from > 2) ||
        *scopes + 1 >= DIFF_LIMIT_SCOPES)
      continue;
    ++*scopes;
    for (size_t i = from; i < to; ++i) {
      entries[i].library->scope = *scopes;
      entries[i].library->is_matched = true;
    }
  }
}

static int compare_libraries(const void *left, const void *right) {
  const diff_library *a = left, *b = right;
  int order = strcmp(a->place, b->place);
  return order ? order : strcmp(a->path, b->path);
}

/* One array of all kernels, in an order that does not depend on the threads. */
static void join_kernels(diff_side *side) {
  size_t count = 0;
  if (side->library_count)
    qsort(side->libraries, side->library_count, sizeof *side->libraries, compare_libraries);
  for (size_t i = 0; i < side->library_count; ++i)
    count += side->libraries[i].kernel_count;
  if (count >= DIFF_NO_MATCH)
    cli_fatal("too many kernels");
  side->kernels = xcalloc(count + 1, sizeof *side->kernels);
  for (size_t i = 0; i < side->library_count; ++i) {
    diff_library *library = &side->libraries[i];
    for (size_t k = 0; k < library->kernel_count; ++k) {
      side->kernels[side->kernel_count] = library->kernels[k];
      side->kernels[side->kernel_count++].library = (uint32_t)i;
    }
    free(library->kernels);
    library->kernels = NULL;
    side->images += library->images;
    side->unreadable += library->unreadable;
  }
}

static int compare_targets(const void *left, const void *right) {
  const diff_target *a = left, *b = right;
  return strverscmp(a->label, b->label);
}

/* The threads found targets in any order. */
static void sort_targets(diff *d) {
  diff_target *before = xcalloc(d->target_count + 1, sizeof *before);
  uint16_t *number_of = xcalloc(d->target_count + 1, sizeof *number_of);
  if (d->target_count) {
    memcpy(before, d->targets, d->target_count * sizeof *before);
    qsort(d->targets, d->target_count, sizeof *d->targets, compare_targets);
  }
  for (size_t i = 0; i < d->target_count; ++i) {
    size_t at = 0;
    while (d->targets[at].label != before[i].label)
      ++at;
    number_of[i] = (uint16_t)at;
  }
  for (int side = 0; side < DIFF_SIDES; ++side) {
    for (size_t i = 0; i < d->sides[side].kernel_count; ++i) {
      diff_kernel *kernel = &d->sides[side].kernels[i];
      kernel->target = number_of[kernel->target];
    }
  }
  free(before);
  free(number_of);
}

void diff_match_libraries(diff *d) {
  uint32_t scopes = 0;
  for (int side = 0; side < DIFF_SIDES; ++side)
    join_kernels(&d->sides[side]);
  sort_targets(d);
  size_t total = d->sides[DIFF_OLD].library_count + d->sides[DIFF_NEW].library_count;
  library_entry *entries = xcalloc(total + 1, sizeof *entries);
  for (int pass = 0; pass < library_passes; ++pass)
    match_places(entries, list_unmatched(d, (library_pass)pass, entries), pass != by_place,
                 &scopes);
  size_t left = list_unmatched(d, by_place, entries);
  if (left == 2 && entries[0].side != entries[1].side) {
    entries[0].library->scope = entries[1].library->scope = ++scopes;
    entries[0].library->is_matched = entries[1].library->is_matched = true;
  }
  diff_match_by_overlap(d, &scopes);
  left = list_unmatched(d, by_place, entries);
  if (left + scopes >= DIFF_LIMIT_SCOPES)
    cli_fatal("too many libraries");
  for (size_t i = 0; i < left; ++i) /* alone */
    entries[i].library->scope = ++scopes;
  free(entries);
}

/* ------------------------------------------------------------------------------------------ */
/* Kernels                                                                                      */

typedef struct {
  uint64_t key;
  uint64_t code;
  uint32_t number;
} entry;

typedef struct {
  entry *items;
  size_t count;
} entries;

typedef struct {
  diff *d;
  uint8_t *is_present[DIFF_SIDES]; /* by key of a name */
  uint8_t *is_taken;               /* by key of a new name: an old one was renamed to it */
} matcher;

static uint32_t name_key(const diff *d, const diff_kernel *kernel) {
  return d->names.items[kernel->name].key;
}

static uint32_t scope_of(const diff *d, int side, const diff_kernel *kernel) {
  return d->sides[side].libraries[kernel->library].scope;
}

static uint64_t join_key(uint32_t scope, uint32_t name, uint16_t target) {
  return (uint64_t)scope << 44 | (uint64_t)name << 16 | target;
}

/* False where a pass does not match the kernel. */
typedef bool key_function(matcher *m, int side, const diff_kernel *kernel, uint64_t *out_key);

static bool key_in_scope(matcher *m, int side, const diff_kernel *kernel, uint64_t *out_key) {
  *out_key = join_key(scope_of(m->d, side, kernel), name_key(m->d, kernel), kernel->target);
  return true;
}

static bool key_anywhere(matcher *m, int side, const diff_kernel *kernel, uint64_t *out_key) {
  (void)side;
  *out_key = join_key(0, name_key(m->d, kernel), kernel->target);
  return true;
}

/* Only names that the other side does not have can be those of a renamed kernel. */
static bool is_name_gone(const matcher *m, int side, const diff_kernel *kernel) {
  uint32_t key = name_key(m->d, kernel);
  return !m->is_present[!side][key] && !(side == DIFF_OLD ? m->d->renames[key] : m->is_taken[key]);
}

/* Short kernels often have the same code by chance. */
static bool key_by_code(matcher *m, int side, const diff_kernel *kernel, uint64_t *out_key) {
  enum { shortest_code = 256 };
  bool has_code = kernel->digest.code[0] && kernel->effect != KDL_EFFECT_NOTHING &&
                  kernel->effect != KDL_EFFECT_STOPS;
  *out_key = kdl_hash_mix(kernel->digest.code[0], kernel->target);
  return has_code && kernel->uses.code_bytes != KDL_NO_RESOURCE &&
         kernel->uses.code_bytes >= shortest_code && is_name_gone(m, side, kernel);
}

static bool key_by_base_name(matcher *m, int side, const diff_kernel *kernel, uint64_t *out_key) {
  char plain[512];
  diff *d = m->d;
  if (!is_name_gone(m, side, kernel) ||
      !kdl_cxx_name(d->names.items[name_key(d, kernel)].text, plain, sizeof plain))
    return false;
  uint64_t hash = kdl_hash_add(kdl_hash_seed(), kdl_text_of(plain));
  *out_key = kdl_hash_mix(hash, join_key(scope_of(d, side, kernel), 0, kernel->target));
  return true;
}

static bool key_renamed(matcher *m, int side, const diff_kernel *kernel, uint64_t *out_key) {
  uint32_t key = name_key(m->d, kernel);
  if (side == DIFF_OLD ? !m->d->renames[key] : !m->is_taken[key])
    return false;
  *out_key = join_key(scope_of(m->d, side, kernel), side == DIFF_OLD ? m->d->renames[key] - 1 : key,
                      kernel->target);
  return true;
}

static int compare_entries(const void *left, const void *right) {
  const entry *a = left, *b = right;
  if (a->key != b->key)
    return a->key < b->key ? -1 : 1;
  if (a->code != b->code)
    return a->code < b->code ? -1 : 1;
  return (a->number > b->number) - (a->number < b->number);
}

static entries list_kernels(matcher *m, int side, key_function *key) {
  diff_side *from = &m->d->sides[side];
  entries list = {xcalloc(from->kernel_count + 1, sizeof *list.items), 0};
  for (size_t i = 0; i < from->kernel_count; ++i) {
    const diff_kernel *kernel = &from->kernels[i];
    entry *next = &list.items[list.count];
    if (kernel->partner == DIFF_NO_MATCH && !kernel->is_copy && key(m, side, kernel, &next->key)) {
      next->code = kernel->digest.code[0] ^ kernel->digest.code[1];
      next->number = (uint32_t)i;
      ++list.count;
    }
  }
  if (list.count)
    qsort(list.items, list.count, sizeof *list.items, compare_entries);
  return list;
}

static size_t group_end(const entries *list, size_t from) {
  size_t to = from;
  while (to < list->count && list->items[to].key == list->items[from].key)
    ++to;
  return to;
}

/* Templates are compiled into many modules of a library: copies of one kernel with equal code count
 * once. */
static void mark_copies(diff_side *side, entries *list) {
  size_t kept = 0;
  for (size_t i = 0; i < list->count; ++i) {
    const entry *item = &list->items[i];
    const entry *before = kept ? &list->items[kept - 1] : NULL;
    if (before && before->key == item->key && before->code == item->code && item->code)
      side->kernels[item->number].is_copy = true;
    else
      list->items[kept++] = *item;
  }
  list->count = kept;
}

static void match_pair(diff *d, uint32_t old_number, uint32_t new_number) {
  d->sides[DIFF_OLD].kernels[old_number].partner = new_number;
  d->sides[DIFF_NEW].kernels[new_number].partner = old_number;
}

/* Pairs two groups of one key: those of equal code first, then in order. What is left has a name
 * that is matched, and counts as a copy. */
static void match_groups(diff *d, const entry *old, size_t old_count, const entry *new,
                         size_t new_count) {
  size_t i = 0, k = 0;
  while (i < old_count && k < new_count) {
    if (old[i].code == new[k].code)
      match_pair(d, old[i++].number, new[k++].number);
    else if (old[i].code < new[k].code)
      ++i;
    else
      ++k;
  }
  for (i = k = 0;; ++i, ++k) {
    while (i < old_count && d->sides[DIFF_OLD].kernels[old[i].number].partner != DIFF_NO_MATCH)
      ++i;
    while (k < new_count && d->sides[DIFF_NEW].kernels[new[k].number].partner != DIFF_NO_MATCH)
      ++k;
    if (i == old_count || k == new_count)
      break;
    match_pair(d, old[i].number, new[k].number);
  }
  for (; i < old_count; ++i) {
    diff_kernel *left = &d->sides[DIFF_OLD].kernels[old[i].number];
    left->is_copy = left->partner == DIFF_NO_MATCH;
  }
  for (; k < new_count; ++k) {
    diff_kernel *left = &d->sides[DIFF_NEW].kernels[new[k].number];
    left->is_copy = left->partner == DIFF_NO_MATCH;
  }
}

/* What a pass does with the kernels of one key. */
typedef void group_function(matcher *m, const entry *old, size_t old_count, const entry *new,
                            size_t new_count);

static void pair_groups(matcher *m, const entry *old, size_t old_count, const entry *new,
                        size_t new_count) {
  match_groups(m->d, old, old_count, new, new_count);
}

static bool may_have_moved(const diff *d, uint32_t old, uint32_t new) {
  const diff_side *from = &d->sides[DIFF_OLD], *to = &d->sides[DIFF_NEW];
  return from->libraries[from->kernels[old].library].is_matched ||
         to->libraries[to->kernels[new].library].is_matched;
}

/* Kernels that are not in matching libraries, from or to one that is matched: those of equal code,
 * else one of each side. Of several it is not known which one moved. */
static void pair_moved(matcher *m, const entry *old, size_t old_count, const entry *new,
                       size_t new_count) {
  size_t i = 0, k = 0;
  if (old_count == 1 && new_count == 1 && may_have_moved(m->d, old->number, new->number))
    match_pair(m->d, old->number, new->number);
  while ((old_count > 1 || new_count > 1) && i < old_count && k < new_count) {
    if (old[i].code == new[k].code && may_have_moved(m->d, old[i].number, new[k].number))
      match_pair(m->d, old[i++].number, new[k++].number);
    else if (old[i].code < new[k].code)
      ++i;
    else
      ++k;
  }
}

/* A name of one side for one of the other, and no other. */
static void note_rename(matcher *m, const entry *old, size_t old_count, const entry *new,
                        size_t new_count) {
  diff *d = m->d;
  if (old_count != 1 || new_count != 1)
    return;
  uint32_t from = name_key(d, &d->sides[DIFF_OLD].kernels[old->number]);
  uint32_t to = name_key(d, &d->sides[DIFF_NEW].kernels[new->number]);
  if (d->renames[from] || m->is_taken[to])
    return;
  d->renames[from] = to + 1;
  m->is_taken[to] = 1;
}

static void run_pass(matcher *m, key_function *key, group_function *take, bool has_copies) {
  entries old = list_kernels(m, DIFF_OLD, key), new = list_kernels(m, DIFF_NEW, key);
  if (has_copies) {
    mark_copies(&m->d->sides[DIFF_OLD], &old);
    mark_copies(&m->d->sides[DIFF_NEW], &new);
  }
  for (size_t i = 0, k = 0; i < old.count && k < new.count;) {
    size_t i_end = group_end(&old, i), k_end = group_end(&new, k);
    uint64_t a = old.items[i].key, b = new.items[k].key;
    if (a == b)
      take(m, &old.items[i], i_end - i, &new.items[k], k_end - k);
    i = a <= b ? i_end : i;
    k = b <= a ? k_end : k;
  }
  free(old.items);
  free(new.items);
}

void diff_match_kernels(diff *d) {
  matcher m = {.d = d, .is_taken = xcalloc(d->names.count + 1, 1)};
  d->renames = xcalloc(d->names.count + 1, sizeof *d->renames);
  for (int side = 0; side < DIFF_SIDES; ++side) {
    m.is_present[side] = xcalloc(d->names.count + 1, 1);
    for (size_t i = 0; i < d->sides[side].kernel_count; ++i)
      m.is_present[side][name_key(d, &d->sides[side].kernels[i])] = 1;
  }
  run_pass(&m, key_in_scope, pair_groups, true);
  run_pass(&m, key_anywhere, pair_moved, false);
  run_pass(&m, key_by_code, note_rename, false);
  run_pass(&m, key_by_base_name, note_rename, false);
  run_pass(&m, key_renamed, pair_groups, false);
  for (int side = 0; side < DIFF_SIDES; ++side)
    free(m.is_present[side]);
  free(m.is_taken);
}
