/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Every call that the CUDA backend makes of the driver fails once, with errors of each sort, and
 * then for good: nothing crashes, nothing is left behind, and the message names the call. */
#include "cuda_support.h"

enum { count = 256, most_calls = 400 };

/* ------------------------------------------------------------------------------------------ */
/* One session with the device                                                                  */

typedef struct {
  void *device, *queue, *event, *module;
  uint64_t x, y;
} session;

static kdl_status load_and_launch(session *s) {
  kdl_backend_image image = image_of(KDL_IMAGE_PTX, good_ptx, strlen(good_ptx));
  kdl_status status = driver->module_load(s->device, &image, &s->module);
  kdl_backend_kernel kernel = {.size = sizeof kernel};
  kdl_backend_wish wish = {.size = sizeof wish, .name = "saxpy", .shared = 50 << 10};
  if (status == KDL_OK)
    status = driver->kernel_find(s->device, s->module, &wish, &kernel);
  uint64_t address, size;
  if (status == KDL_OK)
    status = driver->global_find(s->device, s->module, "table", &address, &size);
  float a = 2;
  uint32_t n = count;
  kdl_launch_desc desc = shape_of(1, count);
  desc.shared = 60 << 10;
  if (status == KDL_OK)
    status = launch(&kernel, s->queue, &desc, KDL_ARGS(&a, &s->x, &s->y, &n));
  return status;
}

/* Stops at the first failure. */
static kdl_status work(session *s) {
  kdl_backend_device desc = {.size = sizeof desc, .spec = "cuda:sm_90", .ordinal = 0};
  float x[count], y[count];
  double ns;
  int capturing;
  kdl_status status = driver->device_open(&desc, &s->device);
  if (status == KDL_OK)
    status = driver->queue_create(s->device, 0, &s->queue);
  if (status == KDL_OK)
    status = driver->alloc(s->device, sizeof x, &s->x);
  if (status == KDL_OK)
    status = driver->alloc(s->device, sizeof y, &s->y);
  if (status == KDL_OK)
    status = driver->fill(s->device, s->queue, s->x, 0, sizeof x, "\0\0\200\77", 4);
  if (status == KDL_OK)
    status = driver->fill(s->device, s->queue, s->y, 0, sizeof y,
                          "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1", 16);
  if (status == KDL_OK)
    status = driver->write(s->device, s->queue, s->y, 0, memset(y, 0, sizeof y), sizeof y);
  if (status == KDL_OK)
    status = driver->event_create(s->device, &s->event);
  if (status == KDL_OK)
    status = driver->event_record(s->device, s->event, s->queue);
  if (status == KDL_OK)
    status = driver->queue_capturing(s->device, s->queue, &capturing);
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
  if (s->queue)
    driver->queue_destroy(s->device, s->queue);
}

/* ------------------------------------------------------------------------------------------ */
/* Faults                                                                                       */

static const struct {
  int code;
  const char *name;
} errors[] = {
    {2, "CUDA_ERROR_OUT_OF_MEMORY (2): out of memory"},
    {200, "CUDA_ERROR_INVALID_IMAGE (200): device kernel image is invalid"},
    {201, "CUDA_ERROR_INVALID_CONTEXT (201): invalid device context"},
    {719, "CUDA_ERROR_LAUNCH_FAILED (719): unspecified launch failure"},
};

/* A failure is told with the error's code and name; what fails may also not matter. */
static unsigned fail_each_call_once(int code, const char *name) {
  unsigned told = 0;
  for (unsigned n = 1; n < most_calls; ++n) {
    char rule[32];
    session s = {0};
    snprintf(rule, sizeof rule, "*:%u:%d", n, code);
    inject(rule);
    kdl_status status = work(&s);
    unsigned faults = ask_fake("fake_faults");
    inject("");
    if (status != KDL_OK) {
      assert_int_equal(status, code == 2 ? KDL_NO_MEMORY : KDL_DEVICE);
      assert_int_equal(kdl_error_code(), code);
      if (!strstr(kdl_error_message(), name) || strncmp(kdl_error_message(), "cuda:0: cu", 10) != 0)
        fail_msg("call %u: %s", n, kdl_error_message());
      ++told;
    }
    put_away(&s);
    if (ask_fake("fake_alive") != 0 || ask_fake("fake_cuda_depth") != 0)
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
    assert_true(fail_each_call_once(errors[i].code, errors[i].name) > 20);
}

/* Also while things are put away, when nobody can be told. */
static void test_the_device_is_lost(void **state) {
  (void)state;
  for (unsigned n = 1; n < most_calls; ++n) {
    char rule[32];
    session s = {0};
    snprintf(rule, sizeof rule, "*:%u+:719", n);
    inject(rule);
    kdl_status status = work(&s);
    put_away(&s);
    unsigned faults = ask_fake("fake_faults");
    inject("");
    tell_fake("fake_cuda_reset");
    if (status != KDL_OK)
      assert_int_equal(kdl_error_code(), 719);
    if (!faults)
      return;
  }
  fail_msg("more calls than %u", most_calls);
}

/* The first fault comes before anything is open. */
static void test_the_driver_does_not_start(void **state) {
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

static void test_a_slow_call_is_waited_for(void **state) {
  (void)state;
  session s = {0};
  inject("cuLaunchKernel:1:sleep=20");
  assert_ok(work(&s));
  assert_int_equal(ask_fake("fake_faults"), 1);
  inject("");
  put_away(&s);
  assert_int_equal(ask_fake("fake_alive"), 0);
}

int main(int argc, char **argv) {
  (void)argc;
  int result;
  if (!run_for_each_driver(argv, &result))
    return result;
  driver = kdl_cuda_backend_open(&kdl_backend_services);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_driver_does_not_start),
      cmocka_unit_test(test_a_slow_call_is_waited_for),
      cmocka_unit_test(test_each_call_fails_once),
      cmocka_unit_test(test_the_device_is_lost),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
