/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* SYCL's device images: found through .tgtimg, plain and zstd, with their addresses in place or in
 * relocations; one that cannot be read is listed with the reason. */
#include "support.h"

#include "elf_builder.h"
#include "packers.h"

enum {
  em_x86_64 = 62,
  progbits = 1,
  rela = 4,
  llvm_offloading = 0x6fff4c0b,
  alloc = 2,
  address = 0x10000,
  relative = 8,
  type_shared = 3,
};

static const char section_name[] = "__CLANG_OFFLOAD_BUNDLE__sycl-spir64";

static uint8_t *spirv;
static size_t spirv_size;

static int load(void **state) {
  (void)state;
  spirv = read_golden("images/spirv64.spv", &spirv_size);
  return 0;
}

static int unload(void **state) {
  (void)state;
  free(spirv);
  return 0;
}

static void put_entry(uint8_t *table, size_t index, uint64_t at, uint64_t size) {
  kdl_store_u64(table + 16 * index, at);
  kdl_store_u64(table + 16 * index + 8, size);
}

/* A shared library of the images, their table, and what else there is. */
static kdl_status open_with(const elf_section *sections, size_t count, kdl_library **out_lib,
                            elf_image *out_elf) {
  *out_elf = build_elf(em_x86_64, sections, count);
  out_elf->data[16] = type_shared;
  for (size_t i = 0; i < count; ++i)
    place_section(out_elf, i, address + 0x40000 * i);
  return try_open(out_elf->data, out_elf->size, out_lib);
}

static int count_name(void *count, const kdl_string *name) {
  (void)name;
  ++*(int *)count;
  return 0;
}

static void expect_spirv(kdl_library *lib, size_t index) {
  kdl_image_info info = image_at(lib, index);
  assert_int_equal(info.kind, KDL_IMAGE_SPIRV);
  assert_int_equal(info.offload_kind, KDL_OFFLOAD_SYCL);
  assert_string_equal(info.triple.data, "spir64");
  assert_int_equal(info.module, index);
  const void *bytes;
  size_t size;
  assert_ok(kdl_image_bytes(lib, index, &bytes, &size));
  assert_int_equal(size, spirv_size);
  assert_memory_equal(bytes, spirv, spirv_size);
  int kernels = 0;
  assert_ok(kdl_image_kernels(lib, index, count_name, &kernels));
  assert_true(kernels > 0);
}

static size_t align16(size_t size) {
  return (size + 15) & ~(size_t)15;
}

static void plain_images_by_address(void **state) {
  (void)state;
  size_t second = align16(spirv_size);
  uint8_t *bytes = calloc(1, second + spirv_size);
  memcpy(bytes, spirv, spirv_size);
  memcpy(bytes + second, spirv, spirv_size);
  uint8_t table[48] = {0};
  put_entry(table, 0, address, spirv_size);
  put_entry(table, 1, address + second, spirv_size);
  elf_section sections[] = {
      {section_name, progbits, alloc, bytes, second + spirv_size},
      {".tgtimg", progbits, alloc, table, sizeof table},
  };
  kdl_library *lib;
  elf_image elf;
  assert_ok(open_with(sections, 2, &lib, &elf));
  assert_int_equal(kdl_image_count(lib), 2); /* the third entry is empty */
  expect_spirv(lib, 0);
  expect_spirv(lib, 1);
  assert_string_equal(image_at(lib, 0).container.data,
                      "sycl in __CLANG_OFFLOAD_BUNDLE__sycl-spir64");
  kdl_close(lib);
  free(elf.data);
  free(bytes);
}

/* lld leaves zeros in place of the addresses. */
static void addresses_from_relocations(void **state) {
  (void)state;
  uint8_t table[16] = {0};
  put_entry(table, 0, 0, spirv_size);
  uint8_t relocations[48] = {0};
  kdl_store_u64(relocations, 0x50008); /* in the table, yet not an address of it */
  kdl_store_u64(relocations + 8, relative);
  kdl_store_u64(relocations + 24, 0x50000);
  kdl_store_u64(relocations + 32, relative);
  kdl_store_u64(relocations + 40, address);
  elf_section sections[] = {
      {section_name, progbits, alloc, spirv, spirv_size},
      {".tgtimg", progbits, alloc, table, sizeof table},
      {".rela.dyn", rela, alloc, relocations, sizeof relocations},
  };
  kdl_library *lib;
  elf_image elf;
  assert_ok(open_with(sections, 3, &lib, &elf));
  assert_int_equal(kdl_image_count(lib), 1);
  expect_spirv(lib, 0);
  kdl_close(lib);
  free(elf.data);
}

/* The size in the table is the inflated one; the frame ends before the next image. */
static void compressed_images(void **state) {
  (void)state;
  size_t packed_size;
  skip_without(KDL_CODEC_ZSTD);
  uint8_t *packed = pack(KDL_CODEC_ZSTD, spirv, spirv_size, &packed_size);
  size_t second = align16(packed_size);
  uint8_t *bytes = calloc(1, second * 2);
  memcpy(bytes, packed, packed_size);
  memcpy(bytes + second, packed, packed_size);
  uint8_t table[32];
  put_entry(table, 0, address, spirv_size);
  put_entry(table, 1, address + second, spirv_size);
  elf_section sections[] = {
      {section_name, progbits, alloc, bytes, second * 2},
      {".tgtimg", progbits, alloc, table, sizeof table},
  };
  kdl_library *lib;
  elf_image elf;
  assert_ok(open_with(sections, 2, &lib, &elf));
  assert_int_equal(kdl_image_count(lib), 2);
  expect_spirv(lib, 0);
  expect_spirv(lib, 1);
  assert_true(image_at(lib, 0).stored_count < spirv_size);
  kdl_close(lib);
  free(elf.data);
  free(bytes);
  free(packed);
}

