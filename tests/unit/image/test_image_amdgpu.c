/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "elf_builder.h"
#include "image_support.h"

#define HSA "amdgcn-amd-amdhsa"

static const golden_image goldens[] = {
    {"gfx90a.hsaco", KDL_IMAGE_HSACO, HSA, "gfx90a:sramecc+:xnack-", KDL_OFFLOAD_HIP,
     "saxpy fill "},
    {"gfx90a_no_sections.hsaco", KDL_IMAGE_HSACO, HSA, "gfx90a:sramecc+:xnack-", KDL_OFFLOAD_HIP,
     "saxpy fill "},
    {"gfx11-generic.hsaco", KDL_IMAGE_HSACO, HSA, "gfx11-generic", KDL_OFFLOAD_HIP, "saxpy fill "},
    {"notes.hsaco", KDL_IMAGE_HSACO, HSA, "gfx90a", KDL_OFFLOAD_HIP, "one two three "},
    {"gfx1030_no_note.o", KDL_IMAGE_HSACO, HSA, "gfx1030", KDL_OFFLOAD_HIP, "saxpy fill "},
};
GOLDEN_TESTS(goldens)

enum { machine_amdgpu = 224, os_hsa = 64, os_pal = 65, os_mesa = 66, type_note = 7 };

/* A code object of nothing but a header. */
static kdl_image_target read_header(uint8_t os_abi, uint8_t abi_version, uint32_t flags) {
  uint8_t data[64] = "\177ELF\2\1\1";
  data[7] = os_abi;
  data[8] = abi_version;
  data[18] = machine_amdgpu;
  kdl_store_u32(data + 48, flags);
  kdl_image_target target;
  assert_ok(kdl_image_read_target(KDL_IMAGE_HSACO, data, sizeof data, &target));
  return target;
}

static void every_processor_has_its_name(void **state) {
  (void)state;
  static const struct {
    uint32_t mach;
    const char *name;
  } rows[] = {
      {0x01, "r600"},
      {0x02, "r630"},
      {0x03, "rs880"},
      {0x04, "rv670"},
      {0x05, "rv710"},
      {0x06, "rv730"},
      {0x07, "rv770"},
      {0x08, "cedar"},
      {0x09, "cypress"},
      {0x0a, "juniper"},
      {0x0b, "redwood"},
      {0x0c, "sumo"},
      {0x0d, "barts"},
      {0x0e, "caicos"},
      {0x0f, "cayman"},
      {0x10, "turks"},
      {0x20, "gfx600"},
      {0x21, "gfx601"},
      {0x22, "gfx700"},
      {0x23, "gfx701"},
      {0x24, "gfx702"},
      {0x25, "gfx703"},
      {0x26, "gfx704"},
      {0x28, "gfx801"},
      {0x29, "gfx802"},
      {0x2a, "gfx803"},
      {0x2b, "gfx810"},
      {0x2c, "gfx900"},
      {0x2d, "gfx902"},
      {0x2e, "gfx904"},
      {0x2f, "gfx906"},
      {0x30, "gfx908"},
      {0x31, "gfx909"},
      {0x32, "gfx90c"},
      {0x33, "gfx1010"},
      {0x34, "gfx1011"},
      {0x35, "gfx1012"},
      {0x36, "gfx1030"},
      {0x37, "gfx1031"},
      {0x38, "gfx1032"},
      {0x39, "gfx1033"},
      {0x3a, "gfx602"},
      {0x3b, "gfx705"},
      {0x3c, "gfx805"},
      {0x3d, "gfx1035"},
      {0x3e, "gfx1034"},
      {0x3f, "gfx90a"},
      {0x40, "gfx940"},
      {0x41, "gfx1100"},
      {0x42, "gfx1013"},
      {0x43, "gfx1150"},
      {0x44, "gfx1103"},
      {0x45, "gfx1036"},
      {0x46, "gfx1101"},
      {0x47, "gfx1102"},
      {0x48, "gfx1200"},
      {0x49, "gfx1250"},
      {0x4a, "gfx1151"},
      {0x4b, "gfx941"},
      {0x4c, "gfx942"},
      {0x4e, "gfx1201"},
      {0x4f, "gfx950"},
      {0x50, "gfx1310"},
      {0x51, "gfx9-generic"},
      {0x52, "gfx10-1-generic"},
      {0x53, "gfx10-3-generic"},
      {0x54, "gfx11-generic"},
      {0x55, "gfx1152"},
      {0x57, "gfx1154"},
      {0x58, "gfx1153"},
      {0x59, "gfx12-generic"},
      {0x5a, "gfx1251"},
      {0x5b, "gfx12-5-generic"},
      {0x5c, "gfx1172"},
      {0x5d, "gfx1170"},
      {0x5e, "gfx1171"},
      {0x5f, "gfx9-4-generic"},
      {0x62, "gfx11-7-generic"},
      {0x63, "gfx13-generic"},
      {0xeb, "gfx1250-strict"},
  };
  size_t named = 0;
  for (uint32_t mach = 0; mach < 256; ++mach) {
    const char *expected = "";
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
      if (rows[i].mach == mach)
        expected = rows[i].name;
    }
    named += *expected != '\0';
    assert_string_equal(read_header(os_hsa, 4, mach).arch, expected);
  }
  assert_int_equal(named, sizeof rows / sizeof *rows);
}

