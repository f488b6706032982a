/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "select/coverage.h"

#include "base/array.h"
#include "base/error.h"
#include "base/text.h"
#include "select/selector.h"

#include <stdlib.h>
#include <string.h>

/* A kernel of an image. */
typedef struct {
  uint32_t kernel;         /* number of its name */
  const kdl_string *value; /* of its kdl.kernel.NAME key, or NULL */
} holding;

typedef struct {
  size_t first, count; /* of its holdings */
  bool counts;         /* there to run: no container that was listed, no input of a linker */
  bool unresolved;
  bool unreadable;
} inventory_image;

struct kdl_inventory {
  kdl_catalog *catalog;
  inventory_image *images;
  holding *holdings;
  size_t holding_count, holding_capacity;
  kdl_string *names;
  size_t *latest; /* by name: the holding that was added last */
  size_t name_count, name_capacity;
  uint32_t *slots; /* of a hash table: number of a name + 1 */
  size_t slot_mask;
  size_t unreadable;
  uint32_t module_count;
};

/* ------------------------------------------------------------------------------------------ */
/* Names                                                                                        */

static bool grow_table(kdl_inventory *inventory) {
  size_t count = inventory->slots ? (inventory->slot_mask + 1) * 2 : 64;
  uint32_t *slots = calloc(count, sizeof *slots);
  if (!slots)
    return false;
  for (size_t i = 0; i < inventory->name_count; ++i) {
    size_t at = kdl_kernel_id_of(inventory->names[i]).hash & (count - 1);
    while (slots[at])
      at = (at + 1) & (count - 1);
    slots[at] = (uint32_t)i + 1;
  }
  free(inventory->slots);
  inventory->slots = slots;
  inventory->slot_mask = count - 1;
  return true;
}

static bool grow_names(kdl_inventory *inventory) {
  size_t capacity = inventory->name_capacity ? inventory->name_capacity * 2 : 32;
  kdl_string *names = realloc(inventory->names, capacity * sizeof *names);
  if (names)
    inventory->names = names;
  size_t *latest = names ? realloc(inventory->latest, capacity * sizeof *latest) : NULL;
  if (!latest)
    return false;
  inventory->latest = latest;
  inventory->name_capacity = capacity;
  return true;
}

/* The number of a name, which is added where it is new. */
static bool intern(kdl_inventory *inventory, kdl_string name, uint32_t *out_number) {
  if ((inventory->name_count + 1) * 2 > inventory->slot_mask && !grow_table(inventory))
    return false;
  size_t at = kdl_kernel_id_of(name).hash & inventory->slot_mask;
  for (; inventory->slots[at]; at = (at + 1) & inventory->slot_mask) {
    *out_number = inventory->slots[at] - 1;
    if (kdl_kernel_name_same(inventory->names[*out_number], name))
      return true;
  }
  if (inventory->name_count == inventory->name_capacity && !grow_names(inventory))
    return false;
  *out_number = (uint32_t)inventory->name_count;
  inventory->slots[at] = *out_number + 1;
  inventory->latest[inventory->name_count] = SIZE_MAX;
  inventory->names[inventory->name_count++] = name;
  return true;
}

/* Of a key that an image has twice, the last counts. */
static bool add_holding(kdl_inventory *inventory, const inventory_image *image, kdl_string name,
                        const kdl_string *value) {
  uint32_t number;
  if (!intern(inventory, name, &number))
    return false;
  size_t before = inventory->latest[number];
  if (before != SIZE_MAX && before >= image->first) {
    inventory->holdings[before].value = value;
    return true;
  }
  holding *holdings = kdl_array_grow(inventory->holdings, inventory->holding_count,
                                     &inventory->holding_capacity, 64, sizeof *holdings);
  if (!holdings)
    return false;
  inventory->holdings = holdings;
  inventory->latest[number] = inventory->holding_count;
  inventory->holdings[inventory->holding_count++] = (holding){number, value};
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
    if (!add_holding(inventory, image, name, &kdl_image_pairs(from)[i].value))
      return false;
  }
  return true;
}

/* What a linker takes in is there twice, or for what a program links at run time, as cuFFT's LTO-IR
 * is; it counts for itself only where nothing else is. */
static bool is_link_input(const kdl_image *image) {
  return image->is_link_input || image->kind == KDL_IMAGE_LTOIR;
}

static bool has_link_inputs_only(const kdl_catalog *catalog) {
  for (size_t i = 0; i < kdl_catalog_count(catalog); ++i) {
    if (!is_link_input(kdl_catalog_image(catalog, i)))
      return false;
  }
  return true;
}

/* Whether there may be kernels that cannot be told. */
static bool is_unreadable(kdl_catalog *catalog, size_t index) {
  return kdl_catalog_image(catalog, index)->problem || kdl_catalog_trouble(catalog, index)[0];
}

