/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "pack/thin/elf/elf_image.h"

#include "support/base/bytes.h"
#include "support/base/error.h"
#include "support/base/magic.h"
#include "tools/common/memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { smallest_page = 4096, largest_page = 65536, limit_segments = 4096 };

#define STORE(width, structure, field, value)                                                      \
  kdl_store_##width(raw + offsetof(structure, field), value)

void elf_segment_store(uint8_t *raw, const kdl_elf_segment *from) {
  STORE(u32, Elf64_Phdr, p_type, from->type);
  STORE(u32, Elf64_Phdr, p_flags, from->flags);
  STORE(u64, Elf64_Phdr, p_offset, from->offset);
  STORE(u64, Elf64_Phdr, p_vaddr, from->address);
  STORE(u64, Elf64_Phdr, p_paddr, from->physical);
  STORE(u64, Elf64_Phdr, p_filesz, from->file_size);
  STORE(u64, Elf64_Phdr, p_memsz, from->memory_size);
  STORE(u64, Elf64_Phdr, p_align, from->alignment);
}

void elf_section_store(uint8_t *raw, const kdl_elf_section *from) {
  STORE(u32, Elf64_Shdr, sh_name, from->name);
  STORE(u32, Elf64_Shdr, sh_type, from->type);
  STORE(u64, Elf64_Shdr, sh_flags, from->flags);
  STORE(u64, Elf64_Shdr, sh_addr, from->address);
  STORE(u64, Elf64_Shdr, sh_offset, from->offset);
  STORE(u64, Elf64_Shdr, sh_size, from->size);
  STORE(u32, Elf64_Shdr, sh_link, from->link);
  STORE(u32, Elf64_Shdr, sh_info, from->info);
  STORE(u64, Elf64_Shdr, sh_addralign, from->alignment);
  STORE(u64, Elf64_Shdr, sh_entsize, from->entry_size);
}

/* ------------------------------------------------------------------------------------------ */
/* Segments                                                                                     */

/* Refuses what glibc and Linux refuse, and what no linker produces. */
static kdl_status check_load(const elf_image *image, size_t index, const kdl_elf_segment *before) {
  const kdl_elf_segment *load = &image->segments[index];
  uint64_t at = image->header.segment_table + index * sizeof(Elf64_Phdr);
  if (load->file_size > load->memory_size || load->memory_size > UINT64_MAX / 2 ||
      load->address > UINT64_MAX / 2)
    return ELF_MALFORMED(image, at, "PT_LOAD",
                         "found 0x%" PRIx64 " bytes of the file for 0x%" PRIx64 " at 0x%" PRIx64
                         ", expected no more than those",
                         load->file_size, load->memory_size, load->address);
  if (!kdl_in_range(load->offset, load->file_size, image->size))
    return ELF_MALFORMED(image, at + 8, "PT_LOAD",
                         "found 0x%" PRIx64 " bytes at 0x%" PRIx64
                         ", expected them within the file's 0x%" PRIx64,
                         load->file_size, load->offset, image->size);
  if (load->alignment > 1 && (load->alignment & (load->alignment - 1)))
    return ELF_MALFORMED(image, at + 48, "p_align", "found 0x%" PRIx64 ", expected a power of two",
                         load->alignment);
  uint64_t unit = load->alignment > smallest_page ? load->alignment : (uint64_t)smallest_page;
  if ((load->address - load->offset) & (unit - 1))
    return ELF_MALFORMED(image, at + 8, "PT_LOAD",
                         "found offset 0x%" PRIx64 " for address 0x%" PRIx64
                         ", expected them equal modulo 0x%" PRIx64,
                         load->offset, load->address, unit);
  if (before && load->address < before->address + before->memory_size)
    return ELF_MALFORMED(image, at + 16, "PT_LOAD",
                         "found address 0x%" PRIx64 ", expected at least 0x%" PRIx64
                         ", the end of the segment before",
                         load->address, before->address + before->memory_size);
  if (before && load->file_size && load->offset < before->offset + before->file_size)
    return ELF_MALFORMED(image, at + 8, "PT_LOAD",
                         "found offset 0x%" PRIx64 ", expected at least 0x%" PRIx64
                         ", the end of the segment before",
                         load->offset, before->offset + before->file_size);
  return KDL_OK;
}

