/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The offload sections of a host ELF file: LLVM's by section type, whatever their name, as LLVM
 * does; NVIDIA's and AMD's by name, because they are PROGBITS; and those of clang-offload-bundler,
 * whose names contain the bundle ID. Images of a SYCL program's table precede them; images found by
 * scanning the other sections follow.
 */
#include "lib/container/formats/sections.h"
#include "support/base/array.h"
#include "support/base/bytes.h"
#include "support/base/error.h"
#include "support/base/magic.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef kdl_status parse_fn(kdl_container *, const kdl_parse_context *, const kdl_region *);

static const struct {
  const char *name;
  parse_fn *parse;
} sections_by_name[] = {
    {".nv_fatbin", kdl_parse_cuda_fatbin},
    {"__nv_relfatbin", kdl_parse_cuda_relfatbin},
    {".hip_fatbin", kdl_parse_clang_bundle},
    {".kdl.offloading", kdl_parse_offload_binary},
};

typedef struct {
  kdl_elf_section section;
  parse_fn *parse;
  const char *name;     /* NULL: not an offload section by type or name */
  kdl_string bundle_id; /* the rest of the name, for a section without a parser */
  bool is_skipped;      /* known to have no device code: not scanned */
} section_candidate;

/* First the offload sections by type or name, then those that are scanned. */
typedef struct {
  section_candidate *items;
  size_t count;
  size_t known;
  size_t capacity;
} section_list;

/* Tables of linker and compiler, which never contain device code. */
static const char *const skipped_names[] = {".eh_frame", ".eh_frame_hdr", ".gcc_except_table",
                                            ".got",      ".got.plt",      ".interp"};

/* Compares in place; a name that exceeds the table does not match. */
static kdl_status name_is(const kdl_section_table *elf, const kdl_elf_section *header,
                          const char *name, bool *out_same) {
  size_t length = strlen(name) + 1;
  *out_same = false;
  if (!kdl_in_range(header->name, length, elf->names.size))
    return KDL_OK;
  const uint8_t *text = kdl_region_peek(elf->file, elf->names.offset + header->name, length);
  if (!text)
    return kdl_error_status();
  *out_same = memcmp(text, name, length) == 0;
  return KDL_OK;
}

static kdl_status identify_bundled(kdl_container *container, const kdl_section_table *elf,
                                   section_candidate *item) {
  static const char magic[] = KDL_MAGIC_BUNDLE;
  enum { magic_size = sizeof magic - 1 };
  if (!kdl_in_range(item->section.name, magic_size, elf->names.size))
    return KDL_OK;
  const uint8_t *text =
      kdl_region_peek(elf->file, elf->names.offset + item->section.name, magic_size);
  if (!text)
    return kdl_error_status();
  if (memcmp(text, magic, magic_size) != 0)
    return KDL_OK;
  kdl_string name;
  kdl_status status = kdl_sections_name(container, elf, &item->section, &name);
  if (status != KDL_OK || name.length <= magic_size)
    return status;
  item->name = name.data;
  item->bundle_id = (kdl_string){name.data + magic_size, name.length - magic_size};
  return KDL_OK;
}

static kdl_status identify_section(kdl_container *container, const kdl_section_table *elf,
                                   section_candidate *item) {
  if (item->section.type == KDL_SHT_LLVM_OFFLOADING) {
    item->parse = kdl_parse_offload_binary;
    item->name = ".llvm.offloading";
    return KDL_OK;
  }
  if (item->section.flags & SHF_EXCLUDE)
    return identify_bundled(container, elf, item);
  for (size_t i = 0; i < sizeof sections_by_name / sizeof *sections_by_name; ++i) {
    bool same;
    kdl_status status = name_is(elf, &item->section, sections_by_name[i].name, &same);
    if (status != KDL_OK)
      return status;
    if (same) {
      item->parse = sections_by_name[i].parse;
      item->name = sections_by_name[i].name;
      return KDL_OK;
    }
  }
  for (size_t i = 0; i < sizeof skipped_names / sizeof *skipped_names && !item->is_skipped; ++i) {
    kdl_status status = name_is(elf, &item->section, skipped_names[i], &item->is_skipped);
    if (status != KDL_OK)
      return status;
  }
  return KDL_OK;
}

