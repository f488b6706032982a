/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The offload sections of a host ELF file: LLVM's by their section type, whatever their name, as
 * LLVM itself goes by the type alone; NVIDIA's and AMD's by name, since theirs are PROGBITS; and
 * those of clang-offload-bundler, whose names go on with what the bytes are for.
 */
#include "base/bytes.h"
#include "base/error.h"
#include "container/container.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
  class_32 = 1,
  class_64 = 2,
  data_little = 1,
  section_progbits = 1,
  section_llvm_offloading = 0x6fff4c0b,
  flag_alloc = 0x2,
  flag_exec = 0x4,
  limit_sections = 1 << 20,
};
static const uint64_t flag_exclude = 0x80000000;

typedef struct {
  uint32_t name;
  uint32_t type;
  uint64_t flags;
  uint64_t offset;
  uint64_t size;
  uint32_t link;
  uint64_t header; /* offset of the section header, for messages */
} section;

typedef struct {
  const kdl_region *file;
  bool is_64;
  uint64_t table;
  uint64_t stride;
  uint64_t count;
  section names;
} elf_file;

typedef kdl_status parse_fn(kdl_container *, const kdl_scope *, const kdl_region *);

static const struct {
  const char *name;
  parse_fn *parse;
} sections_by_name[] = {
    {".nv_fatbin", kdl_parse_cuda_fatbin},
    {"__nv_relfatbin", kdl_parse_cuda_fatbin},
    {".hip_fatbin", kdl_parse_clang_bundle},
};

typedef struct {
  section section;
  parse_fn *parse;
  const char *name;     /* NULL: not ours */
  kdl_string bundle_id; /* in place of a parser; the rest of the name */
} candidate;

typedef struct {
  candidate *items;
  size_t count;
  size_t capacity;
} candidate_list;

/* ------------------------------------------------------------------------------------------ */
/* Headers                                                                                      */

static kdl_status read_section(const elf_file *elf, uint64_t index, section *out_section) {
  uint64_t at = elf->table + index * elf->stride;
  const uint8_t *raw = kdl_region_peek(elf->file, at, elf->is_64 ? 64 : 40);
  if (!raw)
    return kdl_error_status();
  section header = {.name = kdl_load_u32(raw), .type = kdl_load_u32(raw + 4), .header = at};
  if (elf->is_64) {
    header.flags = kdl_load_u64(raw + 8);
    header.offset = kdl_load_u64(raw + 24);
    header.size = kdl_load_u64(raw + 32);
    header.link = kdl_load_u32(raw + 40);
  } else {
    header.flags = kdl_load_u32(raw + 8);
    header.offset = kdl_load_u32(raw + 16);
    header.size = kdl_load_u32(raw + 20);
    header.link = kdl_load_u32(raw + 24);
  }
  *out_section = header;
  return KDL_OK;
}

static kdl_status check_extent(const elf_file *elf, const section *header, const char *what) {
  if (kdl_in_range(header->offset, header->size, elf->file->size))
    return KDL_OK;
  return kdl_malformed(elf->file, header->header + (elf->is_64 ? 24 : 16), what,
                       "found 0x%" PRIx64 " bytes at 0x%" PRIx64
                       ", expected them to end within the file's 0x%" PRIx64,
                       header->size, header->offset, elf->file->size);
}

/* Counts too large for the ELF header stand in section 0. */
static kdl_status resolve_extended_counts(elf_file *elf, uint32_t *names_index) {
  if (elf->table == 0 || (elf->count != 0 && *names_index != 0xffff))
    return KDL_OK;
  section first;
  kdl_status status = read_section(elf, 0, &first);
  if (status != KDL_OK)
    return status;
  if (elf->count == 0)
    elf->count = first.size;
  if (*names_index == 0xffff)
    *names_index = first.link;
  return KDL_OK;
}

