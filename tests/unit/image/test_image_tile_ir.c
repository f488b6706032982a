/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "image_support.h"

static const golden_image goldens[] = {
    {"tile_13_1.tileir", KDL_IMAGE_TILEIR, "nvptx64-nvidia-cuda", "sm_80", KDL_OFFLOAD_CUDA,
     "saxpy saxpy_again "},
    {"tile_13_4.tileir", KDL_IMAGE_TILEIR, "nvptx64-nvidia-cuda", "sm_80", KDL_OFFLOAD_CUDA,
     "saxpy saxpy_again "},
};
GOLDEN_TESTS(goldens)

#define HEADER(minor) "\177TileIR\0\15" minor "\0\0"

static void version_is_in_the_header(void **state) {
  (void)state;
  static const char image[] = HEADER("\3");
  kdl_image_target target;
  assert_ok(kdl_image_read_target(KDL_IMAGE_TILEIR, image, sizeof image - 1, &target));
  assert_int_equal(target.version_major, 13);
  assert_int_equal(target.version_minor, 3);
}

/* Sections of functions and strings: "f", which is no kernel, and "k". */
#define FUNCTIONS "\2\14\2\0\0\0\0\1x\1\0\2\0\0"

static void only_entries_are_kernels(void **state) {
  (void)state;
  /* The offsets of the strings are padded to 32. */
  static const char image[] = HEADER("\1") FUNCTIONS "\1\16\2\313\313\313\0\0\0\0\1\0\0\0fk\0";
  assert_kernels(KDL_IMAGE_TILEIR, image, sizeof image - 1, "k ");
}

static void bad_images_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *image;
    size_t size;
    const char *message;
  } rows[] = {
#define ROW(text, message) {text, sizeof(text) - 1, message}
      ROW("\177TileIX\0\15\1\0\0\0", "offset 0x0: magic: expected \\x7fTileIR\\0"),
      ROW("\177TileIR\0\15\1", "offset 0x0: header: found 10 bytes, expected 12"),
      ROW(HEADER("\1"), "offset 0xc: section number: found the end of its section, expected more"),
      ROW(HEADER("\1") "\2\5\0", "offset 0xe: section size: found 5 bytes, expected at most 1"),
      ROW(HEADER("\1") "\202\0\3\0",
          "offset 0xf: section alignment: found an alignment of 3, expected a power of two up to "
          "4096"),
      ROW(HEADER("\1") "\2\377\377\377\377\377\377\377\377\377\377\1",
          "offset 0xd: section size: found a number of more than 10 bytes, expected fewer"),
      ROW(HEADER("\1") "\2\6\1\7\0\2\0\0\0",
          "offset 0x0: string index: found 7, expected less than the 0 strings"),
      ROW(HEADER("\1") "\2\6\1\0\0\6\0\2\0",
          "offset 0x13: attribute: found tag 2, expected one that hints have"),
      ROW(HEADER("\5") "\0",
          "tileir image: its kernels cannot be read: found version 13.5, expected at most 13.4"),
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    name_list list = {.length = 0};
    kdl_status status =
        kdl_image_read_kernels(KDL_IMAGE_TILEIR, rows[i].image, rows[i].size, collect_name, &list);
    assert_int_not_equal(status, KDL_OK);
    assert_string_equal(kdl_error_message(), rows[i].message);
  }
}

static void hints_are_not_read_deeper_than_they_are_written(void **state) {
  (void)state;
  uint8_t image[64] = HEADER("\1") "\2\54\1\0\0\6\0";
  size_t at = 19;
  for (int depth = 0; depth < 20; ++depth, at += 2) {
    image[at] = 6; /* an array */
    image[at + 1] = 1;
  }
  name_list list = {.length = 0};
  assert_fails(kdl_image_read_kernels(KDL_IMAGE_TILEIR, image, sizeof image, collect_name, &list),
               KDL_BAD_FILE, "offset 0x23: attribute: found more than 8 levels, expected fewer");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(golden_images_tell_target_and_kernels),
      cmocka_unit_test(damaged_images_are_survived),
      cmocka_unit_test(version_is_in_the_header),
      cmocka_unit_test(only_entries_are_kernels),
      cmocka_unit_test(bad_images_are_refused),
      cmocka_unit_test(hints_are_not_read_deeper_than_they_are_written),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
