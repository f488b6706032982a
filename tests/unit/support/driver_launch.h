/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Libraries on the devices of a fake driver, through the public API. In addition to what
 * driver_support.h needs, the file that includes this defines
 *
 *     LAUNCH_BACKEND    "cuda"
 *     LAUNCH_TRIPLE     its triple
 *     LAUNCH_OFFLOAD    its kind in OffloadBinaries
 *     LAUNCH_GOOD       the row of an image that loads
 *     LAUNCH_LOST       the error code of a lost device
 *     LAUNCH_LOST_NAME  "NAME (code)" of it
 *     launch_row        returns the image of a row, with the kernel saxpy
 *     launch_check      fails if the driver's state changed */
#ifndef KDL_TESTS_UNIT_DRIVER_LAUNCH_H
#define KDL_TESTS_UNIT_DRIVER_LAUNCH_H

#include "driver_support.h"

#include <stdbool.h>

enum { items = 1000 };

#define SIG "sig=f32 ptr<f32> ptr<f32> u32; "

typedef struct {
  const char *arch;
  kdl_image_kind kind;
  const void *bytes;
  size_t size;
  const char *key; /* of saxpy */
} image_row;

static image_row launch_row(size_t index);
static void launch_check(void);

static inline kdl_string text(const char *chars) {
  return (kdl_string){chars, strlen(chars)};
}

typedef struct {
  kdl_library *lib;
  void *data;
  kdl_device *device;
  kdl_queue *queue;
  kdl_kernel *saxpy;
  kdl_buffer x, y;
} session;

/* A library of some of the rows. */
static inline void open_library(session *s, size_t first, size_t last) {
  size_t size;
  kdl_writer *writer;
  assert_ok(kdl_writer_create(KDL_FORMAT_V1, &writer));
  for (size_t i = first; i <= last; ++i) {
    image_row row = launch_row(i);
    kdl_pair pairs[] = {{text("triple"), text(LAUNCH_TRIPLE)},
                        {text("arch"), text(row.arch)},
                        {text("kdl.kernel.saxpy"), text(row.key)}};
    kdl_writer_image image = {.size = sizeof image,
                              .declared_kind = kdl_llvm_image_kind(row.kind),
                              .offload_kind = LAUNCH_OFFLOAD,
                              .pairs = pairs,
                              .pair_count = 3,
                              .data = row.bytes,
                              .data_size = row.size};
    assert_ok(kdl_writer_add(writer, &image));
  }
  assert_ok(kdl_writer_finish(writer, &s->data, &size));
  kdl_writer_destroy(writer);
  kdl_open_opts opts = {.size = sizeof opts, .name = "t"};
  assert_ok(kdl_open_memory(s->data, size, &opts, &s->lib));
}

/* Stops at the first failure. */
static inline kdl_status prepare(session *s) {
  float x[items], y[items];
  for (int i = 0; i < items; ++i) {
    x[i] = (float)i;
    y[i] = 1;
  }
  kdl_status status = kdl_device_find(LAUNCH_BACKEND ":0", &s->device);
  if (status == KDL_OK)
    status = kdl_queue_create(s->device, NULL, &s->queue);
  if (status == KDL_OK)
    status = kdl_alloc(s->device, sizeof x, &s->x);
  if (status == KDL_OK)
    status = kdl_alloc(s->device, sizeof y, &s->y);
  if (status == KDL_OK)
    status = kdl_write(s->queue, &s->x, 0, x, sizeof x);
  if (status == KDL_OK)
    status = kdl_write(s->queue, &s->y, 0, y, sizeof y);
  if (status == KDL_OK)
    status = kdl_sym(s->lib, s->device, "saxpy", NULL, &s->saxpy);
  return status;
}

static inline kdl_status run(session *s, kdl_queue *queue) {
  float a = 2;
  uint32_t n = items;
  return kdl_launch_items(s->saxpy, queue, kdl_extent1(items), KDL_ARGS(&a, &s->x, &s->y, &n));
}

