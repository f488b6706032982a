/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Every row of lib/device/backends.def is whole, and its lists and masks follow from the rows. */
#include "lib/device/spec.h"

#include "support.h"

static void rows_are_whole(void **state) {
  (void)state;
  for (unsigned i = 0; i < KDL_BACKEND_COUNT; ++i) {
    kdl_backend backend = (kdl_backend)i, found;
    const kdl_backend_row *row = kdl_backend_row_of(backend);
    kdl_device_spec spec;
    char line[128];
    assert_true(row->name && row->api && row->words.devices && row->families);
    assert_true(kdl_backend_parse(kdl_text_of(row->name), &found) && found == backend);
    snprintf(line, sizeof line, "%s:%s", row->name, row->example);
    assert_ok(kdl_device_spec_parse(line, &spec));
    assert_int_equal(kdl_device_spec_family(&spec), row->family);
    if (row->arch_starts[0])
      assert_true(kdl_backend_of_arch(kdl_text_of(row->example), &found) && found == backend);
  }
  assert_string_equal(kdl_backend_name(KDL_BACKEND_COUNT), "?");
}

static void an_arch_that_several_backends_have_names_none(void **state) {
  (void)state;
  kdl_backend found;
  assert_false(kdl_backend_of_arch(kdl_text_of("spirv64"), &found));
  assert_false(kdl_backend_of_arch(kdl_text_of(""), &found));
}

static void images_go_to_the_backends_of_their_family(void **state) {
  (void)state;
  static const struct {
    kdl_target_family family;
    unsigned backends;
  } rows[] = {
      {KDL_FAMILY_NONE, 0},
      {KDL_FAMILY_NVPTX, 1u << KDL_BACKEND_CUDA},
      {KDL_FAMILY_AMDGCN, 1u << KDL_BACKEND_HIP},
      {KDL_FAMILY_SPIRV, 1u << KDL_BACKEND_LEVEL_ZERO | 1u << KDL_BACKEND_OPENCL},
      {KDL_FAMILY_INTEL, 1u << KDL_BACKEND_LEVEL_ZERO},
      {KDL_FAMILY_RISCV, 1u << KDL_BACKEND_HOST},
      {KDL_FAMILY_PORTABLE, KDL_BACKENDS_ALL},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i)
    assert_int_equal(kdl_family_backends(rows[i].family), rows[i].backends);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_are_whole),
      cmocka_unit_test(an_arch_that_several_backends_have_names_none),
      cmocka_unit_test(images_go_to_the_backends_of_their_family),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
