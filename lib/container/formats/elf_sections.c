/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/container/formats/sections.h"

#include "support/base/bytes.h"
#include "support/base/error.h"

#include <inttypes.h>
#include <string.h>

enum { limit_sections = 1 << 20 };

/* The offset of a field in the file header or a section header. */
#define PLACE(elf, structure, field)                                                               \
  ((elf)->is_64 ? offsetof(Elf64_##structure, field) : offsetof(Elf32_##structure, field))

kdl_status kdl_sections_read(const kdl_section_table *table, uint64_t index,
                             kdl_elf_section *out_section) {
  uint64_t at = table->header.section_table + index * table->header.section_size;
  const uint8_t *raw = kdl_region_peek(table->file, at, KDL_ELF_SIZE(&table->header, Shdr));
  if (!raw)
    return kdl_error_status();
  *out_section = kdl_elf_load_section(&table->header, raw);
  out_section->header = at;
  return KDL_OK;
}

kdl_status kdl_sections_check(const kdl_section_table *table, const kdl_elf_section *section,
                              const char *what) {
  if (kdl_in_range(section->offset, section->size, table->file->size))
    return KDL_OK;
  return kdl_malformed(table->file, section->header + PLACE(&table->header, Shdr, sh_offset), what,
                       "found 0x%" PRIx64 " bytes at 0x%" PRIx64
                       ", expected them to end within the file's 0x%" PRIx64,
                       section->size, section->offset, table->file->size);
}

kdl_status kdl_sections_open(const kdl_region *file, kdl_section_table *out_table) {
  *out_table = (kdl_section_table){.file = file};
  size_t look = file->size < sizeof(Elf64_Ehdr) ? (size_t)file->size : sizeof(Elf64_Ehdr);
  const uint8_t *head = kdl_region_peek(file, 0, look);
  if (!head)
    return kdl_error_status();
  size_t needed =
      look > EI_CLASS && head[EI_CLASS] == ELFCLASS32 ? sizeof(Elf32_Ehdr) : sizeof(Elf64_Ehdr);
  if (look < needed)
    return kdl_malformed(file, 0, "ELF header", "found %" PRIu64 " bytes, expected at least %zu",
                         file->size, needed);
  if (head[EI_CLASS] != ELFCLASS32 && head[EI_CLASS] != ELFCLASS64)
    return kdl_malformed(file, EI_CLASS, "EI_CLASS", "found %u, expected 1 or 2", head[EI_CLASS]);
  if (head[EI_DATA] != ELFDATA2LSB)
    return KDL_OK; /* no big-endian producer of these sections is known */
  kdl_elf *elf = &out_table->header;
  *elf = kdl_elf_load_header(head);
  size_t smallest = KDL_ELF_SIZE(elf, Shdr);
  if (elf->section_table == 0) {
    elf->section_count = 0;
    return KDL_OK;
  }
  if (elf->section_size < smallest)
    return kdl_malformed(file, PLACE(elf, Ehdr, e_shentsize), "e_shentsize",
                         "found %u, expected at least %zu", elf->section_size, smallest);
  if (!kdl_in_range(elf->section_table, smallest, file->size))
    return kdl_malformed(file, PLACE(elf, Ehdr, e_shoff), "e_shoff",
                         "found 0x%" PRIx64 ", expected a section header before 0x%" PRIx64,
                         elf->section_table, file->size);
  if (kdl_elf_is_extended(elf)) {
    kdl_elf_section first;
    KDL_TRY(kdl_sections_read(out_table, 0, &first));
    kdl_elf_extend(elf, &first);
  }
  uint64_t room = (file->size - elf->section_table) / elf->section_size;
  if (elf->section_count > room || elf->section_count > limit_sections)
    return kdl_malformed(file, PLACE(elf, Ehdr, e_shnum), "e_shnum",
                         "found %" PRIu64 ", expected at most %" PRIu64, elf->section_count,
                         room < limit_sections ? room : (uint64_t)limit_sections);
  if (elf->section_names == 0 || elf->section_count == 0)
    return KDL_OK;
  if (elf->section_names >= elf->section_count)
    return kdl_malformed(file, PLACE(elf, Ehdr, e_shstrndx), "e_shstrndx",
                         "found %" PRIu64 ", expected less than e_shnum %" PRIu64,
                         elf->section_names, elf->section_count);
  KDL_TRY(kdl_sections_read(out_table, elf->section_names, &out_table->names));
  return kdl_sections_check(out_table, &out_table->names, "section names");
}

kdl_status kdl_sections_name(kdl_container *container, const kdl_section_table *table,
                             const kdl_elf_section *section, kdl_string *out_name) {
  *out_name = (kdl_string){"", 0};
  if (section->name >= table->names.size)
    return KDL_OK;
  uint64_t room = table->names.size - section->name;
  if (room > KDL_LIMIT_KEY)
    room = KDL_LIMIT_KEY;
  uint64_t at = table->names.offset + section->name;
  size_t look = room < 64 ? (size_t)room : 64;
  const uint8_t *text = kdl_region_peek(table->file, at, look);
  if (text && look < room && !memchr(text, '\0', look))
    text = kdl_region_peek(table->file, at, look = (size_t)room);
  if (!text)
    return kdl_error_status();
  const uint8_t *end = memchr(text, '\0', look);
  *out_name = kdl_arena_string(&container->arena, text, end ? (size_t)(end - text) : 0);
  return out_name->data ? KDL_OK : kdl_container_no_memory(container);
}
