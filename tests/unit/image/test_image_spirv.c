/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "image_support.h"
#include "support/base/bytes.h"

static const golden_image goldens[] = {
    {"spirv64.spv", KDL_IMAGE_SPIRV, "spirv64-unknown-unknown", "", KDL_OFFLOAD_NONE,
     "saxpy fill "},
};
GOLDEN_TESTS(goldens)

/* A module of words; names are four characters to a word. */
static size_t store_words(uint8_t *out, const uint32_t *words, size_t count) {
  for (size_t i = 0; i < count; ++i)
    kdl_store_u32(out + 4 * i, words[i]);
  return 4 * count;
}

#define OP(opcode, length) ((uint32_t)(length) << 16 | (opcode))
#define HEADER 0x07230203, 0x00010600, 0, 8, 0
#define TEXT(a, b, c, d)                                                                           \
  ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)

static void addressing_model_makes_the_triple(void **state) {
  (void)state;
  static const struct {
    uint32_t model;
    const char *triple;
  } rows[] = {{0, "spirv-unknown-unknown"},
              {1, "spirv32-unknown-unknown"},
              {2, "spirv64-unknown-unknown"},
              {5348, "spirv-unknown-unknown"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    const uint32_t words[] = {HEADER, OP(17, 2), 6, OP(14, 3), rows[i].model, 2};
    uint8_t data[sizeof words];
    store_words(data, words, sizeof words / 4);
    assert_target(KDL_IMAGE_SPIRV, data, sizeof data, rows[i].triple, "", KDL_OFFLOAD_NONE);
    kdl_image_target target;
    assert_ok(kdl_image_read_target(KDL_IMAGE_SPIRV, data, sizeof data, &target));
    assert_int_equal(target.version_major, 1);
    assert_int_equal(target.version_minor, 6);
  }
}

static void capabilities_are_feature_tokens(void **state) {
  (void)state;
  /* Kernel, Float64, Float64 again, Int64, GroupNonUniformVote, SubgroupDispatch, DotProduct */
  const uint32_t words[] = {HEADER, OP(17, 2), 6,    OP(17, 2), 10, OP(17, 2),
                            10,     OP(17, 2), 11,   OP(17, 2), 62, OP(17, 2),
                            58,     OP(17, 2), 6019, OP(14, 3), 2,  2};
  uint8_t data[sizeof words];
  store_words(data, words, sizeof words / 4);
  kdl_image_target target;
  assert_ok(kdl_image_read_target(KDL_IMAGE_SPIRV, data, sizeof data, &target));
  assert_string_equal(target.features, "fp64+int8_dot+int64+subgroups");
}

static void compute_entry_points_are_kernels(void **state) {
  (void)state;
  const uint32_t words[] = {
      HEADER, /* then OpEntryPoint: */
      OP(15, 4),
      6,
      1,
      TEXT('a', 'b', 'c', 0), /* Kernel */
      OP(15, 4),
      4,
      2,
      TEXT('f', 'r', 'g', 0), /* Fragment */
      OP(15, 6),
      5,
      3,
      TEXT('l', 'o', 'n', 'g'),
      TEXT('e', 'r', 0, 0),
      77, /* GLCompute */
      OP(54, 5),
      0,
      0,
      0,
      0, /* OpFunction ends the search */
      OP(15, 4),
      6,
      4,
      TEXT('x', 0, 0, 0),
  };
  uint8_t data[sizeof words];
  store_words(data, words, sizeof words / 4);
  assert_kernels(KDL_IMAGE_SPIRV, data, sizeof data, "abc longer ");
}

static void big_endian_modules_tell_their_target_only(void **state) {
  (void)state;
  size_t size;
  uint8_t *data = read_golden("images/spirv64.spv", &size);
  for (size_t i = 0; i + 4 <= size; i += 4) {
    uint32_t word = kdl_load_u32(data + i);
    kdl_store_u32(data + i,
                  word >> 24 | (word >> 8 & 0xff00) | (word << 8 & 0xff0000) | word << 24);
  }
  assert_int_equal(kdl_image_sniff(data, size), KDL_IMAGE_SPIRV);
  assert_target(KDL_IMAGE_SPIRV, data, size, "spirv64-unknown-unknown", "", KDL_OFFLOAD_NONE);
  name_list list = {.length = 0};
  assert_fails(kdl_image_read_kernels(KDL_IMAGE_SPIRV, data, size, collect_name, &list),
               KDL_UNSUPPORTED,
               "kernel names of big-endian SPIR-V cannot be read: expected a little-endian module, "
               "as every producer writes");
  free(data);
}

static void check_refused(const uint32_t *words, size_t count, const char *target_message,
                          const char *kernel_message) {
  uint8_t data[256];
  size_t size = store_words(data, words, count);
  kdl_image_target target;
  name_list list = {.length = 0};
  if (target_message)
    assert_fails(kdl_image_read_target(KDL_IMAGE_SPIRV, data, size, &target), KDL_BAD_FILE,
                 target_message);
  if (kernel_message)
    assert_fails(kdl_image_read_kernels(KDL_IMAGE_SPIRV, data, size, collect_name, &list),
                 KDL_BAD_FILE, kernel_message);
}

static void wrong_modules_are_refused(void **state) {
  (void)state;
  const uint32_t not_spirv[] = {1, 2, 3, 4, 5};
  check_refused(not_spirv, 5,
                "offset 0x0: magic number: found 01 00 00 00, expected 03 02 23 07 or its reverse",
                "offset 0x0: magic number: found 01 00 00 00, expected 03 02 23 07 or its reverse");
  check_refused(not_spirv, 4, "offset 0x0: SPIR-V header: found 16 bytes, expected at least 20",
                NULL);
  const uint32_t odd_version[] = {0x07230203, 0x01010600, 0, 8, 0};
  check_refused(odd_version, 5, "offset 0x4: version: found 0x01010600, expected 0x00XXYY00", NULL);
  const uint32_t no_model[] = {HEADER, OP(17, 2), 6};
  check_refused(no_model, 7, "offset 0x1c: OpMemoryModel: found none, expected one before here",
                NULL);
  const uint32_t zero_length[] = {HEADER, OP(17, 0), 6};
  const char *zero_message = "offset 0x14: word count: found 0 for instruction 17, expected from 1 "
                             "to 2, the words that are left";
  check_refused(zero_length, 7, zero_message, zero_message);
  const uint32_t too_long[] = {HEADER, OP(15, 3), 6};
  check_refused(too_long, 7, NULL,
                "offset 0x14: word count: found 3 for instruction 15, expected from 1 to 2, the "
                "words that are left");
  const uint32_t short_model[] = {HEADER, OP(14, 2), 2};
  check_refused(short_model, 7, "offset 0x14: OpMemoryModel: found 2 words, expected at least 3",
                NULL);
  const uint32_t odd_model[] = {HEADER, OP(14, 3), 3, 2};
  check_refused(odd_model, 8,
                "offset 0x18: OpMemoryModel: found addressing model 3, expected 0, 1, 2 or 5348",
                NULL);
  const uint32_t short_entry[] = {HEADER, OP(15, 3), 6, 1};
  check_refused(short_entry, 8, NULL,
                "offset 0x14: OpEntryPoint: found 3 words, expected at least 4");
  const uint32_t unterminated[] = {HEADER, OP(15, 4), 6, 1, TEXT('a', 'b', 'c', 'd'), 0};
  check_refused(unterminated, 10, NULL,
                "offset 0x20: OpEntryPoint: found no NUL in 4 bytes of name, expected one");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(golden_images_tell_target_and_kernels),
      cmocka_unit_test(damaged_images_are_survived),
      cmocka_unit_test(addressing_model_makes_the_triple),
      cmocka_unit_test(capabilities_are_feature_tokens),
      cmocka_unit_test(compute_entry_points_are_kernels),
      cmocka_unit_test(big_endian_modules_tell_their_target_only),
      cmocka_unit_test(wrong_modules_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
