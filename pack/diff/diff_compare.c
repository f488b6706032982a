/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What changed of each kernel, once kernels are matched. */
#include "lib/inspect/kinds.h"
#include "pack/diff/diff.h"
#include "support/base/text.h"
#include "tools/common/images/resources.h"

#include <stdlib.h>
#include <string.h>

static const char *const change_names[DIFF_CHANGES] = {
    [DIFF_REMOVED] = "removed", [DIFF_LOST] = "lost",           [DIFF_HOLLOW] = "hollow",
    [DIFF_SPILLS] = "spills",   [DIFF_STACK] = "stack",         [DIFF_REGISTERS] = "registers",
    [DIFF_SHARED] = "shared",   [DIFF_SIGNATURE] = "signature", [DIFF_SIZE] = "size",
    [DIFF_CODE] = "code",       [DIFF_RENAMED] = "renamed",     [DIFF_MOVED] = "moved",
    [DIFF_GAINED] = "gained",   [DIFF_ADDED] = "added",
};

const char *diff_change_name(diff_change change) {
  return change_names[change];
}

bool diff_change_parse(kdl_string name, diff_change *out_change) {
  for (int i = 0; i < DIFF_CHANGES; ++i) {
    if (kdl_text_is(name, change_names[i])) {
      *out_change = (diff_change)i;
      return true;
    }
  }
  return false;
}

bool diff_is_native(kdl_image_kind kind) {
  return kdl_image_kind_get(kind)->holds == KDL_HOLDS_MACHINE_CODE;
}

uint32_t diff_spills(const kdl_kernel_resources *uses) {
  const uint32_t numbers[] = {uses->vector_spills, uses->scalar_spills, uses->spill_bytes};
  uint64_t sum = 0;
  bool is_known = false;
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i) {
    if (numbers[i] != KDL_NO_RESOURCE) {
      is_known = true;
      sum += numbers[i];
    }
  }
  if (!is_known)
    return KDL_NO_RESOURCE;
  return sum < KDL_NO_RESOURCE ? (uint32_t)sum : KDL_NO_RESOURCE - 1;
}

bool diff_occupancy(const diff *d, const diff_kernel *kernel, kdl_occupancy *out_occupancy) {
  return kdl_occupancy_of(kdl_text_of(diff_kernel_target(d, kernel)->arch), &kernel->uses,
                          cli_occupancy_block(&kernel->uses, 0), 0, out_occupancy);
}

/* ------------------------------------------------------------------------------------------ */
/* Pairs                                                                                        */

static bool grew(uint32_t old, uint32_t new) {
  return old != KDL_NO_RESOURCE && new != KDL_NO_RESOURCE && new > old;
}

static bool differs(uint32_t old, uint32_t new) {
  return old != KDL_NO_RESOURCE && new != KDL_NO_RESOURCE && new != old;
}

/* Formats that do not declare spills have them on the stack. */
static bool has_more_spills(const kdl_kernel_resources *old, const kdl_kernel_resources *new) {
  uint32_t before = diff_spills(old), after = diff_spills(new);
  if (before == KDL_NO_RESOURCE && after == KDL_NO_RESOURCE)
    return old->stack == 0 && grew(old->stack, new->stack);
  return grew(before, after);
}

/* More registers count where fewer groups run at a time because of them. */
static bool has_fewer_groups(const diff *d, const diff_kernel *old, const diff_kernel *new) {
  kdl_occupancy before, after;
  bool has_more = grew(old->uses.vector_registers, new->uses.vector_registers) ||
                  grew(old->uses.scalar_registers, new->uses.scalar_registers) ||
                  grew(old->uses.accumulator_registers, new->uses.accumulator_registers);
  if (!has_more)
    return false;
  if (!diff_occupancy(d, old, &before) || !diff_occupancy(d, new, &after))
    return true;
  return after.subgroups < before.subgroups && after.limit == KDL_LIMIT_BY_REGISTERS;
}

static bool has_other_signature(const diff_kernel *old, const diff_kernel *new) {
  if (old->digest.params && new->digest.params && old->digest.params != new->digest.params)
    return true;
  return differs(old->uses.params, new->uses.params) ||
         differs(old->uses.param_bytes, new->uses.param_bytes);
}

static bool is_larger(uint32_t old, uint32_t new) {
  return grew(old, new) && new - old >= DIFF_LARGER_BYTES && new - old > old / DIFF_LARGER_PART;
}