static inline kdl_status check(session *s, int launches) {
  float y[items];
  kdl_status status = kdl_read(s->queue, y, &s->y, 0, sizeof y);
  if (status == KDL_OK)
    status = kdl_sync(s->queue);
  for (int i = 0; i < items && status == KDL_OK; ++i)
    assert_true(y[i] == 1 + 2 * (float)i * (float)launches);
  return status;
}

static inline void put_away(session *s) {
  (void)kdl_free(&s->x);
  (void)kdl_free(&s->y);
  kdl_close(s->lib);
  kdl_queue_destroy(s->queue);
  free(s->data);
}

static inline session begin(size_t first, size_t last) {
  session s = {0};
  open_library(&s, first, last);
  assert_ok(prepare(&s));
  return s;
}

/* The queue that launches without one go to lives as long as the device. */
enum { alive_always = 1 };

static inline void end(session *s) {
  put_away(s);
  assert_int_equal(ask_fake("fake_alive"), alive_always);
  launch_check();
}

static char said[4096];

static inline void keep_line(void *user, const char *topic, const char *line) {
  (void)user, (void)topic;
  size_t used = strlen(said);
  snprintf(said + used, sizeof said - used, "%s\n", line);
}

/* ------------------------------------------------------------------------------------------ */
/* What goes for every backend                                                                  */

static inline void launches_without_a_queue(void **state) {
  (void)state;
  session s = begin(LAUNCH_GOOD, LAUNCH_GOOD);
  kdl_queue *own, *again;
  float y[items];
  assert_ok(run(&s, NULL));
  assert_ok(kdl_device_queue(s.device, &own));
  assert_ok(kdl_read(own, y, &s.y, 0, sizeof y));
  assert_ok(kdl_sync(own));
  assert_true(y[0] == 1 && y[items - 1] == 1 + 2 * (float)(items - 1));
  kdl_queue_destroy(own);
  assert_ok(kdl_device_queue(s.device, &again));
  assert_ptr_equal(own, again);
  assert_ok(run(&s, own));
  assert_ok(run(&s, NULL));
  assert_ok(kdl_sync(own));
  assert_ok(check(&s, 3));
  end(&s);
}

/* As KDL_ARGS gives them in a program with checks. */
static inline void check_foreign_buffers(kdl_kernel *saxpy, kdl_queue *queue,
                                         const void *const pointers[4], int foreign) {
  static const size_t sizes[] = {sizeof(float), sizeof(kdl_buffer), sizeof(kdl_buffer),
                                 sizeof(uint32_t)};
  kdl_extent extent = kdl_extent1(items);
  kdl_launch_desc desc = kdl_grid(1, 1, 1);
  desc.block[0] = 128, desc.block[1] = 1, desc.block[2] = 1;
  kdl_args args = {4, pointers, sizes};
  char words[80];
  snprintf(words, sizeof words, "saxpy: argument %d: found a buffer of %s:", foreign,
           LAUNCH_BACKEND);
  assert_int_equal(kdl_launch_items_call(saxpy, queue, &extent, &args), KDL_BAD_CALL);
  if (!strstr(kdl_error_message(), words))
    fail_msg("found \"%s\", expected \"%s\"", kdl_error_message(), words);
  assert_int_equal(kdl_launch_checked(saxpy, queue, &desc, &args), KDL_BAD_CALL);
  if (!strstr(kdl_error_message(), words))
    fail_msg("found \"%s\", expected \"%s\"", kdl_error_message(), words);
}

