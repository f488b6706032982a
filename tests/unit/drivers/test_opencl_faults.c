/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Faults of OpenCL: see driver_faults.h. The queue is the device's own, which is flushed. Some
 * failures do not matter: a log that cannot be read, a property that is not needed; parameters that
 * the driver does not report are read from the kernel's source. */
#include "opencl_support.h"

#define FAULT_PREFIX "opencl:0: cl"
#define FAULT_SHARED 0
#define FAULT_GLOBAL (memory_is("usm") ? "weight" : NULL)
#define FAULT_KEPT 0
#define FAULT_SLOW "clEnqueueNDRangeKernel:1:sleep=20"
#include "driver_faults.h"

const fault_error fault_errors[] = {
    {-4, KDL_NO_MEMORY, "CL_MEM_OBJECT_ALLOCATION_FAILURE (-4)"},
    {-6, KDL_NO_MEMORY, "CL_OUT_OF_HOST_MEMORY (-6)"},
    {-36, KDL_DEVICE, "CL_INVALID_COMMAND_QUEUE (-36)"},
    {-5, KDL_DEVICE, "CL_OUT_OF_RESOURCES (-5)"},
};
const size_t fault_error_count = sizeof fault_errors / sizeof *fault_errors;

static kdl_backend_image fault_image(void) {
  return image_of(KDL_IMAGE_CL, good_source, strlen(good_source));
}

static void fault_check(unsigned call) {
  (void)call;
}

static void fault_forget(void) {}

/* clSVMAlloc returns NULL, whatever the reason. */
static const fault_error *fault_told(const fault_error *error) {
  return strstr(kdl_error_message(), "clSVMAlloc") ? &fault_errors[0] : error;
}

/* The first fault comes before anything is open. */
static void the_driver_does_not_start(void **state) {
  (void)state;
  session s = {0};
  setenv("KDL_FAKE_SETTINGS", "opencl.init=-6", 1);
  assert_fails(work(&s), KDL_NO_MEMORY, "opencl:0: clGetPlatformIDs: CL_OUT_OF_HOST_MEMORY (-6)");
  setenv("KDL_FAKE_SETTINGS", "opencl.count=-5", 1);
  assert_fails(work(&s), KDL_DEVICE, "opencl:0: no platform shows it any more");
  setenv("KDL_FAKE_SETTINGS", "", 1);
  inject("clCreateContext:1:-2");
  assert_fails(work(&s), KDL_DEVICE, "opencl:0: clCreateContext: CL_DEVICE_NOT_AVAILABLE (-2)");
  inject("");
  assert_ok(work(&s)); /* asked again, it does */
  put_away(&s);
  assert_int_equal(ask_fake("fake_alive"), 0);
}

int main(int argc, char **argv) {
  (void)argc;
  int result;
  if (!run_for_each_memory(argv, &result))
    return result;
  driver = kdl_built_in_opencl.table;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_driver_does_not_start),
      cmocka_unit_test(a_slow_call_is_waited_for),
      cmocka_unit_test(each_call_fails_once),
      cmocka_unit_test(the_device_is_lost),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
