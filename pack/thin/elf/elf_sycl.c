/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * SYCL's images in a linked file. Two things refer to an image:
 *
 *   descriptors   in data, for the runtime: a pointer to the image's start, followed by a pointer
 *                 to its end. The two are a pair.
 *   .tgtimg       a table for tools: each image's address and size
 *                 (lib/container/formats/sycl.c)
 *
 *     data       | ..., start, end, ... | ..., start, end, ... |
 *     .tgtimg    | address, size        | address, size        |
 *
 * An image whose address in the table is relocated becomes a unit. If all other pointers to it are
 * pairs, it moves like a container, and the pairs and the table are updated. Otherwise it is
 * unsupported and stays unchanged. A removed image has size 0 in the table.
 *
 * The steps: read the table (entries), find the pairs, list the images that libkdl found in each
 * entry, add a unit for each.
 */
#include "lib/inspect/libraries.h"
#include "pack/thin/elf/elf_plan.h"
#include "support/base/array.h"
#include "support/base/bytes.h"
#include "support/base/error.h"
#include "tools/common/images/kinds.h"

#include <stdlib.h>
#include <string.h>

enum { table_entry_size = 16 };

typedef struct {
  elf_plan *plan;
  const kdl_elf_section *table;
  bool is_table_odd; /* the table has relocations other than of its addresses */
} sycl_finder;

const kdl_elf_section *elf_sycl_table(const elf_image *image) {
  for (size_t i = 1; i < image->section_count; ++i) {
    const kdl_elf_section *section = &image->sections[i];
    if (section->type != SHT_NULL && section->type != SHT_NOBITS &&
        strcmp(elf_image_section_name(image, section), ".tgtimg") == 0)
      return section;
  }
  return NULL;
}

/* ------------------------------------------------------------------------------------------ */
/* The table                                                                                    */

static bool is_in_table(const kdl_elf_section *table, uint64_t place) {
  return place - table->address < table->size;
}

/* A relative relocation in the table must be for an entry's address. */
static void read_table_pointer(void *user, const elf_pointer *pointer) {
  sycl_finder *f = user;
  elf_plan *plan = f->plan;
  uint64_t at = pointer->place - f->table->address;
  bool is_entry = at < f->table->size && at % table_entry_size == 0;
  f->is_table_odd |= (at < f->table->size && !is_entry) || at > UINT64_MAX - 7;
  const uint8_t *entry = elf_image_at(&plan->image, pointer->place, table_entry_size);
  uint64_t size = is_entry && entry ? kdl_load_u64(entry + 8) : 0;
  if (size == 0)
    return;
  plan->sycl = xgrow(plan->sycl, plan->sycl_count, &plan->sycl_capacity, 64, sizeof *plan->sycl);
  plan->sycl[plan->sycl_count++] = (elf_sycl){.address = pointer->target, .listed_size = size};
}

/* Other relocations do not occur in a supported table. */
static void visit_other_in_table(void *user, const elf_pointer *pointer) {
  sycl_finder *f = user;
  f->is_table_odd |=
      is_in_table(f->table, pointer->place + 7) || is_in_table(f->table, pointer->place);
}

static elf_sycl *find_sycl_entry(const elf_plan *plan, uint64_t address) {
  size_t at = kdl_array_lower_bound(plan->sycl, plan->sycl_count, sizeof *plan->sycl,
                                    offsetof(elf_sycl, address), address);
  return at < plan->sycl_count && plan->sycl[at].address == address ? &plan->sycl[at] : NULL;
}

