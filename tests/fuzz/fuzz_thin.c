/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The rewriting of shared objects: what comes out is refused, or loads as what went in. The first
 * byte of the input says which images go; the others are the file. An output that the checker of
 * `kdl thin` itself refuses is a finding, and so is one that libkdl does not read as it was meant,
 * one whose pointers lead elsewhere, and one that another thinning changes.
 */
#include "lib/library/library.h"
#include "pack/thin/elf/elf_plan.h"
#include "pack/thin/file_kinds.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { largest = 1 << 21, most_pointers = 4096 };

typedef struct {
  uint64_t target[most_pointers];
  size_t count;
} pointers;

static void add_pointer(void *user, const elf_pointer *pointer) {
  pointers *list = user;
  if (list->count < most_pointers)
    list->target[list->count++] = pointer->target;
}

static void ignore(void *user, const elf_pointer *pointer) {
  (void)user;
  (void)pointer;
}

/* What the checker says ends so; a name of the input may stand in the middle of a message. */
static bool is_bug(void) {
  static const char words[] = "; this is a bug";
  const char *message = kdl_error_message();
  size_t length = strlen(message);
  return length >= sizeof words - 1 &&
         memcmp(message + length - (sizeof words - 1), words, sizeof words - 1) == 0;
}

/* The section of OffloadBinaries that a pointer leads into or to the end of, or NULL. */
static const kdl_elf_section *find_offloading(const elf_image *image, uint64_t target) {
  for (size_t i = 1; i < image->section_count; ++i) {
    const kdl_elf_section *section = &image->sections[i];
    if (section->type == KDL_SHT_LLVM_OFFLOADING && target - section->address <= section->size)
      return section;
  }
  return NULL;
}

/* The section with SYCL's images that a pointer leads into or to the end of, or NULL. */
static const kdl_elf_section *find_images(const elf_image *image, uint64_t target) {
  for (size_t i = 1; elf_sycl_table(image) && i < image->section_count; ++i) {
    const kdl_elf_section *section = &image->sections[i];
    if (section->type == SHT_PROGBITS && section->flags & SHF_ALLOC &&
        target - section->address <= section->size)
      return section;
  }
  return NULL;
}

/* Where a pointer led to a container, it leads to what is to remain of it; else where it led. */
static void check_pointers(const thin_input *input, const thin_selection *choice,
                           const uint8_t *data, size_t size) {
  elf_image old, now;
  thin_container_list list;
  pointers before = {.count = 0}, after = {.count = 0};
  if (elf_image_read(input->data, input->size, "old", &old) != KDL_OK ||
      elf_image_read(data, size, "new", &now) != KDL_OK ||
      elf_image_visit_relocations(&old, add_pointer, ignore, &before) != KDL_OK ||
      elf_image_visit_relocations(&now, add_pointer, ignore, &after) != KDL_OK ||
      thin_containers_find(input, choice, &list) != KDL_OK || before.count != after.count)
    abort();
  for (size_t i = 0; i < before.count; ++i) {
    const thin_container *found = NULL;
    for (size_t k = 0; k < list.count && !found; ++k) {
      uint64_t address;
      if (elf_image_address_of_offset(&old, list.items[k].offset, list.items[k].size, &address) &&
          address == before.target[i])
        found = &list.items[k];
    }
    const kdl_elf_section *offloading = found ? NULL : find_offloading(&old, before.target[i]);
    if (offloading &&
        before.target[i] != after.target[i]) { /* a record's, which is elsewhere now */
      if (after.target[i] - offloading->address > offloading->size)
        abort();
      continue;
    }
    const kdl_elf_section *images = found ? NULL : find_images(&old, before.target[i]);
    if (images && before.target[i] != after.target[i]) {
      if (after.target[i] - images->address > images->size)
        abort();
      continue;
    }
    if (!found) {
      if (before.target[i] != after.target[i] &&
          !elf_image_at(&old, before.target[i], 16)) /* an empty fatbin may have moved */
        abort();
      continue;
    }
    thin_output wanted = {.count = 0};
    if (thin_container_rewrite(input, choice, found, &wanted) != KDL_OK)
      abort();
    const uint8_t *there = elf_image_at(&now, after.target[i], wanted.size);
    const uint8_t *whole = elf_image_at(&now, after.target[i], found->size);
    uint8_t *bytes = malloc(wanted.size + 1);
    if (!bytes)
      abort();
    thin_output_read(&wanted, 0, bytes, wanted.size);
    bool is_whole = whole && memcmp(whole, input->data + found->offset, found->size) == 0;
    if (!is_whole && (!there || memcmp(there, bytes, wanted.size) != 0))
      abort();
    free(bytes);
    thin_output_free(&wanted);
  }
  thin_containers_free(&list);
  elf_image_free(&old);
  elf_image_free(&now);
}