/* An image that was taken out has no bytes, at the address of another; what follows a frame is
 * padding. */
static void images_without_bytes_are_passed_over(void **state) {
  (void)state;
  enum { head = 9 + 3, padding = 64 };
  static const uint8_t magic[] = {0x28, 0xb5, 0x2f, 0xfd, 0xa0};
  uint8_t table[48], *bytes = calloc(1, head + spirv_size + padding);
  assert_non_null(bytes);
  memcpy(bytes, magic, sizeof magic);
  for (int i = 0; i < 4; ++i)
    bytes[5 + i] = (uint8_t)(spirv_size >> 8 * i);
  size_t last_stored = spirv_size << 3 | 1;
  for (int i = 0; i < 3; ++i)
    bytes[9 + i] = (uint8_t)(last_stored >> 8 * i);
  memcpy(bytes + head, spirv, spirv_size);
  put_entry(table, 0, address, spirv_size);
  put_entry(table, 1, address, 0);
  put_entry(table, 2, address + 16, 0);
  elf_section sections[] = {
      {section_name, progbits, alloc, bytes, head + spirv_size + padding},
      {".tgtimg", progbits, alloc, table, sizeof table},
  };
  kdl_library *lib;
  elf_image elf;
  assert_ok(open_with(sections, 2, &lib, &elf));
  assert_int_equal(kdl_image_count(lib), 1);
  assert_int_equal(image_at(lib, 0).stored_count, head + spirv_size);
  expect_spirv(lib, 0);
  kdl_close(lib);
  free(elf.data);
  free(bytes);
}

/* LLVM's own wrapper names the section as that of an OffloadBinary, and puts SPIR-V into it. */
static void images_in_llvm_offloading(void **state) {
  (void)state;
  uint8_t table[16];
  put_entry(table, 0, address, spirv_size);
  elf_section sections[] = {
      {".llvm.offloading", llvm_offloading, alloc, spirv, spirv_size},
      {".tgtimg", progbits, alloc, table, sizeof table},
  };
  kdl_library *lib;
  elf_image elf;
  assert_ok(open_with(sections, 2, &lib, &elf));
  assert_int_equal(kdl_image_count(lib), 1);
  assert_int_equal(image_at(lib, 0).kind, KDL_IMAGE_SPIRV);
  assert_int_equal(image_at(lib, 0).offload_kind, KDL_OFFLOAD_SYCL);
  assert_string_equal(image_at(lib, 0).triple.data, "spirv64-unknown-unknown");
  kdl_close(lib);
  free(elf.data);
}

static void bad_entries_are_listed(void **state) {
  (void)state;
  uint8_t bytes[64] = {0x28, 0xb5, 0x2f, 0xfd, 0x20, 40, 1, 2, 3, 4, 5, 6};
  uint8_t table[64];
  put_entry(table, 0, 0x99999, 16);           /* nowhere */
  put_entry(table, 1, address + 32, 1 << 20); /* longer than its section */
  put_entry(table, 2, address, 40);           /* no zstd stream after all */
  put_entry(table, 3, address + 16, 20);      /* into the next one */
  elf_section sections[] = {
      {section_name, progbits, alloc, bytes, sizeof bytes},
      {".tgtimg", progbits, alloc, table, sizeof table},
  };
  kdl_library *lib;
  elf_image elf;
  assert_ok(open_with(sections, 2, &lib, &elf));
  assert_int_equal(kdl_image_count(lib), 4);
  assert_string_equal(image_at(lib, 0).problem.data,
                      ".tgtimg entry 0: found address 0x99999, expected one in a section with "
                      "contents");
  assert_string_equal(image_at(lib, 1).problem.data,
                      ".tgtimg entry 1: found 1048576 bytes at 0x10020, expected at most the 32 "
                      "before the next image or the section's end");
  assert_non_null(strstr(image_at(lib, 2).problem.data, "zstd stream"));
  assert_string_equal(image_at(lib, 3).problem.data,
                      ".tgtimg entry 3: found 20 bytes at 0x10010, expected at most the 16 before "
                      "the next image or the section's end");
  const void *data;
  size_t size;
  for (size_t i = 0; i < 4; ++i)
    assert_ok(kdl_image_bytes(lib, i, &data, &size));
  kdl_close(lib);
  free(elf.data);
}

/* An object's sections have no addresses yet, so its table is useless. */
static void objects_are_left_alone(void **state) {
  (void)state;
  uint8_t table[16] = {0};
  put_entry(table, 0, 0, 16);
  elf_section sections[] = {{".tgtimg", progbits, alloc, table, sizeof table}};
  elf_image elf = build_elf(em_x86_64, sections, 1);
  kdl_library *lib;
  assert_ok(try_open(elf.data, elf.size, &lib));
  assert_int_equal(kdl_image_count(lib), 1);
  assert_int_equal(image_at(lib, 0).kind, KDL_IMAGE_OBJECT);
  kdl_close(lib);
  free(elf.data);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(plain_images_by_address),
      cmocka_unit_test(addresses_from_relocations),
      cmocka_unit_test(compressed_images),
      cmocka_unit_test(images_in_llvm_offloading),
      cmocka_unit_test(images_without_bytes_are_passed_over),
      cmocka_unit_test(bad_entries_are_listed),
      cmocka_unit_test(objects_are_left_alone),
  };
  return cmocka_run_group_tests(tests, load, unload);
}