static uint32_t compare_pair(const diff *d, const diff_kernel *old, const diff_kernel *new) {
  const kdl_kernel_resources *before = &old->uses, *after = &new->uses;
  const diff_library *from = &d->sides[DIFF_OLD].libraries[old->library];
  const diff_library *to = &d->sides[DIFF_NEW].libraries[new->library];
  uint32_t changes = 0;
  if (new->is_hollow && !old->is_hollow)
    changes |= DIFF_BIT(DIFF_HOLLOW);
  if (has_more_spills(before, after))
    changes |= DIFF_BIT(DIFF_SPILLS);
  if (grew(before->stack, after->stack))
    changes |= DIFF_BIT(DIFF_STACK);
  if (has_fewer_groups(d, old, new))
    changes |= DIFF_BIT(DIFF_REGISTERS);
  if (grew(before->shared, after->shared))
    changes |= DIFF_BIT(DIFF_SHARED);
  if (has_other_signature(old, new))
    changes |= DIFF_BIT(DIFF_SIGNATURE);
  if (is_larger(before->code_bytes, after->code_bytes))
    changes |= DIFF_BIT(DIFF_SIZE);
  if (memcmp(old->digest.code, new->digest.code, sizeof old->digest.code) != 0)
    changes |= DIFF_BIT(DIFF_CODE);
  if (d->names.items[old->name].key != d->names.items[new->name].key)
    changes |= DIFF_BIT(DIFF_RENAMED);
  if (from->scope != to->scope)
    changes |= DIFF_BIT(DIFF_MOVED);
  return changes;
}

/* ------------------------------------------------------------------------------------------ */
/* Hollow kernels                                                                               */

/* As kdl_device_cover has it: code that only ends counts if other code of that name and kind
 * does something. */
static void find_hollow(diff *d, int side) {
  uint32_t *real = xcalloc(d->names.count + 1, sizeof *real); /* kinds by key */
  diff_side *of = &d->sides[side];
  for (size_t i = 0; i < of->kernel_count; ++i) {
    const diff_kernel *kernel = &of->kernels[i];
    if (kernel->effect == KDL_EFFECT_SOME)
      real[d->names.items[kernel->name].key] |= 1u << diff_kernel_target(d, kernel)->kind;
  }
  for (size_t i = 0; i < of->kernel_count; ++i) {
    diff_kernel *kernel = &of->kernels[i];
    bool has_real =
        real[d->names.items[kernel->name].key] >> diff_kernel_target(d, kernel)->kind & 1;
    kernel->is_hollow =
        kernel->effect == KDL_EFFECT_STOPS || (kernel->effect == KDL_EFFECT_NOTHING && has_real);
  }
  free(real);
}

/* ------------------------------------------------------------------------------------------ */
/* Devices                                                                                      */

/* The devices that run a kernel, over all its targets. */
typedef struct {
  uint64_t key; /* scope and name */
  uint32_t runs, native;
  uint32_t number;
  int side;
} kernel_devices;

static int compare_kernel_devices(const void *left, const void *right) {
  const kernel_devices *a = left, *b = right;
  return (a->key > b->key) - (a->key < b->key);
}

static uint64_t scoped_name(const diff *d, int side, const diff_kernel *kernel) {
  return (uint64_t)d->sides[side].libraries[kernel->library].scope << 32 |
         d->names.items[kernel->name].key;
}

/* Names with the scope of their library, sorted. */
typedef struct {
  uint64_t *keys;
  size_t count;
} key_set;

static int compare_keys(const void *left, const void *right) {
  const uint64_t *a = left, *b = right;
  return (*a > *b) - (*a < *b);
}

static void sort_key_set(key_set *set) {
  if (set->count)
    qsort(set->keys, set->count, sizeof *set->keys, compare_keys);
}

static bool has_key(const key_set *set, uint64_t key) {
  return bsearch(&key, set->keys, set->count, sizeof key, compare_keys) != NULL;
}

static void add_scoped_names(const diff *d, int side, key_set *set) {
  for (size_t i = 0; i < d->sides[side].kernel_count; ++i)
    set->keys[set->count++] = scoped_name(d, side, &d->sides[side].kernels[i]);
}

/* A kernel of the old side that has another name or library on the new one. */
typedef struct {
  uint64_t from, to;
} move;

typedef struct {
  move *items;
  size_t count;
} moves;

static int compare_moves(const void *left, const void *right) {
  const move *a = left, *b = right;
  return (a->from > b->from) - (a->from < b->from);
}

/* What has moved for some targets has for all, unless the old side has a kernel there as well,
 * which the new one replaces: both of the old side count. */
