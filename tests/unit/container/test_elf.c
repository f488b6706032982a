/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Offload sections in host ELF files: found by type and by name, refused where damaged. */
#include "support.h"

#include "elf_builder.h"

enum { em_x86_64 = 62, progbits = 1, llvm_offloading = 0x6fff4c0b, alloc = 2, exec = 4 };
static const uint64_t exclude = 0x80000000;

static uint8_t *one, *three;
static size_t one_size, three_size;

static int load(void **state) {
  (void)state;
  one = read_golden("offload/v1_one.offload", &one_size);
  three = read_golden("offload/v1_three.offload", &three_size);
  return 0;
}

static int unload(void **state) {
  (void)state;
  free(one);
  free(three);
  return 0;
}

static void finds_sections_by_type(void **state) {
  (void)state;
  elf_section sections[] = {{".text", progbits, alloc | exec, "code", 4},
                            {".llvm.offloading", llvm_offloading, exclude, one, one_size},
                            {".any.name", llvm_offloading, alloc, three, three_size}};
  elf_image elf = build_elf(em_x86_64, sections, 3);
  kdl_library *lib;
  assert_ok(try_open(elf.data, elf.size, &lib));
  assert_int_equal(kdl_image_count(lib), 4);
  assert_string_equal(image_at(lib, 0).container.data, "offload-binary v1 in .llvm.offloading");
  assert_string_equal(image_at(lib, 3).triple.data, "spirv64-unknown-unknown");
  const void *bytes;
  size_t size;
  assert_ok(kdl_image_bytes(lib, 0, &bytes, &size));
  assert_memory_equal(bytes, "NOT REALLY A CUBIN", 18);
  kdl_close(lib);
  free(elf.data);
}

/* A section of a vendor's name that is code, or not loaded, is not the vendor's. */
static void a_name_alone_is_not_enough(void **state) {
  (void)state;
  elf_section sections[] = {{".nv_fatbin", progbits, alloc | exec, one, one_size},
                            {".hip_fatbin", progbits, 0, one, one_size},
                            {".nv_fatbinX", progbits, alloc, one, one_size},
                            {".hip_fatbin", progbits, exclude, one, one_size},
                            {"__CLANG_OFFLOAD_BUNDLE__hip-gfx90a", progbits, alloc, one, one_size},
                            {"__CLANG_OFFLOAD_BUNDLE__", progbits, exclude, one, one_size}};
  elf_image elf = build_elf(em_x86_64, sections, 6);
  kdl_library *lib;
  assert_ok(try_open(elf.data, elf.size, &lib));
  assert_int_equal(kdl_image_count(lib), 1);
  assert_int_equal(image_at(lib, 0).kind, KDL_IMAGE_OBJECT);
  assert_string_equal(image_at(lib, 0).container.data, "bare image");
  kdl_close(lib);
  free(elf.data);
}

/* Host objects of clang-offload-bundler -type=o: the name gives the kind of the bytes. */
static void finds_bundled_sections(void **state) {
  (void)state;
  static const char host[] = "__CLANG_OFFLOAD_BUNDLE__host-x86_64-unknown-linux-gnu-";
  static const char device[] = "__CLANG_OFFLOAD_BUNDLE__hip-amdgcn-amd-amdhsa--gfx90a:xnack+";
  elf_section sections[] = {{host, progbits, exclude, "", 1},
                            {device, progbits, exclude, "AMD", 3}};
  elf_image elf = build_elf(em_x86_64, sections, 2);
  kdl_library *lib;
  assert_ok(try_open(elf.data, elf.size, &lib));
  assert_int_equal(kdl_image_count(lib), 1);
  kdl_image_info info = image_at(lib, 0);
  assert_string_equal(info.triple.data, "amdgcn-amd-amdhsa");
  assert_string_equal(info.arch.data, "gfx90a:xnack+");
  assert_int_equal(info.offload_kind, KDL_OFFLOAD_HIP);
  const void *bytes;
  size_t size;
  assert_ok(kdl_image_bytes(lib, 0, &bytes, &size));
  assert_int_equal(size, 3);
  assert_memory_equal(bytes, "AMD", 3);
  kdl_close(lib);

  /* A name that runs out of the table is none: the object is only itself. */
  uint8_t *names = elf.data + elf.table + 3 * 64;
  kdl_store_u64(names + 32, kdl_load_u32(elf.data + elf.table + 2 * 64) + sizeof device - 1);
  assert_ok(try_open(elf.data, elf.size, &lib));
  assert_int_equal(kdl_image_count(lib), 0);
  kdl_close(lib);
  free(elf.data);
}

