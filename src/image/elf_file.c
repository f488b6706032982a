/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "image/elf_file.h"

#include "base/bytes.h"
#include "base/error.h"
#include "image/readers.h"

#include <inttypes.h>
#include <string.h>

enum {
  segment_load = 1,
  segment_note = 4,
  count_elsewhere = 0,      /* e_shnum: the count is in section 0 */
  index_elsewhere = 0xffff, /* e_shstrndx, e_phnum: likewise */
  note_header_size = 12,
};

/* Where each field lies in the 32-bit and the 64-bit form of a structure. */
typedef struct {
  uint8_t in_32;
  uint8_t in_64;
} place;

static const place header_size = {52, 64};
static const place header_segments = {28, 32}, header_sections = {32, 40}, header_flags = {36, 48};
static const place header_segment_size = {42, 54}, header_segment_count = {44, 56};
static const place header_section_size = {46, 58}, header_section_count = {48, 60};
static const place header_section_names = {50, 62};

static const place section_size = {40, 64};
static const place section_offset = {16, 24}, section_length = {20, 32}, section_link = {24, 40};
static const place section_info = {28, 44}, section_align = {32, 48}, section_entry = {36, 56};

static const place segment_size = {32, 56};
static const place segment_offset = {4, 8}, segment_address = {8, 16};
static const place segment_length = {16, 32}, segment_align = {28, 48};

static const place symbol_size = {16, 24};
static const place symbol_value = {4, 8};
static const place symbol_info = {12, 4}, symbol_other = {13, 5}, symbol_section = {14, 6};

static uint8_t pick(const kdl_elf *elf, place where) {
  return elf->is_64 ? where.in_64 : where.in_32;
}

static uint16_t load_u16(const kdl_elf *elf, const uint8_t *at) {
  return (uint16_t)(elf->is_big_endian ? at[0] << 8 | at[1] : kdl_load_u16(at));
}

uint32_t kdl_elf_load_u32(const kdl_elf *elf, const uint8_t *at) {
  return elf->is_big_endian ? (uint32_t)load_u16(elf, at) << 16 | load_u16(elf, at + 2)
                            : kdl_load_u32(at);
}

static uint16_t half_at(const kdl_elf *elf, const uint8_t *base, place where) {
  return load_u16(elf, base + pick(elf, where));
}

static uint32_t word_at(const kdl_elf *elf, const uint8_t *base, place where) {
  return kdl_elf_load_u32(elf, base + pick(elf, where));
}

/* A field that is as wide as an address. */
static uint64_t wide_at(const kdl_elf *elf, const uint8_t *base, place where) {
  const uint8_t *at = base + pick(elf, where);
  if (!elf->is_64)
    return kdl_elf_load_u32(elf, at);
  if (!elf->is_big_endian)
    return kdl_load_u64(at);
  return (uint64_t)kdl_elf_load_u32(elf, at) << 32 | kdl_elf_load_u32(elf, at + 4);
}

/* ------------------------------------------------------------------------------------------ */
/* The header                                                                                   */

/* Counts that overflow their 16 bits in the header are kept in section 0 (gABI, chapter 4). */
static kdl_status read_extended_counts(kdl_elf *elf, uint16_t segments) {
  if (elf->section_table == 0)
    return KDL_OK;
  if (!kdl_in_range(elf->section_table, pick(elf, section_size), elf->size))
    return kdl_image_malformed(pick(elf, header_sections), "e_shoff",
                               "found 0x%" PRIx64 ", expected at most 0x%zx: the image ends there",
                               elf->section_table, elf->size);
  const uint8_t *first = elf->data + elf->section_table;
  if (elf->section_count == count_elsewhere)
    elf->section_count = wide_at(elf, first, section_length);
  if (elf->section_names == index_elsewhere)
    elf->section_names = word_at(elf, first, section_link);
  if (segments == index_elsewhere)
    elf->segment_count = word_at(elf, first, section_info);
  return KDL_OK;
}

static kdl_status check_table(const kdl_elf *elf, const char *field, place offset_place,
                              place stride_place, uint64_t offset, uint64_t count, place expected) {
  if (count == 0)
    return KDL_OK;
  uint16_t stride = half_at(elf, elf->data, stride_place);
  if (stride != pick(elf, expected))
    return kdl_image_malformed(pick(elf, stride_place), field,
                               "found entries of %u bytes, expected %u", stride,
                               pick(elf, expected));
  if (offset > elf->size || count > (elf->size - offset) / stride)
    return kdl_image_malformed(pick(elf, offset_place), field,
                               "found %" PRIu64 " entries at 0x%" PRIx64
                               ", expected them inside the image's 0x%zx bytes",
                               count, offset, elf->size);
  return KDL_OK;
}

