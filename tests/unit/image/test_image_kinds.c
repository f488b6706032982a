/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The rows of lib/inspect/kinds.def: what files and programs depend on, and that none is
 * incomplete. */
#include "image_support.h"
#include "lib/image/readers.h"
#include "lib/inspect/kinds.h"
#include "lib/inspect/selection.h"
#include "lib/target/target.h"

#include <dirent.h>

/* ------------------------------------------------------------------------------------------ */
/* What others depend on                                                                        */

/* What is stored in files and printed: no row changes once it was released. */
static const struct {
  kdl_image_kind kind;
  const char *name, *extension;
  uint16_t llvm_number;
  uint16_t fatbin_numbers;
  const char *llvm_name;
  const char *version_key;
} released[] = {
    {KDL_IMAGE_UNKNOWN, "unknown", "bin", 0, 0, NULL, NULL},
    {KDL_IMAGE_OBJECT, "object", "o", 1, 0, "o", NULL},
    {KDL_IMAGE_BITCODE, "bitcode", "bc", 2, 0, "bc", NULL},
    {KDL_IMAGE_CUBIN, "cubin", "cubin", 3, 0x12, "cubin", NULL},
    {KDL_IMAGE_PTX, "ptx", "ptx", 5, 0x1, "s", "kdl.ptx_isa"},
    {KDL_IMAGE_LTOIR, "ltoir", "ltoir", 0, 0x8, NULL, NULL},
    {KDL_IMAGE_HSACO, "hsaco", "hsaco", 1, 0, NULL, "kdl.version"},
    {KDL_IMAGE_SPIRV, "spirv", "spv", 6, 0, "spv", "kdl.version"},
    {KDL_IMAGE_ZEBIN, "zebin", "zebin", 1, 0, NULL, NULL},
    {KDL_IMAGE_FATBIN, "fatbin", "fatbin", 4, 0, "fatbin", NULL},
    {KDL_IMAGE_BUNDLE, "bundle", "hipfb", 0, 0, NULL, NULL},
    {KDL_IMAGE_OFFLOAD, "offload", "offload", 0, 0, NULL, NULL},
    {KDL_IMAGE_CL, "cl", "cl", 0, 0, NULL, NULL},
    {KDL_IMAGE_SEQUENCE, "sequence", "sequence", 0, 0, NULL, NULL},
    {KDL_IMAGE_TILEIR, "tileir", "tileir", 0, 0x80, NULL, "kdl.tile_ir"},
};
enum { released_count = sizeof released / sizeof *released };

static void assert_text(const char *text, const char *expected) {
  assert_true(!text == !expected && (!text || strcmp(text, expected) == 0));
}

static void names_and_numbers_stay(void **state) {
  (void)state;
  assert_int_equal(released_count, KDL_IMAGE_KIND_COUNT);
  for (size_t i = 0; i < released_count; ++i) {
    const kdl_image_kind_row *row = kdl_image_kind_get(released[i].kind);
    print_message("%s\n", released[i].name);
    assert_int_equal(released[i].kind, i);
    assert_string_equal(kdl_image_kind_name(released[i].kind), released[i].name);
    assert_int_equal(kdl_llvm_image_kind(released[i].kind), released[i].llvm_number);
    assert_string_equal(row->extension, released[i].extension);
    assert_int_equal(row->fatbin_numbers, released[i].fatbin_numbers);
    assert_text(row->llvm_name, released[i].llvm_name);
    assert_text(row->version_key, released[i].version_key);
  }
}

static void values_outside_the_enum_are_unknown(void **state) {
  (void)state;
  assert_string_equal(kdl_image_kind_name((kdl_image_kind)99), "unknown");
  assert_int_equal(kdl_llvm_image_kind((kdl_image_kind)99), 0);
  assert_int_equal(kdl_image_kind_of_llvm(0), KDL_IMAGE_UNKNOWN);
  assert_int_equal(kdl_image_kind_of_llvm(7), KDL_IMAGE_UNKNOWN);
  assert_int_equal(kdl_image_kind_of_fatbin(0), KDL_IMAGE_UNKNOWN);
  assert_int_equal(kdl_image_kind_of_fatbin(2 | 16), KDL_IMAGE_UNKNOWN);
  assert_int_equal(kdl_image_kind_of_fatbin(0x8000), KDL_IMAGE_UNKNOWN);
  assert_int_equal(kdl_image_kind_of_key(KDL_TEXT("cubin")), KDL_IMAGE_UNKNOWN);
  assert_int_equal(kdl_image_kind_of_key(KDL_TEXT("clx")), KDL_IMAGE_UNKNOWN);
}

