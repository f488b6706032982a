/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * ELF files of 32 and 64 bits in either byte order, with the constants of <elf.h>.
 *
 *   kdl_elf_load_*   load one structure from bytes that the caller has read: for readers that go
 *                    through a file piece by piece or check it by other rules
 *   the others       read a file in memory: sections, strings, symbols and notes. Every structure
 *                    is checked when it is read; damage in parts that are not read goes unnoticed
 */
#ifndef KDL_SUPPORT_BASE_ELF_FILE_H
#define KDL_SUPPORT_BASE_ELF_FILE_H

#include <kdl/kdl.h>

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* LLVM's section type for OffloadBinaries, which <elf.h> lacks. */
#define KDL_SHT_LLVM_OFFLOADING UINT32_C(0x6fff4c0b)

/* The longest name that is read. Mangled C++ kernel names of 10 KiB exist. */
enum { KDL_ELF_LIMIT_NAME = 1 << 16 };

typedef struct kdl_elf {
  const uint8_t *data; /* NULL after kdl_elf_load_header */
  size_t size;
  bool is_64;
  bool is_big_endian;
  uint8_t os_abi;
  uint8_t abi_version;
  uint16_t type;
  uint16_t machine;
  uint32_t flags;
  uint16_t section_size; /* of one header */
  uint16_t segment_size;
  uint64_t section_table;
  uint64_t section_count;
  uint64_t section_names; /* the index of the string table */
  uint64_t segment_table;
  uint64_t segment_count;
} kdl_elf;

/* The contents are [offset, offset + size) of the file. Only kdl_elf_find_section checks that this
 * range is in the file: sections of vendor types may have a size without contents, as NOBITS
 * sections do. */
typedef struct kdl_elf_section {
  uint64_t header; /* offset of its header, for messages */
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
  bool is_described; /* for container/formats: another section describes its contents */
} kdl_elf_section;

typedef struct kdl_elf_segment {
  uint32_t type;
  uint32_t flags;
  uint64_t offset;
  uint64_t address;
  uint64_t physical;
  uint64_t file_size;
  uint64_t memory_size;
  uint64_t alignment;
} kdl_elf_segment;

typedef struct kdl_elf_symbol {
  uint32_t name; /* for kdl_elf_symbol_name */
  uint8_t type;
  uint8_t binding;
  uint8_t other;
  bool is_defined;
  uint16_t section;
  uint64_t address;
  uint64_t size;
} kdl_elf_symbol;

/* The sizes of the structures, by a file's class. */
#define KDL_ELF_SIZE(elf, structure)                                                               \
  ((elf)->is_64 ? sizeof(Elf64_##structure) : sizeof(Elf32_##structure))

/* Load one structure. `raw` has all of its bytes: a header has as many as its class needs. */
kdl_elf kdl_elf_load_header(const uint8_t *raw);
kdl_elf_section kdl_elf_load_section(const kdl_elf *elf, const uint8_t *raw);
kdl_elf_segment kdl_elf_load_segment(const kdl_elf *elf, const uint8_t *raw);
kdl_elf_symbol kdl_elf_load_symbol(const kdl_elf *elf, const uint8_t *raw);

/* Whether the counts are too large for the header. They are then read from section 0. */
bool kdl_elf_is_extended(const kdl_elf *elf);
void kdl_elf_extend(kdl_elf *elf, const kdl_elf_section *first);

typedef struct kdl_elf_symbols {
  kdl_elf_section table;
  kdl_elf_section strings;
  uint64_t count;
} kdl_elf_symbols;

typedef struct kdl_elf_note {
  const char *owner; /* NULL after the last note */
  size_t owner_length;
  uint32_t type;
  const uint8_t *data;
  size_t size;
} kdl_elf_note;

/* An iterator over notes; starts as { .elf = elf }. */
typedef struct kdl_elf_notes {
  const kdl_elf *elf;
  uint64_t next; /* section or segment */
  uint64_t offset;
  uint64_t end;
  uint64_t alignment;
} kdl_elf_notes;

kdl_status kdl_elf_open(const uint8_t *data, size_t size, kdl_elf *out_elf);

uint32_t kdl_elf_load_u32(const kdl_elf *elf, const uint8_t *at);

kdl_status kdl_elf_read_section(const kdl_elf *elf, uint64_t index, kdl_elf_section *out_section);

/* The first section of that name; *out_found is false where there is none. */
kdl_status kdl_elf_find_section(const kdl_elf *elf, const char *name, kdl_elf_section *out_section,
                                bool *out_found);

/* The first section named `prefix` followed by `name`. */
kdl_status kdl_elf_find_section_of(const kdl_elf *elf, const char *prefix, kdl_string name,
                                   kdl_elf_section *out_section, bool *out_found);

/* The name of a section, NUL-terminated in place. */
kdl_status kdl_elf_section_name(const kdl_elf *elf, const kdl_elf_section *section,
                                const char **out_name, size_t *out_length);

/* The first symbol table of the given type (SHT_SYMTAB or SHT_DYNSYM); `count` is 0 where there is
 * none. */
kdl_status kdl_elf_open_symbols(const kdl_elf *elf, uint32_t type, kdl_elf_symbols *out_symbols);
kdl_elf_symbol kdl_elf_read_symbol(const kdl_elf *elf, const kdl_elf_symbols *symbols,
                                   uint64_t index);
kdl_status kdl_elf_symbol_name(const kdl_elf *elf, const kdl_elf_symbols *symbols,
                               const kdl_elf_symbol *symbol, const char **out_name,
                               size_t *out_length);

/* The `length` bytes that a loader would map at an address; NULL where the file does not have
 * them. */
const uint8_t *kdl_elf_at_address(const kdl_elf *elf, uint64_t address, uint64_t length);

/* The notes of one section that kdl_elf_find_section found. */
kdl_elf_notes kdl_elf_notes_of(const kdl_elf *elf, const kdl_elf_section *section);

/* The notes of the NOTE sections, or of the NOTE segments where the section table was stripped. */
kdl_status kdl_elf_next_note(kdl_elf_notes *notes, kdl_elf_note *out_note);
bool kdl_elf_note_is(const kdl_elf_note *note, const char *owner, uint32_t type);

/* Whether every segment, and every section with contents, is within the file. Drivers that get a
 * file without its size assume this. */
kdl_status kdl_elf_check_extents(const kdl_elf *elf);

#endif
