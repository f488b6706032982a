/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* SYCL's images and what a search finds: the input is a section's bytes and SYCL's table, put into
 * a linked ELF file around them, so that no time goes into its headers. The first two bytes are the
 * length of the table, which comes next. */
#include "fuzz_support.h"

#include "support/base/bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { file_header = 64, section_header = 64, address = 0x10000, table_address = 0x5000000 };

static void put_section(uint8_t *out, uint32_t name, uint64_t where, uint64_t offset,
                        uint64_t size) {
  enum { progbits = 1, alloc = 2, names = 3 };
  kdl_store_u32(out, name);
  kdl_store_u32(out + 4, where ? progbits : names);
  kdl_store_u64(out + 8, where ? alloc : 0);
  kdl_store_u64(out + 16, where);
  kdl_store_u64(out + 24, offset);
  kdl_store_u64(out + 32, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char names[] = "\0.tgtimg\0__CLANG_OFFLOAD_BUNDLE__sycl-spir64\0.shstrtab";
  if (size < 2)
    return 0;
  size_t table = kdl_load_u16(data);
  data += 2;
  size -= 2;
  if (table > size)
    table = size;
  size_t total = file_header + 4 * section_header + sizeof names + size;
  uint8_t *file = calloc(1, total);
  if (!file)
    return 0;
  memcpy(file,
         "\x7f"
         "ELF\2\1\1",
         7);
  kdl_store_u16(file + 16, 3);
  kdl_store_u16(file + 18, 62);
  kdl_store_u64(file + 40, file_header);
  kdl_store_u16(file + 58, section_header);
  kdl_store_u16(file + 60, 4);
  kdl_store_u16(file + 62, 3);
  uint64_t at = file_header + 4 * section_header;
  memcpy(file + at, names, sizeof names);
  put_section(file + file_header + 3 * section_header, 45, 0, at, sizeof names);
  at += sizeof names;
  memcpy(file + at, data, size);
  put_section(file + file_header + section_header, 1, table_address, at, table);
  put_section(file + file_header + 2 * section_header, 9, address, at + table, size - table);
  fuzz_open_and_read(file, total);
  free(file);
  return 0;
}