static moves list_moves(const diff *d) {
  const diff_side *old = &d->sides[DIFF_OLD];
  moves list = {xcalloc(old->kernel_count + 1, sizeof *list.items), 0};
  key_set names = {xcalloc(old->kernel_count + 1, sizeof *names.keys), 0};
  add_scoped_names(d, DIFF_OLD, &names);
  sort_key_set(&names);
  for (size_t i = 0; i < old->kernel_count; ++i) {
    const diff_kernel *partner = diff_partner(d, DIFF_OLD, &old->kernels[i]);
    if (!partner || !(partner->changes & (DIFF_BIT(DIFF_MOVED) | DIFF_BIT(DIFF_RENAMED))))
      continue;
    move next = {scoped_name(d, DIFF_OLD, &old->kernels[i]), scoped_name(d, DIFF_NEW, partner)};
    if (!has_key(&names, next.to))
      list.items[list.count++] = next;
  }
  free(names.keys);
  if (list.count)
    qsort(list.items, list.count, sizeof *list.items, compare_moves);
  return list;
}

/* The name and scope under which both sides count: those of the new side. */
static uint64_t device_key(const diff *d, int side, const diff_kernel *kernel, const moves *moved) {
  const diff_kernel *partner = side == DIFF_OLD ? diff_partner(d, side, kernel) : NULL;
  if (partner)
    return scoped_name(d, DIFF_NEW, partner);
  move own = {scoped_name(d, side, kernel), 0};
  const move *found = side == DIFF_OLD
                          ? bsearch(&own, moved->items, moved->count, sizeof own, compare_moves)
                          : NULL;
  return found ? found->to : own.from;
}

static void count_device_group(diff *d, const kernel_devices *group, size_t count,
                               uint32_t *lost[DIFF_SIDES]) {
  uint32_t runs[DIFF_SIDES] = {0, 0}, native[DIFF_SIDES] = {0, 0};
  for (size_t i = 0; i < count; ++i) {
    runs[group[i].side] |= group[i].runs;
    native[group[i].side] |= group[i].native;
  }
  for (size_t i = 0; i < count; ++i)
    lost[group[i].side][group[i].number] = runs[group[i].side] & ~runs[!group[i].side];
  for (size_t i = 0; i < d->walk.devices.count; ++i) {
    uint32_t bit = 1u << i;
    diff_device *device = &d->devices[i];
    for (int side = 0; side < DIFF_SIDES; ++side) {
      device->kernels[side] += (runs[side] & bit) != 0;
      device->native[side] += (native[side] & bit) != 0;
    }
    device->lost += (runs[DIFF_OLD] & ~runs[DIFF_NEW] & bit) != 0;
    device->gained += (runs[DIFF_NEW] & ~runs[DIFF_OLD] & bit) != 0;
    device->jit += (native[DIFF_OLD] & ~native[DIFF_NEW] & runs[DIFF_NEW] & bit) != 0;
  }
}

/* By kernel of each side: the devices that run it in some form on this side only. */
static void find_lost_devices(diff *d, uint32_t *lost[DIFF_SIDES]) {
  size_t count = 0;
  size_t total = d->sides[DIFF_OLD].kernel_count + d->sides[DIFF_NEW].kernel_count;
  kernel_devices *items = xcalloc(total + 1, sizeof *items);
  moves moved = list_moves(d);
  for (int side = 0; side < DIFF_SIDES; ++side) {
    for (size_t i = 0; i < d->sides[side].kernel_count; ++i) {
      const diff_kernel *kernel = &d->sides[side].kernels[i];
      uint32_t runs = kernel->is_hollow ? 0 : kernel->devices;
      bool is_native = diff_is_native(diff_kernel_target(d, kernel)->kind);
      items[count++] = (kernel_devices){device_key(d, side, kernel, &moved), runs,
                                        is_native ? runs : 0, (uint32_t)i, side};
    }
  }
  if (count)
    qsort(items, count, sizeof *items, compare_kernel_devices);
  for (size_t from = 0, to; from < count; from = to) {
    for (to = from; to < count && items[to].key == items[from].key; ++to)
      continue;
    count_device_group(d, &items[from], to - from, lost);
  }
  free(items);
  free(moved.items);
}

/* ------------------------------------------------------------------------------------------ */
/* All kernels                                                                                  */

/* A kernel without a partner: new or gone for all targets, or for this one. With devices, code that
 * others run in its place is no change. */
