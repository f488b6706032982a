/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "support/base/elf_file.h"

#include "support/base/bytes.h"
#include "support/base/error.h"
#include "support/base/magic.h"

#include <inttypes.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------ */
/* Structures                                                                                   */

/* Nearly all files are 64-bit little-endian: each function is compiled once for those, without a
 * test per field. */
#define LOADER static inline __attribute__((always_inline))

LOADER uint16_t load_u16(bool is_big_endian, const uint8_t *at) {
  return (uint16_t)(is_big_endian ? at[0] << 8 | at[1] : kdl_load_u16(at));
}

LOADER uint32_t load_u32(bool is_big_endian, const uint8_t *at) {
  return is_big_endian ? (uint32_t)load_u16(true, at) << 16 | load_u16(true, at + 2)
                       : kdl_load_u32(at);
}

/* A field as wide as an address. */
LOADER uint64_t load_wide(bool is_64, bool is_big_endian, const uint8_t *at) {
  if (!is_64)
    return load_u32(is_big_endian, at);
  if (!is_big_endian)
    return kdl_load_u64(at);
  return (uint64_t)load_u32(true, at) << 32 | load_u32(true, at + 4);
}

uint32_t kdl_elf_load_u32(const kdl_elf *elf, const uint8_t *at) {
  return elf->is_big_endian ? load_u32(true, at) : kdl_load_u32(at);
}