/* Collects the sections that may be offload sections by type and flags. Names are read afterwards:
 * they are elsewhere in the file, and each read would move the window. */
static kdl_status collect_sections(kdl_container *container, const kdl_section_table *elf,
                                   section_list *list) {
  for (uint64_t i = 1; i < elf->header.section_count; ++i) {
    kdl_elf_section header;
    kdl_status status = kdl_sections_read(elf, i, &header);
    if (status != KDL_OK)
      return status;
    bool by_type = header.type == KDL_SHT_LLVM_OFFLOADING;
    bool by_name = header.type == SHT_PROGBITS && (header.flags & (SHF_ALLOC | SHF_EXCLUDE)) &&
                   !(header.flags & SHF_EXECINSTR) && elf->names.size;
    if (header.size == 0 || (!by_type && !by_name))
      continue;
    section_candidate *items =
        kdl_array_grow(list->items, list->count, &list->capacity, 16, sizeof *items);
    if (!items)
      return kdl_container_no_memory(container);
    list->items = items;
    list->items[list->count++] = (section_candidate){.section = header};
  }
  for (size_t i = 0; i < list->count; ++i) {
    section_candidate *item = &list->items[i];
    kdl_status status = identify_section(container, elf, item);
    if (status == KDL_OK && item->name)
      status = kdl_sections_check(elf, &item->section, item->name);
    if (status != KDL_OK)
      return status;
    if (item->name) {
      section_candidate known = *item;
      *item = list->items[list->known];
      list->items[list->known++] = known;
    }
  }
  return KDL_OK;
}

static int compare_elf_sections(const void *left, const void *right) {
  uint64_t a = ((const section_candidate *)left)->section.offset;
  uint64_t b = ((const section_candidate *)right)->section.offset;
  return (a > b) - (a < b);
}

/* Overlapping sections would list the same bytes many times. */
static kdl_status check_sections_disjoint(kdl_container *container, const kdl_section_table *elf,
                                          const section_list *list) {
  if (list->known < 2)
    return KDL_OK;
  section_candidate *sorted = malloc(list->known * sizeof *sorted);
  if (!sorted)
    return kdl_container_no_memory(container);
  memcpy(sorted, list->items, list->known * sizeof *sorted);
  qsort(sorted, list->known, sizeof *sorted, compare_elf_sections);
  kdl_status status = KDL_OK;
  for (size_t i = 1; i < list->known && status == KDL_OK; ++i) {
    const kdl_elf_section *before = &sorted[i - 1].section;
    if (sorted[i].section.offset < before->offset + before->size)
      status = kdl_malformed(elf->file, sorted[i].section.header, sorted[i].name,
                             "found a section at 0x%" PRIx64 " inside the one at 0x%" PRIx64
                             ", expected sections apart",
                             sorted[i].section.offset, before->offset);
  }
  free(sorted);
  return status;
}

/* The bundler stores one object's bundle in several sections, which share `module`. */
static kdl_status parse_bundled_section(kdl_container *container, const kdl_parse_context *scope,
                                        const kdl_region *body, kdl_string id, uint32_t *module) {
  kdl_parse_context inner = *scope;
  inner.module = *module;
  inner = kdl_container_begin_module(container, &inner, true);
  uint32_t before = container->count;
  kdl_status status = kdl_parse_bundle_section(container, &inner, body, id);
  if (container->count > before)
    *module = inner.module;
  return status;
}

