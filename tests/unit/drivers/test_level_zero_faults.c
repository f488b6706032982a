/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Faults of Level Zero: see driver_faults.h. */
#include "level_zero_support.h"

#define FAULT_PREFIX "level_zero:0: ze"
#define FAULT_SHARED 0
#define FAULT_GLOBAL "table"
#define FAULT_KEPT 0
#define FAULT_SLOW "zeCommandListAppendLaunchKernel:1:sleep=20"
#include "driver_faults.h"

const fault_error fault_errors[] = {
    {0x70000003, KDL_NO_MEMORY, "ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY (0x70000003)"},
    {0x78000004, KDL_DEVICE, "ZE_RESULT_ERROR_INVALID_ARGUMENT (0x78000004)"},
    {0x7ffffffe, KDL_DEVICE, "ZE_RESULT_ERROR_UNKNOWN (0x7ffffffe)"},
    {0x70000001, KDL_DEVICE, "ZE_RESULT_ERROR_DEVICE_LOST (0x70000001)"},
};
const size_t fault_error_count = sizeof fault_errors / sizeof *fault_errors;

static kdl_backend_image fault_image(void) {
  return golden_spirv("spirv64.spv");
}

static void fault_check(unsigned call) {
  if (!is_order_kept())
    fail_msg("call %u led to a wrong order", call);
}

static void fault_forget(void) {}

static const fault_error *fault_told(const fault_error *error) {
  return error;
}

/* The first call of all is made when the device is opened for the first time, and falls back. */
static void the_driver_does_not_start(void **state) {
  (void)state;
  session s = {0};
  inject("zeInitDrivers:1+:0x78000001;zeInit:1:0x78000001");
  assert_fails(work(&s), KDL_DEVICE,
               "libze_loader.so.1: zeInit: ZE_RESULT_ERROR_UNINITIALIZED (0x78000001): the loader "
               "found no driver that works");
  assert_int_equal(kdl_error_code(), 0x78000001);
  inject("zeContextCreate:1:0x70000002");
  assert_fails(work(&s), KDL_NO_MEMORY,
               "level_zero:0: zeContextCreate: ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY (0x70000002)");
  inject("");
  assert_ok(work(&s)); /* asked again, it does */
  put_away(&s);
  assert_int_equal(ask_fake("fake_alive"), 0);
}

/* Where events are signalled late, more of them are in use at once. */
static void each_call_fails_once_lazily(void **state) {
  (void)state;
  setenv("KDL_FAKE_SETTINGS", "level_zero.lazy=1", 1);
  assert_true(fail_each_call_once(&fault_errors[1]) > 20);
  unsetenv("KDL_FAKE_SETTINGS");
}

int main(int argc, char **argv) {
  (void)argc;
  int result;
  if (!run_for_each_driver(argv, &result))
    return result;
  driver = kdl_built_in_level_zero.table;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_driver_does_not_start), cmocka_unit_test(a_slow_call_is_waited_for),
      cmocka_unit_test(each_call_fails_once),      cmocka_unit_test(each_call_fails_once_lazily),
      cmocka_unit_test(the_device_is_lost),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
