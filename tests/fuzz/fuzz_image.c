/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* One image of the kind that the first byte picks. */
#include "lib/image/readers.h"
#include "lib/inspect/images.h"
#include "lib/inspect/kinds.h"
#include "support/base/elf_file.h"
#include "support/base/text.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct {
  size_t total;
  unsigned char sum;
} visited;

static int read_name(void *user, const char *name, size_t length) {
  visited *names = user;
  for (size_t i = 0; i < length; ++i)
    names->sum = (unsigned char)(names->sum + (unsigned char)name[i]);
  names->total += length;
  return 0;
}

static int read_resources(void *user, kdl_string kernel, const kdl_kernel_resources *uses) {
  kdl_occupancy occupancy;
  (void)kdl_occupancy_of(KDL_TEXT("sm_90"), uses, 256, 0, &occupancy);
  (void)kdl_occupancy_of(KDL_TEXT("gfx90a"), uses, 256, 0, &occupancy);
  return read_name(user, kernel.data, kernel.length);
}

static int read_effect(void *user, kdl_string kernel, kdl_kernel_effect effect) {
  return effect > KDL_EFFECT_STOPS || read_name(user, kernel.data, kernel.length);
}

static int read_digest(void *user, kdl_string kernel, const kdl_kernel_digest *digest) {
  visited *names = user;
  names->sum = (unsigned char)(names->sum + digest->code[0]);
  return read_name(user, kernel.data, kernel.length);
}

static void expect_message(kdl_status status) {
  if (status != KDL_OK && kdl_error_message()[0] == '\0')
    abort();
}

/* The container layer prints these. */
static void expect_text(const char *text, size_t capacity) {
  size_t length = strnlen(text, capacity);
  if (length == capacity)
    abort();
  for (size_t i = 0; i < length; ++i) {
    if (text[i] <= ' ' || text[i] > '~')
      abort();
  }
}

static void read_symbols(const kdl_elf *elf, uint32_t type, visited *names) {
  kdl_elf_symbols symbols;
  if (kdl_elf_open_symbols(elf, type, &symbols) != KDL_OK)
    return;
  for (uint64_t i = 0; i < symbols.count && names->total < 1 << 20; ++i) {
    kdl_elf_symbol symbol = kdl_elf_read_symbol(elf, &symbols, i);
    const char *name;
    size_t length;
    if (kdl_elf_symbol_name(elf, &symbols, &symbol, &name, &length) == KDL_OK)
      read_name(names, name, length);
    const uint8_t *bytes = kdl_elf_at_address(elf, symbol.address, 1);
    names->sum = (unsigned char)(names->sum + (bytes ? *bytes : 0));
  }
}

/* Everything that the ELF reader has for a file, of whatever machine. */
static void read_elf(const uint8_t *image, size_t size) {
  kdl_elf elf;
  kdl_elf_section section;
  visited seen = {0};
  bool found;
  if (kdl_elf_open(image, size, &elf) != KDL_OK)
    return;
  for (uint64_t i = 0; i < elf.section_count && seen.total < 1 << 20; ++i) {
    const char *name;
    size_t length;
    if (kdl_elf_read_section(&elf, i, &section) == KDL_OK &&
        kdl_elf_section_name(&elf, &section, &name, &length) == KDL_OK)
      read_name(&seen, name, length);
  }
  if (kdl_elf_find_section(&elf, ".text", &section, &found) == KDL_OK && found)
    read_name(&seen, (const char *)image + section.offset, (size_t)section.size);
  read_symbols(&elf, SHT_SYMTAB, &seen);
  read_symbols(&elf, SHT_DYNSYM, &seen);
  kdl_elf_notes notes = {.elf = &elf};
  kdl_elf_note note;
  while (kdl_elf_next_note(&notes, &note) == KDL_OK && note.owner) {
    read_name(&seen, note.owner, note.owner_length);
    read_name(&seen, (const char *)note.data, note.size);
  }
  expect_message(kdl_elf_check_extents(&elf));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0)
    return 0;
  kdl_image_kind kind = (kdl_image_kind)(data[0] % KDL_IMAGE_KIND_COUNT);
  /* A copy, so that the image's end is the allocation's. */
  uint8_t *image = malloc(size);
  if (!image)
    return 0;
  memcpy(image, data + 1, --size);
  uint8_t *exact = realloc(image, size ? size : 1);
  image = exact ? exact : image;
  kdl_image_target target;
  kdl_image_kind seen;
  if (kdl_file_sniff(image, size, &seen) != KDL_FILE_IMAGE && seen != KDL_IMAGE_UNKNOWN &&
      seen != KDL_IMAGE_OBJECT && seen != KDL_IMAGE_CUBIN && seen != KDL_IMAGE_HSACO &&
      seen != KDL_IMAGE_ZEBIN)
    abort();
  read_elf(image, size);
  kdl_status status = kdl_image_read_target(kind, image, size, &target);
  expect_message(status);
  if (status == KDL_OK) {
    expect_text(target.triple, sizeof target.triple);
    expect_text(target.arch, sizeof target.arch);
  }
  visited names = {0};
  expect_message(kdl_image_read_kernels(kind, image, size, read_name, &names));
  if (names.total > 8 * size)
    abort();
  visited kernels = {0};
  expect_message(kdl_image_read_resources(kind, image, size, read_resources, &kernels));
  expect_message(kdl_image_read_effects(kind, image, size, read_effect, &kernels));
  expect_message(kdl_image_read_digests(kind, image, size, read_digest, &kernels));
  free(image);
  return 0;
}
