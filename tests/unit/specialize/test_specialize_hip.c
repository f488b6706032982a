/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Values that repeat, on a (fake) AMD GPU. */
#include "hip_support.h"

#define LAUNCH_BACKEND "hip"
#define LAUNCH_TRIPLE "amdgcn-amd-amdhsa"
#define LAUNCH_OFFLOAD KDL_OFFLOAD_HIP
#define LAUNCH_GOOD 0
#define LAUNCH_LOST 719
#define LAUNCH_LOST_NAME "hipErrorLaunchFailure (719)"
#include "driver_launch.h"

#define SPECIALIZE_BITCODE "images/amdgcn.bc"
#define SPECIALIZE_CAPTURING "hipStreamIsCapturing"
#include "specialize_driver.h"

static void specialize_image(const char *path) {
  kdl_backend_image image = golden_code("gfx90a.hsaco");
  FILE *file = fopen(path, "w");
  assert_int_equal(fwrite(image.data, 1, image.data_size, file), image.data_size);
  assert_int_equal(fclose(file), 0);
}

static void launch_check(void) {
  assert_int_equal(current_device(), 0);
  assert_no_last_error();
}

int main(int argc, char **argv) {
  (void)argc;
  int result;
  if (!run_for_each_driver(argv, &result))
    return result;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(launches_use_the_image_of_their_values),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
