/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/device/spec.h"

#include "support.h"

static void labels_are_short_and_name_the_device(void **state) {
  (void)state;
  static const struct {
    const char *line, *place, *label;
  } rows[] = {
      {"cuda:sm_90 driver=13.0 name=\"NVIDIA H200\"", "cuda:sm_90", "cuda:sm_90 (NVIDIA H200)"},
      {"hip:gfx90a:sramecc+:xnack- memory=64GB", "hip:gfx90a:sramecc+:xnack-",
       "hip:gfx90a:sramecc+:xnack-"},
      {"host:x86-64-v4+avx512_bf16+avx512_vnni name=EPYC", "host:x86-64-v4",
       "host:x86-64-v4 (EPYC)"},
      {"host:neoverse-v2", "host:neoverse-v2", "host:neoverse-v2"},
      {"level_zero:ip=12.60.7", "level_zero:ip=12.60.7", "level_zero:ip=12.60.7"},
      {"opencl:spirv64 il=1.4 name=PoCL", "opencl:spirv64", "opencl:spirv64 (PoCL)"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    kdl_device_spec spec;
    char text[256];
    assert_ok(kdl_device_spec_parse(rows[i].line, &spec));
    kdl_device_spec_summary(&spec, &(kdl_out){text, sizeof text, 0});
    assert_string_equal(text, rows[i].place);
    kdl_device_spec_label(&spec, &(kdl_out){text, sizeof text, 0});
    assert_string_equal(text, rows[i].label);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(labels_are_short_and_name_the_device),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
