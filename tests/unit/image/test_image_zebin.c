/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Zebins, mostly built byte by byte, because the compiler that makes them is not a package that
 * tests require; one is the compiler's. Notes and section names are as Intel's graphics compiler
 * writes them. */
#include "image_support.h"

#include "lib/inspect/images.h"
#include "zebin_builder.h"

static const char no_kernels[] = "version: '1.39'\n";

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
    elf_image elf = build_zebin(rows[i].config, no_kernels);
    assert_int_equal(kdl_image_sniff(elf.data, elf.size), KDL_IMAGE_ZEBIN);
    assert_target(KDL_IMAGE_ZEBIN, elf.data, elf.size, "spirv64-intel-unknown", rows[i].arch,
                  KDL_OFFLOAD_NONE);
    assert_kernels(KDL_IMAGE_ZEBIN, elf.data, elf.size, "saxpy fill ");
    free(elf.data);
  }
}

/* Intel's own has a second section of notes, .note.intelgt.metrics, which are none. */
static void what_intels_compiler_writes_is_read(void **state) {
  (void)state;
  size_t size;
  uint8_t *data = read_golden("launch/pvc.zebin", &size);
  assert_int_equal(kdl_image_sniff(data, size), KDL_IMAGE_ZEBIN);
  assert_target(KDL_IMAGE_ZEBIN, data, size, "spirv64-intel-unknown", "", KDL_OFFLOAD_NONE);
  assert_kernels(KDL_IMAGE_ZEBIN, data, size, "saxpy scale place weigh empty sum ");
  free(data);
}

static int ignore_param(void *user, const kdl_image_param *param) {
  (void)user, (void)param;
  return 0;
}

static void without_ze_info_parameters_are_not_told(void **state) {
  (void)state;
  const elf_section sections[] = {{".text.saxpy", progbits, 0, "x", 1}};
  elf_image elf = build_elf(machine_intelgt, sections, 1);
  assert_fails(kdl_image_read_params(KDL_IMAGE_ZEBIN, elf.data, elf.size, (kdl_string){"saxpy", 5},
                                     ignore_param, NULL),
               KDL_UNSUPPORTED,
               "zebin image: found no section .ze_info, expected it to tell its kernels' "
               "parameters");
  free(elf.data);
}

static size_t offset_of(const elf_image *elf, const char *text) {
  const uint8_t *found = memmem(elf->data, elf->size, text, strlen(text));
  assert_non_null(found);
  return (size_t)(found - elf->data);
}

/* Older compilers name a product family only, and other owners' notes count for nothing. */
static void without_product_config_the_arch_is_open(void **state) {
  (void)state;
  elf_image elf = build_zebin(0x030f0007, no_kernels);
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
  elf_image elf = build_zebin(0x030f0007, no_kernels);
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
  elf_image elf = build_zebin(0, no_kernels);
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

/* Sections that all share one long name would let a small file fill the memory of a reader that
 * collects the names. */
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
  elf_image elf = build_zebin(0x030f0007, no_kernels);
  check_damaged(KDL_IMAGE_ZEBIN, elf.data, elf.size, read_anything, 0);
  free(elf.data);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ip_version_and_text_sections_tell),
      cmocka_unit_test(what_intels_compiler_writes_is_read),
      cmocka_unit_test(without_ze_info_parameters_are_not_told),
      cmocka_unit_test(without_product_config_the_arch_is_open),
      cmocka_unit_test(a_product_config_of_another_size_is_refused),
      cmocka_unit_test(a_name_outside_the_table_is_refused),
      cmocka_unit_test(names_that_add_up_to_too_much_are_refused),
      cmocka_unit_test(damaged_images_are_survived),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
