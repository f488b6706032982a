/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * SYCL's images in a linked file. The runtime is given a list of descriptors, each with a pointer
 * to an image's start and behind it one to its end. Tools are given the table .tgtimg, with each
 * image's address and size (src/container/formats/sycl.c).
 *
 *     data       | ..., start, end, ... | ..., start, end, ... |
 *     .tgtimg    | address, size        | address, size        |
 *
 * An image is a unit where the table's address is relocated. Where all other pointers to it are
 * such pairs, it moves as containers do; the pairs and the table follow it. Otherwise it stays as
 * it is. One that goes has a size of 0 in the table.
 */
#include "base/array.h"
#include "base/bytes.h"
#include "library/library.h"
#include "thin/elf/elf_plan.h"
#include "thin/sycl_image.h"

#include <stdlib.h>
#include <string.h>

enum { table_entry = 16 };

typedef struct {
  elf_plan *plan;
  const kdl_elf_section *table;
  bool is_short; /* of memory */
  bool is_odd;   /* something other than its addresses is relocated in the table */
} finder;

const kdl_elf_section *elf_sycl_table(const elf_image *image) {
  for (size_t i = 1; i < image->section_count; ++i) {
    const kdl_elf_section *section = &image->sections[i];
    if (section->type != 0 && section->type != SHT_NOBITS &&
        strcmp(elf_image_section_name(image, section), ".tgtimg") == 0)
      return section;
  }
  return NULL;
}

/* ------------------------------------------------------------------------------------------ */
/* The table                                                                                    */

static void ignore_other(void *user, const elf_pointer *pointer) {
  (void)user;
  (void)pointer;
}

static bool is_in_table(const kdl_elf_section *table, uint64_t place) {
  return place - table->address < table->size;
}

static void *grow(finder *f, void *items, size_t count, size_t *capacity, size_t size) {
  void *grown = kdl_array_grow(items, count, capacity, 64, size);
  f->is_short |= !grown;
  return grown;
}

static void see_entry(void *user, const elf_pointer *pointer) {
  finder *f = user;
  elf_plan *plan = f->plan;
  uint64_t at = pointer->place - f->table->address;
  f->is_odd |= (at < f->table->size && at % table_entry) || at > UINT64_MAX - 7;
  const uint8_t *entry = elf_image_at(&plan->image, pointer->place, table_entry);
  if (at >= f->table->size || at % table_entry || !entry || !kdl_load_u64(entry + 8))
    return;
  elf_sycl *images = grow(f, plan->sycl, plan->sycl_count, &plan->sycl_capacity, sizeof *images);
  if (!images)
    return;
  plan->sycl = images;
  images[plan->sycl_count++] =
      (elf_sycl){.address = pointer->target, .said = kdl_load_u64(entry + 8)};
}

/* Any other relocation. */
static void see_other(void *user, const elf_pointer *pointer) {
  finder *f = user;
  f->is_odd |= is_in_table(f->table, pointer->place + 7) || is_in_table(f->table, pointer->place);
}

static int by_address(const void *left, const void *right) {
  uint64_t a = ((const elf_sycl *)left)->address, b = ((const elf_sycl *)right)->address;
  return (a > b) - (a < b);
}

static elf_sycl *image_at(const elf_plan *plan, uint64_t address) {
  size_t at = kdl_array_first(plan->sycl, plan->sycl_count, sizeof *plan->sycl,
                              offsetof(elf_sycl, address), address);
  return at < plan->sycl_count && plan->sycl[at].address == address ? &plan->sycl[at] : NULL;
}

/* ------------------------------------------------------------------------------------------ */
/* Pairs                                                                                        */

static void see_start(void *user, const elf_pointer *pointer) {
  finder *f = user;
  elf_plan *plan = f->plan;
  if (!image_at(plan, pointer->target))
    return;
  elf_pair *pairs = grow(f, plan->pairs, plan->pair_count, &plan->pair_capacity, sizeof *pairs);
  if (!pairs)
    return;
  plan->pairs = pairs;
  pairs[plan->pair_count++] = (elf_pair){.place = pointer->place,
                                         .start = pointer->target,
                                         .is_table = is_in_table(f->table, pointer->place)};
}

static int by_place(const void *left, const void *right) {
  uint64_t a = ((const elf_pair *)left)->place, b = ((const elf_pair *)right)->place;
  return (a > b) - (a < b);
}

