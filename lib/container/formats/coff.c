/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The offload sections of a COFF object (with 16- or 32-bit section counts) and of a Windows
 * program or DLL. COFF has no section types, so names decide: Clang's .llvm.offloading and
 * libkdl's, NVIDIA's and AMD's. Names longer than 8 bytes are in a string table after the symbols;
 * linkers truncate them instead. Other sections of initialised data are scanned, as in ELF files.
 */
#include "lib/container/container.h"
#include "lib/container/formats/sections.h"
#include "support/base/bytes.h"
#include "support/base/error.h"
#include "support/base/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
  header_size = 20,
  big_header_size = 56,
  section_size = 40,
  symbol_size = 18,
  big_symbol_size = 20,
  short_name = 8,
  dos_header_size = 64,
  limit_sections = 1 << 20,
  flag_initialised = 0x40,
  optional_size = 32, /* up to the image base */
  magic_64 = 0x20b,
};

static const uint8_t big_id[16] = {0xc7, 0xa1, 0xba, 0xd1, 0xee, 0xba, 0xa9, 0x4b,
                                   0xaf, 0x20, 0xfa, 0xf6, 0x6a, 0xa4, 0xdc, 0xb8};

typedef struct {
  const kdl_region *file;
  uint64_t sections; /* offset of the section headers */
  uint64_t count;
  uint64_t strings; /* offset of the string table; 0: none */
  uint64_t base;    /* image base of a program; 0 in objects */
} coff_file;

typedef struct {
  kdl_elf_section at; /* first member: SYCL's reader gets pointers to it */
  char name[32];      /* the longest name of interest has 16 bytes */
} coff_section;

typedef kdl_status parse_fn(kdl_container *, const kdl_parse_context *, const kdl_region *);

/* Clang appends a suffix to the first name; linkers truncate names at 8 bytes. */
static const struct {
  const char *name;
  bool is_prefix;
  parse_fn *parse;
} known_sections[] = {
    {".llvm.offloading", true, kdl_parse_offload_binary},
    {".kdl.offloading", false, kdl_parse_offload_binary},
    {".nv_fatbin", false, kdl_parse_cuda_fatbin},
    {".nv_fatb", false, kdl_parse_cuda_fatbin},
    {"__nv_relfatbin", false, kdl_parse_cuda_relfatbin},
    {"__nv_rel", false, kdl_parse_cuda_relfatbin},
    {".hip_fatbin", false, kdl_parse_clang_bundle},
    {".hip_fat", false, kdl_parse_clang_bundle},
};

/* ------------------------------------------------------------------------------------------ */
/* Headers                                                                                      */

static bool is_machine(uint16_t machine) {
  static const uint16_t machines[] = {0x8664, 0xaa64, 0xa641, 0xa64e, 0x14c, 0x1c4, 0x1c0};
  for (size_t i = 0; i < sizeof machines / sizeof *machines; ++i) {
    if (machines[i] == machine)
      return true;
  }
  return false;
}

static bool is_big(const uint8_t *head, size_t size) {
  return size >= big_header_size && kdl_load_u16(head) == 0 && kdl_load_u16(head + 2) == 0xffff &&
         kdl_load_u16(head + 4) >= 2 && memcmp(head + 12, big_id, sizeof big_id) == 0;
}

bool kdl_coff_begins(const uint8_t *head, size_t size) {
  if (size >= dos_header_size && head[0] == 'M' && head[1] == 'Z')
    return true;
  return is_big(head, size) || (size >= header_size && is_machine(kdl_load_u16(head)) &&
                                kdl_load_u16(head + 2) != 0 && kdl_load_u16(head + 16) == 0);
}

static void set_strings(coff_file *coff, uint64_t symbols, uint64_t count, uint64_t each) {
  uint64_t end = symbols + count * each; /* 32 bits each: this cannot wrap */
  if (symbols && end < coff->file->size)
    coff->strings = end;
}

static kdl_status open_pe_image(coff_file *coff, uint64_t dos_pointer) {
  const uint8_t *raw = kdl_in_range(dos_pointer, 4 + header_size, coff->file->size)
                           ? kdl_region_peek(coff->file, dos_pointer, 4 + header_size)
                           : NULL;
  if (!raw || memcmp(raw, "PE\0", 4) != 0)
    return kdl_malformed(coff->file, 60, "e_lfanew",
                         "found 0x%" PRIx64 ", expected where a PE header is in the 0x%" PRIx64
                         " bytes of the file",
                         dos_pointer, coff->file->size);
  coff->count = kdl_load_u16(raw + 4 + 2);
  coff->sections = dos_pointer + 4 + header_size + kdl_load_u16(raw + 4 + 16);
  set_strings(coff, kdl_load_u32(raw + 4 + 8), kdl_load_u32(raw + 4 + 12), symbol_size);
  uint64_t optional = dos_pointer + 4 + header_size;
  if (kdl_load_u16(raw + 4 + 16) < optional_size ||
      !kdl_in_range(optional, optional_size, coff->file->size))
    return KDL_OK;
  raw = kdl_region_peek(coff->file, optional, optional_size);
  if (!raw)
    return kdl_error_status();
  if (kdl_load_u16(raw) == magic_64)
    coff->base = kdl_load_u64(raw + 24);
  return KDL_OK;
}