/* Leaves count at 0 where there is no section table. */
static kdl_status open_elf(const kdl_region *file, elf_file *out_elf) {
  *out_elf = (elf_file){.file = file};
  const uint8_t *ident = kdl_region_peek(file, 0, file->size < 64 ? (size_t)file->size : 64);
  if (!ident)
    return kdl_error_status();
  size_t header_size = file->size > 4 && ident[4] == class_32 ? 52 : 64;
  if (file->size < header_size)
    return kdl_malformed(file, 0, "ELF header", "found %" PRIu64 " bytes, expected at least %zu",
                         file->size, header_size);
  if (ident[4] != class_32 && ident[4] != class_64)
    return kdl_malformed(file, 4, "EI_CLASS", "found %u, expected 1 or 2", ident[4]);
  if (ident[5] != data_little)
    return KDL_OK; /* no big-endian producer of these sections is known */
  bool is_64 = ident[4] == class_64;
  uint32_t names_index = kdl_load_u16(ident + (is_64 ? 62 : 50));
  out_elf->is_64 = is_64;
  out_elf->table = is_64 ? kdl_load_u64(ident + 40) : kdl_load_u32(ident + 32);
  out_elf->stride = kdl_load_u16(ident + (is_64 ? 58 : 46));
  out_elf->count = kdl_load_u16(ident + (is_64 ? 60 : 48));
  if (out_elf->table == 0) {
    out_elf->count = 0;
    return KDL_OK;
  }
  uint64_t smallest = is_64 ? 64 : 40;
  if (out_elf->stride < smallest)
    return kdl_malformed(file, is_64 ? 58 : 46, "e_shentsize",
                         "found %" PRIu64 ", expected at least %" PRIu64, out_elf->stride,
                         smallest);
  if (!kdl_in_range(out_elf->table, smallest, file->size))
    return kdl_malformed(file, is_64 ? 40 : 32, "e_shoff",
                         "found 0x%" PRIx64 ", expected a section header before 0x%" PRIx64,
                         out_elf->table, file->size);
  kdl_status status = resolve_extended_counts(out_elf, &names_index);
  if (status != KDL_OK)
    return status;
  uint64_t room = (file->size - out_elf->table) / out_elf->stride;
  if (out_elf->count > room || out_elf->count > limit_sections)
    return kdl_malformed(file, is_64 ? 60 : 48, "e_shnum",
                         "found %" PRIu64 ", expected at most %" PRIu64, out_elf->count,
                         room < limit_sections ? room : (uint64_t)limit_sections);
  if (names_index == 0 || out_elf->count == 0)
    return KDL_OK;
  if (names_index >= out_elf->count)
    return kdl_malformed(file, is_64 ? 62 : 50, "e_shstrndx",
                         "found %" PRIu32 ", expected less than e_shnum %" PRIu64, names_index,
                         out_elf->count);
  status = read_section(out_elf, names_index, &out_elf->names);
  return status == KDL_OK ? check_extent(out_elf, &out_elf->names, "section names") : status;
}

/* ------------------------------------------------------------------------------------------ */
/* Sections                                                                                     */

