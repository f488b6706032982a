/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Block and tile, as read from images. */
#include "support.h"

#include "lib/image/readers.h"
#include "lib/inspect/images.h"
#include "support/base/text.h"

static void assert_geometry(kdl_image_geometry found, const uint32_t block[3],
                            const uint32_t tile[3]) {
  assert_memory_equal(found.block, block, sizeof found.block);
  assert_memory_equal(found.tile, tile, sizeof found.tile);
}

static const uint32_t nothing[3] = {0};

static void host_images(void **state) {
  (void)state;
  static const struct {
    const char *file, *kernel;
    uint32_t block[3], tile[3];
  } rows[] = {
      {"mark2", "mark", {64, 1, 1}, {64, 1, 1}}, {"mark4", "mark", {32, 1, 1}, {128, 1, 1}},
      {"mark4", "count", {1, 1, 1}, {1, 1, 1}},  {"mark4", "mar", {0}, {0}},
      {"no_description", "mark", {0}, {0}},      {"other_abi", "mark", {0}, {0}},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    char path[1024];
    size_t size;
    snprintf(path, sizeof path, "%s/%s.so", KDL_TEST_IMAGES, rows[i].file);
    uint8_t *data = read_file(path, &size);
    assert_geometry(
        kdl_image_read_geometry(KDL_IMAGE_OBJECT, data, size, kdl_text_of(rows[i].kernel)),
        rows[i].block, rows[i].tile);
    free(data);
  }
}

/* An allocation that ends where the image does, so that ASan sees a step beyond. */
static void images_that_are_cut(void **state) {
  (void)state;
  char path[1024];
  size_t size;
  snprintf(path, sizeof path, "%s/mark4.so", KDL_TEST_IMAGES);
  uint8_t *data = read_file(path, &size);
  for (size_t length = 0; length < size; length += length < 4096 ? 1 : 61) {
    uint8_t *cut = malloc(length ? length : 1);
    memcpy(cut, data, length);
    kdl_image_geometry found =
        kdl_image_read_geometry(KDL_IMAGE_OBJECT, cut, length, KDL_TEXT("mark"));
    assert_true(found.block[0] == 0 || found.block[0] == 32);
    free(cut);
  }
  free(data);
}

static void amd_code_objects(void **state) {
  (void)state;
  size_t size;
  uint8_t *data = read_golden("launch/fixed.hsaco", &size);
  static const uint32_t fixed[3] = {32, 2, 1};
  assert_geometry(kdl_image_read_geometry(KDL_IMAGE_HSACO, data, size, KDL_TEXT("fixed")), fixed,
                  nothing);
  assert_geometry(kdl_image_read_geometry(KDL_IMAGE_HSACO, data, size, KDL_TEXT("sgemm")), nothing,
                  nothing);
  free(data);
}

/* Two kernels, of which the second declares LocalSize 8 4 2. */
static void spirv_modules(void **state) {
  (void)state;
  static const uint32_t words[] = {
      0x07230203,   0x00010200, 0,  10,  0,    /* header */
      3 << 16 | 14, 2,          2,             /* OpMemoryModel Physical64 OpenCL */
      4 << 16 | 15, 6,          1,  'a',       /* OpEntryPoint Kernel %1 "a" */
      4 << 16 | 15, 6,          2,  'b',       /* OpEntryPoint Kernel %2 "b" */
      3 << 16 | 16, 1,          31,            /* OpExecutionMode %1 ContractionOff */
      6 << 16 | 16, 2,          17, 8,   4, 2, /* OpExecutionMode %2 LocalSize 8 4 2 */
  };
  static const uint32_t block[3] = {8, 4, 2};
  assert_geometry(kdl_image_read_geometry(KDL_IMAGE_SPIRV, words, sizeof words, KDL_TEXT("b")),
                  block, nothing);
  assert_geometry(kdl_image_read_geometry(KDL_IMAGE_SPIRV, words, sizeof words, KDL_TEXT("a")),
                  nothing, nothing);
  assert_geometry(kdl_image_read_geometry(KDL_IMAGE_SPIRV, words, sizeof words - 4, KDL_TEXT("b")),
                  nothing, nothing);
}

static void others_do_not_say(void **state) {
  (void)state;
  assert_true(kdl_image_has_geometry(KDL_IMAGE_OBJECT));
  assert_false(kdl_image_has_geometry(KDL_IMAGE_CUBIN));
  assert_geometry(kdl_image_read_geometry(KDL_IMAGE_PTX, "", 0, KDL_TEXT("k")), nothing, nothing);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(host_images),       cmocka_unit_test(images_that_are_cut),
      cmocka_unit_test(amd_code_objects),  cmocka_unit_test(spirv_modules),
      cmocka_unit_test(others_do_not_say),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
