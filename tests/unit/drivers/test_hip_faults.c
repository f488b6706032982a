/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Faults of the HIP runtime: see driver_faults.h. */
#include "hip_support.h"

#define FAULT_PREFIX "hip:0: hip"
#define FAULT_SHARED (16 << 10)
#define FAULT_GLOBAL "table"
#define FAULT_KEPT 0
#define FAULT_SLOW "hipModuleLaunchKernel:1:sleep=20"
#include "driver_faults.h"

/* ROCm 5 has names of errors, but no texts. */
const fault_error fault_errors[] = {
    {2, KDL_NO_MEMORY, "hipErrorOutOfMemory (2)"},
    {200, KDL_DEVICE, "hipErrorInvalidImage (200)"},
    {400, KDL_DEVICE, "hipErrorInvalidHandle (400)"},
    {719, KDL_DEVICE, "hipErrorLaunchFailure (719)"},
};
const size_t fault_error_count = sizeof fault_errors / sizeof *fault_errors;

static kdl_backend_image fault_image(void) {
  return golden_code("gfx90a.hsaco");
}

static void fault_check(unsigned call) {
  if (current_device() != 0 || last_error() != 0)
    fail_msg("call %u left another device current, or a last error", call);
}

static void fault_forget(void) {
  set_device(0);
}

static const fault_error *fault_told(const fault_error *error) {
  return error;
}

static void the_driver_does_not_start(void **state) {
  (void)state;
  session s = {0};
  inject("hipInit:1:999");
  assert_fails(work(&s), KDL_DEVICE,
               is_old() ? "libamdhip64.so.5: hipInit: hipErrorUnknown (999)"
                        : "libamdhip64.so.7: hipInit: hipErrorUnknown (999): unknown error");
  assert_int_equal(kdl_error_code(), 999);
  inject("hipGetDevice:1:101");
  assert_fails(work(&s), KDL_DEVICE,
               is_old() ? "hip:0: hipGetDevice: hipErrorInvalidDevice (101)"
                        : "hip:0: hipGetDevice: hipErrorInvalidDevice (101): invalid device "
                          "ordinal");
  inject("hipStreamCreateWithPriority:1:2");
  assert_int_equal(work(&s), KDL_NO_MEMORY);
  inject("");
  assert_ok(work(&s)); /* asked again, it does */
  put_away(&s);
  assert_int_equal(ask_fake("fake_alive"), 0);
}

/* With another device current, every call has two more that can fail. */
static void each_call_fails_once_elsewhere(void **state) {
  (void)state;
  for (unsigned n = 1, faults = 1; faults; ++n) {
    char rule[32];
    session s = {0};
    set_device(1);
    snprintf(rule, sizeof rule, "*:%u:400", n);
    inject(rule);
    (void)work(&s);
    faults = ask_fake("fake_faults");
    inject("");
    put_away(&s);
    assert_int_equal(ask_fake("fake_alive"), 0);
  }
  set_device(0);
}

int main(int argc, char **argv) {
  (void)argc;
  int result;
  if (!run_for_each_driver(argv, &result))
    return result;
  driver = kdl_built_in_hip.table;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_driver_does_not_start), cmocka_unit_test(a_slow_call_is_waited_for),
      cmocka_unit_test(each_call_fails_once),      cmocka_unit_test(each_call_fails_once_elsewhere),
      cmocka_unit_test(the_device_is_lost),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