/* The offset of a field, and its value; for functions with `raw`, `is_64` and `is_big_endian`. */
#define PLACE(is_64, structure, field)                                                             \
  ((is_64) ? offsetof(Elf64_##structure, field) : offsetof(Elf32_##structure, field))
#define HALF(structure, field) load_u16(is_big_endian, raw + PLACE(is_64, structure, field))
#define WORD(structure, field) load_u32(is_big_endian, raw + PLACE(is_64, structure, field))
#define WIDE(structure, field) load_wide(is_64, is_big_endian, raw + PLACE(is_64, structure, field))

#define LOAD(load, elf, raw)                                                                       \
  ((elf)->is_64 && !(elf)->is_big_endian ? load(raw, true, false)                                  \
                                         : load(raw, (elf)->is_64, (elf)->is_big_endian))

LOADER kdl_elf load_header(const uint8_t *raw, bool is_64, bool is_big_endian) {
  return (kdl_elf){
      .is_64 = is_64,
      .is_big_endian = is_big_endian,
      .os_abi = raw[EI_OSABI],
      .abi_version = raw[EI_ABIVERSION],
      .type = HALF(Ehdr, e_type),
      .machine = HALF(Ehdr, e_machine),
      .flags = WORD(Ehdr, e_flags),
      .section_table = WIDE(Ehdr, e_shoff),
      .section_count = HALF(Ehdr, e_shnum),
      .section_size = HALF(Ehdr, e_shentsize),
      .section_names = HALF(Ehdr, e_shstrndx),
      .segment_table = WIDE(Ehdr, e_phoff),
      .segment_count = HALF(Ehdr, e_phnum),
      .segment_size = HALF(Ehdr, e_phentsize),
  };
}

LOADER kdl_elf_section load_section(const uint8_t *raw, bool is_64, bool is_big_endian) {
  return (kdl_elf_section){
      .name = WORD(Shdr, sh_name),
      .type = WORD(Shdr, sh_type),
      .flags = WIDE(Shdr, sh_flags),
      .address = WIDE(Shdr, sh_addr),
      .offset = WIDE(Shdr, sh_offset),
      .size = WIDE(Shdr, sh_size),
      .link = WORD(Shdr, sh_link),
      .info = WORD(Shdr, sh_info),
      .alignment = WIDE(Shdr, sh_addralign),
      .entry_size = WIDE(Shdr, sh_entsize),
  };
}

LOADER kdl_elf_segment load_segment(const uint8_t *raw, bool is_64, bool is_big_endian) {
  return (kdl_elf_segment){
      .type = WORD(Phdr, p_type),
      .flags = WORD(Phdr, p_flags),
      .offset = WIDE(Phdr, p_offset),
      .address = WIDE(Phdr, p_vaddr),
      .physical = WIDE(Phdr, p_paddr),
      .file_size = WIDE(Phdr, p_filesz),
      .memory_size = WIDE(Phdr, p_memsz),
      .alignment = WIDE(Phdr, p_align),
  };
}

LOADER kdl_elf_symbol load_symbol(const uint8_t *raw, bool is_64, bool is_big_endian) {
  uint8_t info = raw[PLACE(is_64, Sym, st_info)];
  return (kdl_elf_symbol){
      .name = WORD(Sym, st_name),
      .type = ELF64_ST_TYPE(info),
      .binding = ELF64_ST_BIND(info),
      .other = raw[PLACE(is_64, Sym, st_other)],
      .is_defined = HALF(Sym, st_shndx) != SHN_UNDEF,
      .section = HALF(Sym, st_shndx),
      .address = WIDE(Sym, st_value),
      .size = WIDE(Sym, st_size),
  };
}

kdl_elf kdl_elf_load_header(const uint8_t *raw) {
  return load_header(raw, raw[EI_CLASS] == ELFCLASS64, raw[EI_DATA] == ELFDATA2MSB);
}

kdl_elf_section kdl_elf_load_section(const kdl_elf *elf, const uint8_t *raw) {
  return LOAD(load_section, elf, raw);
}

kdl_elf_segment kdl_elf_load_segment(const kdl_elf *elf, const uint8_t *raw) {
  return LOAD(load_segment, elf, raw);
}

kdl_elf_symbol kdl_elf_load_symbol(const kdl_elf *elf, const uint8_t *raw) {
  return LOAD(load_symbol, elf, raw);
}

bool kdl_elf_is_extended(const kdl_elf *elf) {
  return elf->section_table != 0 && (elf->section_count == 0 || elf->section_names == SHN_XINDEX ||
                                     elf->segment_count == PN_XNUM);
}

void kdl_elf_extend(kdl_elf *elf, const kdl_elf_section *first) {
  if (elf->section_count == 0)
    elf->section_count = first->size;
  if (elf->section_names == SHN_XINDEX)
    elf->section_names = first->link;
  if (elf->segment_count == PN_XNUM)
    elf->segment_count = first->info;
}

/* ------------------------------------------------------------------------------------------ */
/* The header                                                                                   */

#define FIELD(elf, structure, field) PLACE((elf)->is_64, structure, field)

LOADER bool table_fits(uint64_t offset, uint64_t count, uint64_t stride, size_t expected,
                       size_t size) {
  return count == 0 || (stride == expected && count <= UINT32_MAX &&
                        kdl_in_range(offset, count * expected, size));
}

static kdl_status refuse_section_table(const kdl_elf *elf) {
  if (elf->section_size != KDL_ELF_SIZE(elf, Shdr))
    return kdl_malformed_at(FIELD(elf, Ehdr, e_shentsize), "section table",
                            "found entries of %u bytes, expected %zu", elf->section_size,
                            KDL_ELF_SIZE(elf, Shdr));
  return kdl_malformed_at(FIELD(elf, Ehdr, e_shoff), "section table",
                          "found %" PRIu64 " entries at 0x%" PRIx64
                          ", expected them inside the image's 0x%zx bytes",
                          elf->section_count, elf->section_table, elf->size);
}

static kdl_status refuse_segment_table(const kdl_elf *elf) {
  if (elf->segment_size != KDL_ELF_SIZE(elf, Phdr))
    return kdl_malformed_at(FIELD(elf, Ehdr, e_phentsize), "segment table",
                            "found entries of %u bytes, expected %zu", elf->segment_size,
                            KDL_ELF_SIZE(elf, Phdr));
  return kdl_malformed_at(FIELD(elf, Ehdr, e_phoff), "segment table",
                          "found %" PRIu64 " entries at 0x%" PRIx64
                          ", expected them inside the image's 0x%zx bytes",
                          elf->segment_count, elf->segment_table, elf->size);
}

static kdl_status check_identity(const uint8_t *data, size_t size) {
  if (size < 20 || kdl_load_u32(data) != KDL_MAGIC_ELF)
    return kdl_malformed_at(0, "e_ident", "found no ELF header, expected 7f 45 4c 46");
  if (data[EI_CLASS] != ELFCLASS32 && data[EI_CLASS] != ELFCLASS64)
    return kdl_malformed_at(EI_CLASS, "EI_CLASS", "found %u, expected 1 or 2", data[EI_CLASS]);
  if (data[EI_DATA] != ELFDATA2LSB && data[EI_DATA] != ELFDATA2MSB)
    return kdl_malformed_at(EI_DATA, "EI_DATA", "found %u, expected 1 or 2", data[EI_DATA]);
  size_t needed = data[EI_CLASS] == ELFCLASS64 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr);
  if (size < needed)
    return kdl_malformed_at(0, "ELF header", "found %zu bytes, expected at least %zu", size,
                            needed);
  return KDL_OK;
}

/* Checks the tables of a file of any class, and reports what is wrong. */
static kdl_status check_tables(kdl_elf *elf) {
  if (elf->section_table && !kdl_in_range(elf->section_table, KDL_ELF_SIZE(elf, Shdr), elf->size))
    return kdl_malformed_at(FIELD(elf, Ehdr, e_shoff), "e_shoff",
                            "found 0x%" PRIx64 ", expected at most 0x%zx: the image ends there",
                            elf->section_table, elf->size);
  if (kdl_elf_is_extended(elf)) {
    kdl_elf_section first = kdl_elf_load_section(elf, elf->data + elf->section_table);
    kdl_elf_extend(elf, &first);
  }
  if (!table_fits(elf->section_table, elf->section_count, elf->section_size,
                  KDL_ELF_SIZE(elf, Shdr), elf->size))
    return refuse_section_table(elf);
  if (!table_fits(elf->segment_table, elf->segment_count, elf->segment_size,
                  KDL_ELF_SIZE(elf, Phdr), elf->size))
    return refuse_segment_table(elf);
  return KDL_OK;
}

/* Opens a 64-bit little-endian file with valid tables, which nearly all are. */
LOADER bool open_usual(const uint8_t *data, size_t size, kdl_elf *out_elf) {
  static const uint64_t usual =
      KDL_MAGIC_ELF | (uint64_t)ELFCLASS64 << 32 | (uint64_t)ELFDATA2LSB << 40;
  if (size < sizeof(Elf64_Ehdr) || kdl_load_u64(data) << 16 != usual << 16)
    return false;
  kdl_elf elf = load_header(data, true, false);
  elf.data = data;
  elf.size = size;
  if (!elf.section_table || kdl_elf_is_extended(&elf) ||
      !table_fits(elf.section_table, elf.section_count, elf.section_size, sizeof(Elf64_Shdr),
                  size) ||
      !table_fits(elf.segment_table, elf.segment_count, elf.segment_size, sizeof(Elf64_Phdr), size))
    return false;
  *out_elf = elf;
  return true;
}

kdl_status kdl_elf_open(const uint8_t *data, size_t size, kdl_elf *out_elf) {
  if (open_usual(data, size, out_elf))
    return KDL_OK;
  KDL_TRY(check_identity(data, size));
  kdl_elf elf = kdl_elf_load_header(data);
  elf.data = data;
  elf.size = size;
  KDL_TRY(check_tables(&elf));
  *out_elf = elf;
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Sections and strings                                                                         */

kdl_status kdl_elf_read_section(const kdl_elf *elf, uint64_t index, kdl_elf_section *out_section) {
  if (index >= elf->section_count)
    return kdl_malformed_at(FIELD(elf, Ehdr, e_shoff), "section index",
                            "found %" PRIu64 ", expected less than %" PRIu64, index,
                            elf->section_count);
  uint64_t at = elf->section_table + index * elf->section_size;
  *out_section = LOAD(load_section, elf, elf->data + at);
  out_section->header = at;
  return KDL_OK;
}

/* The first section of a type from `index` on, or the number of sections. Loads only the type. */
static uint64_t next_of_type(const kdl_elf *elf, uint64_t index, uint32_t type) {
  enum { type_at = offsetof(Elf64_Shdr, sh_type) }; /* the same in both classes */
  const uint8_t *headers = elf->data + elf->section_table;
  while (index < elf->section_count &&
         kdl_elf_load_u32(elf, headers + index * elf->section_size + type_at) != type)
    ++index;
  return index;
}

static kdl_status check_contents(const kdl_elf *elf, const kdl_elf_section *section) {
  if (kdl_in_range(section->offset, section->size, elf->size))
    return KDL_OK;
  return kdl_malformed_at(section->header + FIELD(elf, Shdr, sh_offset), "sh_offset",
                          "found 0x%" PRIx64 " bytes at 0x%" PRIx64
                          ", expected them inside the image's 0x%zx bytes",
                          section->size, section->offset, elf->size);
}

static kdl_status read_string(const kdl_elf *elf, const kdl_elf_section *strings, uint32_t offset,
                              const char **out_text, size_t *out_length) {
  if (offset >= strings->size)
    return kdl_malformed_at(strings->offset, "string table",
                            "found a name at 0x%" PRIx32 " of it, expected less than 0x%" PRIx64,
                            offset, strings->size);
  const char *text = (const char *)elf->data + strings->offset + offset;
  uint64_t left = strings->size - offset;
  size_t look = left < KDL_ELF_LIMIT_NAME ? (size_t)left : KDL_ELF_LIMIT_NAME;
  const char *end = memchr(text, 0, look);
  if (!end)
    return kdl_malformed_at(strings->offset + offset, "name",
                            "found no terminating NUL in %zu bytes, expected one%s", look,
                            look < left ? "" : " before the string table ends");
  *out_text = text;
  *out_length = (size_t)(end - text);
  return KDL_OK;
}

static kdl_status read_strings(const kdl_elf *elf, uint64_t index, kdl_elf_section *out_strings) {
  kdl_status status = kdl_elf_read_section(elf, index, out_strings);
  if (status == KDL_OK && out_strings->type != SHT_STRTAB)
    return kdl_malformed_at(out_strings->header + 4, "sh_type",
                            "found %" PRIu32 " for the section of names, expected %d",
                            out_strings->type, SHT_STRTAB);
  return status == KDL_OK ? check_contents(elf, out_strings) : status;
}

kdl_status kdl_elf_section_name(const kdl_elf *elf, const kdl_elf_section *section,
                                const char **out_name, size_t *out_length) {
  kdl_elf_section names;
  kdl_status status = read_strings(elf, elf->section_names, &names);
  return status == KDL_OK ? read_string(elf, &names, section->name, out_name, out_length) : status;
}

kdl_status kdl_elf_find_section_of(const kdl_elf *elf, const char *prefix, kdl_string name,
                                   kdl_elf_section *out_section, bool *out_found) {
  *out_found = false;
  if (elf->section_count == 0)
    return KDL_OK;
  kdl_elf_section names;
  kdl_status status = read_strings(elf, elf->section_names, &names);
  const size_t before = strlen(prefix), length = before + name.length;
  const size_t stride = (size_t)elf->section_size;
  const bool is_big_endian = elf->is_big_endian;
  const uint8_t *header = elf->data + elf->section_table;
  for (uint64_t i = 1; i < elf->section_count && status == KDL_OK; ++i) {
    header += stride; /* a header begins with the name */
    uint32_t at = is_big_endian ? kdl_elf_load_u32(elf, header) : kdl_load_u32(header);
    if (!kdl_in_range(at, length + 1, names.size))
      continue;
    const char *text = (const char *)elf->data + names.offset + at;
    if (text[length] == '\0' && memcmp(text, prefix, before) == 0 &&
        memcmp(text + before, name.data, name.length) == 0) {
      *out_found = true;
      status = kdl_elf_read_section(elf, i, out_section);
      return status == KDL_OK ? check_contents(elf, out_section) : status;
    }
  }
  return status;
}

kdl_status kdl_elf_find_section(const kdl_elf *elf, const char *name, kdl_elf_section *out_section,
                                bool *out_found) {
  return kdl_elf_find_section_of(elf, name, (kdl_string){"", 0}, out_section, out_found);
}

/* ------------------------------------------------------------------------------------------ */
/* Symbols                                                                                      */

static kdl_status check_symbols(const kdl_elf *elf, kdl_elf_symbols *symbols) {
  uint64_t stride = KDL_ELF_SIZE(elf, Sym);
  if (symbols->table.entry_size != stride)
    return kdl_malformed_at(symbols->table.header + FIELD(elf, Shdr, sh_entsize), "sh_entsize",
                            "found symbols of %" PRIu64 " bytes, expected %" PRIu64,
                            symbols->table.entry_size, stride);
  symbols->count = symbols->table.size / stride;
  kdl_status status = check_contents(elf, &symbols->table);
  return status == KDL_OK ? read_strings(elf, symbols->table.link, &symbols->strings) : status;
}

kdl_status kdl_elf_open_symbols(const kdl_elf *elf, uint32_t type, kdl_elf_symbols *out_symbols) {
  kdl_elf_symbols symbols = {0};
  uint64_t index = elf->section_count ? next_of_type(elf, 1, type) : 0;
  if (index < elf->section_count) {
    KDL_TRY(kdl_elf_read_section(elf, index, &symbols.table));
    KDL_TRY(check_symbols(elf, &symbols));
  }
  *out_symbols = symbols;
  return KDL_OK;
}

kdl_elf_symbol kdl_elf_read_symbol(const kdl_elf *elf, const kdl_elf_symbols *symbols,
                                   uint64_t index) {
  const uint8_t *raw = elf->data + symbols->table.offset + index * KDL_ELF_SIZE(elf, Sym);
  return LOAD(load_symbol, elf, raw);
}

kdl_status kdl_elf_symbol_name(const kdl_elf *elf, const kdl_elf_symbols *symbols,
                               const kdl_elf_symbol *symbol, const char **out_name,
                               size_t *out_length) {
  return read_string(elf, &symbols->strings, symbol->name, out_name, out_length);
}

static kdl_elf_segment read_segment(const kdl_elf *elf, uint64_t index) {
  return kdl_elf_load_segment(elf, elf->data + elf->segment_table + index * elf->segment_size);
}

const uint8_t *kdl_elf_at_address(const kdl_elf *elf, uint64_t address, uint64_t length) {
  for (uint64_t i = 0; i < elf->segment_count; ++i) {
    kdl_elf_segment load = read_segment(elf, i);
    if (load.type == PT_LOAD && address >= load.address &&
        kdl_in_range(address - load.address, length, load.file_size) &&
        kdl_in_range(load.offset, load.file_size, elf->size))
      return elf->data + load.offset + (address - load.address);
  }
  return NULL;
}

/* ------------------------------------------------------------------------------------------ */
/* Notes                                                                                        */

static kdl_status check_segment(const kdl_elf *elf, uint64_t index) {
  kdl_elf_segment segment = read_segment(elf, index);
  if (kdl_in_range(segment.offset, segment.file_size, elf->size))
    return KDL_OK;
  return kdl_malformed_at(elf->segment_table + index * elf->segment_size, "p_offset",
                          "found 0x%" PRIx64 " bytes at 0x%" PRIx64
                          ", expected them inside the image's 0x%zx bytes",
                          segment.file_size, segment.offset, elf->size);
}

/* Moves to the next section or segment with notes, or to the end. */
static kdl_status next_notes(kdl_elf_notes *notes) {
  const kdl_elf *elf = notes->elf;
  while ((notes->next = next_of_type(elf, notes->next, SHT_NOTE)) < elf->section_count) {
    kdl_elf_section section;
    KDL_TRY(kdl_elf_read_section(elf, notes->next++, &section));
    if (!section.size)
      continue;
    KDL_TRY(check_contents(elf, &section));
    notes->offset = section.offset;
    notes->end = section.offset + section.size;
    notes->alignment = section.alignment;
    return KDL_OK;
  }
  while (elf->section_count == 0 && notes->next < elf->segment_count) {
    uint64_t index = notes->next++;
    kdl_elf_segment segment = read_segment(elf, index);
    if (segment.type != PT_NOTE || segment.file_size == 0)
      continue;
    KDL_TRY(check_segment(elf, index));
    notes->offset = segment.offset;
    notes->end = segment.offset + segment.file_size;
    notes->alignment = segment.alignment;
    return KDL_OK;
  }
  return KDL_OK;
}

kdl_elf_notes kdl_elf_notes_of(const kdl_elf *elf, const kdl_elf_section *section) {
  return (kdl_elf_notes){.elf = elf,
                         .next = elf->section_count,
                         .offset = section->offset,
                         .end = section->offset + section->size,
                         .alignment = section->alignment};
}

static uint64_t align_up(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) & ~(alignment - 1);
}

kdl_status kdl_elf_next_note(kdl_elf_notes *notes, kdl_elf_note *out_note) {
  enum { note_header_size = sizeof(Elf64_Nhdr) };
  *out_note = (kdl_elf_note){0};
  if (notes->offset == notes->end) {
    kdl_status status = next_notes(notes);
    if (status != KDL_OK || notes->offset == notes->end)
      return status;
  }
  const uint8_t *header = notes->elf->data + notes->offset;
  uint64_t size = notes->end - notes->offset;
  if (size < note_header_size)
    return kdl_malformed_at(notes->offset, "note",
                            "found %" PRIu64 " bytes, expected a header of %d", size,
                            note_header_size);
  /* Padding is to 4 bytes in both classes, and to 8 only where the section's alignment is 8. */
  uint64_t alignment = notes->alignment == 8 ? 8 : 4;
  uint64_t owner_size = kdl_elf_load_u32(notes->elf, header);
  uint64_t data_size = kdl_elf_load_u32(notes->elf, header + 4);
  uint64_t data_at = align_up(note_header_size + owner_size, alignment);
  if (!kdl_in_range(note_header_size, owner_size, size) || !kdl_in_range(data_at, data_size, size))
    return kdl_malformed_at(notes->offset, "note",
                            "found %" PRIu64 " bytes of owner and %" PRIu64
                            " of description, expected at most %" PRIu64 " in all",
                            owner_size, data_size, size - note_header_size);
  *out_note = (kdl_elf_note){
      .owner = (const char *)header + note_header_size,
      .owner_length = (size_t)owner_size,
      .type = kdl_elf_load_u32(notes->elf, header + 8),
      .data = header + data_at,
      .size = (size_t)data_size,
  };
  if (owner_size && out_note->owner[owner_size - 1] == '\0')
    --out_note->owner_length;
  uint64_t used = align_up(data_at + data_size, alignment);
  notes->offset = used < size ? notes->offset + used : notes->end;
  return KDL_OK;
}

bool kdl_elf_note_is(const kdl_elf_note *note, const char *owner, uint32_t type) {
  return note->type == type && note->owner_length == strlen(owner) &&
         memcmp(note->owner, owner, note->owner_length) == 0;
}

kdl_status kdl_elf_check_extents(const kdl_elf *elf) {
  for (uint64_t i = 0; i < elf->segment_count; ++i)
    KDL_TRY(check_segment(elf, i));
  for (uint64_t i = 1; i < elf->section_count; ++i) {
    kdl_elf_section section;
    KDL_TRY(kdl_elf_read_section(elf, i, &section));
    if (section.type != SHT_NOBITS)
      KDL_TRY(check_contents(elf, &section));
  }
  return KDL_OK;
}
