/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "thin/elf/elf_image.h"

#include "base/bytes.h"
#include "base/error.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { smallest_page = 4096, largest_page = 65536, limit_segments = 4096 };

#define MALFORMED(image, at, field, format, ...)                                                   \
  kdl_fail(KDL_BAD_FILE, "%s: offset 0x%" PRIx64 ": %s: " format, (image)->name, (uint64_t)(at),   \
           field, __VA_ARGS__)

/* Where the fields of the headers are, and how wide. */
#define SEGMENT_FIELDS(FIELD)                                                                      \
  FIELD(u32, 0, type)                                                                              \
  FIELD(u32, 4, flags)                                                                             \
  FIELD(u64, 8, offset)                                                                            \
  FIELD(u64, 16, address)                                                                          \
  FIELD(u64, 24, physical)                                                                         \
  FIELD(u64, 32, file_size)                                                                        \
  FIELD(u64, 40, memory_size)                                                                      \
  FIELD(u64, 48, alignment)
#define SECTION_FIELDS(FIELD)                                                                      \
  FIELD(u32, 0, name)                                                                              \
  FIELD(u32, 4, type)                                                                              \
  FIELD(u64, 8, flags)                                                                             \
  FIELD(u64, 16, address)                                                                          \
  FIELD(u64, 24, offset)                                                                           \
  FIELD(u64, 32, size)                                                                             \
  FIELD(u32, 40, link)                                                                             \
  FIELD(u32, 44, info)                                                                             \
  FIELD(u64, 48, alignment)                                                                        \
  FIELD(u64, 56, entry_size)
#define LOAD(width, at, field) .field = kdl_load_##width(raw + (at)),
#define STORE(width, at, field) kdl_store_##width(raw + (at), from->field);

elf_segment elf_segment_load(const uint8_t *raw) {
  return (elf_segment){SEGMENT_FIELDS(LOAD)};
}

void elf_segment_store(uint8_t *raw, const elf_segment *from){SEGMENT_FIELDS(STORE)}

elf_section elf_section_load(const uint8_t *raw) {
  return (elf_section){SECTION_FIELDS(LOAD)};
}

void elf_section_store(uint8_t *raw, const elf_section *from) {
  SECTION_FIELDS(STORE)
}

/* ------------------------------------------------------------------------------------------ */
/* Segments                                                                                     */

/* What glibc and Linux refuse, and what none of their linkers makes. */
static kdl_status check_load(const elf_image *image, size_t index, const elf_segment *before) {
  const elf_segment *load = &image->segments[index];
  uint64_t at = image->segment_table + index * ELF_SEGMENT_SIZE;
  if (load->file_size > load->memory_size || load->memory_size > UINT64_MAX / 2 ||
      load->address > UINT64_MAX / 2)
    return MALFORMED(image, at, "PT_LOAD",
                     "found 0x%" PRIx64 " bytes of the file for 0x%" PRIx64 " at 0x%" PRIx64
                     ", expected no more than those",
                     load->file_size, load->memory_size, load->address);
  if (!kdl_in_range(load->offset, load->file_size, image->size))
    return MALFORMED(image, at + 8, "PT_LOAD",
                     "found 0x%" PRIx64 " bytes at 0x%" PRIx64
                     ", expected them within the file's 0x%" PRIx64,
                     load->file_size, load->offset, image->size);
  if (load->alignment > 1 && (load->alignment & (load->alignment - 1)))
    return MALFORMED(image, at + 48, "p_align", "found 0x%" PRIx64 ", expected a power of two",
                     load->alignment);
  uint64_t unit = load->alignment > smallest_page ? load->alignment : (uint64_t)smallest_page;
  if ((load->address - load->offset) & (unit - 1))
    return MALFORMED(image, at + 8, "PT_LOAD",
                     "found offset 0x%" PRIx64 " for address 0x%" PRIx64
                     ", expected them equal modulo 0x%" PRIx64,
                     load->offset, load->address, unit);
  if (before && load->address < before->address + before->memory_size)
    return MALFORMED(image, at + 16, "PT_LOAD",
                     "found address 0x%" PRIx64 ", expected at least 0x%" PRIx64
                     ", the end of the segment before",
                     load->address, before->address + before->memory_size);
  if (before && load->file_size && load->offset < before->offset + before->file_size)
    return MALFORMED(image, at + 8, "PT_LOAD",
                     "found offset 0x%" PRIx64 ", expected at least 0x%" PRIx64
                     ", the end of the segment before",
                     load->offset, before->offset + before->file_size);
  return KDL_OK;
}