static kdl_status read_segments(elf_image *image) {
  image->segment_count = (size_t)image->header.segment_count;
  if (image->header.segment_size != sizeof(Elf64_Phdr) || image->segment_count == 0 ||
      image->segment_count > limit_segments ||
      !kdl_in_range(image->header.segment_table, image->segment_count * sizeof(Elf64_Phdr),
                    image->size))
    return ELF_MALFORMED(image, 32, "program headers",
                         "found %zu of %u bytes at 0x%" PRIx64
                         ", expected from 1 to %d of %zu bytes within the file's 0x%" PRIx64,
                         image->segment_count, image->header.segment_size,
                         image->header.segment_table, limit_segments, sizeof(Elf64_Phdr),
                         image->size);
  image->segments = xcalloc(image->segment_count, sizeof *image->segments);
  const kdl_elf_segment *before = NULL;
  for (size_t i = 0; i < image->segment_count; ++i) {
    kdl_elf_segment *segment = &image->segments[i];
    *segment = kdl_elf_load_segment(&image->header, image->data + image->header.segment_table +
                                                        i * sizeof(Elf64_Phdr));
    if (segment->type != PT_LOAD)
      continue;
    KDL_TRY(check_load(image, i, before));
    before = segment;
    if (image->header.machine == EM_AARCH64 && segment->alignment > image->page)
      image->page = segment->alignment < largest_page ? segment->alignment : largest_page;
  }
  return before ? KDL_OK
                : ELF_MALFORMED(image, image->header.segment_table, "program headers",
                                "found no PT_LOAD among %zu, expected one", image->segment_count);
}

/* ------------------------------------------------------------------------------------------ */
/* Sections                                                                                     */

/* Names are appended to the table, so each existing one must end within it. */
static kdl_status check_names(const elf_image *image) {
  const kdl_elf_section *names = &image->sections[image->header.section_names];
  if (image->header.section_names == 0 || names->type != SHT_STRTAB || names->flags & SHF_ALLOC)
    return ELF_MALFORMED(image, 62, "e_shstrndx",
                         "found section %" PRIu64 " of type %u and flags 0x%" PRIx64
                         ", expected one of type 3 that is not loaded",
                         image->header.section_names, names->type, names->flags);
  if (names->size == 0 || image->data[names->offset + names->size - 1] != 0)
    return ELF_MALFORMED(image, names->offset, "section names",
                         "found 0x%" PRIx64 " bytes, expected a zero as the last", names->size);
  for (size_t i = 1; i < image->section_count; ++i) {
    if (image->sections[i].name >= names->size)
      return ELF_MALFORMED(image, image->header.section_table + i * sizeof(Elf64_Shdr), "sh_name",
                           "found 0x%x, expected less than 0x%" PRIx64, image->sections[i].name,
                           names->size);
  }
  return KDL_OK;
}