/* Compares in place; a name that runs out of the table is no name of ours. */
static kdl_status name_is(const elf_file *elf, const section *header, const char *name,
                          bool *out_same) {
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

/* The name of a section that ends within the table, or one of length 0. */
static kdl_status read_name(kdl_container *container, const elf_file *elf, const section *header,
                            kdl_string *out_name) {
  uint64_t room = elf->names.size - header->name;
  if (room > KDL_LIMIT_KEY)
    room = KDL_LIMIT_KEY;
  const uint8_t *text = kdl_region_peek(elf->file, elf->names.offset + header->name, (size_t)room);
  if (!text)
    return kdl_error_status();
  const uint8_t *end = memchr(text, '\0', (size_t)room);
  *out_name = kdl_arena_string(&container->arena, text, end ? (size_t)(end - text) : 0);
  return out_name->data ? KDL_OK : kdl_container_no_memory(container);
}

static kdl_status identify_bundled(kdl_container *container, const elf_file *elf, candidate *item) {
  static const char magic[] = KDL_CLANG_BUNDLE_MAGIC;
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
  kdl_status status = read_name(container, elf, &item->section, &name);
  if (status != KDL_OK || name.length <= magic_size)
    return status;
  item->name = name.data;
  item->bundle_id = (kdl_string){name.data + magic_size, name.length - magic_size};
  return KDL_OK;
}

static kdl_status identify(kdl_container *container, const elf_file *elf, candidate *item) {
  if (item->section.type == section_llvm_offloading) {
    item->parse = kdl_parse_offload_binary;
    item->name = ".llvm.offloading";
    return KDL_OK;
  }
  if (item->section.flags & flag_exclude)
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
  return KDL_OK;
}

/* Sections that may be ours by their type and flags. Names are looked at afterwards, since they lie
 * elsewhere in the file and each look would move the read window. */
static kdl_status collect(kdl_container *container, const elf_file *elf, candidate_list *list) {
  for (uint64_t i = 1; i < elf->count; ++i) {
    section header;
    kdl_status status = read_section(elf, i, &header);
    if (status != KDL_OK)
      return status;
    bool by_type = header.type == section_llvm_offloading;
    bool by_name = header.type == section_progbits &&
                   (header.flags & (flag_alloc | flag_exclude)) && !(header.flags & flag_exec) &&
                   elf->names.size;
    if (header.size == 0 || (!by_type && !by_name))
      continue;
    if (list->count == list->capacity) {
      size_t capacity = list->capacity ? list->capacity * 2 : 16;
      candidate *items = realloc(list->items, capacity * sizeof *items);
      if (!items)
        return kdl_container_no_memory(container);
      list->items = items;
      list->capacity = capacity;
    }
    list->items[list->count++] = (candidate){.section = header};
  }
  size_t kept = 0;
  for (size_t i = 0; i < list->count; ++i) {
    kdl_status status = identify(container, elf, &list->items[i]);
    if (status == KDL_OK && list->items[i].name)
      status = check_extent(elf, &list->items[i].section, list->items[i].name);
    if (status != KDL_OK)
      return status;
    if (list->items[i].name)
      list->items[kept++] = list->items[i];
  }
  list->count = kept;
  return KDL_OK;
}

static int compare_offsets(const void *left, const void *right) {
  uint64_t a = ((const candidate *)left)->section.offset;
  uint64_t b = ((const candidate *)right)->section.offset;
  return (a > b) - (a < b);
}

/* Sections on top of one another would list the same bytes many times over. */
static kdl_status check_apart(kdl_container *container, const elf_file *elf,
                              const candidate_list *list) {
  if (list->count < 2)
    return KDL_OK;
  candidate *sorted = malloc(list->count * sizeof *sorted);
  if (!sorted)
    return kdl_container_no_memory(container);
  memcpy(sorted, list->items, list->count * sizeof *sorted);
  qsort(sorted, list->count, sizeof *sorted, compare_offsets);
  kdl_status status = KDL_OK;
  for (size_t i = 1; i < list->count && status == KDL_OK; ++i) {
    const section *before = &sorted[i - 1].section;
    if (sorted[i].section.offset < before->offset + before->size)
      status = kdl_malformed(elf->file, sorted[i].section.header, sorted[i].name,
                             "found a section at 0x%" PRIx64 " inside the one at 0x%" PRIx64
                             ", expected sections apart",
                             sorted[i].section.offset, before->offset);
  }
  free(sorted);
  return status;
}

/* The bundler puts one object's bundle into many sections: `module` is theirs, once known. */
static kdl_status walk_bundled(kdl_container *container, const kdl_scope *scope,
                               const kdl_region *body, kdl_string id, uint32_t *module) {
  kdl_scope inner = *scope;
  inner.module = *module;
  inner = kdl_container_begin_module(container, &inner, true);
  uint32_t before = container->count;
  kdl_status status = kdl_parse_bundle_section(container, &inner, body, id);
  if (container->count > before)
    *module = inner.module;
  return status;
}

static kdl_status walk_sections(kdl_container *container, const kdl_scope *scope,
                                const elf_file *elf, const candidate_list *list) {
  uint32_t bundled = scope->module;
  for (size_t i = 0; i < list->count; ++i) {
    const candidate *item = &list->items[i];
    kdl_scope inner = *scope;
    inner.place = kdl_arena_format(&container->arena, " in %s%s", item->name, scope->place);
    if (!inner.place)
      return kdl_container_no_memory(container);
    kdl_region body = kdl_region_slice(elf->file, item->section.offset, item->section.size);
    kdl_status status = item->parse
                            ? item->parse(container, &inner, &body)
                            : walk_bundled(container, &inner, &body, item->bundle_id, &bundled);
    if (status != KDL_OK)
      return status;
  }
  return KDL_OK;
}

kdl_status kdl_parse_elf(kdl_container *container, const kdl_scope *scope, const kdl_region *region,
                         bool *out_found) {
  elf_file elf;
  kdl_status status = open_elf(region, &elf);
  if (status != KDL_OK)
    return status;
  candidate_list list = {0};
  status = collect(container, &elf, &list);
  if (status == KDL_OK)
    status = check_apart(container, &elf, &list);
  if (status == KDL_OK)
    status = walk_sections(container, scope, &elf, &list);
  *out_found = list.count != 0;
  free(list.items);
  return status;
}
