/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "container/formats/elf_sections.h"

#include "base/bytes.h"
#include "base/error.h"

#include <inttypes.h>
#include <string.h>

enum { class_32 = 1, class_64 = 2, data_little = 1, type_object = 1, limit_sections = 1 << 20 };

kdl_status kdl_sections_read(const kdl_section_table *elf, uint64_t index,
                             kdl_section *out_section) {
  uint64_t at = elf->table + index * elf->stride;
  const uint8_t *raw = kdl_region_peek(elf->file, at, elf->is_64 ? 64 : 40);
  if (!raw)
    return kdl_error_status();
  kdl_section header = {.name = kdl_load_u32(raw), .type = kdl_load_u32(raw + 4), .header = at};
  if (elf->is_64) {
    header.flags = kdl_load_u64(raw + 8);
    header.address = kdl_load_u64(raw + 16);
    header.offset = kdl_load_u64(raw + 24);
    header.size = kdl_load_u64(raw + 32);
    header.link = kdl_load_u32(raw + 40);
  } else {
    header.flags = kdl_load_u32(raw + 8);
    header.address = kdl_load_u32(raw + 12);
    header.offset = kdl_load_u32(raw + 16);
    header.size = kdl_load_u32(raw + 20);
    header.link = kdl_load_u32(raw + 24);
  }
  *out_section = header;
  return KDL_OK;
}

kdl_status kdl_sections_check(const kdl_section_table *elf, const kdl_section *header,
                              const char *what) {
  if (kdl_in_range(header->offset, header->size, elf->file->size))
    return KDL_OK;
  return kdl_malformed(elf->file, header->header + (elf->is_64 ? 24 : 16), what,
                       "found 0x%" PRIx64 " bytes at 0x%" PRIx64
                       ", expected them to end within the file's 0x%" PRIx64,
                       header->size, header->offset, elf->file->size);
}

/* Counts too large for the ELF header stand in section 0. */
static kdl_status resolve_extended_counts(kdl_section_table *elf, uint32_t *names_index) {
  if (elf->table == 0 || (elf->count != 0 && *names_index != 0xffff))
    return KDL_OK;
  kdl_section first;
  KDL_TRY(kdl_sections_read(elf, 0, &first));
  if (elf->count == 0)
    elf->count = first.size;
  if (*names_index == 0xffff)
    *names_index = first.link;
  return KDL_OK;
}

kdl_status kdl_sections_open(const kdl_region *file, kdl_section_table *out_elf) {
  *out_elf = (kdl_section_table){.file = file};
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
  out_elf->is_linked = kdl_load_u16(ident + 16) != type_object;
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
  KDL_TRY(resolve_extended_counts(out_elf, &names_index));
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
  kdl_status status = kdl_sections_read(out_elf, names_index, &out_elf->names);
  return status == KDL_OK ? kdl_sections_check(out_elf, &out_elf->names, "section names") : status;
}

kdl_status kdl_sections_name(kdl_container *container, const kdl_section_table *elf,
                             const kdl_section *header, kdl_string *out_name) {
  *out_name = (kdl_string){"", 0};
  if (header->name >= elf->names.size)
    return KDL_OK;
  uint64_t room = elf->names.size - header->name;
  if (room > KDL_LIMIT_KEY)
    room = KDL_LIMIT_KEY;
  uint64_t at = elf->names.offset + header->name;
  size_t look = room < 64 ? (size_t)room : 64;
  const uint8_t *text = kdl_region_peek(elf->file, at, look);
  if (text && look < room && !memchr(text, '\0', look))
    text = kdl_region_peek(elf->file, at, look = (size_t)room);
  if (!text)
    return kdl_error_status();
  const uint8_t *end = memchr(text, '\0', look);
  *out_name = kdl_arena_string(&container->arena, text, end ? (size_t)(end - text) : 0);
  return out_name->data ? KDL_OK : kdl_container_no_memory(container);
}
