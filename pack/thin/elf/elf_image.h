/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A linked ELF file as a loader sees it: segments, the dynamic section and what it points to, and
 * the sections that tools read. */
#ifndef KDL_PACK_THIN_ELF_ELF_IMAGE_H
#define KDL_PACK_THIN_ELF_ELF_IMAGE_H

#include "support/base/elf_file.h"

/* Tags that <elf.h> lacks. */
enum {
  ELF_DT_ANDROID_REL = 0x6000000f,
  ELF_DT_ANDROID_RELA = 0x60000011,
  ELF_DT_ANDROID_RELR = 0x6fffe000,
};

typedef struct elf_image {
  const uint8_t *data;
  uint64_t size;
  const char *name; /* for messages */
  kdl_elf header;
  uint64_t page; /* page size */
  kdl_elf_segment *segments;
  size_t segment_count;
  kdl_elf_section *sections;
  size_t section_count;
} elf_image;

#define ELF_MALFORMED(image, at, field, format, ...)                                               \
  kdl_fail(KDL_BAD_FILE, "%s: offset 0x%" PRIx64 ": %s: " format, (image)->name, (uint64_t)(at),   \
           field, __VA_ARGS__)

/* Parses and checks what a loader relies on. KDL_UNSUPPORTED for files that cannot be rewritten:
 * other classes and byte orders, prelinked files, files with a signature at their end. The caller
 * frees *out_image, also after a failure. */
kdl_status elf_image_read(const uint8_t *data, uint64_t size, const char *name,
                          elf_image *out_image);
void elf_image_free(elf_image *image);

void elf_segment_store(uint8_t *raw, const kdl_elf_segment *from);
void elf_section_store(uint8_t *raw, const kdl_elf_section *from);

/* The PT_LOAD that has that range of addresses in the file, or NULL. */
const kdl_elf_segment *elf_image_loaded(const elf_image *image, uint64_t address, uint64_t size);

/* The same as a pointer into the file, or NULL. */
const uint8_t *elf_image_at(const elf_image *image, uint64_t address, uint64_t size);

/* The address at which a range of the file is loaded; false where no single segment loads all of
 * it. */
bool elf_image_address_of_offset(const elf_image *image, uint64_t offset, uint64_t size,
                                 uint64_t *out_address);

/* The value of the first entry with that tag; false where there is none. */
bool elf_image_dynamic(const elf_image *image, uint64_t tag, uint64_t *out_value);

/* The dynamic section in the file, or NULL, and its number of entries. */
const uint8_t *elf_image_dynamic_table(const elf_image *image, size_t *out_count);

/* Whether the value of such an entry is an address; and whether only the loader and tools follow
 * it, so that its target may move. */
bool elf_tag_is_address(uint64_t tag);
bool elf_tag_may_move(uint64_t tag);

static inline bool elf_overlap(uint64_t a, uint64_t a_size, uint64_t b, uint64_t b_size) {
  return a < b + b_size && b < a + a_size;
}

/* A section's name; not for the first, which has none. */
const char *elf_image_section_name(const elf_image *image, const kdl_elf_section *section);

/* elf_check_overlap.c: KDL_BAD_FILE where sections or tables share bytes, or the dynamic section is
 * described twice or is elsewhere. */
kdl_status elf_image_check_overlap(const elf_image *image);

/* Whether relocations or strings of the dynamic section have bytes in that range. */
bool elf_image_has_table_in(const elf_image *image, uint64_t offset, uint64_t size);

/* Whether a symbol is defined in this file and its value is an address, not a thread-local
 * offset. */
bool elf_symbol_has_address(const uint8_t *symbol);

/* Calls `visit` with the address of each dynamic symbol that has an address. */
void elf_image_visit_symbols(const elf_image *image, void (*visit)(void *user, uint64_t address),
                             void *user);

/* ------------------------------------------------------------------------------------------ */
/* Relocations                                                                                  */

/* A relative relocation: the load address plus a constant. */
typedef struct elf_pointer {
  uint64_t place;  /* address of the pointer */
  uint64_t target; /* without the load address */
  const uint8_t
      *addend; /* where the constant is stored in the file: in the entry, or at the place (RELR) */
} elf_pointer;

/* Whether a relocation type is relative. */
bool elf_image_is_relative(const elf_image *image, uint32_t type);

typedef void elf_visit_pointer(void *user, const elf_pointer *pointer);

/* Calls `visit` for each relative relocation, and `other`, which may be NULL, for all others. Those
 * have no addend; their target is the address of the symbol plus addend, or 0 where it is defined
 * elsewhere. KDL_BAD_FILE where a table is in no segment. */
kdl_status elf_image_visit_relocations(const elf_image *image, elf_visit_pointer *visit,
                                       elf_visit_pointer *other, void *user);

#endif
