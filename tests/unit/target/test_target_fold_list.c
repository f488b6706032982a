/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The field `specialize` of a kernel's key. */
#include "lib/target/fold_list.h"

#include "target_case.h"

#define SIG "sig=f32 ptr<f32> u16 i64 f64 bytes<8:4> i128 i8; names=a x h n d s wide c; "

static void parts_have_kinds(void **state) {
  (void)state;
  static const struct {
    kdl_fold_kind kind;
    unsigned index, size;
  } expected[] = {{KDL_FOLD_INT, 3, 8},     {KDL_FOLD_FLOAT, 0, 4}, {KDL_FOLD_UINT, 2, 2},
                  {KDL_FOLD_POINTER, 1, 8}, {KDL_FOLD_FLOAT, 4, 8}, {KDL_FOLD_INT, 7, 1},
                  {KDL_FOLD_BLOCK, 0, 0}};
  kdl_kernel_key key;
  kdl_fold_list list;
  assert_true(kdl_kernel_parse(kdl_text_of(SIG "specialize=n a  h x d c block"), &key, NULL));
  assert_true(kdl_fold_list_read(&key, &list, NULL));
  assert_int_equal(list.count, sizeof expected / sizeof *expected);
  for (size_t i = 0; i < list.count; ++i) {
    assert_int_equal(list.items[i].kind, expected[i].kind);
    assert_int_equal(list.items[i].index, expected[i].index);
    assert_int_equal(list.items[i].size, expected[i].size);
  }
  assert_true(kdl_text_is(list.items[3].name, "x"));
}

static void others_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *value;
    size_t at; /* in the value */
  } cases[] = {{"m", 0}, {"n m", 2}, {"s", 0}, {"n wide", 2}, {"n a h x d c n a n", 16}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    char text[256];
    kdl_kernel_key key;
    kdl_parse_error error;
    snprintf(text, sizeof text, SIG "specialize=%s", cases[i].value);
    assert_false(kdl_kernel_parse(kdl_text_of(text), &key, &error));
    assert_int_equal(error.position, sizeof SIG "specialize=" - 1 + cases[i].at);
    assert_non_null(strstr(error.expected, "up to 8 parameters in 'names'"));
  }
  kdl_kernel_key key;
  assert_false(kdl_kernel_parse(kdl_text_of("sig=u32; specialize=n"), &key, NULL));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(parts_have_kinds),
      cmocka_unit_test(others_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
