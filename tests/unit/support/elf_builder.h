/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Makes small ELF64 files in memory: a header, section contents, names, and the section table. */
#ifndef KDL_TESTS_UNIT_ELF_BUILDER_H
#define KDL_TESTS_UNIT_ELF_BUILDER_H

#include "support/base/bytes.h"

#include <stdlib.h>

typedef struct elf_section {
  const char *name;
  uint32_t type;
  uint64_t flags;
  const void *data;
  size_t size;
} elf_section;

typedef struct elf_image {
  uint8_t *data;
  size_t size;
  size_t table;   /* offset of the section headers; index 0 is null, the last one is .shstrtab */
  size_t content; /* offset of the first section's content */
} elf_image;

/* The caller frees image.data. */
static inline elf_image build_elf(uint16_t machine, const elf_section *sections, size_t count) {
  size_t names_size = 1 + sizeof ".shstrtab";
  size_t size = 64;
  for (size_t i = 0; i < count; ++i) {
    names_size += strlen(sections[i].name) + 1;
    size = (size_t)kdl_align8(size) + sections[i].size;
  }
  size_t names_at = (size_t)kdl_align8(size);
  elf_image image = {.content = 64, .table = (size_t)kdl_align8(names_at + names_size)};
  image.size = image.table + (count + 2) * 64;
  image.data = calloc(1, image.size);
  uint8_t *out = image.data;
  memcpy(out,
         "\x7f"
         "ELF\2\1\1",
         7);
  kdl_store_u16(out + 16, 1);
  kdl_store_u16(out + 18, machine);
  kdl_store_u32(out + 20, 1);
  kdl_store_u64(out + 40, image.table);
  kdl_store_u16(out + 52, 64);
  kdl_store_u16(out + 58, 64);
  kdl_store_u16(out + 60, (uint16_t)(count + 2));
  kdl_store_u16(out + 62, (uint16_t)(count + 1));
  size_t at = 64;
  size_t name = 1;
  for (size_t i = 0; i <= count; ++i) {
    uint8_t *header = out + image.table + (i + 1) * 64;
    bool is_names = i == count;
    const char *text = is_names ? ".shstrtab" : sections[i].name;
    at = (size_t)kdl_align8(at);
    strcpy((char *)out + names_at + name, text);
    kdl_store_u32(header, (uint32_t)name);
    kdl_store_u32(header + 4, is_names ? 3 : sections[i].type);
    kdl_store_u64(header + 8, is_names ? 0 : sections[i].flags);
    kdl_store_u64(header + 24, is_names ? names_at : at);
    kdl_store_u64(header + 32, is_names ? names_size : sections[i].size);
    if (!is_names && sections[i].size) {
      memcpy(out + at, sections[i].data, sections[i].size);
      at += sections[i].size;
    }
    name += strlen(text) + 1;
  }
  return image;
}

/* Gives a section, counted from 0 as in build_elf, the address it is loaded at. */
static inline void place_section(elf_image *image, size_t index, uint64_t address) {
  kdl_store_u64(image->data + image->table + (index + 1) * 64 + 16, address);
}

#endif