static kdl_status check_identity(const uint8_t *data, size_t size) {
  if (size < 20 || memcmp(data, "\177ELF", 4) != 0)
    return kdl_image_malformed(0, "e_ident", "found no ELF header, expected 7f 45 4c 46");
  if (data[4] != 1 && data[4] != 2)
    return kdl_image_malformed(4, "EI_CLASS", "found %u, expected 1 or 2", data[4]);
  if (data[5] != 1 && data[5] != 2)
    return kdl_image_malformed(5, "EI_DATA", "found %u, expected 1 or 2", data[5]);
  return KDL_OK;
}

/* Whether it is a 64-bit file in little-endian order whose tables are in order, as nearly all are:
 * read without a choice for each field. What is wrong with another, or odd, is told below. */
static bool open_usual(const uint8_t *data, size_t size, kdl_elf *out_elf) {
  if (size < header_size.in_64 || kdl_load_u32(data) != 0x464c457f || data[4] != 2 || data[5] != 1)
    return false;
  kdl_elf elf = {
      .data = data,
      .size = size,
      .is_64 = true,
      .os_abi = data[7],
      .abi_version = data[8],
      .type = kdl_load_u16(data + 16),
      .machine = kdl_load_u16(data + 18),
      .flags = kdl_load_u32(data + header_flags.in_64),
      .section_table = kdl_load_u64(data + header_sections.in_64),
      .section_count = kdl_load_u16(data + header_section_count.in_64),
      .section_names = kdl_load_u16(data + header_section_names.in_64),
      .segment_table = kdl_load_u64(data + header_segments.in_64),
      .segment_count = kdl_load_u16(data + header_segment_count.in_64),
  };
  bool is_plain = elf.section_count != count_elsewhere && elf.section_names != index_elsewhere &&
                  elf.segment_count != index_elsewhere;
  bool are_strides_right = kdl_load_u16(data + header_section_size.in_64) == section_size.in_64 &&
                           (elf.segment_count == 0 ||
                            kdl_load_u16(data + header_segment_size.in_64) == segment_size.in_64);
  bool is_usual = is_plain && are_strides_right && elf.section_table != 0 &&
                  kdl_in_range(elf.section_table, elf.section_count * section_size.in_64, size) &&
                  (elf.segment_count == 0 ||
                   kdl_in_range(elf.segment_table, elf.segment_count * segment_size.in_64, size));
  if (is_usual)
    *out_elf = elf;
  return is_usual;
}