static inline void two_devices(void **state) {
  (void)state;
  session s = begin(LAUNCH_GOOD, LAUNCH_GOOD);
  kdl_device *second;
  kdl_queue *queue;
  kdl_kernel *saxpy;
  kdl_buffer x, y;
  float host[items], a = 3;
  uint32_t n = items;
  assert_ok(kdl_device_find(LAUNCH_BACKEND ":1", &second));
  assert_ptr_not_equal(second, s.device);
  assert_ok(kdl_queue_create(second, NULL, &queue));
  assert_ok(kdl_alloc(second, sizeof host, &x));
  assert_ok(kdl_alloc(second, sizeof host, &y));
  assert_ok(kdl_copy(queue, &x, 0, &s.x, 0, sizeof host));
  assert_ok(kdl_fill(queue, &y, 0, sizeof host, "", 1));
  assert_ok(kdl_sym(s.lib, second, "saxpy", NULL, &saxpy));
  assert_ok(kdl_launch_items(saxpy, queue, kdl_extent1(items), KDL_ARGS(&a, &x, &y, &n)));
  assert_ok(kdl_read(queue, host, &y, 0, sizeof host));
  assert_ok(kdl_sync(queue));
  for (int i = 0; i < items; ++i)
    assert_true(host[i] == 3 * (float)i);
  check_foreign_buffers(saxpy, queue, (const void *[]){&a, &x, &s.y, &n}, 2);
  check_foreign_buffers(saxpy, queue, (const void *[]){&a, &s.x, &y, &n}, 1);
  assert_ok(run(&s, s.queue));
  assert_ok(check(&s, 1));
  assert_ok(kdl_free(&x));
  assert_ok(kdl_free(&y));
  kdl_queue_destroy(queue);
  put_away(&s);
  assert_int_equal(ask_fake("fake_alive"), 2 * alive_always);
}

/* Whatever fails, the message names the driver's error, and nothing stays behind. */
static inline void each_call_fails_once(void **state) {
  (void)state;
  unsigned told = 0, alive = ask_fake("fake_alive"), faults = 1;
  for (unsigned n = 1; faults && n < 400; ++n) {
    char rule[32];
    session s = {0};
    open_library(&s, LAUNCH_GOOD, LAUNCH_GOOD);
    snprintf(rule, sizeof rule, "*:%u:%d", n, LAUNCH_LOST);
    inject(rule);
    kdl_status status = prepare(&s);
    if (status == KDL_OK)
      status = run(&s, s.queue);
    if (status == KDL_OK)
      status = check(&s, 1);
    faults = ask_fake("fake_faults");
    inject("");
    if (status != KDL_OK) {
      ++told;
      assert_int_equal(status, KDL_DEVICE);
      assert_int_equal(kdl_error_code(), LAUNCH_LOST);
      assert_non_null(strstr(kdl_error_message(), LAUNCH_LOST_NAME));
    }
    put_away(&s);
    if (ask_fake("fake_alive") != alive)
      fail_msg("call %u left something behind after: %s", n, kdl_error_message());
    launch_check();
  }
  assert_int_equal(faults, 0);
  assert_true(told > 10);
}

static inline void a_child_is_told(void **state) {
  (void)state;
  session s = begin(LAUNCH_GOOD, LAUNCH_GOOD);
  assert_ok(run(&s, s.queue));
  pid_t child = fork();
  if (child == 0)
    _exit(run(&s, s.queue) == KDL_DEVICE && strstr(kdl_error_message(), "fork") ? 0 : 1);
  int status = -1;
  waitpid(child, &status, 0);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  assert_ok(check(&s, 1));
  put_away(&s);
}

/* A first launch is refused while its queue is being captured, and leaves the capture alone. */
static inline void check_captures(const char *begin_name, const char *end_name,
                                  const char *destroy_name) {
  session s = begin(LAUNCH_GOOD, LAUNCH_GOOD);
  int (*begin_capture)(void *, int), (*end_capture)(void *, void **), (*destroy)(void *);
  get_fake(begin_name, &begin_capture);
  get_fake(end_name, &end_capture);
  get_fake(destroy_name, &destroy);
  void *stream, *graph;
  assert_ok(kdl_queue_native(s.queue, &stream));
  assert_int_equal(begin_capture(stream, 0), 0);
  assert_fails(run(&s, s.queue), KDL_BAD_CALL,
               "saxpy: its first launch would load it, which breaks the capture on this queue; "
               "call kdl_prefetch before the capture begins");
  assert_int_equal(end_capture(stream, &graph), 0);
  assert_int_equal(destroy(graph), 0);
  assert_ok(kdl_prefetch(s.saxpy));
  assert_int_equal(begin_capture(stream, 0), 0);
  assert_ok(run(&s, s.queue));
  assert_int_equal(end_capture(stream, &graph), 0);
  assert_int_equal(destroy(graph), 0);
  assert_ok(check(&s, 0)); /* captured, not run */
  end(&s);
}

#endif