/* What is found by its address and what by its offset are the same. */
static kdl_status check_described(const elf_image *image) {
  for (size_t i = 0; i < image->segment_count; ++i) {
    const elf_segment *segment = &image->segments[i];
    uint64_t address;
    if (segment->type != ELF_LOAD && segment->file_size &&
        elf_image_address(image, segment->offset, segment->file_size, &address) &&
        address != segment->address)
      return MALFORMED(image, image->segment_table + i * ELF_SEGMENT_SIZE + 16, "program header",
                       "found address 0x%" PRIx64 " for offset 0x%" PRIx64 ", expected 0x%" PRIx64
                       ", where a PT_LOAD puts it",
                       segment->address, segment->offset, address);
  }
  return KDL_OK;
}

static kdl_status read_segments(elf_image *image) {
  const uint8_t *header = image->data;
  image->segment_table = kdl_load_u64(header + 32);
  image->segment_count = kdl_load_u16(header + 56);
  if (kdl_load_u16(header + 54) != ELF_SEGMENT_SIZE || image->segment_count == 0 ||
      image->segment_count > limit_segments ||
      !kdl_in_range(image->segment_table, image->segment_count * ELF_SEGMENT_SIZE, image->size))
    return MALFORMED(image, 32, "program headers",
                     "found %zu of %u bytes at 0x%" PRIx64
                     ", expected from 1 to %d of %d bytes within the file's 0x%" PRIx64,
                     image->segment_count, kdl_load_u16(header + 54), image->segment_table,
                     limit_segments, ELF_SEGMENT_SIZE, image->size);
  image->segments = calloc(image->segment_count, sizeof *image->segments);
  if (!image->segments)
    return kdl_fail(KDL_NO_MEMORY, "%s: out of memory", image->name);
  const elf_segment *before = NULL;
  for (size_t i = 0; i < image->segment_count; ++i) {
    elf_segment *segment = &image->segments[i];
    *segment = elf_segment_load(image->data + image->segment_table + i * ELF_SEGMENT_SIZE);
    if (segment->type != ELF_LOAD)
      continue;
    kdl_status status = check_load(image, i, before);
    if (status != KDL_OK)
      return status;
    before = segment;
    if (image->machine == ELF_AARCH64 && segment->alignment > image->page)
      image->page = segment->alignment < largest_page ? segment->alignment : largest_page;
  }
  return before ? check_described(image)
                : MALFORMED(image, image->segment_table, "program headers",
                            "found no PT_LOAD among %zu, expected one", image->segment_count);
}

/* ------------------------------------------------------------------------------------------ */
/* Sections                                                                                     */

/* Others are put behind the names, so each that there is ends within them. */
static kdl_status check_names(const elf_image *image) {
  const elf_section *names = &image->sections[image->names];
  if (image->names == 0 || names->type != ELF_SHT_STRTAB || names->flags & ELF_ALLOC)
    return MALFORMED(image, 62, "e_shstrndx",
                     "found section %u of type %u and flags 0x%" PRIx64
                     ", expected one of type 3 that is not loaded",
                     image->names, names->type, names->flags);
  if (names->size == 0 || image->data[names->offset + names->size - 1] != 0)
    return MALFORMED(image, names->offset, "section names",
                     "found 0x%" PRIx64 " bytes, expected a zero as the last", names->size);
  for (size_t i = 1; i < image->section_count; ++i) {
    if (image->sections[i].name >= names->size)
      return MALFORMED(image, image->section_table + i * ELF_SECTION_SIZE, "sh_name",
                       "found 0x%x, expected less than 0x%" PRIx64, image->sections[i].name,
                       names->size);
  }
  return KDL_OK;
}

