/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Digests of the kernels of an image, by its kind. */
#include "lib/image/code_hash.h"
#include "lib/image/name_table.h"
#include "lib/image/readers.h"
#include "lib/inspect/kinds.h"
#include "support/base/bytes.h"
#include "support/base/elf_file.h"

#include <string.h>

typedef struct {
  const kdl_elf *elf;
  kdl_elf_symbols symbols; /* of host code */
  kdl_name_table places;   /* numbers of sections or symbols by kernel */
  kdl_kernel_digest whole; /* of the image */
  kdl_visit_digest *visit;
  void *user;
} digest_reader;

/* ------------------------------------------------------------------------------------------ */
/* Whole images                                                                                 */

static int visit_whole(void *user, const char *name, size_t length) {
  const digest_reader *reader = user;
  return reader->visit(reader->user, (kdl_string){name, length}, &reader->whole);
}

static kdl_status read_whole(kdl_image_kind kind, const void *data, size_t size,
                             kdl_visit_digest *visit, void *user) {
  digest_reader reader = {.visit = visit, .user = user};
  kdl_code_hash hash = kdl_code_hash_begin();
  kdl_code_hash_bytes(&hash, data, size);
  kdl_code_hash_end(&hash, reader.whole.code);
  return kdl_image_read_kernels(kind, data, size, visit_whole, &reader);
}

/* ------------------------------------------------------------------------------------------ */
/* Zebins and host code                                                                         */

static kdl_status add_place(digest_reader *reader, kdl_string name, uint64_t number) {
  return kdl_name_table_add(&reader->places, name, number)
             ? KDL_OK
             : kdl_fail(KDL_NO_MEMORY, "out of memory for the kernels of an image");
}

static kdl_status add_sections(digest_reader *reader) {
  static const char prefix[] = ".text.";
  const size_t prefix_length = sizeof prefix - 1;
  for (uint64_t i = 1; i < reader->elf->section_count; ++i) {
    kdl_elf_section section;
    const char *name;
    size_t length;
    KDL_TRY(kdl_elf_read_section(reader->elf, i, &section));
    if (section.type != SHT_PROGBITS)
      continue;
    KDL_TRY(kdl_elf_section_name(reader->elf, &section, &name, &length));
    if (length > prefix_length && memcmp(name, prefix, prefix_length) == 0)
      KDL_TRY(add_place(reader, (kdl_string){name + prefix_length, length - prefix_length}, i));
  }
  return KDL_OK;
}

static kdl_status add_symbols(digest_reader *reader) {
  KDL_TRY(kdl_elf_open_symbols(reader->elf, SHT_DYNSYM, &reader->symbols));
  for (uint64_t i = 1; i < reader->symbols.count; ++i) {
    kdl_elf_symbol symbol = kdl_elf_read_symbol(reader->elf, &reader->symbols, i);
    const char *name;
    size_t length;
    if (!symbol.is_defined || symbol.type != STT_FUNC)
      continue;
    KDL_TRY(kdl_elf_symbol_name(reader->elf, &reader->symbols, &symbol, &name, &length));
    KDL_TRY(add_place(reader, (kdl_string){name, length}, i));
  }
  return KDL_OK;
}

/* The code of section or symbol `number`; NULL where the file does not have it. */
static const uint8_t *find_code(const digest_reader *reader, uint64_t number, uint64_t *out_size) {
  kdl_elf_section section;
  if (reader->symbols.count) {
    kdl_elf_symbol symbol = kdl_elf_read_symbol(reader->elf, &reader->symbols, number);
    *out_size = symbol.size;
    return symbol.size ? kdl_elf_at_address(reader->elf, symbol.address, symbol.size) : NULL;
  }
  if (kdl_elf_read_section(reader->elf, number, &section) != KDL_OK ||
      !kdl_in_range(section.offset, section.size, reader->elf->size))
    return NULL;
  *out_size = section.size;
  return reader->elf->data + section.offset;
}

static int visit_place(void *user, const char *name, size_t length) {
  const digest_reader *reader = user;
  kdl_string kernel = {name, length};
  kdl_kernel_digest digest = {.params = 0};
  uint64_t number, size;
  const uint8_t *code = kdl_name_table_find(&reader->places, kernel, &number)
                            ? find_code(reader, number, &size)
                            : NULL;
  if (code) {
    kdl_code_hash hash = kdl_code_hash_begin();
    kdl_code_hash_bytes(&hash, code, (size_t)size);
    kdl_code_hash_end(&hash, digest.code);
  }
  return reader->visit(reader->user, kernel, &digest);
}

static kdl_status read_places(kdl_image_kind kind, const uint8_t *data, size_t size,
                              kdl_status (*add)(digest_reader *reader), kdl_visit_digest *visit,
                              void *user) {
  kdl_elf elf;
  KDL_TRY(kdl_elf_open(data, size, &elf));
  digest_reader reader = {.elf = &elf, .visit = visit, .user = user};
  kdl_status status = add(&reader);
  kdl_name_table_sort(&reader.places);
  if (status == KDL_OK)
    status = kdl_image_read_kernels(kind, data, size, visit_place, &reader);
  kdl_name_table_free(&reader.places);
  return status;
}

kdl_status kdl_zebin_read_digests(const uint8_t *data, size_t size, kdl_visit_digest *visit,
                                  void *user) {
  return read_places(KDL_IMAGE_ZEBIN, data, size, add_sections, visit, user);
}

kdl_status kdl_host_elf_read_digests(const uint8_t *data, size_t size, kdl_visit_digest *visit,
                                     void *user) {
  return read_places(KDL_IMAGE_OBJECT, data, size, add_symbols, visit, user);
}

kdl_status kdl_image_read_digests(kdl_image_kind kind, const void *data, size_t size,
                                  kdl_visit_digest *visit, void *user) {
  kdl_digests_reader *read = kdl_image_kind_get(kind)->readers->digests;
  return read ? read(data, size, visit, user) : read_whole(kind, data, size, visit, user);
}
