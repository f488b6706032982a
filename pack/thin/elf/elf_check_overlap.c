/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Refuses files whose parts overlap or contradict each other. If sections share bytes, a table of
 * the loader is in a section that is rewritten, or the dynamic section has two values for a tag,
 * then a rewritten file would be right by one reading and wrong by another.
 */
#include "pack/thin/elf/elf_image.h"
#include "support/base/bytes.h"
#include "support/base/error.h"
#include "tools/common/memory.h"

#include <inttypes.h>
#include <stdlib.h>

/* A range of the file that has one owner. */
typedef struct {
  uint64_t offset, size;
  uint64_t header; /* offset of the header that defines it */
} claimed_range;

static int compare_range_offsets(const void *left, const void *right) {
  const claimed_range *a = left, *b = right;
  if (a->offset != b->offset)
    return a->offset < b->offset ? -1 : 1;
  return (a->header > b->header) - (a->header < b->header);
}

enum { own_tables = 3, where_segments = 32, where_sections = 40 };

/* The ELF header and its two tables. */
static void claim_tables(const elf_image *image, claimed_range *claims) {
  claims[0] = (claimed_range){0, sizeof(Elf64_Ehdr), 0};
  claims[1] = (claimed_range){image->header.segment_table,
                              image->segment_count * sizeof(Elf64_Phdr), where_segments};
  claims[2] = (claimed_range){image->header.section_table,
                              image->section_count * sizeof(Elf64_Shdr), where_sections};
}

static bool is_on_tables(const elf_image *image, const kdl_elf_segment *segment) {
  claimed_range tables[own_tables];
  claim_tables(image, tables);
  for (size_t i = 0; i < own_tables; ++i) {
    if (elf_overlap(segment->offset, segment->file_size, tables[i].offset, tables[i].size))
      return true;
  }
  return false;
}

static kdl_status check_section_overlap(const elf_image *image) {
  claimed_range *claims = xmalloc((image->section_count + own_tables) * sizeof *claims);
  size_t count = own_tables;
  claim_tables(image, claims);
  for (size_t i = 1; i < image->section_count; ++i) {
    const kdl_elf_section *section = &image->sections[i];
    if (section->type != 0 && section->type != SHT_NOBITS && section->size)
      claims[count++] = (claimed_range){section->offset, section->size,
                                        image->header.section_table + i * sizeof(Elf64_Shdr) + 24};
  }
  qsort(claims, count, sizeof *claims, compare_range_offsets);
  kdl_status status = KDL_OK;
  for (size_t i = 1; i < count && status == KDL_OK; ++i) {
    const claimed_range *before = &claims[i - 1], *next = &claims[i];
    if (next->offset - before->offset < before->size)
      status = ELF_MALFORMED(image, next->header, "section or table",
                             "found it at 0x%" PRIx64 ", expected it behind the 0x%" PRIx64
                             " bytes at 0x%" PRIx64 " of another one",
                             next->offset, before->size, before->offset);
  }
  free(claims);
  return status;
}

/* Symbol tables and section names are rewritten: no program header may cover them. */
static kdl_status check_rewritten(const elf_image *image) {
  for (size_t i = 1; i < image->section_count; ++i) {
    const kdl_elf_section *section = &image->sections[i];
    bool is_rewritten = i == image->header.section_names || section->type == SHT_SYMTAB;
    for (size_t k = 0; k < image->segment_count && is_rewritten; ++k) {
      const kdl_elf_segment *segment = &image->segments[k];
      if (!(section->flags & SHF_ALLOC) &&
          kdl_in_range(segment->offset, segment->file_size, image->size) &&
          elf_overlap(section->offset, section->size, segment->offset, segment->file_size))
        return ELF_MALFORMED(image, image->header.section_table + i * sizeof(Elf64_Shdr) + 24,
                             "section",
                             "found 0x%" PRIx64 " bytes at 0x%" PRIx64
                             " that program header %zu describes, expected them apart",
                             section->size, section->offset, k);
    }
  }
  return KDL_OK;
}

/* What a program header describes must be loaded completely at its address, or not loaded and apart
 * from all headers. */
