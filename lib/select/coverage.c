/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/select/ranking.h"

#include "lib/image/readers.h"
#include "lib/inspect/images.h"
#include "lib/inspect/kinds.h"
#include "support/base/array.h"
#include "support/base/error.h"
#include "support/base/hash.h"
#include "support/base/text.h"

#include <stdlib.h>
#include <string.h>

/* A kernel of an image. */
typedef struct {
  uint32_t kernel;         /* number of its name */
  uint8_t effect;          /* kdl_kernel_effect */
  const kdl_string *value; /* of its kdl.kernel.NAME key, or NULL */
} kernel_entry;

typedef struct {
  size_t first, count; /* of its holdings */
  bool is_runnable;    /* neither a nested container nor input of a device linker */
  bool unresolved;
  bool unreadable;
} inventory_image;

/* A slot of the hash table of names. */
typedef struct {
  kdl_string name; /* without data: free */
  uint32_t number;
} name_slot;

struct kdl_inventory {
  kdl_catalog *catalog;
  inventory_image *images;
  kernel_entry *entries;
  size_t entry_count, entry_capacity;
  kdl_string *names;
  size_t *latest;       /* by name: the holding that was added last */
  uint32_t *real_kinds; /* by name: kinds of images whose code of it does something */
  size_t name_count;
  name_slot *slots;
  size_t slot_mask;
  size_t unreadable;
  uint32_t module_count;
};

/* ------------------------------------------------------------------------------------------ */
/* Names                                                                                        */

/* The table is at most half full, so there are half as many names as slots. */
static bool grow_names(kdl_inventory *inventory) {
  size_t count = inventory->slots ? (inventory->slot_mask + 1) * 2 : 64;
  name_slot *slots = calloc(count, sizeof *slots);
  kdl_string *names = realloc(inventory->names, count / 2 * sizeof *names);
  if (names)
    inventory->names = names;
  size_t *latest = realloc(inventory->latest, count / 2 * sizeof *latest);
  if (latest)
    inventory->latest = latest;
  uint32_t *real_kinds = realloc(inventory->real_kinds, count / 2 * sizeof *real_kinds);
  if (real_kinds)
    inventory->real_kinds = real_kinds;
  if (!slots || !names || !latest || !real_kinds) {
    free(slots);
    return false;
  }
  for (size_t i = 0; i < inventory->name_count; ++i) {
    size_t at = kdl_hash_text(names[i]) & (count - 1);
    while (slots[at].name.data)
      at = (at + 1) & (count - 1);
    slots[at] = (name_slot){names[i], (uint32_t)i};
  }
  free(inventory->slots);
  inventory->slots = slots;
  inventory->slot_mask = count - 1;
  return true;
}

/* The number of a name, which is added where it is new. */
static bool intern_name(kdl_inventory *inventory, kdl_string name, uint32_t *out_number) {
  if ((inventory->name_count + 1) * 2 > inventory->slot_mask && !grow_names(inventory))
    return false;
  size_t at = kdl_hash_text(name) & inventory->slot_mask;
  for (; inventory->slots[at].name.data; at = (at + 1) & inventory->slot_mask) {
    *out_number = inventory->slots[at].number;
    if (kdl_text_equal(inventory->slots[at].name, name))
      return true;
  }
  *out_number = (uint32_t)inventory->name_count;
  inventory->slots[at] = (name_slot){name, *out_number};
  inventory->latest[inventory->name_count] = SIZE_MAX;
  inventory->real_kinds[inventory->name_count] = 0;
  inventory->names[inventory->name_count++] = name;
  return true;
}

/* Of duplicate keys the last counts. */
static bool add_kernel_entry(kdl_inventory *inventory, const inventory_image *image,
                             kdl_string name, const kdl_string *value) {
  uint32_t number;
  if (!intern_name(inventory, name, &number))
    return false;
  size_t before = inventory->latest[number];
  if (before != SIZE_MAX && before >= image->first) {
    inventory->entries[before].value = value;
    return true;
  }
  kernel_entry *entries = kdl_array_grow(inventory->entries, inventory->entry_count,
                                         &inventory->entry_capacity, 64, sizeof *entries);
  if (!entries)
    return false;
  inventory->entries = entries;
  inventory->latest[number] = inventory->entry_count;
  inventory->entries[inventory->entry_count++] = (kernel_entry){number, KDL_EFFECT_UNKNOWN, value};
  return true;
}