static bool add_image(kdl_inventory *inventory, size_t index, bool with_link_inputs) {
  kdl_catalog *catalog = inventory->catalog;
  const kdl_image *from = kdl_catalog_image(catalog, index);
  inventory_image *image = &inventory->images[index];
  image->first = inventory->holding_count;
  bool is_container = kdl_catalog_rule(catalog, index)->faults & KDL_REASON(CONTAINER);
  image->counts = (!is_container || from->problem) && (with_link_inputs || !is_link_input(from));
  if (!image->counts)
    return true;
  bool indexed;
  bool fits = add_keys(inventory, from, image, &indexed);
  size_t count = 0;
  const kdl_string *names = indexed ? NULL : kdl_catalog_kernels(catalog, index, &count);
  for (size_t i = 0; fits && i < count; ++i)
    fits = add_holding(inventory, image, names[i], NULL);
  image->unreadable = is_unreadable(catalog, index);
  inventory->unreadable += image->unreadable;
  image->unresolved = kdl_catalog_unresolved(catalog, index);
  image->count = inventory->holding_count - image->first;
  return fits;
}

kdl_status kdl_inventory_create(kdl_catalog *catalog, kdl_inventory **out_inventory) {
  size_t count = kdl_catalog_count(catalog);
  kdl_inventory *inventory = calloc(1, sizeof *inventory);
  bool fits = inventory != NULL;
  bool with_link_inputs = has_link_inputs_only(catalog);
  size_t shortages = kdl_catalog_shortages(catalog);
  if (fits) {
    inventory->catalog = catalog;
    inventory->images = calloc(count + 1, sizeof *inventory->images);
    fits = inventory->images != NULL;
  }
  for (size_t i = 0; fits && i < count; ++i) {
    const kdl_image *image = kdl_catalog_image(catalog, i);
    if (image->module >= inventory->module_count)
      inventory->module_count = image->module + 1;
    fits = add_image(inventory, i, with_link_inputs);
  }
  if (!fits || kdl_catalog_shortages(catalog) != shortages) {
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
  free(inventory->holdings);
  free(inventory->names);
  free(inventory->latest);
  free(inventory->slots);
  free(inventory);
}

size_t kdl_inventory_kernels(const kdl_inventory *inventory, const kdl_string **out_names) {
  *out_names = inventory->names;
  return inventory->name_count;
}

/* ------------------------------------------------------------------------------------------ */
/* Verdicts                                                                                     */

enum { is_there = 1, it_runs = 2, is_blind = 4 };

static bool kernel_fits(const holding *held, const kdl_select_device *device) {
  kdl_kernel_key key;
  return !held->value || (kdl_kernel_parse(*held->value, &key, NULL) &&
                          !kdl_kernel_fit(&key, &device->rule, &device->limits));
}

static void count_marks(const uint8_t *marks, size_t count, size_t *out_there, size_t *out_run) {
  *out_there = *out_run = 0;
  for (size_t i = 0; i < count; ++i) {
    *out_there += (marks[i] & is_there) != 0;
    *out_run += (marks[i] & it_runs) != 0;
  }
}

kdl_status kdl_inventory_cover(const kdl_inventory *inventory, const kdl_select_device *device,
                               kdl_coverage *out_coverage) {
  uint8_t *modules = calloc((size_t)inventory->module_count + 1, 1);
  uint8_t *kernels = calloc(inventory->name_count + 1, 1);
  kdl_coverage coverage = {0};
  if (!modules || !kernels) {
    free(modules);
    free(kernels);
    return kdl_fail(KDL_NO_MEMORY, "out of memory for %zu kernels", inventory->name_count);
  }
  for (size_t i = 0; i < kdl_catalog_count(inventory->catalog); ++i) {
    const inventory_image *image = &inventory->images[i];
    if (!image->counts)
      continue;
    bool runs = !image->unresolved &&
                kdl_match_admits(kdl_catalog_rule(inventory->catalog, i), &device->rule);
    uint8_t mark = runs ? is_there | it_runs : is_there;
    modules[kdl_catalog_image(inventory->catalog, i)->module] |=
        image->unreadable ? mark | is_blind : mark;
    coverage.unreadable += image->unreadable;
    for (size_t k = image->first; k < image->first + image->count; ++k) {
      const holding *held = &inventory->holdings[k];
      kernels[held->kernel] |= runs && kernel_fits(held, device) ? mark : is_there;
    }
  }
  count_marks(modules, inventory->module_count, &coverage.modules, &coverage.modules_run);
  count_marks(kernels, inventory->name_count, &coverage.kernels, &coverage.kernels_run);
  for (size_t i = 0; i < inventory->name_count && !coverage.missing.data; ++i) {
    if (kernels[i] == is_there)
      coverage.missing = inventory->names[i];
  }
  coverage.is_complete = coverage.modules && coverage.kernels_run == coverage.kernels &&
                         (coverage.kernels || coverage.modules_run == coverage.modules);
  for (size_t i = 0; i < inventory->module_count; ++i)
    coverage.is_complete &= modules[i] != (is_there | is_blind);
  free(modules);
  free(kernels);
  *out_coverage = coverage;
  return KDL_OK;
}