static void see_end(void *user, const elf_pointer *pointer) {
  const elf_plan *plan = ((finder *)user)->plan;
  size_t at = kdl_array_first(plan->pairs, plan->pair_count, sizeof *plan->pairs,
                              offsetof(elf_pair, place), pointer->place - 8);
  if (at < plan->pair_count && plan->pairs[at].place == pointer->place - 8 &&
      !plan->pairs[at].is_table)
    plan->pairs[at].end = pointer->target;
}

/* Every pointer to an image is the start of a pair, the end of the pair before it, or the table's;
 * pairs agree on the end. A pair without bytes is that of an image that went before. */
static void settle_pairs(elf_plan *plan) {
  size_t kept = 0;
  for (size_t i = 0; i < plan->pair_count; ++i) {
    elf_pair pair = plan->pairs[i];
    elf_sycl *image = image_at(plan, pair.start);
    const elf_pair *before = kept ? &plan->pairs[kept - 1] : NULL;
    if (before && before->place == pair.place - 8 && before->end == pair.start)
      continue;
    if (!pair.is_table && pair.end != pair.start) {
      image->is_odd |= pair.end < pair.start || (image->end && image->end != pair.end);
      image->end = pair.end;
    }
    plan->pairs[kept++] = pair;
  }
  plan->pair_count = kept;
}

/* ------------------------------------------------------------------------------------------ */
/* Images                                                                                       */

static uint64_t file_place(const kdl_image *image) {
  return image->source->codec == KDL_CODEC_NONE ? image->offset : image->source->packed.base;
}

static bool is_of_file(const elf_plan *plan, const kdl_image *image) {
  const kdl_source *source = image->source;
  const kdl_source *file = source->codec == KDL_CODEC_NONE ? source : source->packed.source;
  return file->codec == KDL_CODEC_NONE && file->size == plan->input->size;
}

/* The listed images that lie in each of the table's. */
static void assign_images(const elf_plan *plan) {
  const kdl_container *container = plan->input->lib->container;
  for (uint32_t i = 0; i < container->count; ++i) {
    const kdl_image *image = &container->images[i];
    uint64_t address;
    if (!is_of_file(plan, image) ||
        !elf_image_address(&plan->image, file_place(image), 1, &address))
      continue;
    size_t next = kdl_array_first(plan->sycl, plan->sycl_count, sizeof *plan->sycl,
                                  offsetof(elf_sycl, address), address + 1);
    elf_sycl *owner = next ? &plan->sycl[next - 1] : NULL;
    if (!owner || address >= owner->end)
      continue;
    if (!owner->count)
      owner->first = i;
    owner->is_odd |= owner->first + owner->count != i || image->problem ||
                     image->parent != KDL_PARENT_NONE ||
                     image->module != container->images[owner->first].module;
    ++owner->count;
  }
}

/* Whether one of the first, which are in order, or the last has bytes of the range. */
static bool overlaps(const thin_container_list *list, size_t count, uint64_t start, uint64_t end) {
  size_t at = kdl_array_first(list->items, count, sizeof *list->items,
                              offsetof(thin_container, offset), start);
  const thin_container *before = at ? &list->items[at - 1] : NULL;
  const thin_container *last = list->count > count ? &list->items[list->count - 1] : NULL;
  return (at < count && list->items[at].offset < end) ||
         (before && before->offset + before->size > start) ||
         (last && last->offset + last->size > start);
}

/* How much of the file it is, as far as that is known: to the next one at most. */
static uint64_t extent(const elf_plan *plan, const elf_sycl *image, const elf_sycl *next) {
  const kdl_elf_segment *load = elf_image_loaded(&plan->image, image->address, 1);
  uint64_t room = load ? load->address + load->file_size - image->address : 0;
  if (next && next->address - image->address < room)
    room = next->address - image->address;
  bool has_end = !image->is_odd && image->end > image->address;
  uint64_t size = has_end ? image->end - image->address : image->said;
  return size < room ? size : room;
}