/* More sections than e_shnum can say: the count stands in section 0. */
static void reads_extended_numbering(void **state) {
  (void)state;
  elf_section sections[] = {{".llvm.offloading", llvm_offloading, alloc, one, one_size}};
  elf_image elf = build_elf(em_x86_64, sections, 1);
  kdl_store_u16(elf.data + 60, 0);
  kdl_store_u16(elf.data + 62, 0xffff);
  kdl_store_u64(elf.data + elf.table + 32, 3);
  kdl_store_u32(elf.data + elf.table + 40, 2);
  kdl_library *lib;
  assert_ok(try_open(elf.data, elf.size, &lib));
  assert_int_equal(kdl_image_count(lib), 1);
  assert_string_equal(image_at(lib, 0).arch.data, "sm_90");
  kdl_close(lib);
  free(elf.data);
}

static void names_each_damaged_field(void **state) {
  (void)state;
  elf_section sections[] = {{".llvm.offloading", llvm_offloading, alloc, one, one_size},
                            {".llvm.offloading", llvm_offloading, alloc, one, one_size}};
  elf_image elf = build_elf(em_x86_64, sections, 2);
  const struct {
    size_t offset;
    unsigned width;
    uint64_t value;
    const char *message;
  } damages[] = {
      {4, 1, 9, "t: offset 0x4: EI_CLASS: found 9, expected 1 or 2"},
      {40, 8, UINT64_MAX,
       "t: offset 0x28: e_shoff: found 0xffffffffffffffff, expected a section header before 0x2c0"},
      {58, 2, 63, "t: offset 0x3a: e_shentsize: found 63, expected at least 64"},
      {60, 2, 5, "t: offset 0x3c: e_shnum: found 5, expected at most 4"},
      {62, 2, 4, "t: offset 0x3e: e_shstrndx: found 4, expected less than e_shnum 4"},
      {elf.table + 64 + 32, 8, UINT64_MAX,
       "t: offset 0x218: .llvm.offloading: found 0xffffffffffffffff bytes at 0x40, expected them "
       "to "
       "end within the file's 0x2c0"},
      {elf.table + 64 + 24, 8, 0xf0,
       "t: offset 0x200: .llvm.offloading: found a section at 0xf0 inside the one at 0xe8, "
       "expected "
       "sections apart"},
  };
  for (size_t i = 0; i < sizeof damages / sizeof *damages; ++i) {
    uint8_t kept[8];
    memcpy(kept, elf.data + damages[i].offset, 8);
    for (unsigned b = 0; b < damages[i].width; ++b)
      elf.data[damages[i].offset + b] = (uint8_t)(damages[i].value >> 8 * b);
    kdl_library *lib;
    assert_fails(try_open(elf.data, elf.size, &lib), KDL_BAD_FILE, damages[i].message);
    memcpy(elf.data + damages[i].offset, kept, 8);
  }
  assert_ok(open_and_read_all(elf.data, elf.size));
  free(elf.data);
}

static void survives_truncation(void **state) {
  (void)state;
  elf_section sections[] = {{".llvm.offloading", llvm_offloading, alloc, three, three_size},
                            {".nv_fatbin", progbits, alloc, "P\355U\272", 4}};
  elf_image elf = build_elf(em_x86_64, sections, 1);
  for (size_t cut = 0; cut < elf.size; ++cut) {
    if (open_and_read_all(elf.data, cut) == KDL_OK)
      fail_msg("cut to %zu of %zu bytes was accepted", cut, elf.size);
  }
  free(elf.data);
  elf = build_elf(em_x86_64, sections, 2);
  assert_int_equal(open_and_read_all(elf.data, elf.size), KDL_BAD_FILE);
  free(elf.data);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(finds_sections_by_type),   cmocka_unit_test(a_name_alone_is_not_enough),
      cmocka_unit_test(reads_extended_numbering), cmocka_unit_test(names_each_damaged_field),
      cmocka_unit_test(survives_truncation),      cmocka_unit_test(finds_bundled_sections),
  };
  return cmocka_run_group_tests(tests, load, unload);
}
