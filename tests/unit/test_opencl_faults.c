/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Every call that the OpenCL backend makes of the driver fails once, with errors of each sort, and
 * then for good: nothing crashes, nothing is left behind, and the message names the call. */
#include "opencl_support.h"

enum { count = 256, most_calls = 400 };

/* ------------------------------------------------------------------------------------------ */
/* One session with the device                                                                  */

typedef struct {
  void *device, *queue, *adopted, *event, *module;
  uint64_t x, y;
} session;

static kdl_status load_and_launch(session *s) {
  kdl_backend_image image = image_of(KDL_IMAGE_CL, good_source, strlen(good_source));
  kdl_status status = driver->module_load(s->device, &image, &s->module);
  kdl_backend_kernel kernel = {.size = sizeof kernel};
  kdl_backend_wish wish = {.size = sizeof wish, .name = "saxpy"};
  if (status == KDL_OK)
    status = driver->kernel_find(s->device, s->module, &wish, &kernel);
  uint64_t address, size;
  if (status == KDL_OK && memory_is("usm"))
    status = driver->global_find(s->device, s->module, "weight", &address, &size);
  float a = 2;
  uint32_t n = count;
  kdl_launch_desc desc = shape_of(1, count);
  if (status == KDL_OK) /* on the device's own queue, which is flushed */
    status = launch(&kernel, s->queue, &desc, KDL_ARGS(&a, &s->x, &s->y, &n));
  return status;
}

/* Stops at the first failure. */
static kdl_status work(session *s) {
  kdl_backend_device desc = {.size = sizeof desc, .spec = DRIVER_SPEC, .ordinal = 0};
  float x[count], y[count];
  double ns;
  kdl_status status = driver->device_open(&desc, &s->device);
  if (status == KDL_OK)
    status = driver->queue_create(s->device, 0, &s->queue);
  if (status == KDL_OK)
    status = driver->queue_adopt(s->device, driver->queue_native(s->device, s->queue), &s->adopted);
  if (status == KDL_OK)
    status = driver->alloc(s->device, sizeof x, &s->x);
  if (status == KDL_OK)
    status = driver->alloc(s->device, sizeof y, &s->y);
  if (status == KDL_OK)
    status = driver->fill(s->device, s->queue, s->x, 0, sizeof x, "\0\0\200\77", 4);
  if (status == KDL_OK)
    status = driver->write(s->device, s->queue, s->y, 0, memset(y, 0, sizeof y), sizeof y);
  if (status == KDL_OK)
    status = driver->event_create(s->device, &s->event);
  if (status == KDL_OK)
    status = driver->event_record(s->device, s->event, s->queue);
  if (status == KDL_OK)
    status = load_and_launch(s);
  if (status == KDL_OK)
    status = driver->event_wait(s->device, s->event, s->queue);
  if (status == KDL_OK)
    status = driver->event_sync(s->device, s->event);
  if (status == KDL_OK)
    status = driver->event_elapsed(s->device, s->event, s->event, &ns);
  if (status == KDL_OK)
    status = driver->copy(s->device, s->queue, s->x, 0, s->y, 0, sizeof x);
  if (status == KDL_OK)
    status = driver->read(s->device, s->queue, y, s->x, 0, sizeof y);
  if (status == KDL_OK)
    status = driver->queue_sync(s->device, s->queue);
  for (int i = 0; i < count && status == KDL_OK; ++i)
    assert_true(y[i] == 2);
  return status;
}

static void put_away(session *s) {
  if (s->module)
    driver->module_unload(s->device, s->module);
  if (s->event)
    driver->event_destroy(s->device, s->event);
  if (s->x)
    (void)driver->free(s->device, s->x);
  if (s->y)
    (void)driver->free(s->device, s->y);
  if (s->adopted)
    driver->queue_destroy(s->device, s->adopted);
  if (s->queue)
    driver->queue_destroy(s->device, s->queue);
}

/* ------------------------------------------------------------------------------------------ */
/* Faults                                                                                       */

static const struct {
  int code;
  const char *name;
  kdl_status status;
} errors[] = {
    {-4, "CL_MEM_OBJECT_ALLOCATION_FAILURE (-4)", KDL_NO_MEMORY},
    {-5, "CL_OUT_OF_RESOURCES (-5)", KDL_DEVICE},
    {-6, "CL_OUT_OF_HOST_MEMORY (-6)", KDL_NO_MEMORY},
    {-36, "CL_INVALID_COMMAND_QUEUE (-36)", KDL_DEVICE},
};

/* A failure is told with the error's code and name. What fails may also not matter: a log that
 * cannot be read, a property that nobody needs. Without what it tells of parameters the kernel's
 * text does; clSVMAlloc tells no reason. */
static unsigned fail_each_call_once(size_t error) {
  unsigned told = 0;
  for (unsigned n = 1; n < most_calls; ++n) {
    char rule[32];
    session s = {0};
    snprintf(rule, sizeof rule, "*:%u:%d", n, errors[error].code);
    inject(rule);
    kdl_status status = work(&s);
    unsigned faults = ask_fake("fake_faults");
    inject("");
    if (status != KDL_OK) {
      bool is_mute = strstr(kdl_error_message(), "clSVMAlloc") != NULL;
      assert_int_equal(status, is_mute ? KDL_NO_MEMORY : errors[error].status);
      assert_int_equal(kdl_error_code(), is_mute ? -4 : errors[error].code);
      if (!strstr(kdl_error_message(), is_mute ? errors[0].name : errors[error].name) ||
          strncmp(kdl_error_message(), "opencl:0: cl", 12) != 0)
        fail_msg("call %u: %s", n, kdl_error_message());
      ++told;
    }
    put_away(&s);
    if (ask_fake("fake_alive") != 0)
      fail_msg("call %u left something behind after: %s", n, kdl_error_message());
    if (!faults)
      return told;
  }
  fail_msg("more calls than %u", most_calls);
  return 0;
}

static void test_each_call_fails_once(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof errors / sizeof *errors; ++i)
    assert_true(fail_each_call_once(i) > 20);
}

/* Also while things are put away, when nobody can be told. */
static void test_the_device_is_lost(void **state) {
  (void)state;
  for (unsigned n = 1; n < most_calls; ++n) {
    char rule[32];
    session s = {0};
    snprintf(rule, sizeof rule, "*:%u+:-5", n);
    inject(rule);
    kdl_status status = work(&s);
    put_away(&s);
    unsigned faults = ask_fake("fake_faults");
    inject("");
    tell_fake("fake_reset");
    if (status != KDL_OK && !strstr(kdl_error_message(), "clSVMAlloc"))
      assert_int_equal(kdl_error_code(), -5);
    if (!faults)
      return;
  }
  fail_msg("more calls than %u", most_calls);
}

/* The first fault comes before anything is open. */
static void test_the_driver_does_not_start(void **state) {
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

static void test_a_slow_call_is_waited_for(void **state) {
  (void)state;
  session s = {0};
  inject("clEnqueueNDRangeKernel:1:sleep=20");
  assert_ok(work(&s));
  assert_int_equal(ask_fake("fake_faults"), 1);
  inject("");
  put_away(&s);
  assert_int_equal(ask_fake("fake_alive"), 0);
}

int main(int argc, char **argv) {
  (void)argc;
  int result;
  if (!run_for_each_memory(argv, &result))
    return result;
  driver = kdl_opencl_backend_open(&kdl_backend_services);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_driver_does_not_start),
      cmocka_unit_test(test_a_slow_call_is_waited_for),
      cmocka_unit_test(test_each_call_fails_once),
      cmocka_unit_test(test_the_device_is_lost),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