/* ------------------------------------------------------------------------------------------ */
/* Images                                                                                       */

static bool add_keys(kdl_inventory *inventory, const kdl_image *from, const inventory_image *image,
                     bool *out_indexed) {
  *out_indexed = false;
  for (uint32_t i = 0; i < from->pair_count; ++i) {
    kdl_string name;
    if (!kdl_kernel_name(kdl_image_pairs(from)[i].key, &name))
      continue;
    *out_indexed = true;
    if (!add_kernel_entry(inventory, image, name, &kdl_image_pairs(from)[i].value))
      return false;
  }
  return true;
}

/* Input of a device linker is either also present in linked form, or meant for linking at run time,
 * as cuFFT's LTO-IR. It counts only in a library that has nothing else. */
static bool is_link_input(const kdl_image *image) {
  return image->is_link_input || kdl_image_kind_get(image->kind)->holds == KDL_HOLDS_LINK_INPUT;
}

static bool has_link_inputs_only(const kdl_catalog *catalog) {
  for (size_t i = 0; i < kdl_catalog_count(catalog); ++i) {
    if (!is_link_input(kdl_catalog_image(catalog, i)))
      return false;
  }
  return true;
}

/* Whether the image may have kernels whose names cannot be read. */
static bool is_unreadable(kdl_catalog *catalog, size_t index) {
  return kdl_catalog_image(catalog, index)->problem || kdl_catalog_error(catalog, index)[0];
}

typedef struct {
  kdl_inventory *inventory;
  const inventory_image *image;
  kdl_image_kind kind;
  bool fits;
} effect_collector;

static int collect_effect(void *user, kdl_string kernel, kdl_kernel_effect effect) {
  effect_collector *to = user;
  kdl_inventory *inventory = to->inventory;
  uint32_t number;
  to->fits = intern_name(inventory, kernel, &number);
  if (!to->fits)
    return 1;
  size_t entry = inventory->latest[number];
  if (entry != SIZE_MAX && entry >= to->image->first) {
    inventory->entries[entry].effect = (uint8_t)effect;
    if (effect == KDL_EFFECT_SOME)
      inventory->real_kinds[number] |= 1u << to->kind;
  }
  return 0;
}

/* Reads what the kernels of machine code do. An image that cannot be read keeps them unknown: its
 * names were read before, or are reported as unreadable. */
static bool add_effects(kdl_inventory *inventory, size_t index, const inventory_image *image) {
  kdl_container *container = kdl_catalog_container(inventory->catalog);
  kdl_image_kind kind = (kdl_image_kind)kdl_catalog_rule(inventory->catalog, index)->kind;
  const void *data;
  size_t size;
  if (!kdl_image_has_effects(kind) || inventory->entry_count == image->first ||
      kdl_container_acquire_bytes(container, (uint32_t)index, &data, &size) != KDL_OK)
    return true;
  effect_collector to = {inventory, image, kind, true};
  kdl_status status = kdl_image_read_effects(kind, data, size, collect_effect, &to);
  kdl_container_release_bytes(container, (uint32_t)index);
  return to.fits && status != KDL_NO_MEMORY;
}

static bool inventory_add_image(kdl_inventory *inventory, size_t index, bool with_link_inputs) {
  kdl_catalog *catalog = inventory->catalog;
  const kdl_image *from = kdl_catalog_image(catalog, index);
  inventory_image *image = &inventory->images[index];
  image->first = inventory->entry_count;
  bool has_code = !(kdl_catalog_rule(catalog, index)->faults & KDL_REASONS_NO_CODE);
  image->is_runnable = (has_code || from->problem) && (with_link_inputs || !is_link_input(from));
  if (!image->is_runnable)
    return true;
  bool indexed;
  bool fits = add_keys(inventory, from, image, &indexed);
  const kdl_kernel_names names =
      indexed ? (kdl_kernel_names){.count = 0} : kdl_catalog_kernels(catalog, index);
  for (size_t i = 0; fits && i < names.count; ++i)
    fits = add_kernel_entry(inventory, image, names.items[i], NULL);
  fits = fits && add_effects(inventory, index, image);
  image->unreadable = is_unreadable(catalog, index);
  inventory->unreadable += image->unreadable;
  image->unresolved = kdl_catalog_unresolved(catalog, index);
  image->count = inventory->entry_count - image->first;
  return fits;
}

