/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Values that repeat, on a (fake) NVIDIA GPU. */
#include "cuda_support.h"

#define LAUNCH_BACKEND "cuda"
#define LAUNCH_TRIPLE "nvptx64-nvidia-cuda"
#define LAUNCH_OFFLOAD KDL_OFFLOAD_CUDA
#define LAUNCH_GOOD 0
#define LAUNCH_LOST 719
#define LAUNCH_LOST_NAME "CUDA_ERROR_LAUNCH_FAILED (719)"
#include "driver_launch.h"

#define SPECIALIZE_BITCODE "images/nvptx64.bc"
#define SPECIALIZE_CAPTURING "cuStreamIsCapturing"
#include "specialize_driver.h"

static void specialize_image(const char *path) {
  FILE *file = fopen(path, "w");
  fputs(good_ptx, file);
  assert_int_equal(fclose(file), 0);
}

static void launch_check(void) {}

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
