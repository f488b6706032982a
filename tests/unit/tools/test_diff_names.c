/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Names of kernels without the hashes of a build. */
#include "pack/diff/diff.h"
#include "support/base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void hashes_are_left_out(void **state) {
  (void)state;
  static const struct {
    const char *name, *expected;
  } rows[] = {
      {"saxpy", "saxpy"},
      {"", ""},
      {"_Z5saxpyPfS_i", "_Z5saxpyPfS_i"},
      /* of one file: the length, the hashes and the process */
      {"_ZN40_INTERNAL_8cf5b5ca_4_a_cu_b4a7e4c6_284544gateEv", "_ZN_INTERNAL_#_4_a_cu_#4gateEv"},
      {"_ZN36_INTERNAL_00000000_4_a_cu_b4a7e4c6_14gateEv", "_ZN_INTERNAL_#_4_a_cu_#4gateEv"},
      {"_ZN38_GLOBAL__N__8cf5b5ca_4_a_cu_b4a7e4c6_94gateEv", "_ZN_GLOBAL__N__#_4_a_cu_#4gateEv"},
      /* the length reaches beyond the name: no identifier */
      {"_ZN99_INTERNAL_8cf5b5ca_a", "_ZN99_INTERNAL_#_a"},
      /* of a version of a library */
      {"_ZN3cub21CUB_300102_SM_750_8006detail1kEv", "_ZN3cubCUB_6detail1kEv"},
      {"_ZN6thrust20THRUST_200800_SM_8001kEv", "_ZN6thrustTHRUST_1kEv"},
      {"_ZN3cub5CUB_x1kEv", "_ZN3cub5CUB_x1kEv"},
      {"kernel_0123456789abcdef", "kernel_#"},
      {"kernel_0123456789abcdef_2", "kernel_#_2"},
      {"kernel.0123456789abcdef.kd", "kernel.#.kd"},
      /* no hashes: too short, letters alone, part of a word */
      {"kernel_0123abc", "kernel_0123abc"},
      {"kernel_deadbeef", "kernel_deadbeef"},
      {"kernel0123456789", "kernel0123456789"},
      {"gemm_128x128x64", "gemm_128x128x64"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    char out[128];
    size_t length = diff_name_normalise(kdl_text_of(rows[i].name), out);
    assert_true(length <= strlen(rows[i].name));
    out[length] = '\0';
    assert_string_equal(out, rows[i].expected);
  }
}

static void names_have_one_number_and_one_key(void **state) {
  (void)state;
  diff_names names = {.count = 0};
  uint32_t a = diff_names_add_kernel(&names, KDL_TEXT("k_0123456789abcdef"));
  uint32_t b = diff_names_add_kernel(&names, KDL_TEXT("k_fedcba9876543210"));
  uint32_t c = diff_names_add_kernel(&names, KDL_TEXT("l"));
  assert_int_not_equal(a, b);
  assert_int_equal(names.items[a].key, names.items[b].key);
  assert_int_equal(names.items[c].key, c);
  for (unsigned i = 0; i < 5000; ++i) {
    char text[32];
    snprintf(text, sizeof text, "kernel%u", i);
    uint32_t number = diff_names_add_kernel(&names, kdl_text_of(text));
    assert_int_equal(diff_names_add(&names, kdl_text_of(text)), number);
  }
  assert_int_equal(diff_names_add_kernel(&names, KDL_TEXT("k_0123456789abcdef")), a);
  diff_names_free(&names);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(hashes_are_left_out),
      cmocka_unit_test(names_have_one_number_and_one_key),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
