/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A linked ELF file as a loader sees it: segments, what the dynamic section points at, and the
 * sections that tell people and tools about them. */
#ifndef KDL_TOOL_THIN_ELF_IMAGE_H
#define KDL_TOOL_THIN_ELF_IMAGE_H

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  ELF_HEADER_SIZE = 64,
  ELF_SEGMENT_SIZE = 56,
  ELF_SECTION_SIZE = 64,
  ELF_RELA_SIZE = 24,
  ELF_SYMBOL_SIZE = 24,
  ELF_DYNAMIC_SIZE = 16,
};

enum { ELF_EXECUTABLE = 2, ELF_SHARED = 3 };
enum { ELF_X86_64 = 62, ELF_AARCH64 = 183 };
enum { ELF_LOAD = 1, ELF_DYNAMIC = 2, ELF_INTERP = 3, ELF_NOTE = 4, ELF_PHDR = 6 };
enum { ELF_X = 1, ELF_W = 2, ELF_R = 4 };
enum {
  ELF_SHT_PROGBITS = 1,
  ELF_SHT_SYMTAB = 2,
  ELF_SHT_STRTAB = 3,
  ELF_SHT_HASH = 5,
  ELF_SHT_NOTE = 7,
  ELF_SHT_NOBITS = 8,
  ELF_SHT_DYNSYM = 11,
  ELF_SHT_GNU_HASH = 0x6ffffff6,
  ELF_SHT_LLVM_OFFLOADING = 0x6fff4c0b,
};
enum { ELF_WRITE = 1, ELF_ALLOC = 2, ELF_EXEC = 4 };
enum {
  ELF_DT_PLTGOT = 3,
  ELF_DT_HASH = 4,
  ELF_DT_STRTAB = 5,
  ELF_DT_SYMTAB = 6,
  ELF_DT_RELA = 7,
  ELF_DT_RELASZ = 8,
  ELF_DT_RELAENT = 9,
  ELF_DT_STRSZ = 10,
  ELF_DT_SYMENT = 11,
  ELF_DT_JMPREL = 23,
  ELF_DT_PLTRELSZ = 2,
  ELF_DT_RELRSZ = 35,
  ELF_DT_RELR = 36,
  ELF_DT_RELRENT = 37,
  ELF_DT_REL = 17,
  ELF_DT_ANDROID_REL = 0x6000000f,
  ELF_DT_ANDROID_RELA = 0x60000011,
  ELF_DT_ANDROID_RELR = 0x6fffe000,
  ELF_DT_GNU_HASH = 0x6ffffef5,
  ELF_DT_GNU_PRELINKED = 0x6ffffdf5,
  ELF_DT_VERSYM = 0x6ffffff0,
};

typedef struct elf_segment {
  uint32_t type;
  uint32_t flags;
  uint64_t offset;
  uint64_t address;
  uint64_t physical;
  uint64_t file_size;
  uint64_t memory_size;
  uint64_t alignment;
} elf_segment;

typedef struct elf_section {
  uint32_t name;
  uint32_t type;
  uint64_t flags;
  uint64_t address;
  uint64_t offset;
  uint64_t size;
  uint32_t link;
  uint32_t info;
  uint64_t alignment;
  uint64_t entry_size;
} elf_section;

typedef struct elf_image {
  const uint8_t *data;
  uint64_t size;
  const char *name; /* for messages */
  uint16_t type;
  uint16_t machine;
  uint64_t page; /* what file and memory are cut by */
  uint64_t segment_table;
  uint64_t section_table;
  uint32_t names; /* the section of names */
  elf_segment *segments;
  size_t segment_count;
  elf_section *sections;
  size_t section_count;
} elf_image;

/* Reads and checks what a loader relies on. KDL_UNSUPPORTED for files that are not rewritten: other
 * classes and byte orders, prelinked, signed at their end. The caller frees *out_image, also after
 * a failure. */
kdl_status elf_image_read(const uint8_t *data, uint64_t size, const char *name,
                          elf_image *out_image);
void elf_image_free(elf_image *image);

elf_segment elf_segment_load(const uint8_t *raw);
void elf_segment_store(uint8_t *raw, const elf_segment *from);
elf_section elf_section_load(const uint8_t *raw);
void elf_section_store(uint8_t *raw, const elf_section *from);

/* The PT_LOAD whose bytes in the file hold that range of addresses, or NULL. */
const elf_segment *elf_image_loaded(const elf_image *image, uint64_t address, uint64_t size);

/* The same as a pointer into the file, or NULL. */
const uint8_t *elf_image_at(const elf_image *image, uint64_t address, uint64_t size);

/* Where a range of the file is loaded; false where it is not, as a whole, by one segment. */
bool elf_image_address(const elf_image *image, uint64_t offset, uint64_t size,
                       uint64_t *out_address);

/* The value of the first entry with that tag; false where there is none. */
bool elf_image_dynamic(const elf_image *image, uint64_t tag, uint64_t *out_value);

/* The table of the dynamic section in the file, or NULL, and its number of entries. */
const uint8_t *elf_image_dynamic_table(const elf_image *image, size_t *out_count);

/* Whether the value of such an entry is an address; and whether only the loader and tools follow
 * it, so that what it leads to may lie elsewhere. */
bool elf_tag_is_address(uint64_t tag);
bool elf_tag_may_move(uint64_t tag);

/* A section's name; not of the first, which has none. */
const char *elf_image_section_name(const elf_image *image, const elf_section *section);

/* elf_apart.c: KDL_BAD_FILE where sections or tables share bytes, or the dynamic section is told
 * twice or elsewhere. */
kdl_status elf_image_check_apart(const elf_image *image);

/* Whether relocations or names that the dynamic section leads to have bytes in that range. */
bool elf_image_has_table_in(const elf_image *image, uint64_t offset, uint64_t size);

/* Whether a symbol is defined here and its value is an address: not one of thread-local data. */
bool elf_symbol_has_address(const uint8_t *symbol);

/* ------------------------------------------------------------------------------------------ */
/* Relocations                                                                                  */

/* One that adds the load address to a constant. */
typedef struct elf_pointer {
  uint64_t place;        /* address of the pointer */
  uint64_t target;       /* what it is without the load address */
  const uint8_t *addend; /* where that stands in the file: in the entry, or at the place (RELR) */
} elf_pointer;

/* Whether a type of relocations is of those. */
bool elf_image_is_relative(const elf_image *image, uint32_t type);

/* Calls `visit` for each, and `other` for other relocations: those have no addend, and as target
 * the address of their symbol, with what is added, or 0 where it is defined elsewhere. KDL_BAD_FILE
 * where a table lies in no segment. */
kdl_status elf_image_relocations(const elf_image *image,
                                 void (*visit)(void *user, const elf_pointer *pointer),
                                 void (*other)(void *user, const elf_pointer *pointer), void *user);

#endif
