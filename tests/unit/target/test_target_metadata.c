/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The five keys: parsing, and what is refused and where. */
#include "lib/target/rules/metadata.h"

#include "target_case.h"

static const char min_sm_grammar[] = "a compute capability without the dot: 90 is 9.0";
static const char list_grammar[] = "tokens joined by '+': bf16+fp8";
static const char priority_grammar[] = "an unsigned number up to 4294967295";

static void the_keys(void **state) {
  (void)state;
  static const struct {
    const char *name;
    bool must_check;
  } rows[] = {{"min_sm", true},
              {"min_gfx", true},
              {"requires_features", true},
              {"variant_priority", false},
              {"variant_tag", false}};
  for (int key = 0; key < KDL_KEY_COUNT; ++key) {
    assert_string_equal(kdl_keys[key].name.data, rows[key].name);
    assert_int_equal(kdl_keys[key].must_check, rows[key].must_check);
    assert_int_equal(kdl_key_find(kdl_text_of(rows[key].name)), key);
  }
  assert_int_equal(kdl_key_find(KDL_TEXT("min_sm ")), KDL_KEY_COUNT);
  assert_int_equal(kdl_key_find(KDL_TEXT("kdl.kernel.saxpy")), KDL_KEY_COUNT);
}

static void values(void **state) {
  (void)state;
  static const struct {
    kdl_key key;
    const char *value;
    int position; /* of the error; -1 where it is right */
    const char *expected;
  } rows[] = {
      {KDL_KEY_MIN_SM, "90", -1, NULL},
      {KDL_KEY_MIN_SM, "121", -1, NULL},
      {KDL_KEY_MIN_SM, "", 0, min_sm_grammar},
      {KDL_KEY_MIN_SM, "9", 0, min_sm_grammar},
      {KDL_KEY_MIN_SM, "9.0", 1, min_sm_grammar},
      {KDL_KEY_MIN_SM, "sm_90", 0, min_sm_grammar},
      {KDL_KEY_MIN_SM, "90a", 2, min_sm_grammar},
      {KDL_KEY_MIN_SM, " 90", 0, min_sm_grammar},
      {KDL_KEY_MIN_SM, "2560", 0, min_sm_grammar},
      {KDL_KEY_MIN_SM, "99999999999", 9, min_sm_grammar},
      {KDL_KEY_MIN_GFX, "gfx90a:cdna2", -1, NULL},
      {KDL_KEY_MIN_GFX, "gfx90a:cdna3", 7,
       "the processor's own family: gcn, cdna1 to cdna4 or rdna1 to rdna4"},
      {KDL_KEY_MIN_GFX, "gfx9", 0,
       "a processor of the families gcn, cdna or rdna, as in gfx90a:cdna2"},
      {KDL_KEY_REQUIRES_FEATURES, "bf16", -1, NULL},
      {KDL_KEY_REQUIRES_FEATURES, "bf16+fp8", -1, NULL},
      {KDL_KEY_REQUIRES_FEATURES, "bf16,fp8", -1, NULL},
      {KDL_KEY_REQUIRES_FEATURES, "no_such_token", -1, NULL},
      {KDL_KEY_REQUIRES_FEATURES, "", 0, list_grammar},
      {KDL_KEY_REQUIRES_FEATURES, "+bf16", 0, list_grammar},
      {KDL_KEY_REQUIRES_FEATURES, "bf16+", 5, list_grammar},
      {KDL_KEY_REQUIRES_FEATURES, "bf16++fp8", 5, list_grammar},
      {KDL_KEY_REQUIRES_FEATURES, "bf16 fp8", 4, list_grammar},
      {KDL_KEY_REQUIRES_FEATURES, "bf16;fp8", 4, list_grammar},
      {KDL_KEY_REQUIRES_FEATURES, "BF16", 0, list_grammar},
      {KDL_KEY_VARIANT_PRIORITY, "0", -1, NULL},
      {KDL_KEY_VARIANT_PRIORITY, "4294967295", -1, NULL},
      {KDL_KEY_VARIANT_PRIORITY, "4294967296", 9, priority_grammar},
      {KDL_KEY_VARIANT_PRIORITY, "-1", 0, priority_grammar},
      {KDL_KEY_VARIANT_PRIORITY, "1.5", 1, priority_grammar},
      {KDL_KEY_VARIANT_PRIORITY, "", 0, priority_grammar},
      {KDL_KEY_VARIANT_TAG, "", -1, NULL},
      {KDL_KEY_VARIANT_TAG, "any text", -1, NULL},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    kdl_parse_error error = {99, NULL};
    bool right = kdl_metadata_check(rows[i].key, kdl_text_of(rows[i].value), &error);
    if (right != (rows[i].position < 0))
      fail_msg("%s=%s", kdl_keys[rows[i].key].name.data, rows[i].value);
    if (right)
      continue;
    if ((int)error.position != rows[i].position)
      fail_msg("%s=%s: position %zu, expected %d", kdl_keys[rows[i].key].name.data, rows[i].value,
               error.position, rows[i].position);
    assert_string_equal(error.expected, rows[i].expected);
  }
}

