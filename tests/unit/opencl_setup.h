/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the tests of the OpenCL backend begin and end with: a device, a queue and a kernel on the
 * fake driver, with the memory that it works on. */
#ifndef KDL_TESTS_OPENCL_SETUP_H
#define KDL_TESTS_OPENCL_SETUP_H

#include "opencl_support.h"

enum { count = 300 };

typedef struct {
  void *device, *queue, *module;
  kdl_backend_kernel saxpy;
  uint64_t x, y;
} setup;

static inline setup begin(void) {
  setup s = {.device = open_device(0)};
  s.queue = make_queue(s.device);
  s.module = load_source(s.device, good_source);
  s.saxpy = find_kernel(s.device, s.module, "saxpy");
  float x[count], y[count];
  for (int i = 0; i < count; ++i) {
    x[i] = (float)i;
    y[i] = 1;
  }
  assert_ok(driver->alloc(s.device, sizeof x, &s.x));
  assert_ok(driver->alloc(s.device, sizeof y, &s.y));
  assert_ok(driver->write(s.device, s.queue, s.x, 0, x, sizeof x));
  assert_ok(driver->write(s.device, s.queue, s.y, 0, y, sizeof y));
  return s;
}

static inline void assert_clean(void) {
  assert_int_equal(ask_fake("fake_alive"), 0);
  assert_int_equal(ask_fake("fake_opencl_races"), 0);
  assert_int_equal(ask_fake("fake_opencl_stale"), 0);
}

static inline void end(const setup *s) {
  assert_ok(driver->free(s->device, s->x));
  assert_ok(driver->free(s->device, s->y));
  driver->module_unload(s->device, s->module);
  driver->queue_destroy(s->device, s->queue);
  assert_clean();
}

static inline kdl_status run_scaled(const setup *s, float a) {
  uint32_t n = count;
  kdl_launch_desc desc = shape_of(3, 128);
  return launch(&s->saxpy, s->queue, &desc, KDL_ARGS(&a, &s->x, &s->y, &n));
}

static inline kdl_status run_saxpy(const setup *s) {
  return run_scaled(s, 2);
}

/* y was 1 and grew by 2x so often. */
static inline void assert_result(const setup *s, int launches) {
  float y[count];
  assert_ok(driver->read(s->device, s->queue, y, s->y, 0, sizeof y));
  assert_ok(driver->queue_sync(s->device, s->queue));
  for (int i = 0; i < count; ++i)
    assert_true(y[i] == 1 + 2 * (float)i * (float)launches);
}

static inline kdl_status find_with(const setup *s, void *module, const char *name, const char *sig,
                                   kdl_backend_kernel *out_kernel) {
  kdl_backend_wish wish = {.size = sizeof wish, .name = name};
  if (sig)
    wish.sig = (kdl_string){sig, strlen(sig)};
  *out_kernel = (kdl_backend_kernel){.size = sizeof *out_kernel};
  return driver->kernel_find(s->device, module, &wish, out_kernel);
}

/* Opens the backend; the device's own queue is made now, so that no test counts it. */
static inline bool open_backend(void) {
  start_log();
  driver = kdl_opencl_backend_open(&kdl_backend_services);
  void *device = NULL, *own = NULL;
  kdl_backend_device desc = {.size = sizeof desc, .spec = DRIVER_SPEC};
  if (driver->device_open(&desc, &device) != KDL_OK ||
      driver->queue_create(device, 0, &own) != KDL_OK)
    return false;
  driver->queue_destroy(device, own); /* the one of launches that name none */
  return true;
}

#endif
