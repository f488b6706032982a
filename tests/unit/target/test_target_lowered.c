/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Images that kdl-ld lowers for any family of devices: portable bitcode, and SPIR-V where the
 * driver does not take it. */
#include "target_case.h"

static void device_with_linker(device_case *device, const char *line) {
  case_device(device, line);
  kdl_device_accept_bitcode(&device->rule);
  kdl_device_accept_spirv(&device->rule);
}

static const struct {
  const char *image, *device, *outcome, *words;
} rows[] = {
    {"bitcode - triple=portable", "cuda sm_50", "runs", ""},
    {"bitcode - triple=portable kdl.needs=fp16", "cuda sm_53", "runs", ""},
    {"bitcode - triple=portable kdl.needs=fp16+fp64", "cuda sm_50", "missing_features",
     "needs fp16, which the device lacks"},
    {"bitcode - triple=portable kdl.needs=fp16+fp64", "hip gfx90a", "runs", ""},
    {"bitcode - triple=portable kdl.needs=fp16+fp64", "host x86-64-v2", "runs", ""},
    {"bitcode - triple=portable kdl.needs=fp16+fp64", "host armv8-a", "runs", ""},
    {"bitcode - triple=portable kdl.needs=fp64", "opencl spirv64 spirv=1.2 features=fp16",
     "missing_features", "needs fp64, which the device lacks"},
    {"bitcode - triple=portable kdl.needs=fp64", "opencl spirv64 spirv=1.2", "runs", ""},
    {"bitcode - triple=portable kdl.needs=fp64+tensor_core_nv", "host x86-64-v4",
     "missing_features", "needs tensor_core_nv, which the device lacks"},
    {"bitcode - triple=portable kdl.needs=fp64+quantum", "cuda sm_90", "unknown_feature",
     "kdl.needs names \"quantum\", which is no token this version knows"},
    {"spirv - triple=spirv64 v1.4", "cuda sm_90", "runs", ""},
    {"spirv - triple=spirv64 v1.4", "hip gfx942", "runs", ""},
    {"spirv - triple=spirv64 v1.4", "host x86-64", "runs", ""},
    {"spirv - triple=spirv64 v1.4 requires_features=images", "cuda sm_90", "missing_features",
     "needs images, which the device lacks"},
    {"spirv - triple=spirv64 v1.4", "opencl spirv64 spirv=1.2", "spirv_version", ""},
    {"spirv - triple=spirv32", "cuda sm_90", "spirv_environment", ""},
    {"spirv - triple=spirv-unknown-vulkan1.3-compute", "host x86-64", "spirv_environment", ""},
    {"spirv amdgcnspirv triple=spirv64-amd-amdhsa", "cuda sm_90", "wrong_vendor", ""},
    {"ptx sm_80", "hip gfx942", "wrong_vendor",
     "built for NVIDIA GPUs (sm_80); the device is an AMD GPU (gfx942); PTX is not translated"},
};

static void needs_are_compared_and_named(void **state) {
  static image_case image;
  static device_case device;
  char codes[256], words[256];
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    case_image(&image, rows[i].image);
    device_with_linker(&device, rows[i].device);
    assert_string_equal(case_match(&image, &device, codes, sizeof codes), rows[i].outcome);
    uint64_t reasons = kdl_match(&image.rule, &device.rule).reasons;
    unsigned bit = 0;
    while (reasons && !(reasons >> bit & 1))
      ++bit;
    if (rows[i].words[0])
      assert_string_equal(case_words(&image, &device, bit, words, sizeof words), rows[i].words);
  }
}

static void translated_images_are_last(void **state) {
  static image_case spirv, portable;
  static device_case device;
  (void)state;
  case_image(&spirv, "spirv - triple=spirv64 v1.4");
  case_image(&portable, "bitcode - triple=portable");
  device_with_linker(&device, "cuda sm_90");
  assert_true(kdl_match(&spirv.rule, &device.rule).rank <
              kdl_match(&portable.rule, &device.rule).rank);
  assert_string_equal(kdl_match_fit(&spirv.rule, &device.rule), "translated");
  device_with_linker(&device, "opencl spirv64 spirv=1.4");
  assert_true(kdl_match(&spirv.rule, &device.rule).rank >
              kdl_match(&portable.rule, &device.rule).rank);
  assert_string_equal(kdl_match_fit(&spirv.rule, &device.rule), "portable IR");
}

/* Without kdl-ld nothing is translated. */
static void without_a_linker_nothing_is_lowered(void **state) {
  static image_case image;
  static device_case device;
  char codes[256];
  (void)state;
  case_image(&image, "spirv - triple=spirv64 v1.4");
  case_device(&device, "cuda sm_90");
  assert_string_equal(case_match(&image, &device, codes, sizeof codes), "wrong_vendor");
  case_image(&image, "bitcode - triple=portable");
  assert_string_equal(case_match(&image, &device, codes, sizeof codes), "linker_missing");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(needs_are_compared_and_named),
      cmocka_unit_test(translated_images_are_last),
      cmocka_unit_test(without_a_linker_nothing_is_lowered),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