static kdl_status parse_elf_sections(kdl_container *container, const kdl_parse_context *scope,
                                     const kdl_section_table *elf, const section_list *list) {
  uint32_t bundled = scope->module;
  for (size_t i = 0; i < list->known; ++i) {
    const section_candidate *item = &list->items[i];
    if (item->section.is_described)
      continue;
    kdl_parse_context inner = *scope;
    inner.location = kdl_arena_format(&container->arena, " in %s%s", item->name, scope->location);
    if (!inner.location)
      return kdl_container_no_memory(container);
    kdl_region body = kdl_region_slice(elf->file, item->section.offset, item->section.size);
    kdl_status status =
        item->parse ? item->parse(container, &inner, &body)
                    : parse_bundled_section(container, &inner, &body, item->bundle_id, &bundled);
    if (status != KDL_OK)
      return status;
  }
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* SYCL's table, and scanned sections                                                           */

typedef struct {
  kdl_container *container;
  const kdl_section_table *elf;
} namer;

static kdl_status elf_section_name(void *user, const kdl_elf_section *section,
                                   kdl_string *out_name) {
  const namer *with = user;
  return kdl_sections_name(with->container, with->elf, section, out_name);
}

static kdl_status parse_elf_sycl(kdl_container *container, const kdl_parse_context *scope,
                                 const kdl_section_table *elf, section_list *list) {
  bool is_table = false;
  size_t at = list->known;
  for (; at < list->count && !is_table && elf->header.is_64 && elf->header.type != ET_REL; ++at) {
    kdl_status status = name_is(elf, &list->items[at].section, ".tgtimg", &is_table);
    if (status != KDL_OK)
      return status;
  }
  if (!is_table)
    return KDL_OK;
  kdl_elf_section **sections = malloc(list->count * sizeof(kdl_elf_section *));
  if (!sections)
    return kdl_container_no_memory(container);
  size_t count = 0;
  for (size_t i = 0; i < list->count; ++i) {
    kdl_elf_section *section = &list->items[i].section;
    if (section->flags & SHF_ALLOC &&
        kdl_in_range(section->offset, section->size, elf->file->size) &&
        section->size <= UINT64_MAX - section->address)
      sections[count++] = section;
  }
  kdl_elf_section *table = &list->items[at - 1].section;
  kdl_status status = kdl_sections_check(elf, table, ".tgtimg");
  if (status == KDL_OK)
    status = kdl_parse_sycl(container, scope,
                            &(kdl_sycl){elf->file, table, sections, count, elf, elf_section_name,
                                        &(namer){container, elf}});
  free(sections);
  return status;
}

typedef struct {
  namer namer;
  const kdl_elf_section *section;
} named_section;

static kdl_status scanned_section_name(void *user, kdl_string *out_name) {
  named_section *one = user;
  return elf_section_name(&one->namer, one->section, out_name);
}

static kdl_status scan_section(kdl_container *container, const kdl_parse_context *scope,
                               const kdl_section_table *elf, const kdl_elf_section *section) {
  kdl_region body = kdl_region_slice(elf->file, section->offset, section->size);
  named_section named = {{container, elf}, section};
  return kdl_scan_region(container, scope,
                         &(kdl_scan){&body, section->address, scanned_section_name, &named});
}

/* Scans the sections that were not parsed, each byte once. */
static kdl_status scan_remaining_sections(kdl_container *container, const kdl_parse_context *scope,
                                          const kdl_section_table *elf, section_list *list) {
  if (list->count)
    qsort(list->items, list->count, sizeof *list->items, compare_elf_sections);
  uint64_t done = 0;
  for (size_t i = 0; i < list->count; ++i) {
    const section_candidate *item = &list->items[i];
    kdl_elf_section part = item->section;
    if (!kdl_in_range(part.offset, part.size, elf->file->size) || part.offset + part.size <= done)
      continue;
    if (part.offset < done) {
      part.address += done - part.offset;
      part.size -= done - part.offset;
      part.offset = done;
    }
    done = part.offset + part.size;
    bool is_open = part.flags & SHF_ALLOC && !(part.flags & SHF_EXCLUDE);
    if (!item->name && !item->is_skipped && !part.is_described && is_open)
      KDL_TRY(scan_section(container, scope, elf, &part));
  }
  return KDL_OK;
}

kdl_status kdl_parse_elf(kdl_container *container, const kdl_parse_context *scope,
                         const kdl_region *region, bool *out_found) {
  kdl_section_table elf;
  KDL_TRY(kdl_sections_open(region, &elf));
  section_list list = {0};
  uint32_t before = container->count;
  kdl_status status = collect_sections(container, &elf, &list);
  if (status == KDL_OK)
    status = check_sections_disjoint(container, &elf, &list);
  if (status == KDL_OK)
    status = parse_elf_sycl(container, scope, &elf, &list);
  if (status == KDL_OK)
    status = parse_elf_sections(container, scope, &elf, &list);
  if (status == KDL_OK && !container->is_self)
    status = scan_remaining_sections(container, scope, &elf, &list);
  *out_found = list.known != 0 || container->count != before;
  free(list.items);
  return status;
}
