/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/target/families/gpu.h"
#include "support.h"
#include "support/base/text.h"
#include "support/base/triple.h"

/* LLVM's Triple.cpp has the names of the sub-architectures. */
static void a_subarch_stands_for_a_processor(void **state) {
  (void)state;
  static const struct {
    const char *triple, *processor;
  } rows[] = {
      {"amdgpu6.00-amd-amdhsa", "gfx600"},
      {"amdgpu9.00-amd-amdhsa", "gfx900"},
      {"amdgpu9.0a-amd-amdhsa", "gfx90a"},
      {"amdgpu9.42-amd-amdhsa", "gfx942"},
      {"amdgpu9.50", "gfx950"},
      {"amdgpu10.30-amd-amdpal", "gfx1030"},
      {"amdgpu11.51--", "gfx1151"},
      {"amdgpu12.50-amd-amdhsa", "gfx1250"},
      {"amdgpu13.10-amd-amdhsa", "gfx1310"},
      {"amdgpu9-amd-amdhsa", "gfx9-generic"},
      {"amdgpu9.4-amd-amdhsa", "gfx9-4-generic"},
      {"amdgpu10.1-amd-amdhsa", "gfx10-1-generic"},
      {"amdgpu10.3-amd-amdhsa", "gfx10-3-generic"},
      {"amdgpu11-amd-amdhsa", "gfx11-generic"},
      {"amdgpu11.7-amd-amdhsa", "gfx11-7-generic"},
      {"amdgpu12-amd-amdhsa", "gfx12-generic"},
      {"amdgpu12.5-amd-amdhsa", "gfx12-5-generic"},
      {"amdgpu13-amd-amdhsa", "gfx13-generic"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    char name[KDL_TRIPLE_PROCESSOR];
    kdl_triple_processor(kdl_text_of(rows[i].triple), name);
    assert_string_equal(name, rows[i].processor);
    assert_non_null(kdl_amdgcn_find(kdl_text_of(name)));
    assert_true(kdl_triple_is_amd(kdl_text_of(rows[i].triple)));
  }
}

static void others_stand_for_none(void **state) {
  (void)state;
  static const char *const triples[] = {"",
                                        "amdgcn-amd-amdhsa",
                                        "amdgpu-amd-amdhsa",
                                        "amdgpu",
                                        "amdgpu.42-amd-amdhsa",
                                        "amdgpu9.423456789-amd-amdhsa",
                                        "nvptx64-nvidia-cuda",
                                        "spirv64-amd-amdhsa",
                                        "-amdgpu9.42"};
  for (size_t i = 0; i < sizeof triples / sizeof *triples; ++i) {
    char name[KDL_TRIPLE_PROCESSOR];
    kdl_triple_processor(kdl_text_of(triples[i]), name);
    assert_string_equal(name, "");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_subarch_stands_for_a_processor),
      cmocka_unit_test(others_stand_for_none),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