/* Images that are still there. Bytes in no container may look like damaged code only once a
 * container behind them is smaller. */
static size_t count_sound(const kdl_library *lib, const bool *went) {
  size_t sound = 0;
  for (uint32_t i = 0; i < lib->container->count; ++i)
    sound += !(went && went[i]) && !lib->container->images[i].problem;
  return sound;
}

/* Everything that is left stays: the same bytes again. `damaged` images were there before. */
static void check_again(const uint8_t *data, size_t size, size_t left, size_t damaged) {
  thin_input input = {.data = data, .size = size, .name = "again", .fd = -1};
  if (kdl_open_memory(data, size, NULL, &input.lib) != KDL_OK)
    abort();
  size_t count = kdl_image_count(input.lib);
  if (count - count_sound(input.lib, NULL) > damaged) { /* the command refuses such a file */
    kdl_close(input.lib);
    return;
  }
  if (count_sound(input.lib, NULL) != left)
    abort();
  thin_selection choice = {.lib = input.lib,
                           .count = count,
                           .kept = malloc(count + 1),
                           .why = calloc(count + 1, sizeof *choice.why)};
  memset(choice.kept, true, count);
  thin_report report = {.is_removed = NULL};
  thin_output out = {.count = 0};
  if (thin_elf(&input, &choice, &(thin_layout_opts){.min_hole_size = 4096}, &report, &out) !=
          KDL_OK ||
      report.is_changed || out.size != size)
    abort();
  thin_output_free(&out);
  free(report.is_removed);
  thin_selection_free(&choice);
  kdl_close(input.lib);
}

static void thin(const thin_input *input, uint8_t rule) {
  size_t count = kdl_image_count(input->lib);
  thin_selection choice = {.lib = input->lib,
                           .count = count,
                           .kept = calloc(count + 1, 1),
                           .why = calloc(count + 1, sizeof *choice.why)};
  for (size_t i = 0; i < count; ++i)
    choice.kept[i] = rule >> (i % 7) & 1;
  if (!memchr(choice.kept, true, count))
    choice.kept[0] = true; /* `kdl thin` writes no file without images */
  thin_layout_opts shape = {.sparse = rule >> 7, .min_hole_size = 4096};
  thin_report report = {.is_removed = NULL};
  thin_output out = {.count = 0};
  kdl_status status = thin_elf(input, &choice, &shape, &report, &out);
  if (status != KDL_OK && (is_bug() || kdl_error_message()[0] == '\0'))
    abort();
  if (status == KDL_OK && report.is_changed && out.size <= largest) {
    uint8_t *bytes = malloc(out.size + 1);
    if (!bytes)
      abort();
    thin_output_read(&out, 0, bytes, out.size);
    check_pointers(input, &choice, bytes, out.size);
    check_again(bytes, out.size, count_sound(input->lib, report.is_removed),
                count - count_sound(input->lib, NULL));
    free(bytes);
  }
  thin_output_free(&out);
  free(report.is_removed);
  thin_selection_free(&choice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  thin_input input = {.data = data + 1, .size = size - 1, .name = "fuzz", .fd = -1};
  if (size < 2 || size > largest || thin_sniff(input.data, input.size) != THIN_KIND_LINKED ||
      kdl_open_memory(input.data, input.size, NULL, &input.lib) != KDL_OK)
    return 0;
  thin(&input, data[0]);
  kdl_close(input.lib);
  return 0;
}