static uint32_t unmatched_changes(int side, bool is_elsewhere, bool has_devices, uint32_t devices,
                                  uint32_t lost) {
  if (has_devices && !devices)
    return 0;
  if (!is_elsewhere)
    return side == DIFF_OLD ? DIFF_BIT(DIFF_REMOVED) : DIFF_BIT(DIFF_ADDED);
  if (has_devices && !(lost & devices))
    return 0;
  return side == DIFF_OLD ? DIFF_BIT(DIFF_LOST) : DIFF_BIT(DIFF_GAINED);
}

/* The names of a side that the other has too, for some target: in a matched library, or under
 * another name, or in another library. */
static key_set find_names_elsewhere(const diff *d, int side) {
  const diff_side *own = &d->sides[side], *other = &d->sides[!side];
  key_set set = {xcalloc(own->kernel_count + other->kernel_count + 1, sizeof *set.keys), 0};
  for (size_t i = 0; i < own->kernel_count; ++i) {
    if (own->kernels[i].partner != DIFF_NO_MATCH)
      set.keys[set.count++] = scoped_name(d, side, &own->kernels[i]);
  }
  add_scoped_names(d, !side, &set);
  sort_key_set(&set);
  return set;
}

static void set_changes(diff *d, int side, const uint32_t *lost) {
  diff_side *of = &d->sides[side];
  bool has_devices = d->walk.devices.count != 0;
  key_set elsewhere = find_names_elsewhere(d, side);
  for (size_t i = 0; i < of->kernel_count; ++i) {
    diff_kernel *kernel = &of->kernels[i];
    if (kernel->is_copy) {
      kernel->changes = 0;
    } else if (kernel->partner == DIFF_NO_MATCH) {
      bool is_elsewhere = has_key(&elsewhere, scoped_name(d, side, kernel));
      kernel->changes =
          unmatched_changes(side, is_elsewhere, has_devices, kernel->devices, lost[i]);
      if (side == DIFF_NEW && kernel->is_hollow && kernel->changes)
        kernel->changes |= DIFF_BIT(DIFF_HOLLOW);
    } else if (has_devices &&
               !(kernel->devices | d->sides[!side].kernels[kernel->partner].devices)) {
      kernel->changes = 0;
    }
  }
  free(elsewhere.keys);
}

static void count_changes(diff *d, int side) {
  diff_side *of = &d->sides[side];
  for (size_t i = 0; i < of->kernel_count; ++i) {
    const diff_kernel *kernel = &of->kernels[i];
    if (kernel->uses.code_bytes != KDL_NO_RESOURCE)
      of->code_bytes += kernel->uses.code_bytes;
    if (kernel->is_copy)
      continue;
    ++d->kernels[kernel->target][side];
    d->is_compared[kernel->target] |= !d->walk.devices.count || kernel->devices;
    bool is_counted = side == DIFF_NEW || kernel->partner == DIFF_NO_MATCH;
    for (int change = 0; change < DIFF_CHANGES && is_counted; ++change) {
      size_t more = kernel->changes >> change & 1;
      d->counts[kernel->target][change] += more;
      d->totals[change] += more;
    }
    d->equal[kernel->target] +=
        side == DIFF_NEW && kernel->partner != DIFF_NO_MATCH && !kernel->changes;
  }
}

void diff_compare(diff *d) {
  uint32_t *lost[DIFF_SIDES];
  d->counts = xcalloc(d->target_count + 1, sizeof *d->counts);
  d->kernels = xcalloc(d->target_count + 1, sizeof *d->kernels);
  d->equal = xcalloc(d->target_count + 1, sizeof *d->equal);
  d->is_compared = xcalloc(d->target_count + 1, sizeof *d->is_compared);
  for (int side = 0; side < DIFF_SIDES; ++side) {
    find_hollow(d, side);
    lost[side] = xcalloc(d->sides[side].kernel_count + 1, sizeof *lost[side]);
  }
  for (size_t i = 0; i < d->sides[DIFF_NEW].kernel_count; ++i) {
    diff_kernel *kernel = &d->sides[DIFF_NEW].kernels[i];
    const diff_kernel *old = diff_partner(d, DIFF_NEW, kernel);
    if (old)
      kernel->changes = compare_pair(d, old, kernel);
  }
  if (d->walk.devices.count)
    find_lost_devices(d, lost);
  for (int side = 0; side < DIFF_SIDES; ++side) {
    set_changes(d, side, lost[side]);
    count_changes(d, side);
    free(lost[side]);
  }
}