static kdl_status read_sections(elf_image *image) {
  const uint8_t *header = image->data;
  image->section_table = kdl_load_u64(header + 40);
  image->section_count = kdl_load_u16(header + 60);
  image->names = kdl_load_u16(header + 62);
  if (image->section_table == 0 || image->section_count == 0)
    return kdl_fail(KDL_UNSUPPORTED,
                    "%s: found no section headers, expected those that tell where device code is",
                    image->name);
  if (kdl_load_u16(header + 58) != ELF_SECTION_SIZE || image->names >= image->section_count ||
      !kdl_in_range(image->section_table, image->section_count * ELF_SECTION_SIZE, image->size))
    return MALFORMED(image, 40, "section headers",
                     "found %zu of %u bytes at 0x%" PRIx64 ", expected %d bytes each within the "
                     "file's 0x%" PRIx64,
                     image->section_count, kdl_load_u16(header + 58), image->section_table,
                     ELF_SECTION_SIZE, image->size);
  image->sections = calloc(image->section_count, sizeof *image->sections);
  if (!image->sections)
    return kdl_fail(KDL_NO_MEMORY, "%s: out of memory", image->name);
  for (size_t i = 0; i < image->section_count; ++i) {
    elf_section *section = &image->sections[i];
    *section = elf_section_load(image->data + image->section_table + i * ELF_SECTION_SIZE);
    uint64_t address;
    if (i == 0 || section->type == ELF_SHT_NOBITS || section->type == 0)
      continue;
    if (!kdl_in_range(section->offset, section->size, image->size) ||
        section->address > UINT64_MAX - section->size)
      return MALFORMED(image, image->section_table + i * ELF_SECTION_SIZE + 24, "section",
                       "found 0x%" PRIx64 " bytes at 0x%" PRIx64
                       ", expected them within the file's 0x%" PRIx64,
                       section->size, section->offset, image->size);
    if (section->flags & ELF_ALLOC && section->size &&
        (!elf_image_address(image, section->offset, section->size, &address) ||
         address != section->address))
      return MALFORMED(image, image->section_table + i * ELF_SECTION_SIZE + 16, "section",
                       "found address 0x%" PRIx64 " for offset 0x%" PRIx64
                       ", expected where a PT_LOAD puts it",
                       section->address, section->offset);
  }
  return check_names(image);
}

const char *elf_image_section_name(const elf_image *image, const elf_section *section) {
  return (const char *)image->data + image->sections[image->names].offset + section->name;
}

/* ------------------------------------------------------------------------------------------ */
/* Whole files                                                                                  */

static kdl_status check_kind(const elf_image *image) {
  static const char signature[] = "~Module signature appended~\n";
  uint64_t value;
  if (image->data[4] != 2 || image->data[5] != 1)
    return kdl_fail(KDL_UNSUPPORTED,
                    "%s: found an ELF file of class %u and byte order %u, expected 2 (64 bits) and "
                    "1 (little-endian)",
                    image->name, image->data[4], image->data[5]);
  if (image->type != ELF_SHARED && image->type != ELF_EXECUTABLE)
    return kdl_fail(
        KDL_UNSUPPORTED,
        "%s: found an ELF file of type %u, expected 2 (executable) or 3 (shared object)",
        image->name, image->type);
  if (image->size > sizeof signature && memcmp(image->data + image->size - (sizeof signature - 1),
                                               signature, sizeof signature - 1) == 0)
    return kdl_fail(KDL_UNSUPPORTED, "%s: found a signature behind the file, which would not hold",
                    image->name);
  if (image->segments && elf_image_dynamic(image, ELF_DT_GNU_PRELINKED, &value))
    return kdl_fail(
        KDL_UNSUPPORTED,
        "%s: found a prelinked file, expected one without fixed addresses; 'prelink -u' "
        "undoes it",
        image->name);
  return KDL_OK;
}

kdl_status elf_image_read(const uint8_t *data, uint64_t size, const char *name,
                          elf_image *out_image) {
  *out_image = (elf_image){.data = data, .size = size, .name = name, .page = smallest_page};
  if (size < ELF_HEADER_SIZE || memcmp(data, "\177ELF", 4) != 0)
    return MALFORMED(out_image, 0, "ELF header", "found %" PRIu64 " bytes, expected at least %d",
                     size, ELF_HEADER_SIZE);
  out_image->type = kdl_load_u16(data + 16);
  out_image->machine = kdl_load_u16(data + 18);
  kdl_status status = check_kind(out_image);
  if (status == KDL_OK)
    status = read_segments(out_image);
  if (status == KDL_OK)
    status = check_kind(out_image);
  if (status == KDL_OK)
    status = read_sections(out_image);
  return status == KDL_OK ? elf_image_check_apart(out_image) : status;
}