static void numbers_and_keys_find_their_kinds(void **state) {
  (void)state;
  for (int i = 0; i < KDL_IMAGE_KIND_COUNT; ++i) {
    const kdl_image_kind_row *row = &kdl_image_kinds[i];
    for (unsigned bit = 0; bit < 16; ++bit) {
      if (row->fatbin_numbers >> bit & 1)
        assert_int_equal(kdl_image_kind_of_fatbin((uint16_t)(1u << bit)), i);
    }
    assert_true(!row->llvm_number == !row->llvm_name);
    if (row->llvm_number)
      assert_int_equal(kdl_image_kind_of_llvm(row->llvm_number), i);
    if (row->kind_key != KDL_KIND_KEY_NEVER)
      assert_int_equal(kdl_image_kind_of_key(kdl_text_of(row->name)), i);
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Complete rows                                                                                */

static void names_are_distinct(void **state) {
  (void)state;
  for (int i = 0; i < KDL_IMAGE_KIND_COUNT; ++i) {
    const kdl_image_kind_row *row = &kdl_image_kinds[i];
    assert_true(row->name && row->name[0] && row->extension && row->extension[0]);
    for (int k = 0; k < i; ++k) {
      assert_string_not_equal(row->name, kdl_image_kinds[k].name);
      assert_string_not_equal(row->extension, kdl_image_kinds[k].extension);
    }
  }
}

static void a_kind_has_a_reader_or_a_reason(void **state) {
  (void)state;
  for (int i = 0; i < KDL_IMAGE_KIND_COUNT; ++i) {
    const kdl_image_kind_row *row = &kdl_image_kinds[i];
    print_message("%s\n", row->name);
    assert_true(!row->readers->target == !row->readers->kernels);
    assert_true(!row->readers->target == (row->no_reader != NULL));
  }
}

/* All code ranks; a driver loads it, kdl-ld links it, or another linker does. */
static void code_ranks_and_is_loaded_by_something(void **state) {
  (void)state;
  for (int i = 0; i < KDL_IMAGE_KIND_COUNT; ++i) {
    const kdl_image_kind_row *row = &kdl_image_kinds[i];
    bool is_code = row->holds >= KDL_HOLDS_MACHINE_CODE;
    bool is_for_drivers =
        row->holds == KDL_HOLDS_MACHINE_CODE || row->holds == KDL_HOLDS_DRIVER_CODE;
    print_message("%s\n", row->name);
    assert_true(is_code == (row->tier != KDL_TIER_NONE));
    assert_true(is_for_drivers == (row->loaded_by || i == KDL_IMAGE_CL));
    assert_true(!row->family || i == KDL_IMAGE_CL || row->holds == KDL_HOLDS_LINK_INPUT ||
                row->loaded_by >> row->family & 1);
    assert_true(!row->is_unverified || row->holds == KDL_HOLDS_DRIVER_CODE);
    assert_true(is_for_drivers || !row->version_key);
  }
}

static kdl_image_kind kind_of_golden(const char *file, const uint8_t *data, size_t size) {
  const char *dot = strrchr(file, '.');
  kdl_image_kind kind = kdl_image_sniff(data, size < KDL_SNIFF_SIZE ? size : KDL_SNIFF_SIZE);
  for (int i = 0; i < KDL_IMAGE_KIND_COUNT && kind == KDL_IMAGE_UNKNOWN && dot; ++i) {
    if (kdl_image_kinds[i].kind_key == KDL_KIND_KEY_ALWAYS &&
        strcmp(kdl_image_kinds[i].extension, dot + 1) == 0)
      kind = (kdl_image_kind)i;
  }
  return kind;
}

/* tests/golden/images has an image of each kind with a reader, whose triple is for the row's
 * family. */
static void golden_images_have_the_family_of_their_kind(void **state) {
  (void)state;
  bool is_seen[KDL_IMAGE_KIND_COUNT] = {false};
  DIR *folder = opendir(KDL_TEST_DATA "/images");
  assert_non_null(folder);
  for (struct dirent *file; (file = readdir(folder));) {
    char path[512];
    size_t size;
    if (file->d_name[0] == '.')
      continue;
    snprintf(path, sizeof path, "images/%s", file->d_name);
    uint8_t *data = read_golden(path, &size);
    kdl_image_kind kind = kind_of_golden(file->d_name, data, size);
    kdl_image_target target;
    if (kind != KDL_IMAGE_UNKNOWN && kdl_image_read_target(kind, data, size, &target) == KDL_OK) {
      kdl_image_desc desc = {
          .kind = kind, .triple = kdl_text_of(target.triple), .arch = kdl_text_of(target.arch)};
      kdl_image_rule rule;
      kdl_image_compile(&desc, &rule);
      print_message("%s\n", file->d_name);
      assert_false(rule.faults & KDL_REASON(KIND_MISMATCH));
      is_seen[kind] = true;
    }
    free(data);
  }
  closedir(folder);
  for (int i = 0; i < KDL_IMAGE_KIND_COUNT; ++i) {
    print_message("%s\n", kdl_image_kinds[i].name);
    assert_true(is_seen[i] == (kdl_image_kinds[i].readers->target != NULL));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names_and_numbers_stay),
      cmocka_unit_test(values_outside_the_enum_are_unknown),
      cmocka_unit_test(numbers_and_keys_find_their_kinds),
      cmocka_unit_test(names_are_distinct),
      cmocka_unit_test(a_kind_has_a_reader_or_a_reason),
      cmocka_unit_test(code_ranks_and_is_loaded_by_something),
      cmocka_unit_test(golden_images_have_the_family_of_their_kind),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
