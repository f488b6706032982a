/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Libraries on (fake) Intel GPUs through the public API: fallback, devices that cannot access each
 * other, faults. */
#include "level_zero_support.h"

#define LAUNCH_BACKEND "level_zero"
#define LAUNCH_TRIPLE "spirv64-unknown-unknown"
#define LAUNCH_OFFLOAD KDL_OFFLOAD_SYCL
#define LAUNCH_GOOD 2
#define LAUNCH_LOST 0x70000001
#define LAUNCH_LOST_NAME "ZE_RESULT_ERROR_DEVICE_LOST (0x70000001)"
#include "driver_launch.h"

/* The first is cut off within a function; the second needs another memory model. */
static image_row launch_row(size_t index) {
  static uint8_t other[8192];
  kdl_backend_image image = golden_spirv("spirv64.spv");
  memcpy(other, image.data, image.data_size);
  for (size_t at = 20; at + 12 <= image.data_size; at += 4) {
    if (memcmp(other + at, "\x0e\0\3\0\2\0\0\0\2\0\0\0", 12) == 0)
      other[at + 8] = 1; /* OpMemoryModel Physical64 GLSL450 */
  }
  const image_row rows[] = {
      {"", KDL_IMAGE_SPIRV, image.data, image.data_size - 40, SIG "block=128x1x1"},
      {"", KDL_IMAGE_SPIRV, other, image.data_size, SIG "block=64x1x1"},
      {"", KDL_IMAGE_SPIRV, image.data, image.data_size, SIG "block=128x1x1"},
  };
  return rows[index];
}

static void launch_check(void) {
  assert_true(is_order_kept());
}

static void the_third_best_gives_the_right_numbers(void **state) {
  (void)state;
  session s = begin(0, 2);
  said[0] = '\0';
  kdl_set_log("load", keep_line, NULL);
  assert_ok(run(&s, s.queue));
  kdl_set_log(NULL, NULL, NULL);
  assert_ok(check(&s, 1));
  kdl_kernel_info info = {.size = sizeof info};
  assert_ok(kdl_kernel_get(s.saxpy, &info));
  assert_int_equal(info.image, 2);
  assert_int_equal(info.position, 2);
  assert_int_equal(info.param_count, 4);
  if (!strstr(said,
              "level_zero:0: zeModuleCreate: error: it ends within a function; error: backend "
              "compiler failed build.: ZE_RESULT_ERROR_MODULE_BUILD_FAILURE (0x70000004); "
              "trying the next\n") ||
      !strstr(said, "level_zero:0: zeModuleCreate: error: its memory model is not that of OpenCL "
                    "with 64 bits; error: backend compiler failed build.: "
                    "ZE_RESULT_ERROR_MODULE_BUILD_FAILURE (0x70000004); trying the next\n") ||
      !strstr(said, "saxpy: bound to image 2 (spirv) of t, fallback: choice 3 of 3\n"))
    fail_msg("KDL_DEBUG=load said: %s", said);
  end(&s);
}

/* Their memory meets on the host. */
static void devices_that_do_not_reach_each_other(void **state) {
  (void)state;
  setenv("KDL_FAKE_SETTINGS", "level_zero.peers=0", 1);
  two_devices(state);
  unsetenv("KDL_FAKE_SETTINGS");
}

int main(int argc, char **argv) {
  (void)argc;
  int result;
  if (!run_for_each_driver(argv, &result))
    return result;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_third_best_gives_the_right_numbers),
      cmocka_unit_test(launches_without_a_queue),
      cmocka_unit_test(two_devices),
      cmocka_unit_test(devices_that_do_not_reach_each_other),
      cmocka_unit_test(each_call_fails_once),
      cmocka_unit_test(a_child_is_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
