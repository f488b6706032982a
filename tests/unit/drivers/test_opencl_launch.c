/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Libraries on a (fake) OpenCL device through the public API, with each kind of memory. */
#include "opencl_support.h"

#define LAUNCH_BACKEND "opencl"
#define LAUNCH_TRIPLE "spirv64-unknown-unknown"
#define LAUNCH_OFFLOAD KDL_OFFLOAD_SYCL
#define LAUNCH_GOOD 0
#define LAUNCH_LOST (-5)
#define LAUNCH_LOST_NAME "CL_OUT_OF_RESOURCES (-5)"
#include "driver_launch.h"

static image_row launch_row(size_t index) {
  static uint8_t *bytes;
  static size_t size;
  assert_int_equal(index, LAUNCH_GOOD);
  if (!bytes)
    bytes = read_golden("launch/spirv64.spv", &size);
  return (image_row){"", KDL_IMAGE_SPIRV, bytes, size, SIG "block=128x1x1"};
}

static void launch_check(void) {
  assert_int_equal(ask_fake("fake_opencl_races"), 0);
  assert_int_equal(ask_fake("fake_opencl_stale"), 0);
}

int main(int argc, char **argv) {
  (void)argc;
  int result;
  if (!run_for_each_memory(argv, &result))
    return result;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(launches_without_a_queue),
      cmocka_unit_test(a_child_is_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
