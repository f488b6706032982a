/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Setup and teardown of the tests of the OpenCL backend: a device, a queue and a kernel on the fake
 * driver, with its memory. */
#ifndef KDL_TESTS_OPENCL_SETUP_H
#define KDL_TESTS_OPENCL_SETUP_H

#include "opencl_support.h"

#define BACKEND_KEPT 0
#include "driver_backend.h"

static void *backend_load(void *device) {
  return load_source(device, good_source);
}

static bool backend_is_clean(void) {
  return ask_fake("fake_opencl_races") == 0 && ask_fake("fake_opencl_stale") == 0;
}

static inline void assert_clean(void) {
  assert_int_equal(ask_fake("fake_alive"), BACKEND_KEPT);
  assert_true(backend_is_clean());
}

static inline kdl_status run_scaled(const setup *s, float a) {
  uint32_t n = count;
  kdl_launch_desc desc = shape_of(3, 128);
  return launch(&s->saxpy, s->queue, &desc, KDL_ARGS(&a, &s->x, &s->y, &n));
}

static inline kdl_status find_with(const setup *s, void *loaded, const char *name, const char *sig,
                                   kdl_backend_kernel *out_kernel) {
  kdl_kernel_request request = {.size = sizeof request, .name = name};
  if (sig)
    request.sig = (kdl_string){sig, strlen(sig)};
  *out_kernel = (kdl_backend_kernel){.size = sizeof *out_kernel};
  return driver->kernel_find(s->device, loaded, &request, out_kernel);
}

/* Opens the backend; the device's own queue is made now, so that no test counts it. */
static inline bool open_backend(void) {
  start_log();
  driver = kdl_built_in_opencl.table;
  void *device = NULL, *own = NULL;
  kdl_backend_device desc = {.size = sizeof desc, .spec = DRIVER_SPEC};
  if (driver->device_open(&desc, &device) != KDL_OK ||
      driver->queue_create(device, 0, &own) != KDL_OK)
    return false;
  driver->queue_destroy(device, own); /* the one of launches that name none */
  return true;
}

#endif
