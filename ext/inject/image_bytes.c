/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "ext/inject/image_bytes.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

enum {
  cuda_wrapper = 0x466243b1, /* u32 magic, u32 version, pointer */
  hip_wrapper = 0x48495046,  /* the same */
  fatbin_magic = (int)0xba55ed50,
};

/* Where a fatbin has the size of its headers and of what follows them. */
enum { fatbin_header_size = 6, fatbin_body_size = 8 };

static uint32_t load_u32(const void *at) {
  uint32_t value;
  memcpy(&value, at, sizeof value);
  return value;
}

static uint64_t load_u64(const void *at) {
  uint64_t value;
  memcpy(&value, at, sizeof value);
  return value;
}

const void *kdl_image_start(const void *image) {
  if (!image || (load_u32(image) != cuda_wrapper && load_u32(image) != hip_wrapper))
    return image;
  const void *data;
  memcpy(&data, (const char *)image + 8, sizeof data);
  return data;
}

/* Linkers and the assemblers of both vendors write the table of sections last. */
static size_t elf_bytes(const void *image) {
  Elf64_Ehdr header;
  memcpy(&header, image, sizeof header);
  if (header.e_ident[EI_CLASS] != ELFCLASS64)
    return 0;
  size_t sections = header.e_shoff + (size_t)header.e_shentsize * header.e_shnum;
  size_t segments = header.e_phoff + (size_t)header.e_phentsize * header.e_phnum;
  return sections > segments ? sections : segments;
}

/* u64 count, then for each entry its offset, its size, the length of its name and the name. */
static size_t bundle_bytes(const char *image) {
  enum { magic_size = 24, most_entries = 4096 };
  uint64_t count = load_u64(image + magic_size), end = 0;
  const char *at = image + magic_size + 8;
  for (uint64_t i = 0; i < count && count <= most_entries; ++i) {
    uint64_t entry_end = load_u64(at) + load_u64(at + 8);
    end = entry_end > end ? entry_end : end;
    at += 24 + load_u64(at + 16);
  }
  return (size_t)end;
}

size_t kdl_image_bytes_at(const void *image) {
  const char *bytes = image;
  if (!image)
    return 0;
  if ((int)load_u32(image) == fatbin_magic) {
    uint16_t header;
    memcpy(&header, bytes + fatbin_header_size, sizeof header);
    return header + (size_t)load_u64(bytes + fatbin_body_size);
  }
  if (memcmp(image, ELFMAG, SELFMAG) == 0)
    return elf_bytes(image);
  if (memcmp(image, "__CLANG_OFFLOAD_BUNDLE__", 24) == 0)
    return bundle_bytes(image);
  return bytes[0] == '/' || bytes[0] == '.' || bytes[0] == '\n' ? strlen(bytes) : 0; /* PTX */
}

const char *kdl_cubin_arch(const uint8_t *cubin, size_t size, char room[16]) {
  enum { last_abi_with_low_number = 7 }; /* as lib/image/nvidia/cubin.c */
  Elf64_Ehdr header;
  room[0] = '\0';
  if (size < sizeof header)
    return room;
  memcpy(&header, cubin, sizeof header);
  unsigned number = header.e_ident[EI_ABIVERSION] <= last_abi_with_low_number
                        ? header.e_flags & 0xff
                        : header.e_flags >> 8 & 0xff;
  snprintf(room, 16, "sm_%u", number);
  return room;
}