static void features_are_spelled_in_order(void **state) {
  (void)state;
  static const struct {
    uint8_t abi_version;
    uint32_t flags;
    const char *arch;
  } rows[] = {
      /* Version 4 to 6: two bits each: unsupported, any, off, on. */
      {2, 0x03f, "gfx90a"},
      {2, 0x53f, "gfx90a"},
      {3, 0x63f, "gfx90a:xnack-"},
      {4, 0x73f, "gfx90a:xnack+"},
      {4, 0x93f, "gfx90a:sramecc-"},
      {4, 0xd3f, "gfx90a:sramecc+"},
      {4, 0xa3f, "gfx90a:sramecc-:xnack-"},
      {4, 0xe3f, "gfx90a:sramecc+:xnack-"},
      {4, 0xf3f, "gfx90a:sramecc+:xnack+"},
      /* Version 3: one bit each, off where the processor has the feature. */
      {1, 0x02c, "gfx900:xnack-"},
      {1, 0x12c, "gfx900:xnack+"},
      {1, 0x02f, "gfx906:sramecc-:xnack-"},
      {1, 0x330, "gfx908:sramecc+:xnack+"},
      {1, 0x036, "gfx1030"},
      {1, 0x136, "gfx1030"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    kdl_image_target target = read_header(os_hsa, rows[i].abi_version, rows[i].flags);
    assert_string_equal(target.arch, rows[i].arch);
    assert_string_equal(target.triple, HSA);
    assert_int_equal(target.version_major, rows[i].abi_version + 2);
    assert_int_equal(target.generic_version, 0);
  }
}

static void generic_targets_have_a_version(void **state) {
  (void)state;
  kdl_image_target target = read_header(os_hsa, 4, 0x0700055f);
  assert_string_equal(target.arch, "gfx9-4-generic");
  assert_int_equal(target.generic_version, 7);
}

static void other_systems_make_other_triples(void **state) {
  (void)state;
  assert_string_equal(read_header(os_pal, 0, 0x36).triple, "amdgcn-amd-amdpal");
  assert_string_equal(read_header(os_mesa, 0, 0x36).triple, "amdgcn-mesa-mesa3d");
  assert_string_equal(read_header(0, 0, 0x36).triple, "amdgcn-unknown-unknown");
  assert_string_equal(read_header(0, 0, 0x08).triple, "r600-unknown-unknown");
  assert_int_equal(read_header(os_pal, 0, 0x36).offload_kind, KDL_OFFLOAD_NONE);
}

/* Version 2 names the processor in a note, and marks kernels by their symbol's type. */
static void version_2_is_read_from_its_note(void **state) {
  (void)state;
  uint8_t note[12 + 4 + 16 + 4 + 8] = {4, 0, 0, 0, 28, 0, 0, 0, 3, 0, 0, 0, 'A', 'M', 'D'};
  kdl_store_u32(note + 20, 9);
  kdl_store_u32(note + 24, 0);
  kdl_store_u32(note + 28, 10);
  uint8_t symbols[2 * 24] = {0};
  kdl_store_u32(symbols + 24, 1);
  symbols[24 + 4] = 1 << 4 | 10;
  symbols[24 + 6] = 1;
  const elf_section sections[] = {
      {".note", type_note, 0, note, sizeof note},
      {".symtab", 2, 0, symbols, sizeof symbols},
      {".strtab", 3, 0, "\0saxpy", 7},
  };
  elf_image elf = build_elf(machine_amdgpu, sections, 3);
  elf.data[7] = os_hsa;
  kdl_store_u32(elf.data + elf.table + 2 * 64 + 40, 3);
  kdl_store_u64(elf.data + elf.table + 2 * 64 + 56, 24);
  assert_target(KDL_IMAGE_HSACO, elf.data, elf.size, HSA, "gfx90a:xnack-", KDL_OFFLOAD_HIP);
  elf.data[48] = 1;
  assert_target(KDL_IMAGE_HSACO, elf.data, elf.size, HSA, "gfx90a:xnack+", KDL_OFFLOAD_HIP);
  assert_kernels(KDL_IMAGE_HSACO, elf.data, elf.size, "saxpy ");
  check_damaged(KDL_IMAGE_HSACO, elf.data, elf.size, read_anything, 0);
  free(elf.data);
}

/* Wraps MessagePack into the metadata note of an otherwise empty code object. */
static elf_image with_metadata(const char *bytes, size_t size) {
  uint8_t note[256] = {7, 0, 0, 0, 0, 0, 0, 0, 32, 0, 0, 0, 'A', 'M', 'D', 'G', 'P', 'U'};
  kdl_store_u32(note + 4, (uint32_t)size);
  memcpy(note + 20, bytes, size);
  const elf_section section = {".note", type_note, 0, note, 20 + (size + 3) / 4 * 4};
  elf_image elf = build_elf(machine_amdgpu, &section, 1);
  elf.data[7] = os_hsa;
  elf.data[8] = 4;
  elf.data[48] = 0x36;
  return elf;
}

#define METADATA(text) with_metadata((text), sizeof(text) - 1)

static void unknown_metadata_is_skipped(void **state) {
  (void)state;
  elf_image elf = METADATA("\x83\xa1z\x92\x01\x02\xae"
                           "amdhsa.kernels\x92\x82\xa5.args\x91\x80\xa5.name\xa1"
                           "a\x82\xa5.name\xa1"
                           "b\xa7.symbol\xa4"
                           "b.kd\xae"
                           "amdhsa.version\x92\x01\x02");
  assert_kernels(KDL_IMAGE_HSACO, elf.data, elf.size, "a b ");
  name_list list = {.stop_after = 1};
  assert_ok(kdl_image_read_kernels(KDL_IMAGE_HSACO, elf.data, elf.size, collect_name, &list));
  assert_string_equal(list.text, "a ");
  free(elf.data);
}

static void wrong_metadata_is_refused(void **state) {
  (void)state;
  static const struct {
    const char *bytes;
    size_t size;
    const char *message;
  } rows[] = {
      {"\x90", 1, "offset 0x54: AMDGPU metadata: found another type, expected a map"},
      {"\x81\x01\x02", 3,
       "offset 0x55: AMDGPU metadata: found a key that is not a string, expected one"},
      {"\x81\xae"
       "amdhsa.kernels\x01",
       17, "offset 0x64: amdhsa.kernels: found another type, expected an array"},
      {"\x81\xae"
       "amdhsa.kernels\x91\x01",
       18, "offset 0x65: amdhsa.kernels: found another type, expected maps, one for each kernel"},
      {"\x81\xae"
       "amdhsa.kernels\x91\x81\xa5.name\x01",
       25, "offset 0x6c: amdhsa.kernels .name: found another type, expected a string"},
      {"\x81\xae"
       "amdhsa.kernels\xdd\xff\xff\xff\xff\x80",
       22, "offset 0x64: MessagePack: found 1 bytes, expected 4294967295 for this item"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    elf_image elf = with_metadata(rows[i].bytes, rows[i].size);
    name_list list = {.length = 0};
    assert_fails(kdl_image_read_kernels(KDL_IMAGE_HSACO, elf.data, elf.size, collect_name, &list),
                 KDL_BAD_FILE, rows[i].message);
    free(elf.data);
  }
}

static void a_note_must_fit_its_section(void **state) {
  (void)state;
  elf_image elf = METADATA("\x80");
  kdl_store_u32(elf.data + elf.content + 4, 5);
  name_list list = {.length = 0};
  assert_fails(kdl_image_read_kernels(KDL_IMAGE_HSACO, elf.data, elf.size, collect_name, &list),
               KDL_BAD_FILE,
               "offset 0x40: note: found 7 bytes of owner and 5 of description, expected at most "
               "12 in all");
  kdl_store_u32(elf.data + elf.content, UINT32_MAX);
  assert_int_equal(kdl_image_read_kernels(KDL_IMAGE_HSACO, elf.data, elf.size, collect_name, &list),
                   KDL_BAD_FILE);
  free(elf.data);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(golden_images_tell_target_and_kernels),
      cmocka_unit_test(damaged_images_are_survived),
      cmocka_unit_test(every_processor_has_its_name),
      cmocka_unit_test(features_are_spelled_in_order),
      cmocka_unit_test(generic_targets_have_a_version),
      cmocka_unit_test(other_systems_make_other_triples),
      cmocka_unit_test(version_2_is_read_from_its_note),
      cmocka_unit_test(unknown_metadata_is_skipped),
      cmocka_unit_test(wrong_metadata_is_refused),
      cmocka_unit_test(a_note_must_fit_its_section),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