static kdl_metadata read(const kdl_pair *pairs, size_t count, kdl_feature_class which) {
  kdl_metadata metadata;
  kdl_metadata_read(pairs, count, which, &metadata);
  return metadata;
}

#define PAIR(key, value) {{key, sizeof key - 1}, {value, sizeof value - 1}}

static void reading(void **state) {
  (void)state;
  const kdl_pair pairs[] = {
      PAIR("triple", "nvptx64-nvidia-cuda"), PAIR("min_sm", "90"),
      PAIR("min_gfx", "gfx90a:cdna2"),       PAIR("requires_features", "fp8,bf16"),
      PAIR("variant_priority", "7"),         PAIR("variant_tag", "tuned")};
  kdl_metadata metadata = read(pairs, 6, KDL_CLASS_GPU);
  assert_int_equal(metadata.malformed, 0);
  assert_int_equal(metadata.min_sm_major, 9);
  assert_int_equal(metadata.min_sm_minor, 0);
  assert_string_equal(metadata.min_gfx->name, "gfx90a");
  assert_true(metadata.required.word[0] == (1u << KDL_GPU_FP8 | 1u << KDL_GPU_BF16));
  assert_int_equal(metadata.priority, 7);
  assert_string_equal(metadata.value[KDL_KEY_VARIANT_TAG].data, "tuned");
}

static void absent_is_no_constraint(void **state) {
  (void)state;
  kdl_metadata metadata = read(NULL, 0, KDL_CLASS_GPU);
  for (int key = 0; key < KDL_KEY_COUNT; ++key)
    assert_null(metadata.value[key].data);
  assert_int_equal(metadata.malformed, 0);
  assert_int_equal(metadata.min_sm_major, 0);
  assert_null(metadata.min_gfx);
  assert_false(kdl_feature_any(metadata.required));
  assert_int_equal(metadata.priority, 0);
}

/* As in LLVM, where a key stands twice the last one counts. */
static void the_last_of_two_counts(void **state) {
  (void)state;
  const kdl_pair pairs[] = {PAIR("min_sm", "rubbish"), PAIR("min_sm", "80")};
  kdl_metadata metadata = read(pairs, 2, KDL_CLASS_GPU);
  assert_int_equal(metadata.malformed, 0);
  assert_int_equal(metadata.min_sm_major, 8);
}

static void what_cannot_be_read(void **state) {
  (void)state;
  const kdl_pair pairs[] = {PAIR("min_sm", "x"), PAIR("variant_priority", "high"),
                            PAIR("requires_features", "warp_drive+bf16")};
  kdl_metadata metadata = read(pairs, 3, KDL_CLASS_GPU);
  assert_int_equal(metadata.malformed, 1 << KDL_KEY_MIN_SM | 1 << KDL_KEY_VARIANT_PRIORITY);
  assert_true(metadata.requires_unknown);
  assert_int_equal(metadata.priority, 0);
  kdl_string token = kdl_metadata_unknown_token(pairs[2].value, KDL_CLASS_GPU);
  assert_true(kdl_text_is(token, "warp_drive"));
  assert_null(kdl_metadata_unknown_token(KDL_TEXT("bf16+fp8"), KDL_CLASS_GPU).data);
  token = kdl_metadata_unknown_token(KDL_TEXT("bf16+fp8"), KDL_CLASS_X86);
  assert_true(kdl_text_is(token, "fp8"));
}

static void priority_is_kept_in_the_rule(void **state) {
  (void)state;
  static image_case image;
  case_image(&image, "cubin sm_90 variant_priority=42");
  assert_int_equal(image.rule.priority, 42);
  case_image(&image, "cubin sm_90");
  assert_int_equal(image.rule.priority, 0);
  case_image(&image, "cubin sm_90 variant_priority=x");
  assert_int_equal(image.rule.priority, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_keys),
      cmocka_unit_test(values),
      cmocka_unit_test(reading),
      cmocka_unit_test(absent_is_no_constraint),
      cmocka_unit_test(the_last_of_two_counts),
      cmocka_unit_test(what_cannot_be_read),
      cmocka_unit_test(priority_is_kept_in_the_rule),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
