/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Libraries on (fake) AMD GPUs through the public API: fallback, captures, faults, and the xnack
 * setting of the process. */
#include "hip_support.h"

#define LAUNCH_BACKEND "hip"
#define LAUNCH_TRIPLE "amdgcn-amd-amdhsa"
#define LAUNCH_OFFLOAD KDL_OFFLOAD_HIP
#define LAUNCH_GOOD 2
#define LAUNCH_LOST 719
#define LAUNCH_LOST_NAME "hipErrorLaunchFailure (719)"
#include "driver_launch.h"

enum { whole_file = 0 };

/* The first is cut off; the second was packed as what it is not. */
static const struct {
  const char *arch;
  const char *file;
  size_t cut;
  const char *key;
} rows[] = {
    {"gfx90a:sramecc+:xnack-", "gfx90a.hsaco", 4000, SIG "block=128x1x1"},
    {"gfx90a:sramecc+", "gfx90a_xnack.hsaco", whole_file, SIG "block=64x1x1"},
    {"gfx90a", "gfx90a.hsaco", whole_file, SIG "block=128x1x1"},
    {"gfx90a:xnack+", "gfx90a_xnack.hsaco", whole_file, SIG "block=128x1x1"},
};

static image_row launch_row(size_t index) {
  kdl_backend_image image = golden_code(rows[index].file);
  return (image_row){rows[index].arch, KDL_IMAGE_HSACO, image.data,
                     rows[index].cut ? rows[index].cut : image.data_size, rows[index].key};
}

static void launch_check(void) {
  assert_int_equal(current_device(), 0);
  assert_no_last_error();
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
  const char *refusal = is_old() ? "hip:0: hipModuleLoadData: hipErrorNoBinaryForGpu (209); trying "
                                   "the next\n"
                                 : "hip:0: hipModuleLoadData: hipErrorInvalidImage (200): device "
                                   "kernel image is invalid; trying the next\n";
  if (!strstr(said,
              "hip:0: the code object is damaged: offset 0x28: e_shoff: found 0x3180, expected at "
              "most 0xfa0: the image ends there; trying the next\n") ||
      !strstr(said, refusal) ||
      !strstr(said, "saxpy: bound to image 2 (hsaco gfx90a) of t, fallback: choice 3 of 3\n"))
    fail_msg("KDL_DEBUG=load said: %s", said);
  end(&s);
}

static void a_first_launch_leaves_a_capture_alone(void **state) {
  (void)state;
  check_captures("hipStreamBeginCapture", "hipStreamEndCapture", "hipGraphDestroy");
}

/* Out of memory while the best image is loaded: the next one is taken. */
static void a_failed_load_falls_back(void **state) {
  (void)state;
  session s = begin(1, 2);
  inject("hipModuleLoadData:1:2");
  assert_ok(run(&s, s.queue));
  inject("");
  assert_ok(check(&s, 1));
  kdl_kernel_info info = {.size = sizeof info};
  assert_ok(kdl_kernel_get(s.saxpy, &info));
  assert_int_equal(info.position, 1);
  end(&s);
}

/* HSA_XNACK=1 makes another machine of this one, as seen by the images. */
static void the_process_has_a_setting_of_xnack(void **state) {
  (void)state;
  session s = begin(2, 3);
  assert_non_null(strstr(kdl_device_spec_text(s.device), "hip:gfx90a:sramecc+:xnack- "));
  assert_ok(run(&s, s.queue));
  kdl_kernel_info info = {.size = sizeof info};
  assert_ok(kdl_kernel_get(s.saxpy, &info));
  assert_int_equal(info.image, 0);
  end(&s);
}

static void xnack_is_on(void **state) {
  (void)state;
  session s = begin(2, 3);
  assert_non_null(strstr(kdl_device_spec_text(s.device), "hip:gfx90a:sramecc+:xnack+ "));
  assert_ok(run(&s, s.queue));
  assert_ok(check(&s, 1));
  kdl_kernel_info info = {.size = sizeof info};
  assert_ok(kdl_kernel_get(s.saxpy, &info));
  assert_int_equal(info.image, 1); /* made for it, where the other does with either */
  end(&s);
}

static int run_with_xnack(char **argv) {
  pid_t child = fork();
  if (child == 0) {
    setenv("HSA_XNACK", "1", 1);
    execv("/proc/self/exe", argv);
    _exit(127);
  }
  int status = 1;
  waitpid(child, &status, 0);
  return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

int main(int argc, char **argv) {
  (void)argc;
  int result;
  if (!run_for_each_driver(argv, &result))
    return result;
  if (getenv("HSA_XNACK")) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(xnack_is_on)};
    return cmocka_run_group_tests(tests, NULL, NULL);
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_third_best_gives_the_right_numbers),
      cmocka_unit_test(launches_without_a_queue),
      cmocka_unit_test(a_first_launch_leaves_a_capture_alone),
      cmocka_unit_test(a_failed_load_falls_back),
      cmocka_unit_test(the_process_has_a_setting_of_xnack),
      cmocka_unit_test(two_devices),
      cmocka_unit_test(each_call_fails_once),
      cmocka_unit_test(a_child_is_told),
  };
  result = cmocka_run_group_tests(tests, NULL, NULL);
  return result | run_with_xnack(argv);
}
