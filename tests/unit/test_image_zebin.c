/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Written here byte by byte: the compiler that makes zebins is not a package that tests can ask
 * for. Notes and section names are as Intel's graphics compiler writes them. */
#include "elf_builder.h"
#include "image_support.h"

enum { machine_intelgt = 205, progbits = 1, type_note = 7, note_size = 24, note_count = 4 };

/* One note of the owner "IntelGT" with a word. */
static void store_note(uint8_t *out, uint32_t type, uint32_t value) {
  kdl_store_u32(out, 8);
  kdl_store_u32(out + 4, 4);
  kdl_store_u32(out + 8, type);
  memcpy(out + 12, "IntelGT", 8);
  kdl_store_u32(out + 20, value);
}

static uint32_t ip_version(uint32_t major, uint32_t minor, uint32_t revision) {
  return major << 22 | minor << 14 | revision;
}

static elf_image build_zebin(uint32_t product_config) {
  uint8_t notes[note_count * note_size];
  store_note(notes, 1, 0x4a1);         /* product family */
  store_note(notes + note_size, 2, 3); /* core family */
  store_note(notes + 2 * note_size, 3, 0);
  store_note(notes + 3 * note_size, 6, product_config);
  const elf_section sections[] = {
      {".text", progbits, 0, "x", 1},
      {".text.saxpy", progbits, 0, "x", 1},
      {".text.Intel_Symbol_Table_Void_Program", progbits, 0, "x", 1},
      {".text.fill", progbits, 0, "x", 1},
      {".text.notcode", type_note, 0, NULL, 0},
      {".data.const", progbits, 0, "x", 1},
      {".ze_info", 0xff000011, 0, "version: '1.39'\n", 16},
      {".note.intelgt.compat", type_note, 0, notes, sizeof notes},
  };
  return build_elf(machine_intelgt, sections, sizeof sections / sizeof *sections);
}

static void ip_version_and_text_sections_tell(void **state) {
  (void)state;
  static const struct {
    uint32_t config;
    const char *arch;
  } rows[] = {
      {0x030f0007, "ip=12.60.7"}, /* Ponte Vecchio, as drivers report it */
      {0x05004000, "ip=20.1.0"},  /* Battlemage */
  };
  assert_int_equal(ip_version(12, 60, 7), rows[0].config);
  assert_int_equal(ip_version(20, 1, 0), rows[1].config);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    elf_image elf = build_zebin(rows[i].config);
    assert_int_equal(kdl_image_sniff(elf.data, elf.size), KDL_IMAGE_ZEBIN);
    assert_target(KDL_IMAGE_ZEBIN, elf.data, elf.size, "spirv64-intel-unknown", rows[i].arch,
                  KDL_OFFLOAD_NONE);
    assert_kernels(KDL_IMAGE_ZEBIN, elf.data, elf.size, "saxpy fill ");
    free(elf.data);
  }
}

static size_t offset_of(const elf_image *elf, const char *text) {
  const uint8_t *found = memmem(elf->data, elf->size, text, strlen(text));
  assert_non_null(found);
  return (size_t)(found - elf->data);
}

/* Older compilers name a product family only, and other owners' notes count for nothing. */
static void without_product_config_the_arch_is_open(void **state) {
  (void)state;
  elf_image elf = build_zebin(0x030f0007);
  size_t config = offset_of(&elf, "IntelGT") + 3 * note_size;
  elf.data[config - 4] = 7;
  assert_target(KDL_IMAGE_ZEBIN, elf.data, elf.size, "spirv64-intel-unknown", "", KDL_OFFLOAD_NONE);
  elf.data[config - 4] = 6;
  elf.data[config] = 'i';
  assert_target(KDL_IMAGE_ZEBIN, elf.data, elf.size, "spirv64-intel-unknown", "", KDL_OFFLOAD_NONE);
  free(elf.data);
}

static void a_product_config_of_another_size_is_refused(void **state) {
  (void)state;
  elf_image elf = build_zebin(0x030f0007);
  size_t config = offset_of(&elf, "IntelGT") + 3 * note_size;
  elf.data[config - 8] = 3;
  char expected[128];
  snprintf(expected, sizeof expected,
           "offset 0x%zx: NT_INTELGT_PRODUCT_CONFIG: found 3 bytes, expected 4", config + 8);
  kdl_image_target target;
  assert_fails(kdl_image_read_target(KDL_IMAGE_ZEBIN, elf.data, elf.size, &target), KDL_BAD_FILE,
               expected);
  free(elf.data);
}

static void a_name_outside_the_table_is_refused(void **state) {
  (void)state;
  elf_image elf = build_zebin(0);
  kdl_store_u32(elf.data + elf.table + 2 * 64, 0x1000);
  size_t names = offset_of(&elf, ".text") - 1;
  char expected[128];
  uint64_t size = kdl_load_u64(elf.data + elf.table + 9 * 64 + 32);
  snprintf(expected, sizeof expected,
           "offset 0x%zx: string table: found a name at 0x1000 of it, expected less than 0x%llx",
           names, (unsigned long long)size);
  name_list list = {.length = 0};
  assert_fails(kdl_image_read_kernels(KDL_IMAGE_ZEBIN, elf.data, elf.size, collect_name, &list),
               KDL_BAD_FILE, expected);
  free(elf.data);
}

/* Sections that all share one long name would let a small file fill the memory of whoever collects
 * the names. */
static void names_that_add_up_to_too_much_are_refused(void **state) {
  (void)state;
  enum { count = 200, length = 20000 };
  elf_section *sections = calloc(count, sizeof *sections);
  char *name = malloc(length + 1);
  memset(name, 'k', length);
  memcpy(name, ".text.", 6);
  name[length] = '\0';
  for (size_t i = 0; i < count; ++i)
    sections[i] = (elf_section){i ? "" : name, progbits, 0, "", 0};
  elf_image elf = build_elf(machine_intelgt, sections, count);
  for (size_t i = 1; i < count; ++i)
    kdl_store_u32(elf.data + elf.table + (i + 1) * 64, kdl_load_u32(elf.data + elf.table + 64));
  unsigned char sum = 0;
  assert_fails(kdl_image_read_kernels(KDL_IMAGE_ZEBIN, elf.data, elf.size, ignore_name, &sum),
               KDL_BAD_FILE,
               "found kernel names that overlap so much that together they are more than 8 times "
               "as long as the image, expected names that lie apart");
  free(elf.data);
  free(name);
  free(sections);
}

static void damaged_images_are_survived(void **state) {
  (void)state;
  elf_image elf = build_zebin(0x030f0007);
  check_damaged(KDL_IMAGE_ZEBIN, elf.data, elf.size);
  free(elf.data);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ip_version_and_text_sections_tell),
      cmocka_unit_test(without_product_config_the_arch_is_open),
      cmocka_unit_test(a_product_config_of_another_size_is_refused),
      cmocka_unit_test(a_name_outside_the_table_is_refused),
      cmocka_unit_test(names_that_add_up_to_too_much_are_refused),
      cmocka_unit_test(damaged_images_are_survived),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