static kdl_status check_described(const elf_image *image) {
  for (size_t i = 0; i < image->segment_count; ++i) {
    const kdl_elf_segment *segment = &image->segments[i];
    uint64_t at = image->header.segment_table + i * sizeof(Elf64_Phdr), address = segment->address;
    if (segment->type == PT_LOAD || segment->file_size == 0)
      continue;
    bool is_loaded =
        elf_image_address_of_offset(image, segment->offset, segment->file_size, &address);
    if (address != segment->address)
      return ELF_MALFORMED(image, at + offsetof(Elf64_Phdr, p_vaddr), "program header",
                           "found address 0x%" PRIx64 " for offset 0x%" PRIx64
                           ", expected 0x%" PRIx64 ", where a PT_LOAD puts it",
                           segment->address, segment->offset, address);
    if (is_loaded || segment->type == PT_PHDR ||
        !kdl_in_range(segment->offset, segment->file_size, image->size))
      continue;
    bool is_apart = !is_on_tables(image, segment);
    for (size_t k = 0; k < image->segment_count; ++k) {
      const kdl_elf_segment *load = &image->segments[k];
      is_apart &= load->type != PT_LOAD ||
                  !elf_overlap(segment->offset, segment->file_size, load->offset, load->file_size);
    }
    if (!is_apart)
      return ELF_MALFORMED(
          image, at + offsetof(Elf64_Phdr, p_offset), "program header",
          "found 0x%" PRIx64 " bytes at 0x%" PRIx64
          ", expected them within one PT_LOAD, or apart from those and from headers",
          segment->file_size, segment->offset);
  }
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* The dynamic section                                                                          */

/* Tags of which a loader uses the last and other tools the first. */
static bool is_unique_tag(uint64_t tag) {
  switch (tag) {
  case DT_RELASZ:
  case DT_PLTRELSZ:
  case DT_RELRSZ:
    return true;
  default:
    return elf_tag_is_address(tag);
  }
}

static kdl_status check_entries(const elf_image *image) {
  static const struct {
    uint64_t tag, value;
    const char *name;
  } sizes[] = {{DT_RELAENT, sizeof(Elf64_Rela), "DT_RELAENT"},
               {DT_SYMENT, sizeof(Elf64_Sym), "DT_SYMENT"},
               {DT_RELRENT, 8, "DT_RELRENT"}};
  enum { limit_entries = 4096 };
  size_t count;
  const uint8_t *table = elf_image_dynamic_table(image, &count);
  if (count > limit_entries)
    return ELF_MALFORMED(image, table - image->data, "dynamic section",
                         "found %zu entries, expected at most %d", count, limit_entries);
  for (size_t i = 0; i < count; ++i) {
    const uint8_t *entry = table + i * sizeof(Elf64_Dyn);
    uint64_t tag = kdl_load_u64(entry), value = kdl_load_u64(entry + 8);
    for (size_t k = 0; k < i && is_unique_tag(tag); ++k) {
      if (kdl_load_u64(table + k * sizeof(Elf64_Dyn)) == tag)
        return ELF_MALFORMED(image, entry - image->data, "dynamic section",
                             "found tag 0x%" PRIx64 " twice, expected it once", tag);
    }
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; ++k) {
      if (tag == sizes[k].tag && value != sizes[k].value)
        return ELF_MALFORMED(image, entry + 8 - image->data, sizes[k].name,
                             "found %" PRIu64 ", expected %" PRIu64, value, sizes[k].value);
    }
  }
  return KDL_OK;
}

/* At most one, at the position where the loader reads it. */
static kdl_status check_dynamic_placement(const elf_image *image) {
  size_t seen = 0;
  for (size_t i = 0; i < image->segment_count; ++i) {
    const kdl_elf_segment *segment = &image->segments[i];
    uint64_t at = image->header.segment_table + i * sizeof(Elf64_Phdr);
    if (segment->type != PT_DYNAMIC)
      continue;
    if (seen++)
      return ELF_MALFORMED(image, at, "PT_DYNAMIC", "found %zu of them, expected one at most",
                           seen);
    uint64_t address;
    if (!segment->file_size ||
        !elf_image_address_of_offset(image, segment->offset, segment->file_size, &address) ||
        address != segment->address || is_on_tables(image, segment))
      return ELF_MALFORMED(image, at + 8, "PT_DYNAMIC",
                           "found 0x%" PRIx64 " bytes at offset 0x%" PRIx64
                           " and address 0x%" PRIx64
                           ", expected them where a PT_LOAD puts them, apart from headers",
                           segment->file_size, segment->offset, segment->address);
  }
  return check_entries(image);
}

bool elf_image_has_table_in(const elf_image *image, uint64_t offset, uint64_t size) {
  static const uint64_t tags[][2] = {
      {DT_RELA, DT_RELASZ}, {DT_JMPREL, DT_PLTRELSZ}, {DT_RELR, DT_RELRSZ}, {DT_STRTAB, DT_STRSZ}};
  for (size_t i = 0; i < sizeof tags / sizeof *tags; ++i) {
    uint64_t address, table_size;
    const uint8_t *table = elf_image_dynamic(image, tags[i][0], &address) &&
                                   elf_image_dynamic(image, tags[i][1], &table_size) && table_size
                               ? elf_image_at(image, address, table_size)
                               : NULL;
    uint64_t at = table ? (uint64_t)(table - image->data) : 0;
    if (table && elf_overlap(at, table_size, offset, size))
      return true;
  }
  return false;
}

static kdl_status check_table_overlap(const elf_image *image) {
  claimed_range tables[own_tables];
  claim_tables(image, tables);
  for (size_t i = 0; i < own_tables; ++i) {
    if (elf_image_has_table_in(image, tables[i].offset, tables[i].size))
      return ELF_MALFORMED(image, tables[i].offset, "headers",
                           "found 0x%" PRIx64 " bytes that the dynamic section leads to as well, "
                           "expected them apart",
                           tables[i].size);
  }
  return KDL_OK;
}

kdl_status elf_image_check_overlap(const elf_image *image) {
  KDL_TRY(check_section_overlap(image));
  KDL_TRY(check_rewritten(image));
  KDL_TRY(check_described(image));
  KDL_TRY(check_dynamic_placement(image));
  return check_table_overlap(image);
}
