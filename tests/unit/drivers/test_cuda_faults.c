/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Faults of the CUDA driver: see driver_faults.h. */
#include "cuda_support.h"

#define FAULT_PREFIX "cuda:0: cu"
#define FAULT_SHARED (50 << 10)
#define FAULT_GLOBAL "table"
#define FAULT_KEPT 0
#define FAULT_SLOW "cuLaunchKernel:1:sleep=20"
#include "driver_faults.h"

const fault_error fault_errors[] = {
    {2, KDL_NO_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY (2): out of memory"},
    {200, KDL_DEVICE, "CUDA_ERROR_INVALID_IMAGE (200): device kernel image is invalid"},
    {201, KDL_DEVICE, "CUDA_ERROR_INVALID_CONTEXT (201): invalid device context"},
    {719, KDL_DEVICE, "CUDA_ERROR_LAUNCH_FAILED (719): unspecified launch failure"},
};
const size_t fault_error_count = sizeof fault_errors / sizeof *fault_errors;

static kdl_backend_image fault_image(void) {
  return image_of(KDL_IMAGE_PTX, good_ptx, strlen(good_ptx));
}

static void fault_check(unsigned call) {
  if (ask_fake("fake_cuda_depth") != 0)
    fail_msg("call %u left a context behind", call);
}

static void fault_forget(void) {
  tell_fake("fake_cuda_reset");
}

static const fault_error *fault_told(const fault_error *error) {
  return error;
}

/* The first fault comes before anything is open. */
static void the_driver_does_not_start(void **state) {
  (void)state;
  session s = {0};
  inject("cuInit:1:999");
  assert_fails(work(&s), KDL_DEVICE,
               "libcuda.so.1: cuInit: CUDA_ERROR_UNKNOWN (999): unknown error");
  assert_int_equal(kdl_error_code(), 999);
  inject("cuDeviceGet:1:101");
  assert_fails(work(&s), KDL_DEVICE,
               "cuda:0: cuDeviceGet: CUDA_ERROR_INVALID_DEVICE (101): invalid device ordinal");
  inject("cuDevicePrimaryCtxRetain:1:2");
  assert_fails(work(&s), KDL_NO_MEMORY,
               "cuda:0: cuDevicePrimaryCtxRetain: CUDA_ERROR_OUT_OF_MEMORY (2): out of memory");
  inject("");
  assert_ok(work(&s)); /* asked again, it does */
  put_away(&s);
  assert_int_equal(ask_fake("fake_alive"), 0);
}

int main(int argc, char **argv) {
  (void)argc;
  int result;
  if (!run_for_each_driver(argv, &result))
    return result;
  driver = kdl_built_in_cuda.table;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_driver_does_not_start),
      cmocka_unit_test(a_slow_call_is_waited_for),
      cmocka_unit_test(each_call_fails_once),
      cmocka_unit_test(the_device_is_lost),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