static kdl_status read_sections(elf_image *image) {
  image->section_count = (size_t)image->header.section_count;
  if (image->header.section_table == 0 || image->section_count == 0)
    return kdl_fail(KDL_UNSUPPORTED,
                    "%s: found no section headers, expected those that tell where device code is",
                    image->name);
  if (image->header.section_size != sizeof(Elf64_Shdr) ||
      image->header.section_names >= image->section_count ||
      !kdl_in_range(image->header.section_table, image->section_count * sizeof(Elf64_Shdr),
                    image->size))
    return ELF_MALFORMED(image, 40, "section headers",
                         "found %zu of %u bytes at 0x%" PRIx64
                         ", expected %zu bytes each within the "
                         "file's 0x%" PRIx64,
                         image->section_count, image->header.section_size,
                         image->header.section_table, sizeof(Elf64_Shdr), image->size);
  image->sections = xcalloc(image->section_count, sizeof *image->sections);
  for (size_t i = 0; i < image->section_count; ++i) {
    kdl_elf_section *section = &image->sections[i];
    *section = kdl_elf_load_section(&image->header, image->data + image->header.section_table +
                                                        i * sizeof(Elf64_Shdr));
    uint64_t address;
    if (i == 0 || section->type == SHT_NOBITS || section->type == 0)
      continue;
    if (!kdl_in_range(section->offset, section->size, image->size) ||
        section->address > UINT64_MAX - section->size)
      return ELF_MALFORMED(
          image, image->header.section_table + i * sizeof(Elf64_Shdr) + 24, "section",
          "found 0x%" PRIx64 " bytes at 0x%" PRIx64 ", expected them within the file's 0x%" PRIx64,
          section->size, section->offset, image->size);
    if (section->flags & SHF_ALLOC && section->size &&
        (!elf_image_address_of_offset(image, section->offset, section->size, &address) ||
         address != section->address))
      return ELF_MALFORMED(
          image, image->header.section_table + i * sizeof(Elf64_Shdr) + 16, "section",
          "found address 0x%" PRIx64 " for offset 0x%" PRIx64 ", expected where a PT_LOAD puts it",
          section->address, section->offset);
  }
  return check_names(image);
}

const char *elf_image_section_name(const elf_image *image, const kdl_elf_section *section) {
  return (const char *)image->data + image->sections[image->header.section_names].offset +
         section->name;
}

/* ------------------------------------------------------------------------------------------ */
/* Whole files                                                                                  */

static kdl_status check_kind(const elf_image *image) {
  static const char signature[] = "~Module signature appended~\n";
  if (image->data[4] != 2 || image->data[5] != 1)
    return kdl_fail(KDL_UNSUPPORTED,
                    "%s: found an ELF file of class %u and byte order %u, expected 2 (64 bits) and "
                    "1 (little-endian)",
                    image->name, image->data[4], image->data[5]);
  if (image->header.type != ET_DYN && image->header.type != ET_EXEC)
    return kdl_fail(
        KDL_UNSUPPORTED,
        "%s: found an ELF file of type %u, expected 2 (executable) or 3 (shared object)",
        image->name, image->header.type);
  if (image->size > sizeof signature && memcmp(image->data + image->size - (sizeof signature - 1),
                                               signature, sizeof signature - 1) == 0)
    return kdl_fail(KDL_UNSUPPORTED, "%s: found a signature behind the file, which would not hold",
                    image->name);
  return KDL_OK;
}

kdl_status elf_image_read(const uint8_t *data, uint64_t size, const char *name,
                          elf_image *out_image) {
  *out_image = (elf_image){.data = data, .size = size, .name = name, .page = smallest_page};
  if (size < sizeof(Elf64_Ehdr) || kdl_load_u32(data) != KDL_MAGIC_ELF)
    return ELF_MALFORMED(out_image, 0, "ELF header",
                         "found %" PRIu64 " bytes, expected at least %zu", size,
                         sizeof(Elf64_Ehdr));
  out_image->header = kdl_elf_load_header(data);
  KDL_TRY(check_kind(out_image));
  KDL_TRY(read_segments(out_image));
  uint64_t value;
  if (elf_image_dynamic(out_image, DT_GNU_PRELINKED, &value))
    return kdl_fail(
        KDL_UNSUPPORTED,
        "%s: found a prelinked file, expected one without fixed addresses; 'prelink -u' "
        "undoes it",
        name);
  KDL_TRY(read_sections(out_image));
  return elf_image_check_overlap(out_image);
}