kdl_status kdl_elf_open(const uint8_t *data, size_t size, kdl_elf *out_elf) {
  if (open_usual(data, size, out_elf))
    return KDL_OK;
  KDL_TRY(check_identity(data, size));
  kdl_elf elf = {
      .data = data,
      .size = size,
      .is_64 = data[4] == 2,
      .is_big_endian = data[5] == 2,
      .os_abi = data[7],
      .abi_version = data[8],
  };
  if (size < pick(&elf, header_size))
    return kdl_image_malformed(0, "ELF header", "found %zu bytes, expected at least %u", size,
                               pick(&elf, header_size));
  elf.type = load_u16(&elf, data + 16);
  elf.machine = load_u16(&elf, data + 18);
  elf.flags = word_at(&elf, data, header_flags);
  elf.section_table = wide_at(&elf, data, header_sections);
  elf.section_count = half_at(&elf, data, header_section_count);
  elf.section_names = half_at(&elf, data, header_section_names);
  elf.segment_table = wide_at(&elf, data, header_segments);
  elf.segment_count = half_at(&elf, data, header_segment_count);
  KDL_TRY(read_extended_counts(&elf, (uint16_t)elf.segment_count));
  KDL_TRY(check_table(&elf, "section table", header_sections, header_section_size,
                      elf.section_table, elf.section_count, section_size));
  KDL_TRY(check_table(&elf, "segment table", header_segments, header_segment_size,
                      elf.segment_table, elf.segment_count, segment_size));
  *out_elf = elf;
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Sections and strings                                                                         */

kdl_status kdl_elf_read_section(const kdl_elf *elf, uint64_t index, kdl_elf_section *out_section) {
  if (index >= elf->section_count)
    return kdl_image_malformed(pick(elf, header_sections), "section index",
                               "found %" PRIu64 ", expected less than %" PRIu64, index,
                               elf->section_count);
  uint64_t at = elf->section_table + index * pick(elf, section_size);
  const uint8_t *header = elf->data + at;
  if (elf->is_64 && !elf->is_big_endian) { /* as nearly all are: without a choice for each field */
    *out_section = (kdl_elf_section){
        .header = at,
        .name = kdl_load_u32(header),
        .type = kdl_load_u32(header + 4),
        .link = kdl_load_u32(header + section_link.in_64),
        .offset = kdl_load_u64(header + section_offset.in_64),
        .size = kdl_load_u64(header + section_length.in_64),
        .alignment = kdl_load_u64(header + section_align.in_64),
        .entry_size = kdl_load_u64(header + section_entry.in_64),
    };
    return KDL_OK;
  }
  *out_section = (kdl_elf_section){
      .header = at,
      .name = kdl_elf_load_u32(elf, header),
      .type = kdl_elf_load_u32(elf, header + 4),
      .link = word_at(elf, header, section_link),
      .offset = wide_at(elf, header, section_offset),
      .size = wide_at(elf, header, section_length),
      .alignment = wide_at(elf, header, section_align),
      .entry_size = wide_at(elf, header, section_entry),
  };
  return KDL_OK;
}

static kdl_status check_contents(const kdl_elf *elf, const kdl_elf_section *section) {
  if (kdl_in_range(section->offset, section->size, elf->size))
    return KDL_OK;
  return kdl_image_malformed(section->header + pick(elf, section_offset), "sh_offset",
                             "found 0x%" PRIx64 " bytes at 0x%" PRIx64
                             ", expected them inside the image's 0x%zx bytes",
                             section->size, section->offset, elf->size);
}

static kdl_status read_string(const kdl_elf *elf, const kdl_elf_section *strings, uint32_t offset,
                              const char **out_text, size_t *out_length) {
  if (offset >= strings->size)
    return kdl_image_malformed(strings->offset, "string table",
                               "found a name at 0x%" PRIx32 " of it, expected less than 0x%" PRIx64,
                               offset, strings->size);
  const char *text = (const char *)elf->data + strings->offset + offset;
  uint64_t left = strings->size - offset;
  size_t look = left < KDL_ELF_LIMIT_NAME ? (size_t)left : KDL_ELF_LIMIT_NAME;
  const char *end = memchr(text, 0, look);
  if (!end)
    return kdl_image_malformed(strings->offset + offset, "name",
                               "found no terminating NUL in %zu bytes, expected one%s", look,
                               look < left ? "" : " before the string table ends");
  *out_text = text;
  *out_length = (size_t)(end - text);
  return KDL_OK;
}

static kdl_status read_strings(const kdl_elf *elf, uint64_t index, kdl_elf_section *out_strings) {
  kdl_status status = kdl_elf_read_section(elf, index, out_strings);
  if (status == KDL_OK && out_strings->type != KDL_ELF_SECTION_STRTAB)
    return kdl_image_malformed(out_strings->header + 4, "sh_type",
                               "found %" PRIu32 " for the section of names, expected %d",
                               out_strings->type, KDL_ELF_SECTION_STRTAB);
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
  const size_t stride = pick(elf, section_size);
  const bool is_big_endian = elf->is_big_endian;
  const uint8_t *header = elf->data + elf->section_table;
  for (uint64_t i = 1; i < elf->section_count && status == KDL_OK; ++i) {
    header += stride; /* its first word is the name */
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
  uint64_t stride = pick(elf, symbol_size);
  if (symbols->table.entry_size != stride)
    return kdl_image_malformed(symbols->table.header + pick(elf, section_entry), "sh_entsize",
                               "found symbols of %" PRIu64 " bytes, expected %" PRIu64,
                               symbols->table.entry_size, stride);
  symbols->count = symbols->table.size / stride;
  kdl_status status = check_contents(elf, &symbols->table);
  return status == KDL_OK ? read_strings(elf, symbols->table.link, &symbols->strings) : status;
}

kdl_status kdl_elf_open_symbols(const kdl_elf *elf, uint32_t type, kdl_elf_symbols *out_symbols) {
  kdl_elf_symbols symbols = {0};
  for (uint64_t i = 1; i < elf->section_count; ++i) {
    kdl_status status = kdl_elf_read_section(elf, i, &symbols.table);
    if (status != KDL_OK)
      return status;
    if (symbols.table.type != type)
      continue;
    status = check_symbols(elf, &symbols);
    if (status != KDL_OK)
      return status;
    break;
  }
  *out_symbols = symbols;
  return KDL_OK;
}

kdl_elf_symbol kdl_elf_read_symbol(const kdl_elf *elf, const kdl_elf_symbols *symbols,
                                   uint64_t index) {
  const uint8_t *entry =
      elf->data + symbols->table.offset + index * (uint64_t)pick(elf, symbol_size);
  uint8_t info = entry[pick(elf, symbol_info)];
  return (kdl_elf_symbol){
      .name = kdl_elf_load_u32(elf, entry),
      .type = info & 0xf,
      .binding = info >> 4,
      .other = entry[pick(elf, symbol_other)],
      .is_defined = half_at(elf, entry, symbol_section) != 0,
      .address = wide_at(elf, entry, symbol_value),
  };
}

kdl_status kdl_elf_symbol_name(const kdl_elf *elf, const kdl_elf_symbols *symbols,
                               const kdl_elf_symbol *symbol, const char **out_name,
                               size_t *out_length) {
  return read_string(elf, &symbols->strings, symbol->name, out_name, out_length);
}

const uint8_t *kdl_elf_at_address(const kdl_elf *elf, uint64_t address, uint64_t length) {
  for (uint64_t i = 0; i < elf->segment_count; ++i) {
    const uint8_t *header = elf->data + elf->segment_table + i * pick(elf, segment_size);
    uint64_t start = wide_at(elf, header, segment_address);
    uint64_t offset = wide_at(elf, header, segment_offset);
    uint64_t extent = wide_at(elf, header, segment_length);
    if (kdl_elf_load_u32(elf, header) == segment_load && address >= start &&
        kdl_in_range(address - start, length, extent) && kdl_in_range(offset, extent, elf->size))
      return elf->data + offset + (address - start);
  }
  return NULL;
}

/* ------------------------------------------------------------------------------------------ */
/* Notes                                                                                        */

static kdl_status check_segment(const kdl_elf *elf, uint64_t at) {
  uint64_t offset = wide_at(elf, elf->data + at, segment_offset);
  uint64_t size = wide_at(elf, elf->data + at, segment_length);
  if (kdl_in_range(offset, size, elf->size))
    return KDL_OK;
  return kdl_image_malformed(at, "p_offset",
                             "found 0x%" PRIx64 " bytes at 0x%" PRIx64
                             ", expected them inside the image's 0x%zx bytes",
                             size, offset, elf->size);
}

/* Moves to the next section or segment that holds notes; at the end leaves none. */
static kdl_status next_notes(kdl_elf_notes *notes) {
  const kdl_elf *elf = notes->elf;
  while (notes->next < elf->section_count) {
    kdl_elf_section section;
    kdl_status status = kdl_elf_read_section(elf, notes->next++, &section);
    if (status != KDL_OK)
      return status;
    if (section.type == KDL_ELF_SECTION_NOTE && section.size) {
      status = check_contents(elf, &section);
      if (status != KDL_OK)
        return status;
      notes->offset = section.offset;
      notes->end = section.offset + section.size;
      notes->alignment = section.alignment;
      return KDL_OK;
    }
  }
  while (elf->section_count == 0 && notes->next < elf->segment_count) {
    uint64_t at = elf->segment_table + notes->next++ * pick(elf, segment_size);
    const uint8_t *header = elf->data + at;
    uint64_t offset = wide_at(elf, header, segment_offset);
    uint64_t size = wide_at(elf, header, segment_length);
    if (kdl_elf_load_u32(elf, header) != segment_note || size == 0)
      continue;
    kdl_status status = check_segment(elf, at);
    if (status != KDL_OK)
      return status;
    notes->offset = offset;
    notes->end = offset + size;
    notes->alignment = wide_at(elf, header, segment_align);
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
  *out_note = (kdl_elf_note){0};
  if (notes->offset == notes->end) {
    kdl_status status = next_notes(notes);
    if (status != KDL_OK || notes->offset == notes->end)
      return status;
  }
  const uint8_t *header = notes->elf->data + notes->offset;
  uint64_t size = notes->end - notes->offset;
  if (size < note_header_size)
    return kdl_image_malformed(notes->offset, "note",
                               "found %" PRIu64 " bytes, expected a header of %d", size,
                               note_header_size);
  /* Words of 4 bytes in both classes; only where the section says 8 is the padding to 8. */
  uint64_t alignment = notes->alignment == 8 ? 8 : 4;
  uint64_t owner_size = kdl_elf_load_u32(notes->elf, header);
  uint64_t data_size = kdl_elf_load_u32(notes->elf, header + 4);
  uint64_t data_at = align_up(note_header_size + owner_size, alignment);
  if (!kdl_in_range(note_header_size, owner_size, size) || !kdl_in_range(data_at, data_size, size))
    return kdl_image_malformed(notes->offset, "note",
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
    KDL_TRY(check_segment(elf, elf->segment_table + i * pick(elf, segment_size)));
  for (uint64_t i = 1; i < elf->section_count; ++i) {
    kdl_elf_section section;
    KDL_TRY(kdl_elf_read_section(elf, i, &section));
    if (section.type != KDL_ELF_SECTION_NOBITS)
      KDL_TRY(check_contents(elf, &section));
  }
  return KDL_OK;
}