/* A unit. It stays as it is where something about it is not as the wrappers write it. */
static kdl_status add_image(const elf_plan *plan, const elf_sycl *image, const elf_sycl *next,
                            size_t others, thin_container_list *list) {
  uint64_t size = extent(plan, image, next);
  const uint8_t *bytes = size ? elf_image_at(&plan->image, image->address, size) : NULL;
  if (!bytes)
    return KDL_OK;
  thin_container found = {.kind = THIN_SYCL,
                          .offset = (uint64_t)(bytes - plan->image.data),
                          .size = size,
                          .first = image->first,
                          .count = image->count};
  if (overlaps(list, others, found.offset, found.offset + size))
    return KDL_OK;
  for (size_t i = 0; i < found.count; ++i)
    found.kept += plan->choice->kept[found.first + i];
  bool is_known = !image->is_odd && image->count && image->end == image->address + size;
  kdl_status status = KDL_OK;
  if (is_known)
    status = thin_sycl_measure(plan->input, image->said, &found, &is_known, &found.keeps_one);
  if (!is_known)
    found =
        (thin_container){.kind = THIN_SYCL, .offset = found.offset, .size = size, .is_fixed = true};
  return status == KDL_OK ? elf_plan_add_container(plan, list, &found) : status;
}

static int by_offset(const void *left, const void *right) {
  uint64_t a = ((const thin_container *)left)->offset, b = ((const thin_container *)right)->offset;
  return (a > b) - (a < b);
}

/* What an entry says of itself may reach into the next one, which then stays too. A compressed
 * image is shorter than the table says. */
static void mark_overlaps(const elf_plan *plan) {
  uint64_t reached = 0;
  for (size_t i = 0; i < plan->sycl_count; ++i) {
    elf_sycl *image = &plan->sycl[i];
    const uint8_t *bytes = elf_image_at(&plan->image, image->address, 4);
    bool is_packed = bytes && thin_sycl_is_packed(bytes);
    uint64_t end = image->address + (is_packed ? 1 : image->said);
    if (image->address < reached)
      image->is_odd = plan->sycl[i - 1].is_odd = true;
    reached = end > reached ? end : reached;
  }
}

static kdl_status find_pairs(finder *f) {
  elf_plan *plan = f->plan;
  const elf_image *image = &plan->image;
  kdl_status status = elf_image_relocations(image, see_entry, see_other, f);
  if (plan->sycl_count)
    qsort(plan->sycl, plan->sycl_count, sizeof *plan->sycl, by_address);
  mark_overlaps(plan);
  for (size_t i = 0; i < plan->sycl_count; ++i)
    plan->sycl[i].is_odd |= f->is_odd;
  if (status == KDL_OK && plan->sycl_count)
    status = elf_image_relocations(image, see_start, ignore_other, f);
  if (plan->pair_count)
    qsort(plan->pairs, plan->pair_count, sizeof *plan->pairs, by_place);
  if (status == KDL_OK && plan->pair_count)
    status = elf_image_relocations(image, see_end, ignore_other, f);
  return status == KDL_OK && f->is_short ? elf_plan_no_memory(plan) : status;
}

kdl_status elf_sycl_find(elf_plan *plan, thin_container_list *list) {
  finder f = {plan, elf_sycl_table(&plan->image), false, false};
  size_t others = list->count;
  if (!f.table || !(f.table->flags & SHF_ALLOC))
    return KDL_OK;
  kdl_status status = find_pairs(&f);
  if (status != KDL_OK || !plan->sycl_count)
    return status;
  settle_pairs(plan);
  assign_images(plan);
  for (size_t i = 0; i < plan->sycl_count && status == KDL_OK; ++i)
    status = add_image(plan, &plan->sycl[i], i + 1 < plan->sycl_count ? &plan->sycl[i + 1] : NULL,
                       others, list);
  if (list->count != others)
    qsort(list->items, list->count, sizeof *list->items, by_offset);
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* Records                                                                                      */

kdl_status elf_sycl_find_records(elf_plan *plan) {
  for (size_t i = 0; i < plan->pair_count; ++i) {
    const elf_pair *pair = &plan->pairs[i];
    elf_unit *unit = elf_plan_unit_before(plan, pair->start);
    if (!unit || unit->address != pair->start || unit->container.kind != THIN_SYCL ||
        unit->container.is_fixed)
      continue;
    elf_record *records = kdl_array_grow(plan->records, plan->record_count, &plan->record_capacity,
                                         64, sizeof *records);
    if (!records)
      return elf_plan_no_memory(plan);
    plan->records = records;
    records[plan->record_count++] = (elf_record){.place = pair->place,
                                                 .unit = (size_t)(unit - plan->units),
                                                 .has_end = !pair->is_table,
                                                 .is_table = pair->is_table,
                                                 .is_empty = pair->end == pair->start};
    unit->is_referenced = true;
  }
  elf_plan_sort_records(plan);
  return KDL_OK;
}