kdl_status kdl_inventory_create(kdl_catalog *catalog, kdl_inventory **out_inventory) {
  size_t count = kdl_catalog_count(catalog);
  kdl_inventory *inventory = calloc(1, sizeof *inventory);
  bool fits = inventory != NULL;
  bool with_link_inputs = has_link_inputs_only(catalog);
  size_t memory_failures = kdl_catalog_memory_failures(catalog);
  if (fits) {
    inventory->catalog = catalog;
    inventory->images = calloc(count + 1, sizeof *inventory->images);
    fits = inventory->images != NULL;
  }
  for (size_t i = 0; fits && i < count; ++i) {
    const kdl_image *image = kdl_catalog_image(catalog, i);
    if (image->module >= inventory->module_count)
      inventory->module_count = image->module + 1;
    fits = inventory_add_image(inventory, i, with_link_inputs);
  }
  if (!fits || kdl_catalog_memory_failures(catalog) != memory_failures) {
    kdl_inventory_destroy(inventory);
    return kdl_fail(KDL_NO_MEMORY, "out of memory for the kernels of %zu images", count);
  }
  *out_inventory = inventory;
  return KDL_OK;
}

void kdl_inventory_destroy(kdl_inventory *inventory) {
  if (!inventory)
    return;
  free(inventory->images);
  free(inventory->entries);
  free(inventory->names);
  free(inventory->latest);
  free(inventory->real_kinds);
  free(inventory->slots);
  free(inventory);
}

size_t kdl_inventory_kernels(const kdl_inventory *inventory, const kdl_string **out_names) {
  *out_names = inventory->names;
  return inventory->name_count;
}