static kdl_status open_coff(const kdl_region *file, coff_file *out_coff) {
  *out_coff = (coff_file){.file = file};
  size_t look = file->size < dos_header_size ? (size_t)file->size : dos_header_size;
  const uint8_t *raw = kdl_region_peek(file, 0, look);
  if (!raw)
    return kdl_error_status();
  if (raw[0] == 'M' && raw[1] == 'Z') {
    KDL_TRY(open_pe_image(out_coff, kdl_load_u32(raw + 60)));
  } else if (is_big(raw, look)) {
    out_coff->count = kdl_load_u32(raw + 44);
    out_coff->sections = big_header_size;
    set_strings(out_coff, kdl_load_u32(raw + 48), kdl_load_u32(raw + 52), big_symbol_size);
  } else {
    out_coff->count = kdl_load_u16(raw + 2);
    out_coff->sections = header_size;
    set_strings(out_coff, kdl_load_u32(raw + 8), kdl_load_u32(raw + 12), symbol_size);
  }
  uint64_t room =
      out_coff->sections < file->size ? (file->size - out_coff->sections) / section_size : 0;
  if (out_coff->count > room || out_coff->count > limit_sections)
    return kdl_malformed(file, 0, "NumberOfSections",
                         "found %" PRIu64 ", expected at most %" PRIu64, out_coff->count,
                         room < limit_sections ? room : (uint64_t)limit_sections);
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Sections                                                                                     */

/* "/123" is an offset in the string table, "//AAAAAA" the same in base 64; false for other
 * names. */
static bool long_name_at(const uint8_t *name, uint64_t *out_offset) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  uint64_t value = 0;
  size_t i = 1;
  if (name[0] != '/')
    return false;
  if (name[1] == '/') {
    for (i = 2; i < short_name; ++i) {
      const char *digit = name[i] ? strchr(digits, name[i]) : NULL;
      if (!digit)
        return false;
      value = value * 64 + (uint64_t)(digit - digits);
    }
  } else {
    for (; i < short_name && name[i] >= '0' && name[i] <= '9'; ++i)
      value = value * 10 + (uint64_t)(name[i] - '0');
    if (i == 1 || (i < short_name && name[i]))
      return false;
  }
  *out_offset = value;
  return true;
}

/* Truncated to the buffer: no name of interest is longer. */
static kdl_status read_long_name(const coff_file *coff, uint64_t offset, coff_section *out) {
  uint64_t at = coff->strings + offset;
  if (!coff->strings || at >= coff->file->size)
    return KDL_OK;
  uint64_t room = coff->file->size - at;
  size_t look = room < sizeof out->name - 1 ? (size_t)room : sizeof out->name - 1;
  const uint8_t *text = kdl_region_peek(coff->file, at, look);
  if (!text)
    return kdl_error_status();
  memcpy(out->name, text, look);
  return KDL_OK;
}

static kdl_status read_section(const coff_file *coff, uint64_t index, coff_section *out) {
  uint64_t at = coff->sections + index * section_size;
  const uint8_t *raw = kdl_region_peek(coff->file, at, section_size);
  if (!raw)
    return kdl_error_status();
  *out = (coff_section){.at = {
                            .header = at,
                            .address = coff->base + kdl_load_u32(raw + 12),
                            .offset = kdl_load_u32(raw + 20),
                            .size = kdl_load_u32(raw + 16),
                            .flags = kdl_load_u32(raw + 36),
                        }};
  uint64_t offset;
  if (long_name_at(raw, &offset))
    return read_long_name(coff, offset, out);
  memcpy(out->name, raw, short_name);
  return KDL_OK;
}

static parse_fn *parser_of(const coff_section *item) {
  for (size_t i = 0; i < sizeof known_sections / sizeof *known_sections; ++i) {
    const char *name = known_sections[i].name;
    if (known_sections[i].is_prefix ? kdl_starts_with(item->name, name)
                                    : strcmp(item->name, name) == 0)
      return known_sections[i].parse;
  }
  return NULL;
}

static kdl_status read_coff_section_name(void *user, kdl_string *out_name) {
  const coff_section *item = user;
  *out_name = kdl_text_of(item->name);
  return KDL_OK;
}