/* Entries that overlap are both unsupported. A compressed image is shorter than the table says. */
static void mark_overlaps(const elf_plan *plan) {
  uint64_t reached = 0;
  for (size_t i = 0; i < plan->sycl_count; ++i) {
    elf_sycl *entry = &plan->sycl[i];
    const uint8_t *bytes = elf_image_at(&plan->image, entry->address, 4);
    bool is_packed = bytes && thin_sycl_is_compressed(bytes);
    uint64_t end = entry->address + (is_packed ? 1 : entry->listed_size);
    if (entry->address < reached)
      entry->is_unsupported = plan->sycl[i - 1].is_unsupported = true;
    reached = end > reached ? end : reached;
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Pairs                                                                                        */

static void add_pair_start(void *user, const elf_pointer *pointer) {
  sycl_finder *f = user;
  elf_plan *plan = f->plan;
  if (!find_sycl_entry(plan, pointer->target))
    return;
  plan->pairs = xgrow(plan->pairs, plan->pair_count, &plan->pair_capacity, 64, sizeof *plan->pairs);
  plan->pairs[plan->pair_count++] = (elf_pair){.place = pointer->place,
                                               .start = pointer->target,
                                               .is_table = is_in_table(f->table, pointer->place)};
}

static void set_pair_end(void *user, const elf_pointer *pointer) {
  const elf_plan *plan = ((sycl_finder *)user)->plan;
  size_t at = kdl_array_lower_bound(plan->pairs, plan->pair_count, sizeof *plan->pairs,
                                    offsetof(elf_pair, place), pointer->place - 8);
  if (at < plan->pair_count && plan->pairs[at].place == pointer->place - 8 &&
      !plan->pairs[at].is_table)
    plan->pairs[at].end = pointer->target;
}

/* Drops pointers that are the end of the pair before them: the end of one image may be the start of
 * the next. The pairs of an image must agree on its end. An empty pair belongs to an image that was
 * removed before. */
static void match_pairs(elf_plan *plan) {
  size_t kept = 0;
  for (size_t i = 0; i < plan->pair_count; ++i) {
    elf_pair pair = plan->pairs[i];
    elf_sycl *entry = find_sycl_entry(plan, pair.start);
    const elf_pair *before = kept ? &plan->pairs[kept - 1] : NULL;
    if (before && before->place == pair.place - 8 && before->end == pair.start)
      continue;
    if (!pair.is_table && pair.end != pair.start) {
      entry->is_unsupported |= pair.end < pair.start || (entry->end && entry->end != pair.end);
      entry->end = pair.end;
    }
    plan->pairs[kept++] = pair;
  }
  plan->pair_count = kept;
}

/* Reads the table and all pointers to its images. */
static kdl_status find_pairs(sycl_finder *f) {
  elf_plan *plan = f->plan;
  const elf_image *image = &plan->image;
  KDL_TRY(elf_image_visit_relocations(image, read_table_pointer, visit_other_in_table, f));
  if (!plan->sycl_count)
    return KDL_OK;
  kdl_array_sort(plan->sycl, plan->sycl_count, sizeof *plan->sycl, offsetof(elf_sycl, address));
  mark_overlaps(plan);
  for (size_t i = 0; i < plan->sycl_count; ++i)
    plan->sycl[i].is_unsupported |= f->is_table_odd;
  KDL_TRY(elf_image_visit_relocations(image, add_pair_start, NULL, f));
  if (!plan->pair_count)
    return KDL_OK;
  kdl_array_sort(plan->pairs, plan->pair_count, sizeof *plan->pairs, offsetof(elf_pair, place));
  return elf_image_visit_relocations(image, set_pair_end, NULL, f);
}

/* ------------------------------------------------------------------------------------------ */
/* Images                                                                                       */

/* Assigns the images that libkdl lists to the entries; those of an entry must be adjacent. */
static void assign_images(const elf_plan *plan) {
  const kdl_stored_image *images = cli_stored_images(plan->input->lib);
  for (uint32_t i = 0; i < kdl_image_count(plan->input->lib); ++i) {
    const kdl_stored_image *image = &images[i];
    kdl_source_info source = kdl_source_read(image->source);
    kdl_source_info file = source.outer ? kdl_source_read(source.outer) : source;
    uint64_t offset = source.outer ? source.packed_offset : image->offset, address;
    if (file.outer || file.size != plan->input->size ||
        !elf_image_address_of_offset(&plan->image, offset, 1, &address))
      continue;
    size_t next = kdl_array_lower_bound(plan->sycl, plan->sycl_count, sizeof *plan->sycl,
                                        offsetof(elf_sycl, address), address + 1);
    elf_sycl *entry = next ? &plan->sycl[next - 1] : NULL;
    if (!entry || address >= entry->end)
      continue;
    if (!entry->count)
      entry->first = i;
    entry->is_unsupported |= entry->first + entry->count != i || image->problem ||
                             image->parent != KDL_NO_PARENT ||
                             image->module != images[entry->first].module;
    ++entry->count;
  }
}

/* Whether the range overlaps one of the first `count` containers, which are sorted, or the last one
 * of the list. */
static bool overlaps_container(const thin_container_list *list, size_t count, uint64_t start,
                               uint64_t end) {
  size_t at = kdl_array_lower_bound(list->items, count, sizeof *list->items,
                                    offsetof(thin_container, offset), start);
  const thin_container *before = at ? &list->items[at - 1] : NULL;
  const thin_container *last = list->count > count ? &list->items[list->count - 1] : NULL;
  return (at < count && list->items[at].offset < end) ||
         (before && before->offset + before->size > start) ||
         (last && last->offset + last->size > start);
}

/* The size of an image in the file: by its pairs, else by the table; limited by the next entry and
 * the end of its segment. */
static uint64_t entry_extent(const elf_plan *plan, const elf_sycl *entry, const elf_sycl *next) {
  const kdl_elf_segment *load = elf_image_loaded(&plan->image, entry->address, 1);
  uint64_t room = load ? load->address + load->file_size - entry->address : 0;
  if (next && next->address - entry->address < room)
    room = next->address - entry->address;
  bool has_end = !entry->is_unsupported && entry->end > entry->address;
  uint64_t size = has_end ? entry->end - entry->address : entry->listed_size;
  return size < room ? size : room;
}

/* Adds a container for an entry; one that must not change where the image has an unknown form. */
static void add_sycl_container(const elf_plan *plan, const elf_sycl *entry, const elf_sycl *next,
                               size_t others, thin_container_list *list) {
  uint64_t size = entry_extent(plan, entry, next);
  const uint8_t *bytes = size ? elf_image_at(&plan->image, entry->address, size) : NULL;
  if (!bytes)
    return;
  uint64_t offset = (uint64_t)(bytes - plan->image.data);
  if (overlaps_container(list, others, offset, offset + size))
    return;
  thin_container found = {.kind = THIN_SYCL,
                          .offset = offset,
                          .size = size,
                          .first = entry->first,
                          .count = entry->count};
  for (size_t i = 0; i < found.count; ++i)
    found.kept += plan->selection->kept[found.first + i];
  if (entry->is_unsupported || !entry->count || entry->end != entry->address + size ||
      !thin_sycl_match(plan->input, entry->listed_size, &found, &found.must_keep_one))
    found = (thin_container){.kind = THIN_SYCL, .offset = offset, .size = size, .is_fixed = true};
  thin_containers_add(list, &found);
}

kdl_status elf_sycl_find(elf_plan *plan, thin_container_list *list) {
  sycl_finder f = {.plan = plan, .table = elf_sycl_table(&plan->image)};
  size_t others = list->count;
  if (!f.table || !(f.table->flags & SHF_ALLOC))
    return KDL_OK;
  KDL_TRY(find_pairs(&f));
  match_pairs(plan);
  assign_images(plan);
  for (size_t i = 0; i < plan->sycl_count; ++i)
    add_sycl_container(plan, &plan->sycl[i], i + 1 < plan->sycl_count ? &plan->sycl[i + 1] : NULL,
                       others, list);
  thin_containers_sort(list);
  return KDL_OK;
}

void elf_sycl_find_image_refs(elf_plan *plan) {
  for (size_t i = 0; i < plan->pair_count; ++i) {
    const elf_pair *pair = &plan->pairs[i];
    elf_unit *unit = elf_plan_unit_before(plan, pair->start);
    if (!unit || unit->address != pair->start || unit->container.kind != THIN_SYCL ||
        unit->container.is_fixed)
      continue;
    elf_image_refs_add(plan, &(elf_image_ref){.place = pair->place,
                                              .unit = (size_t)(unit - plan->units),
                                              .has_end = !pair->is_table,
                                              .is_table = pair->is_table,
                                              .is_empty = pair->end == pair->start});
    unit->is_referenced = true;
  }
  elf_image_refs_sort(plan);
}