void kdl_inventory_restrict(kdl_inventory *inventory, kdl_wants_kernel *wants, void *user) {
  for (size_t i = 0; i < kdl_catalog_count(inventory->catalog); ++i) {
    inventory_image *image = &inventory->images[i];
    size_t kept = 0;
    for (size_t k = image->first; k < image->first + image->count; ++k) {
      if (wants(user, inventory->names[inventory->entries[k].kernel]))
        inventory->entries[image->first + kept++] = inventory->entries[k];
    }
    image->count = kept;
    image->is_runnable = image->is_runnable && (kept || image->unreadable);
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Verdicts                                                                                     */

enum {
  mark_present = 1,
  mark_runs = 2,
  mark_unreadable = 4,
  mark_native = 8,
  mark_hollow = 16,
  mark_near = 32,   /* an image that is neither for another vendor nor for one other architecture */
  mark_real = 64,   /* code for some device that is not hollow */
  mark_idle = 128,  /* machine code that only ends, as all code of the kernel and kind does */
  mark_ours = 256,  /* an image for the device's vendor */
  mark_as_is = 512, /* runs without kdl-ld */
  mark_translated = 1024,
  mark_translatable = 2048,
};

#define REASONS_FOR_OTHERS                                                                         \
  (KDL_REASON(WRONG_VENDOR) | KDL_REASON(ARCH_SPECIFIC_EXACT) | KDL_REASON(FAMILY_MISMATCH))

static bool is_for_others(uint64_t reasons) {
  return (reasons & REASONS_FOR_OTHERS) != 0;
}

/* Reasons against a kernel of an image that runs. */
static uint64_t kernel_reasons(const kernel_entry *entry, const kdl_select_device *device) {
  kdl_kernel_key key;
  return entry->value ? kdl_kernel_key_reasons(*entry->value, device, &key) : 0;
}

/* Code that only ends is hollow if other code of the kernel, of the same kind, does something: some
 * kernels are empty by intent. */
static bool is_hollow(const kdl_inventory *inventory, size_t index, const kernel_entry *entry) {
  unsigned kind = kdl_catalog_rule(inventory->catalog, index)->kind;
  return entry->effect == KDL_EFFECT_STOPS ||
         (entry->effect == KDL_EFFECT_NOTHING && inventory->real_kinds[entry->kernel] >> kind & 1);
}

/* Empty by intent, or in a file from which the code for other devices was removed. */
static bool is_idle(const kernel_entry *entry) {
  return entry->effect == KDL_EFFECT_NOTHING;
}

static bool is_missing(uint16_t marks) {
  return (marks & mark_present) && !(marks & mark_runs);
}

/* A driver takes hollow machine code before other forms of the kernel. */
static void settle_hollow(uint16_t *marks, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (!(marks[i] & mark_hollow))
      continue;
    if (marks[i] & mark_native)
      marks[i] &= (uint16_t)~mark_hollow;
    else
      marks[i] &= (uint16_t)~mark_runs;
  }
}

static bool is_machine_code(const kdl_image_rule *rule) {
  kdl_tier tier = kdl_rank_tier(rule->rank);
  return tier == KDL_TIER_HOST || tier >= KDL_TIER_GENERIC;
}

/* How an image runs. */
static uint16_t mark_of_form(const kdl_image_rule *rule, const kdl_select_device *device) {
  kdl_tier tier = kdl_rank_tier(rule->rank);
  return kdl_match_translates(rule, &device->rule)               ? mark_translated
         : is_machine_code(rule)                                 ? mark_native | mark_as_is
         : tier == KDL_TIER_PORTABLE || tier == KDL_TIER_BITCODE ? 0
                                                                 : mark_as_is;
}

static size_t count_marks(const uint16_t *marks, size_t count, uint16_t mark) {
  size_t found = 0;
  for (size_t i = 0; i < count; ++i)
    found += (marks[i] & mark) != 0;
  return found;
}

/* Those with the mark `with` and none of `without`. */
static size_t count_marks_without(const uint16_t *marks, size_t count, uint16_t with,
                                  uint16_t without) {
  size_t found = 0;
  for (size_t i = 0; i < count; ++i)
    found += (marks[i] & (with | without)) == with;
  return found;
}

/* Which modules and kernels of a library run. */
typedef struct {
  uint16_t *modules;
  uint16_t *kernels;
} tally;

static void tally_free(tally *counts) {
  free(counts->modules);
  free(counts->kernels);
}

static uint64_t image_reasons(const kdl_inventory *inventory, size_t index,
                              const kdl_select_device *device) {
  const kdl_image_rule *rule = kdl_catalog_rule(inventory->catalog, index);
  uint64_t reasons = kdl_match(rule, &device->rule).reasons;
  return inventory->images[index].unresolved ? kdl_reasons_if_unresolved(reasons) : reasons;
}

static void tally_image(const kdl_inventory *inventory, size_t index,
                        const kdl_select_device *device, tally *counts, kdl_coverage *coverage,
                        uint64_t *all_reasons) {
  const inventory_image *image = &inventory->images[index];
  const kdl_image_rule *rule = kdl_catalog_rule(inventory->catalog, index);
  uint64_t reasons = image_reasons(inventory, index, device);
  uint16_t mark = reasons ? mark_present : mark_present | mark_runs;
  uint16_t near = (uint16_t)((is_for_others(reasons) ? 0 : mark_near) |
                             (reasons & KDL_REASON(WRONG_VENDOR) ? 0 : mark_ours));
  if (!reasons)
    mark |= mark_of_form(rule, device);
  else if (kdl_match_would_translate(rule, &device->rule))
    near |= mark_translatable;
  coverage->unreadable += image->unreadable;
  *all_reasons |= reasons;
  coverage->is_foreign &= (reasons & (KDL_REASON(WRONG_VENDOR) | KDL_REASON(UNKNOWN_ARCH))) != 0;
  counts->modules[kdl_catalog_image(inventory->catalog, index)->module] |=
      image->unreadable ? (uint16_t)(mark | mark_unreadable) : mark;
  for (size_t k = image->first; k < image->first + image->count; ++k) {
    const kernel_entry *entry = &inventory->entries[k];
    bool hollow = is_hollow(inventory, index, entry), idle = !hollow && is_idle(entry);
    uint16_t own = reasons || kernel_reasons(entry, device) ? mark_present
                   : hollow                                 ? mark_present | mark_hollow
                   : idle                                   ? mark | mark_idle
                                                            : mark;
    counts->kernels[entry->kernel] |= (uint16_t)(own | near | (hollow || idle ? 0 : mark_real));
  }
}

/* The caller frees *out_tally. */
static kdl_status tally_make(const kdl_inventory *inventory, const kdl_select_device *device,
                             tally *out_tally, kdl_coverage *out_coverage) {
  tally counts = {calloc((size_t)inventory->module_count + 1, sizeof *counts.modules),
                  calloc(inventory->name_count + 1, sizeof *counts.kernels)};
  kdl_coverage coverage = {.is_foreign = true};
  uint64_t reasons = 0;
  if (!counts.modules || !counts.kernels) {
    tally_free(&counts);
    return kdl_fail(KDL_NO_MEMORY, "out of memory for %zu kernels", inventory->name_count);
  }
  for (size_t i = 0; i < kdl_catalog_count(inventory->catalog); ++i) {
    if (inventory->images[i].is_runnable)
      tally_image(inventory, i, device, &counts, &coverage, &reasons);
  }
  settle_hollow(counts.kernels, inventory->name_count);
  coverage.modules = count_marks(counts.modules, inventory->module_count, mark_present);
  coverage.modules_run = count_marks(counts.modules, inventory->module_count, mark_runs);
  coverage.kernels = count_marks(counts.kernels, inventory->name_count, mark_present);
  coverage.kernels_run = count_marks(counts.kernels, inventory->name_count, mark_runs);
  coverage.kernels_native = count_marks(counts.kernels, inventory->name_count, mark_native);
  coverage.kernels_linked = count_marks_without(counts.kernels, inventory->name_count, mark_runs,
                                                mark_as_is | mark_translated);
  coverage.kernels_translated = count_marks_without(counts.kernels, inventory->name_count,
                                                    mark_runs | mark_translated, mark_as_is);
  coverage.kernels_translatable =
      count_marks_without(counts.kernels, inventory->name_count, mark_translatable, mark_runs);
  coverage.kernels_hollow = count_marks(counts.kernels, inventory->name_count, mark_hollow);
  coverage.kernels_void =
      count_marks_without(counts.kernels, inventory->name_count, mark_hollow, mark_real);
  coverage.kernels_idle = count_marks_without(counts.kernels, inventory->name_count,
                                              mark_idle | mark_native, mark_hollow);
  coverage.kernels_other = count_marks_without(counts.kernels, inventory->name_count, mark_present,
                                               mark_runs | mark_near);
  coverage.kernels_foreign = count_marks_without(counts.kernels, inventory->name_count,
                                                 mark_present, mark_runs | mark_ours);
  coverage.is_foreign &= (reasons & KDL_REASON(WRONG_VENDOR)) != 0;
  *out_tally = counts;
  *out_coverage = coverage;
  return KDL_OK;
}

/* Whether the module alone makes the library incomplete. */
static bool module_is_missing(const tally *counts, const kdl_coverage *coverage, size_t module) {
  uint16_t marks = counts->modules[module];
  return (marks & mark_present) && !(marks & mark_runs) &&
         ((marks & mark_unreadable) || !coverage->kernels);
}

kdl_status kdl_inventory_cover(const kdl_inventory *inventory, const kdl_select_device *device,
                               kdl_coverage *out_coverage) {
  tally counts;
  kdl_coverage coverage;
  KDL_TRY(tally_make(inventory, device, &counts, &coverage));
  for (size_t i = 0; i < inventory->name_count && !coverage.missing.data; ++i) {
    if (is_missing(counts.kernels[i]))
      coverage.missing = inventory->names[i];
  }
  coverage.is_complete = coverage.modules && coverage.kernels_run == coverage.kernels;
  for (size_t i = 0; i < inventory->module_count; ++i)
    coverage.is_complete &= !module_is_missing(&counts, &coverage, i);
  tally_free(&counts);
  *out_coverage = coverage;
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* What does not run                                                                            */

typedef struct {
  uint64_t distance, reasons;
  size_t image;
} nearest;

static void keep_nearest(nearest *to, const kdl_inventory *inventory, size_t index,
                         uint64_t reasons, const kdl_select_device *device) {
  const kdl_image_rule *rule = kdl_catalog_rule(inventory->catalog, index);
  uint64_t distance = kdl_match_distance(rule, &device->rule, reasons);
  bool is_other = is_for_others(reasons), was_other = is_for_others(to->reasons);
  if (!to->reasons || (is_other == was_other ? distance < to->distance : was_other))
    *to = (nearest){distance, reasons, index};
}

static void keep_nearest_image(const kdl_inventory *inventory, size_t index,
                               const kdl_select_device *device, nearest *kernels,
                               nearest *modules) {
  const inventory_image *image = &inventory->images[index];
  uint64_t reasons = image_reasons(inventory, index, device);
  if (reasons)
    keep_nearest(&modules[kdl_catalog_image(inventory->catalog, index)->module], inventory, index,
                 reasons, device);
  for (size_t k = image->first; k < image->first + image->count; ++k) {
    const kernel_entry *entry = &inventory->entries[k];
    uint64_t against = reasons ? reasons : kernel_reasons(entry, device);
    if (!against && (is_hollow(inventory, index, entry) || is_idle(entry)))
      against = KDL_REASON(HOLLOW);
    if (against)
      keep_nearest(&kernels[entry->kernel], inventory, index, against, device);
  }
}

static void visit_shortfalls(const kdl_inventory *inventory, const tally *counts,
                             const kdl_coverage *coverage, const nearest *kernels,
                             const nearest *modules, kdl_visit_shortfall *visit, void *user) {
  for (size_t i = 0; i < inventory->name_count; ++i) {
    bool idle = counts->kernels[i] & mark_idle && counts->kernels[i] & mark_native;
    kdl_shortfall found = {.kernel = inventory->names[i],
                           .image = kernels[i].image,
                           .reasons = kernels[i].reasons,
                           .distance = kernels[i].distance,
                           .is_idle = idle,
                           .is_other = !(counts->kernels[i] & (mark_near | mark_runs))};
    if ((idle || is_missing(counts->kernels[i])) && visit(user, &found) != 0)
      return;
  }
  for (size_t i = 0; i < inventory->module_count; ++i) {
    kdl_shortfall found = {
        .image = modules[i].image, .reasons = modules[i].reasons, .distance = modules[i].distance};
    if (module_is_missing(counts, coverage, i) && visit(user, &found) != 0)
      return;
  }
}

kdl_status kdl_inventory_shortfalls(const kdl_inventory *inventory, const kdl_select_device *device,
                                    kdl_visit_shortfall *visit, void *user) {
  tally counts;
  kdl_coverage coverage;
  kdl_status status = tally_make(inventory, device, &counts, &coverage);
  if (status != KDL_OK)
    return status;
  nearest *kernels = calloc(inventory->name_count + 1, sizeof *kernels);
  nearest *modules = calloc((size_t)inventory->module_count + 1, sizeof *modules);
  if (!kernels || !modules)
    status = kdl_fail(KDL_NO_MEMORY, "out of memory for %zu kernels", inventory->name_count);
  for (size_t i = 0; status == KDL_OK && i < kdl_catalog_count(inventory->catalog); ++i) {
    if (inventory->images[i].is_runnable)
      keep_nearest_image(inventory, i, device, kernels, modules);
  }
  if (status == KDL_OK)
    visit_shortfalls(inventory, &counts, &coverage, kernels, modules, visit, user);
  free(kernels);
  free(modules);
  tally_free(&counts);
  return status;
}