static kdl_status parse_coff_section(kdl_container *container, const kdl_parse_context *scope,
                                     const coff_file *coff, coff_section *item) {
  parse_fn *parse = parser_of(item);
  bool is_inside = kdl_in_range(item->at.offset, item->at.size, coff->file->size);
  if (parse && !is_inside)
    return kdl_malformed(coff->file, item->at.header + 16, item->name,
                         "found 0x%" PRIx64 " bytes at 0x%" PRIx64
                         ", expected them to end within the file's 0x%" PRIx64,
                         item->at.size, item->at.offset, coff->file->size);
  kdl_region body = kdl_region_slice(coff->file, item->at.offset, is_inside ? item->at.size : 0);
  if (!parse)
    return kdl_scan_region(container, scope,
                           &(kdl_scan){&body, item->at.address, read_coff_section_name, item});
  kdl_parse_context inner = *scope;
  inner.location = kdl_arena_format(&container->arena, " in %s%s", item->name, scope->location);
  return inner.location ? parse(container, &inner, &body) : kdl_container_no_memory(container);
}

static int compare_coff_sections(const void *left, const void *right) {
  const coff_section *a = left;
  const coff_section *b = right;
  if (a->at.offset != b->at.offset)
    return a->at.offset < b->at.offset ? -1 : 1;
  return (a->at.header > b->at.header) - (a->at.header < b->at.header);
}

static kdl_status coff_section_name(void *user, const kdl_elf_section *at, kdl_string *out_name) {
  const coff_section *item = (const coff_section *)at;
  (void)user;
  *out_name = kdl_text_of(item->name);
  return KDL_OK;
}

/* Adds the images that a linked program's .tgtimg describes. */
static kdl_status parse_coff_sycl(kdl_container *container, const kdl_parse_context *scope,
                                  const coff_file *coff, coff_section *sections, size_t count) {
  coff_section *table = NULL;
  for (size_t i = 0; i < count && coff->base && !table; ++i) {
    if (strcmp(sections[i].name, ".tgtimg") == 0)
      table = &sections[i];
  }
  if (!table || !kdl_in_range(table->at.offset, table->at.size, coff->file->size))
    return KDL_OK;
  kdl_elf_section **image_sections = malloc(count * sizeof(kdl_elf_section *));
  if (!image_sections)
    return kdl_container_no_memory(container);
  size_t kept = 0;
  for (size_t i = 0; i < count; ++i) {
    if (kdl_in_range(sections[i].at.offset, sections[i].at.size, coff->file->size) &&
        sections[i].at.size <= UINT64_MAX - sections[i].at.address)
      image_sections[kept++] = &sections[i].at;
  }
  kdl_status status = kdl_parse_sycl(
      container, scope,
      &(kdl_sycl){coff->file, &table->at, image_sections, kept, NULL, coff_section_name, NULL});
  free(image_sections);
  return status;
}

/* Parses each byte once: skips a section that overlaps the one before it. */
static kdl_status parse_coff_sections(kdl_container *container, const kdl_parse_context *scope,
                                      const coff_file *coff, coff_section *sections) {
  size_t kept = 0;
  for (uint64_t i = 0; i < coff->count; ++i) {
    kdl_status status = read_section(coff, i, &sections[kept]);
    if (status != KDL_OK)
      return status;
    kept += sections[kept].at.size != 0 &&
            (sections[kept].at.flags & flag_initialised || parser_of(&sections[kept]));
  }
  qsort(sections, kept, sizeof *sections, compare_coff_sections);
  uint64_t done = 0;
  kdl_status status = parse_coff_sycl(container, scope, coff, sections, kept);
  for (size_t i = 0; i < kept && status == KDL_OK; ++i) {
    if (sections[i].at.offset < done || sections[i].at.is_described)
      continue;
    done = sections[i].at.offset + sections[i].at.size;
    status = parse_coff_section(container, scope, coff, &sections[i]);
  }
  return status;
}

kdl_status kdl_parse_coff(kdl_container *container, const kdl_parse_context *scope,
                          const kdl_region *region, kdl_on_unknown on_unknown, bool *out_found) {
  coff_file coff;
  *out_found = false;
  kdl_status status = open_coff(region, &coff);
  if (status == KDL_BAD_FILE && on_unknown == KDL_UNKNOWN_IS_IGNORED)
    return KDL_OK;
  if (status != KDL_OK || coff.count == 0)
    return status;
  coff_section *sections = malloc((size_t)coff.count * sizeof *sections);
  if (!sections)
    return kdl_container_no_memory(container);
  uint32_t before = container->count;
  status = parse_coff_sections(container, scope, &coff, sections);
  *out_found = container->count != before;
  free(sections);
  return status;
}
