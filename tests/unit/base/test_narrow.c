/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Half precision and bfloat16 from numbers and back: <kdl/kernel/narrow.h>. */
#include "support.h"

#include <kdl/kernel/narrow.h>

#include <math.h>

static void every_number_comes_back(kdl_narrow_format format) {
  for (unsigned bits = 0; bits <= 0xffff; ++bits) {
    double value = kdl_narrow_to_double(format, (uint16_t)bits);
    uint16_t back = kdl_narrow_from_double(format, value);
    if (isnan(value))
      assert_true(isnan(kdl_narrow_to_double(format, back)));
    else
      assert_int_equal(back, bits);
  }
}

static void numbers_come_back(void **state) {
  (void)state;
  every_number_comes_back(KDL_NARROW_F16);
  every_number_comes_back(KDL_NARROW_BF16);
}

/* Halfway between two neighbours it is the even one, and next to that the nearer one. */
static void rounds_to_nearest(kdl_narrow_format format) {
  unsigned infinity = 0x7fffu & ~((1u << format.fraction_bits) - 1);
  for (unsigned bits = 0; bits + 1 < infinity; ++bits) {
    double low = kdl_narrow_to_double(format, (uint16_t)bits);
    double high = kdl_narrow_to_double(format, (uint16_t)(bits + 1));
    double middle = (low + high) / 2;
    unsigned even = bits & 1 ? bits + 1 : bits;
    assert_int_equal(kdl_narrow_from_double(format, middle), even);
    assert_int_equal(kdl_narrow_from_double(format, -middle), even | 0x8000);
    assert_int_equal(kdl_narrow_from_double(format, middle * (1 - 0x1p-40)), bits);
    assert_int_equal(kdl_narrow_from_double(format, middle * (1 + 0x1p-40)), bits + 1);
  }
}

static void halves_round(void **state) {
  (void)state;
  rounds_to_nearest(KDL_NARROW_F16);
}

static void bfloats_round(void **state) {
  (void)state;
  rounds_to_nearest(KDL_NARROW_BF16);
}

static void ends_of_the_range(void **state) {
  (void)state;
  assert_int_equal(kdl_narrow_from_double(KDL_NARROW_F16, 65519.999), 0x7bff);
  assert_int_equal(kdl_narrow_from_double(KDL_NARROW_F16, 65520), 0x7c00);
  assert_int_equal(kdl_narrow_from_double(KDL_NARROW_F16, -1e300), 0xfc00);
  assert_int_equal(kdl_narrow_from_double(KDL_NARROW_F16, 0x1p-25), 0);
  assert_int_equal(kdl_narrow_from_double(KDL_NARROW_F16, 0x1.8p-25), 1);
  assert_int_equal(kdl_narrow_from_double(KDL_NARROW_F16, 5e-324), 0);
  assert_int_equal(kdl_narrow_from_double(KDL_NARROW_F16, -0.0), 0x8000);
  assert_int_equal(kdl_narrow_from_double(KDL_NARROW_BF16, 1e39), 0x7f80);
  assert_int_equal(kdl_narrow_from_double(KDL_NARROW_BF16, INFINITY), 0x7f80);
  assert_int_equal(kdl_narrow_from_double(KDL_NARROW_BF16, 0x1p-133), 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_come_back),
      cmocka_unit_test(halves_round),
      cmocka_unit_test(bfloats_round),
      cmocka_unit_test(ends_of_the_range),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