void elf_image_free(elf_image *image) {
  free(image->segments);
  free(image->sections);
}

const elf_segment *elf_image_loaded(const elf_image *image, uint64_t address, uint64_t size) {
  for (size_t i = 0; i < image->segment_count; ++i) {
    const elf_segment *load = &image->segments[i];
    if (load->type == ELF_LOAD && address >= load->address &&
        kdl_in_range(address - load->address, size, load->file_size))
      return load;
  }
  return NULL;
}

const uint8_t *elf_image_at(const elf_image *image, uint64_t address, uint64_t size) {
  const elf_segment *load = elf_image_loaded(image, address, size);
  return load ? &image->data[load->offset + (address - load->address)] : NULL;
}

bool elf_image_address(const elf_image *image, uint64_t offset, uint64_t size,
                       uint64_t *out_address) {
  for (size_t i = 0; i < image->segment_count; ++i) {
    const elf_segment *load = &image->segments[i];
    if (load->type == ELF_LOAD && offset >= load->offset &&
        kdl_in_range(offset - load->offset, size, load->file_size)) {
      *out_address = load->address + (offset - load->offset);
      return true;
    }
  }
  return false;
}

const uint8_t *elf_image_dynamic_table(const elf_image *image, size_t *out_count) {
  for (size_t i = 0; i < image->segment_count; ++i) {
    const elf_segment *segment = &image->segments[i];
    const uint8_t *table = segment->type == ELF_DYNAMIC
                               ? elf_image_at(image, segment->address, segment->file_size)
                               : NULL;
    if (!table)
      continue;
    size_t count = 0;
    while ((count + 1) * ELF_DYNAMIC_SIZE <= segment->file_size &&
           kdl_load_u64(table + count * ELF_DYNAMIC_SIZE))
      ++count;
    *out_count = count;
    return table;
  }
  *out_count = 0;
  return NULL;
}

bool elf_image_dynamic(const elf_image *image, uint64_t tag, uint64_t *out_value) {
  size_t count;
  const uint8_t *table = elf_image_dynamic_table(image, &count);
  for (size_t i = 0; i < count; ++i) {
    if (kdl_load_u64(table + i * ELF_DYNAMIC_SIZE) == tag) {
      *out_value = kdl_load_u64(table + i * ELF_DYNAMIC_SIZE + 8);
      return true;
    }
  }
  return false;
}

bool elf_tag_may_move(uint64_t tag) {
  return tag == ELF_DT_HASH || tag == ELF_DT_STRTAB || tag == ELF_DT_SYMTAB ||
         tag == ELF_DT_GNU_HASH;
}

bool elf_tag_is_address(uint64_t tag) {
  enum { got = 3, init = 12, fini = 13, init_array = 25, fini_array = 26, preinit_array = 32 };
  enum { ranges_start = 0x6ffffe00, ranges_end = 0x6ffffeff };
  static const uint64_t tags[] = {
      got,        init,          fini,        init_array,    fini_array, preinit_array, ELF_DT_RELA,
      ELF_DT_REL, ELF_DT_JMPREL, ELF_DT_RELR, ELF_DT_VERSYM, 0x6ffffffc, 0x6ffffffe};
  for (size_t i = 0; i < sizeof tags / sizeof *tags; ++i) {
    if (tag == tags[i])
      return true;
  }
  return elf_tag_may_move(tag) || (tag >= ranges_start && tag <= ranges_end);
}

bool elf_symbol_has_address(const uint8_t *symbol) {
  enum { thread_local_data = 6, absolute = 0xfff1 };
  uint16_t section = kdl_load_u16(symbol + 6);
  return section && section != absolute && (symbol[4] & 0xf) != thread_local_data;
}

/* ------------------------------------------------------------------------------------------ */
/* Relocations                                                                                  */

bool elf_image_is_relative(const elf_image *image, uint32_t type) {
  enum { x86_64_relative = 8, x86_64_relative64 = 38, aarch64_relative = 1027 };
  return image->machine == ELF_X86_64 ? type == x86_64_relative || type == x86_64_relative64
                                      : image->machine == ELF_AARCH64 && type == aarch64_relative;
}

