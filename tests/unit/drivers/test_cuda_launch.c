/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Libraries on (fake) NVIDIA GPUs through the public API: fallback, captures, faults. */
#include "cuda_support.h"

#define LAUNCH_BACKEND "cuda"
#define LAUNCH_TRIPLE "nvptx64-nvidia-cuda"
#define LAUNCH_OFFLOAD KDL_OFFLOAD_CUDA
#define LAUNCH_GOOD 2
#define LAUNCH_LOST 719
#define LAUNCH_LOST_NAME "CUDA_ERROR_LAUNCH_FAILED (719)"
#include "driver_launch.h"

/* One work-item handles four elements. */
static const char wide_ptx[] = PTX_HEADER "// per_item=4\n" PTX_SAXPY;
static const char old_ptx[] = ".version 8.0\n.target sm_75\n.address_size 64\n" PTX_SAXPY;
static const char broken_ptx[] = PTX_HEADER "syntax_error\n" PTX_SAXPY;
static const char no_cubin[] = "\177ELF, but not a cubin; this text is longer than a header is, so "
                               "that it can be looked at as if it were one.";

static const struct {
  const char *arch;
  kdl_image_kind kind;
  const char *bytes;
  const char *key;
} rows[] = {
    {"sm_90", KDL_IMAGE_CUBIN, no_cubin, SIG "block=128x1x1"},
    {"sm_90", KDL_IMAGE_PTX, broken_ptx, SIG "block=64x1x1"},
    {"sm_80", KDL_IMAGE_PTX, wide_ptx, SIG "block=128x1x1; tile=512x1x1"},
    {"sm_75", KDL_IMAGE_PTX, old_ptx, SIG "block=128x1x1"},
};

static image_row launch_row(size_t index) {
  return (image_row){rows[index].arch, rows[index].kind, rows[index].bytes,
                     strlen(rows[index].bytes), rows[index].key};
}

static void launch_check(void) {
  assert_int_equal(ask_fake("fake_cuda_depth"), 0);
}

/* ------------------------------------------------------------------------------------------ */
/* Falling back                                                                                 */

/* The two best do not load; the third has another tile. */
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
  assert_int_equal(info.tile[0], 512);
  assert_int_equal(info.param_count, 4);
  if (!strstr(said, "CUDA_ERROR_INVALID_IMAGE (200): device kernel image is invalid; trying the "
                    "next\n") ||
      !strstr(said, "Parsing error near 'syntax_error': syntax error; ptxas fatal") ||
      !strstr(said, "saxpy: bound to image 2 (ptx sm_80) of t, fallback: choice 3 of 3\n"))
    fail_msg("KDL_DEBUG=load said: %s", said);
  end(&s);
}

static void none_loads(void **state) {
  (void)state;
  session s = begin(0, 1);
  char expected[1024];
  const char *call = is_bound() ? "cuModuleLoadDataEx" : "cuLibraryLoadData";
  snprintf(expected, sizeof expected,
           "t: saxpy: none of 2 images could be loaded on cuda: image 0 (cubin sm_90): cuda:0: %s: "
           "CUDA_ERROR_INVALID_IMAGE (200): device kernel image is invalid; image 1 (ptx sm_90): "
           "cuda:0: %s: ptxas application ptx input, line 7; fatal   : Parsing error near "
           "'syntax_error': syntax error; ptxas fatal   : Ptx assembly aborted due to errors: "
           "CUDA_ERROR_INVALID_PTX (218): a PTX JIT compilation failed",
           call, call);
  assert_fails(run(&s, s.queue), KDL_DEVICE, expected);
  assert_int_equal(kdl_error_code(), 200);
  end(&s);
}

static void a_first_launch_leaves_a_capture_alone(void **state) {
  (void)state;
  check_captures("cuStreamBeginCapture_v2", "cuStreamEndCapture", "cuGraphDestroy");
}

/* Out of memory while the best image is loaded: the next one is taken. */
static void a_failed_load_falls_back(void **state) {
  (void)state;
  session s = begin(2, 3);
  inject(is_bound() ? "cuModuleLoadDataEx:1:2" : "cuLibraryLoadData:1:2");
  assert_ok(run(&s, s.queue));
  inject("");
  assert_ok(check(&s, 1));
  kdl_kernel_info info = {.size = sizeof info};
  assert_ok(kdl_kernel_get(s.saxpy, &info));
  assert_int_equal(info.position, 1);
  end(&s);
}

int main(int argc, char **argv) {
  (void)argc;
  int result;
  if (!run_for_each_driver(argv, &result))
    return result;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_third_best_gives_the_right_numbers),
      cmocka_unit_test(none_loads),
      cmocka_unit_test(launches_without_a_queue),
      cmocka_unit_test(a_first_launch_leaves_a_capture_alone),
      cmocka_unit_test(a_failed_load_falls_back),
      cmocka_unit_test(two_devices),
      cmocka_unit_test(each_call_fails_once),
      cmocka_unit_test(a_child_is_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