void elf_image_free(elf_image *image) {
  free(image->segments);
  free(image->sections);
}

const kdl_elf_segment *elf_image_loaded(const elf_image *image, uint64_t address, uint64_t size) {
  for (size_t i = 0; i < image->segment_count; ++i) {
    const kdl_elf_segment *load = &image->segments[i];
    if (load->type == PT_LOAD && address >= load->address &&
        kdl_in_range(address - load->address, size, load->file_size))
      return load;
  }
  return NULL;
}

const uint8_t *elf_image_at(const elf_image *image, uint64_t address, uint64_t size) {
  const kdl_elf_segment *load = elf_image_loaded(image, address, size);
  return load ? &image->data[load->offset + (address - load->address)] : NULL;
}

bool elf_image_address_of_offset(const elf_image *image, uint64_t offset, uint64_t size,
                                 uint64_t *out_address) {
  for (size_t i = 0; i < image->segment_count; ++i) {
    const kdl_elf_segment *load = &image->segments[i];
    if (load->type == PT_LOAD && offset >= load->offset &&
        kdl_in_range(offset - load->offset, size, load->file_size)) {
      *out_address = load->address + (offset - load->offset);
      return true;
    }
  }
  return false;
}

const uint8_t *elf_image_dynamic_table(const elf_image *image, size_t *out_count) {
  for (size_t i = 0; i < image->segment_count; ++i) {
    const kdl_elf_segment *segment = &image->segments[i];
    const uint8_t *table = segment->type == PT_DYNAMIC
                               ? elf_image_at(image, segment->address, segment->file_size)
                               : NULL;
    if (!table)
      continue;
    size_t count = 0;
    while ((count + 1) * sizeof(Elf64_Dyn) <= segment->file_size &&
           kdl_load_u64(table + count * sizeof(Elf64_Dyn)))
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
    if (kdl_load_u64(table + i * sizeof(Elf64_Dyn)) == tag) {
      *out_value = kdl_load_u64(table + i * sizeof(Elf64_Dyn) + 8);
      return true;
    }
  }
  return false;
}

bool elf_tag_may_move(uint64_t tag) {
  return tag == DT_HASH || tag == DT_STRTAB || tag == DT_SYMTAB || tag == DT_GNU_HASH;
}

bool elf_tag_is_address(uint64_t tag) {
  static const uint64_t tags[] = {
      DT_PLTGOT, DT_INIT,   DT_FINI, DT_INIT_ARRAY, DT_FINI_ARRAY, DT_PREINIT_ARRAY, DT_RELA,
      DT_REL,    DT_JMPREL, DT_RELR, DT_VERSYM,     DT_VERDEF,     DT_VERNEED};
  for (size_t i = 0; i < sizeof tags / sizeof *tags; ++i) {
    if (tag == tags[i])
      return true;
  }
  return elf_tag_may_move(tag) || (tag >= DT_ADDRRNGLO && tag <= DT_ADDRRNGHI);
}

bool elf_symbol_has_address(const uint8_t *symbol) {
  uint16_t section = kdl_load_u16(symbol + 6);
  return section && section != SHN_ABS && ELF64_ST_TYPE(symbol[4]) != STT_TLS;
}