typedef struct {
  const elf_image *image;
  void (*visit)(void *user, const elf_pointer *pointer);
  void (*other)(void *user, const elf_pointer *pointer);
  void *user;
} relocation_walk;

/* What a relocation's symbol and addend lead to in this file, or 0. */
static uint64_t symbol_target(const elf_image *image, const uint8_t *entry) {
  uint64_t symbols, index = kdl_load_u32(entry + 12);
  const uint8_t *symbol =
      elf_image_dynamic(image, ELF_DT_SYMTAB, &symbols)
          ? elf_image_at(image, symbols + index * ELF_SYMBOL_SIZE, ELF_SYMBOL_SIZE)
          : NULL;
  return symbol && elf_symbol_has_address(symbol)
             ? kdl_load_u64(symbol + 8) + kdl_load_u64(entry + 16)
             : 0;
}

static kdl_status walk_rela(const relocation_walk *walk, uint64_t address_tag, uint64_t size_tag) {
  const elf_image *image = walk->image;
  uint64_t address, size;
  if (!elf_image_dynamic(image, address_tag, &address) ||
      !elf_image_dynamic(image, size_tag, &size) || size == 0)
    return KDL_OK;
  const uint8_t *table = elf_image_at(image, address, size);
  if (!table)
    return kdl_fail(KDL_BAD_FILE,
                    "%s: found relocations at address 0x%" PRIx64
                    ", expected them within a segment",
                    image->name, address);
  for (uint64_t at = 0; at + ELF_RELA_SIZE <= size; at += ELF_RELA_SIZE) {
    elf_pointer pointer = {kdl_load_u64(table + at), kdl_load_u64(table + at + 16),
                           table + at + 16};
    if (elf_image_is_relative(image, kdl_load_u32(table + at + 8)))
      walk->visit(walk->user, &pointer);
    else
      walk->other(walk->user,
                  &(elf_pointer){pointer.place, symbol_target(image, table + at), NULL});
  }
  return KDL_OK;
}

static kdl_status visit_in_place(const relocation_walk *walk, uint64_t place) {
  const uint8_t *at = elf_image_at(walk->image, place, 8);
  if (!at)
    return kdl_fail(KDL_BAD_FILE,
                    "%s: found a packed relocation of address 0x%" PRIx64
                    ", expected one within a segment",
                    walk->image->name, place);
  walk->visit(walk->user, &(elf_pointer){place, kdl_load_u64(at), at});
  return KDL_OK;
}

/* An even word is an address, and the next one behind it is where the bits of odd words begin. */
static kdl_status walk_relr(const relocation_walk *walk) {
  enum { bits = 63 };
  const elf_image *image = walk->image;
  uint64_t address, size, next = 0;
  if (!elf_image_dynamic(image, ELF_DT_RELR, &address) ||
      !elf_image_dynamic(image, ELF_DT_RELRSZ, &size) || size == 0)
    return KDL_OK;
  const uint8_t *table = elf_image_at(image, address, size);
  kdl_status status = table ? KDL_OK
                            : kdl_fail(KDL_BAD_FILE,
                                       "%s: found packed relocations at address 0x%" PRIx64
                                       ", expected them within a segment",
                                       image->name, address);
  for (uint64_t at = 0; status == KDL_OK && at + 8 <= size; at += 8) {
    uint64_t word = kdl_load_u64(table + at);
    if (!(word & 1)) {
      status = visit_in_place(walk, word);
      next = word + 8;
      continue;
    }
    for (unsigned bit = 0; bit < bits && status == KDL_OK; ++bit) {
      if (word >> (bit + 1) & 1)
        status = visit_in_place(walk, next + 8 * (uint64_t)bit);
    }
    next += 8 * (uint64_t)bits;
  }
  return status;
}

kdl_status elf_image_relocations(const elf_image *image,
                                 void (*visit)(void *user, const elf_pointer *pointer),
                                 void (*other)(void *user, const elf_pointer *pointer),
                                 void *user) {
  relocation_walk walk = {image, visit, other, user};
  kdl_status status = walk_rela(&walk, ELF_DT_RELA, ELF_DT_RELASZ);
  if (status == KDL_OK)
    status = walk_rela(&walk, ELF_DT_JMPREL, ELF_DT_PLTRELSZ);
  return status == KDL_OK ? walk_relr(&walk) : status;
}
