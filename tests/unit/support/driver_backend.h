/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A backend's table against its fake driver, with saxpy ready to be launched. In addition to what
 * driver_support.h needs, the file that includes this defines
 *
 *     BACKEND_KEPT      objects that the backend caches
 *     backend_load      loads an image with the kernels saxpy and empty
 *     backend_is_clean  whether the driver's state on this thread is unchanged */
#ifndef KDL_TESTS_UNIT_DRIVER_BACKEND_H
#define KDL_TESTS_UNIT_DRIVER_BACKEND_H

#include "driver_support.h"

#include <pthread.h>

enum { count = 300 };

static void *backend_load(void *device);
static bool backend_is_clean(void);

typedef struct {
  void *device, *queue, *loaded;
  kdl_backend_kernel saxpy;
  uint64_t x, y;
} setup;

static inline setup begin(void) {
  setup s = {.device = open_device(0)};
  s.queue = make_queue(s.device);
  s.loaded = backend_load(s.device);
  s.saxpy = find_kernel(s.device, s.loaded, "saxpy");
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

static inline void end(const setup *s) {
  assert_ok(driver->free(s->device, s->x));
  assert_ok(driver->free(s->device, s->y));
  driver->image_unload(s->device, s->loaded);
  driver->queue_destroy(s->device, s->queue);
  assert_int_equal(ask_fake("fake_alive"), BACKEND_KEPT);
  assert_true(backend_is_clean());
}

static inline kdl_status run_saxpy(const setup *s, void *queue) {
  float a = 2;
  uint32_t n = count;
  kdl_launch_desc desc = shape_of(3, 128);
  return launch(&s->saxpy, queue, &desc, KDL_ARGS(&a, &s->x, &s->y, &n));
}

/* y was 1 and grew by 2x so often. */
static inline void assert_result(const setup *s, int launches) {
  float y[count];
  assert_ok(driver->read(s->device, s->queue, y, s->y, 0, sizeof y));
  assert_ok(driver->queue_sync(s->device, s->queue));
  for (int i = 0; i < count; ++i)
    assert_true(y[i] == 1 + 2 * (float)i * (float)launches);
}

static inline kdl_backend_kernel find_free(const setup *s, void *loaded, const char *name) {
  kdl_backend_kernel kernel = {.size = sizeof kernel};
  kdl_kernel_request request = {.size = sizeof request, .name = name};
  assert_ok(driver->kernel_find(s->device, loaded, &request, &kernel));
  return kernel;
}

static inline void a_kernel_without_parameters(void **state) {
  (void)state;
  setup s = begin();
  kdl_backend_kernel kernel = find_kernel(s.device, s.loaded, "empty");
  assert_int_equal(kernel.param_count, 0);
  assert_non_null(kernel.params); /* known to be none */
  kdl_launch_desc desc = shape_of(1, 1);
  assert_ok(launch(&kernel, s.queue, &desc, KDL_NO_ARGS));
  end(&s);
}

static inline void *run_from_thread(void *user) {
  setup *s = user;
  return (void *)(intptr_t)(run_saxpy(s, s->queue) == KDL_OK && backend_is_clean());
}

static inline void a_fresh_thread_launches(void **state) {
  (void)state;
  setup s = begin();
  pthread_t thread;
  void *good;
  pthread_create(&thread, NULL, run_from_thread, &s);
  pthread_join(thread, &good);
  assert_non_null(good);
  assert_result(&s, 1);
  end(&s);
}

static inline void copies_between_devices(void **state) {
  (void)state;
  setup s = begin();
  void *second = open_device(1);
  void *queue = make_queue(second);
  uint64_t there;
  assert_ok(driver->alloc(second, sizeof(float) * count, &there));
  assert_ok(driver->copy_peer(s.device, second, queue, there, 4, s.x, 0, 40));
  float x[10];
  assert_ok(driver->read(second, queue, x, there, 4, sizeof x));
  assert_ok(driver->queue_sync(second, queue));
  for (int i = 0; i < 10; ++i)
    assert_true(x[i] == (float)i);
  assert_ok(driver->free(second, there));
  driver->queue_destroy(second, queue);
  end(&s);
}

/* ------------------------------------------------------------------------------------------ */
/* What goes for every backend, with what each calls it                                         */

/* Reported by the driver, or read from the image otherwise. */
static inline void check_saxpy_params(const kdl_backend_kernel *saxpy) {
  static const kdl_param_info params[] = {{0, 4}, {8, 8}, {16, 8}, {24, 4}};
  assert_int_equal(saxpy->param_count, 4);
  assert_memory_equal(saxpy->params, params, sizeof params);
}

/* A launch that leaves the block to the image gets the suggested one. */
static inline void check_suggested_block(const setup *s, uint32_t expected) {
  kdl_backend_kernel kernel = find_free(s, s->loaded, "saxpy");
  assert_int_equal(kernel.block[0], 0);
  assert_int_equal(kernel.suggested[0], expected);
  assert_int_equal(kernel.suggested[1], 1);
  kdl_launch_desc desc = kdl_grid((count + expected - 1) / expected, 1, 1);
  float a = 2;
  uint32_t n = count;
  assert_ok(launch(&kernel, s->queue, &desc, KDL_ARGS(&a, &s->x, &s->y, &n)));
  assert_ok(launch(&kernel, s->queue, &desc, KDL_ARGS(&a, &s->x, &s->y, &n)));
  assert_result(s, 2);
}

static inline void check_required_block(const kdl_backend_kernel *kernel, uint32_t x, uint32_t y,
                                        uint32_t z) {
  assert_int_equal(kernel->block[0], x);
  assert_int_equal(kernel->block[1], y);
  assert_int_equal(kernel->block[2], z);
}

/* The stream stays the caller's. */
static inline void check_adopted_stream(const setup *s, void *stream) {
  void *queue;
  assert_ok(driver->queue_adopt(s->device, stream, &queue));
  assert_ptr_equal(driver->queue_native(s->device, queue), stream);
  assert_ok(run_saxpy(s, queue));
  assert_ok(driver->queue_sync(s->device, queue));
  driver->queue_destroy(s->device, queue);
  assert_result(s, 1);
}

static inline void check_capturing(const setup *s, void *queue, int expected) {
  int capturing = -1;
  assert_ok(driver->queue_capturing(s->device, queue, &capturing));
  assert_int_equal(capturing, expected);
}

static inline void check_missing_kernel(const char *message) {
  setup s = begin();
  kdl_backend_kernel kernel = {.size = sizeof kernel};
  kdl_kernel_request request = {.size = sizeof request, .name = "sgemm"};
  assert_fails(driver->kernel_find(s.device, s.loaded, &request, &kernel), KDL_NO_MATCH, message);
  end(&s);
}

static inline void check_missing_global(const setup *s, const char *message) {
  uint64_t address, size;
  assert_fails(driver->global_find(s->device, s->loaded, "chair", &address, &size), KDL_NO_MATCH,
               message);
}

/* The table of 64 bytes is there to be written. */
static inline void check_table(const setup *s) {
  uint64_t address, size;
  assert_ok(driver->global_find(s->device, s->loaded, "table", &address, &size));
  assert_int_equal(size, 64);
  assert_ok(driver->fill(s->device, s->queue, address, 0, size, "x", 1));
}

/* The weight is the 3 that the image has it begin with. */
static inline void check_weight(const setup *s) {
  uint64_t address, size;
  uint32_t weight = 0;
  assert_ok(driver->global_find(s->device, s->loaded, "weight", &address, &size));
  assert_int_equal(size, 4);
  assert_ok(driver->read(s->device, s->queue, &weight, address, 0, size));
  assert_int_equal(weight, 3);
}

/* Of devices with 1 MiB. */
static inline void check_memory_runs_out(const char *message) {
  setup s = begin();
  uint64_t memory;
  assert_fails(driver->alloc(s.device, 2 << 20, &memory), KDL_NO_MEMORY, message);
  end(&s);
}

/* An error of the kernel shows when it is waited for. */
static inline void check_illegal_address(int code, const char *message) {
  setup s = begin();
  setup wrong = s;
  wrong.x = 16;
  assert_ok(run_saxpy(&wrong, s.queue));
  assert_fails(driver->queue_sync(s.device, s.queue), KDL_DEVICE, message);
  assert_int_equal(kdl_error_code(), code);
  tell_fake("fake_heal");
  end(&s);
}

/* Events of the driver, which reports those that were not recorded. */
static inline void check_events(const char *message) {
  setup s = begin();
  void *first, *last;
  double ns = 0;
  assert_ok(driver->event_create(s.device, &first));
  assert_ok(driver->event_create(s.device, &last));
  assert_fails(driver->event_elapsed(s.device, first, last, &ns), KDL_DEVICE, message);
  assert_ok(driver->event_record(s.device, first, s.queue));
  assert_ok(driver->event_record(s.device, last, s.queue));
  assert_ok(driver->event_wait(s.device, last, s.queue));
  assert_ok(driver->event_sync(s.device, last));
  assert_ok(driver->event_elapsed(s.device, first, last, &ns));
  assert_true(ns == 250000);
  assert_ptr_equal(driver->event_native(s.device, first), first);
  driver->event_destroy(s.device, first);
  driver->event_destroy(s.device, last);
  end(&s);
}

static inline void check_done(const setup *s, void *event, int expected) {
  int done = 2;
  assert_ok(driver->event_query(s->device, event, &done));
  assert_int_equal(done, expected);
}

/* `not_ready` makes the driver say so, and `broken` fail with `message`; NULL takes that back. */
static inline void check_query(void (*set)(const char *how), const char *not_ready,
                               const char *broken, const char *message) {
  setup s = begin();
  void *event;
  int done = 2;
  assert_ok(driver->event_create(s.device, &event));
  check_done(&s, event, 1); /* holds nothing up */
  assert_ok(driver->event_record(s.device, event, s.queue));
  check_done(&s, event, 1);
  set(not_ready);
  check_done(&s, event, 0);
  check_done(&s, event, 0);
  set(broken);
  assert_fails(driver->event_query(s.device, event, &done), KDL_DEVICE, message);
  set(NULL);
  check_done(&s, event, 1);
  driver->event_destroy(s.device, event);
  end(&s);
}

static inline void set_fault(const char *rules) {
  inject(rules ? rules : "");
}

/* Of devices with 1 MiB: what is allocated is not free. */
static inline void check_memory_info(void) {
  setup s = begin();
  uint64_t before = 0, after = 0, total = 0, memory;
  assert_ok(driver->memory_info(s.device, &before, &total));
  assert_int_equal(total, 1 << 20);
  assert_ok(driver->alloc(s.device, 4096, &memory));
  assert_ok(driver->memory_info(s.device, &after, &total));
  assert_int_equal(before - after, 4096);
  assert_ok(driver->free(s.device, memory));
  end(&s);
}

/* Host memory of the driver's: copies go from it and to it. */
static inline void check_host_memory(const char *free_message) {
  setup s = begin();
  void *data = NULL;
  assert_ok(driver->alloc_host(s.device, sizeof(float) * count, &data));
  assert_int_equal((uintptr_t)data % 64, 0);
  float *y = data;
  for (int i = 0; i < count; ++i)
    y[i] = 1;
  assert_ok(driver->write(s.device, s.queue, s.y, 0, data, sizeof(float) * count));
  assert_ok(run_saxpy(&s, s.queue));
  assert_ok(driver->read(s.device, s.queue, data, s.y, 0, sizeof(float) * count));
  assert_ok(driver->queue_sync(s.device, s.queue));
  for (int i = 0; i < count; ++i)
    assert_true(y[i] == 1 + 2 * (float)i);
  assert_ok(driver->free_host(s.device, data));
  float own[4];
  assert_fails(driver->free_host(s.device, own), KDL_DEVICE, free_message);
  end(&s);
}

/* Patterns of every size over ranges of several, each between what must stay. */
static inline void check_fills(const setup *s) {
  static const uint8_t pattern[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  uint8_t bytes[128];
  for (size_t size = 1; size <= 16; size *= 2) {
    for (size_t length = 16; length <= 112; length += 16) {
      assert_ok(driver->fill(s->device, s->queue, s->x, 0, 128, "", 1));
      assert_ok(driver->fill(s->device, s->queue, s->x, 16, length, pattern, size));
      assert_ok(driver->copy(s->device, s->queue, s->y, 4, s->x, 0, 124));
      assert_ok(driver->read(s->device, s->queue, bytes, s->y, 4, 124));
      for (size_t i = 0; i < 124; ++i)
        assert_int_equal(bytes[i], i >= 16 && i < 16 + length ? pattern[(i - 16) % size] : 0);
    }
  }
}

#endif