void elf_image_visit_symbols(const elf_image *image, void (*visit)(void *user, uint64_t address),
                             void *user) {
  for (size_t i = 1; i < image->section_count; ++i) {
    const kdl_elf_section *table = &image->sections[i];
    const uint8_t *symbols = image->data + table->offset;
    for (uint64_t at = 0; table->type == SHT_DYNSYM && at + sizeof(Elf64_Sym) <= table->size;
         at += sizeof(Elf64_Sym)) {
      if (elf_symbol_has_address(symbols + at))
        visit(user, kdl_load_u64(symbols + at + offsetof(Elf64_Sym, st_value)));
    }
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Relocations                                                                                  */

bool elf_image_is_relative(const elf_image *image, uint32_t type) {
  return image->header.machine == EM_X86_64
             ? type == R_X86_64_RELATIVE || type == R_X86_64_RELATIVE64
             : image->header.machine == EM_AARCH64 && type == R_AARCH64_RELATIVE;
}

typedef struct {
  const elf_image *image;
  elf_visit_pointer *visit, *other;
  void *user;
} relocation_walk;

/* A relocation table by the tags of its address and size; *out_table is NULL where there is
 * none. */
static kdl_status find_relocations(const elf_image *image, uint64_t address_tag, uint64_t size_tag,
                                   const uint8_t **out_table, uint64_t *out_size) {
  uint64_t address;
  *out_table = NULL;
  *out_size = 0;
  if (!elf_image_dynamic(image, address_tag, &address) ||
      !elf_image_dynamic(image, size_tag, out_size) || *out_size == 0)
    return KDL_OK;
  *out_table = elf_image_at(image, address, *out_size);
  if (*out_table)
    return KDL_OK;
  return kdl_fail(KDL_BAD_FILE,
                  "%s: found %srelocations at address 0x%" PRIx64
                  ", expected them within a segment",
                  image->name, address_tag == DT_RELR ? "packed " : "", address);
}

/* The address in this file that a relocation's symbol and addend refer to, or 0. */
static uint64_t symbol_target(const elf_image *image, const uint8_t *entry) {
  uint64_t symbols, index = kdl_load_u32(entry + 12);
  const uint8_t *symbol =
      elf_image_dynamic(image, DT_SYMTAB, &symbols)
          ? elf_image_at(image, symbols + index * sizeof(Elf64_Sym), sizeof(Elf64_Sym))
          : NULL;
  return symbol && elf_symbol_has_address(symbol)
             ? kdl_load_u64(symbol + 8) + kdl_load_u64(entry + 16)
             : 0;
}

static kdl_status walk_rela(const relocation_walk *walk, uint64_t address_tag, uint64_t size_tag) {
  const elf_image *image = walk->image;
  const uint8_t *table;
  uint64_t size;
  KDL_TRY(find_relocations(image, address_tag, size_tag, &table, &size));
  for (uint64_t at = 0; at + sizeof(Elf64_Rela) <= size; at += sizeof(Elf64_Rela)) {
    elf_pointer pointer = {kdl_load_u64(table + at), kdl_load_u64(table + at + 16),
                           table + at + 16};
    if (elf_image_is_relative(image, kdl_load_u32(table + at + 8)))
      walk->visit(walk->user, &pointer);
    else if (walk->other)
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

/* An even word is an address; the bits of odd words start at the place after it. */
static kdl_status walk_relr(const relocation_walk *walk) {
  enum { bits = 63 };
  const uint8_t *table;
  uint64_t size, next = 0;
  KDL_TRY(find_relocations(walk->image, DT_RELR, DT_RELRSZ, &table, &size));
  for (uint64_t at = 0; at + 8 <= size; at += 8) {
    uint64_t word = kdl_load_u64(table + at);
    if (!(word & 1)) {
      KDL_TRY(visit_in_place(walk, word));
      next = word + 8;
      continue;
    }
    for (unsigned bit = 0; bit < bits; ++bit) {
      if (word >> (bit + 1) & 1)
        KDL_TRY(visit_in_place(walk, next + 8 * (uint64_t)bit));
    }
    next += 8 * (uint64_t)bits;
  }
  return KDL_OK;
}

kdl_status elf_image_visit_relocations(const elf_image *image, elf_visit_pointer *visit,
                                       elf_visit_pointer *other, void *user) {
  relocation_walk walk = {image, visit, other, user};
  KDL_TRY(walk_rela(&walk, DT_RELA, DT_RELASZ));
  KDL_TRY(walk_rela(&walk, DT_JMPREL, DT_PLTRELSZ));
  return walk_relr(&walk);
}
