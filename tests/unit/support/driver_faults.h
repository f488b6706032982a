/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Every driver call of a backend fails once, with errors of each kind, and then always: nothing
 * crashes or leaks, and the message names the call. In addition to what driver_support.h needs, the
 * file that includes this defines
 *
 *     FAULT_PREFIX  "cuda:0: cu", the prefix of every message
 *     FAULT_SHARED  bytes of group memory to launch with
 *     FAULT_GLOBAL  a variable of the image; NULL if it cannot be accessed
 *     fault_image   returns an image with the kernel saxpy and that variable
 *     fault_errors  rows of {code, status, "NAME (code): words"}; the last is for a device that is
 *                   lost
 *     FAULT_KEPT    objects that a backend keeps for later
 *     FAULT_SLOW    a rule that makes the launch slow
 *     fault_forget  resets the driver's own state, after everything was released
 *     fault_check   fails if the driver's state changed, after call number `call`
 *     fault_told    the error that is reported for this one: the same, except for calls that do
 *                   not say what failed */
#ifndef KDL_TESTS_UNIT_DRIVER_FAULTS_H
#define KDL_TESTS_UNIT_DRIVER_FAULTS_H

#include "driver_support.h"

typedef struct {
  int code;
  kdl_status status;
  const char *name;
} fault_error;

static kdl_backend_image fault_image(void);
static void fault_check(unsigned call);
static void fault_forget(void);
static const fault_error *fault_told(const fault_error *error);
extern const fault_error fault_errors[];
extern const size_t fault_error_count;

enum { count = 256, most_calls = 400 };

/* ------------------------------------------------------------------------------------------ */
/* One session with the device                                                                  */

typedef struct {
  void *device, *queue, *adopted, *event, *loaded, *sequence;
  void *pinned;
  uint64_t x, y;
} session;

/* A launch, a fill of each sort, copies in each direction, an event and a join, which run twice
 * with something else each time. */
static inline kdl_status run_sequence(session *s, const kdl_backend_kernel *kernel) {
  enum { launched, filled, wide, copied, written, was_read, recorded, waited, joined, node_count };
  static float host[count];
  float a = 0;
  uint32_t n = count;
  const void *pointers[] = {&a, &s->x, &s->x, &n};
  const uint32_t ends[] = {launched, filled};
  const kdl_kernel_head head = {.entry = kernel->launch, .context = kernel->context};
  kdl_backend_node nodes[node_count];
  const kdl_backend_node *listed[node_count];
  for (uint32_t i = 0; i < node_count; ++i) {
    nodes[i] = (kdl_backend_node){
        .size = sizeof *nodes, .kind = KDL_NODE_JOIN, .after = i ? i - 1 : KDL_NO_NODE};
    listed[i] = &nodes[i];
  }
  nodes[launched].kind = KDL_NODE_LAUNCH;
  nodes[launched].launch = kernel->launch;
  nodes[launched].kernel = &head;
  nodes[launched].desc = shape_of(1, count);
  nodes[launched].args = (kdl_args){4, pointers, NULL};
  for (uint32_t i = filled; i <= was_read; ++i) {
    nodes[i].to = s->x;
    nodes[i].to_offset = 512;
    nodes[i].from = s->x;
    nodes[i].bytes = 256;
    nodes[i].host = host;
  }
  nodes[filled].kind = nodes[wide].kind = KDL_NODE_FILL;
  nodes[filled].pattern_size = 4;
  nodes[wide].pattern_size = 16;
  nodes[wide].pattern[3] = 1;
  nodes[copied].kind = KDL_NODE_COPY;
  nodes[written].kind = KDL_NODE_WRITE;
  nodes[was_read].kind = KDL_NODE_READ;
  nodes[recorded].kind = KDL_NODE_RECORD;
  nodes[waited].kind = KDL_NODE_WAIT;
  nodes[recorded].event = nodes[waited].event = s->event;
  nodes[joined].kind = KDL_NODE_JOIN;
  nodes[joined].after = KDL_NO_NODE;
  nodes[joined].joined = ends;
  nodes[joined].joined_count = 2;
  kdl_backend_sequence sequence = {sizeof sequence, listed, node_count, 0, NULL};
  static const uint32_t changed[] = {launched, filled, copied, written, was_read};
  static const uint32_t all[] = {launched, wide};
  kdl_status status = driver->sequence_create(s->device, &sequence, &s->sequence);
  if (status == KDL_UNSUPPORTED) { /* not every driver has fills of more than a word */
    nodes[wide].pattern_size = 4;
    status = driver->sequence_create(s->device, &sequence, &s->sequence);
  }
  if (status == KDL_OK)
    status = driver->sequence_run(s->device, s->sequence, s->queue, NULL, 0);
  if (status == KDL_OK)
    status = driver->sequence_run(s->device, s->sequence, s->queue, changed, 5);
  nodes[launched].is_skipped = 1;
  if (status == KDL_OK) /* asked whether it is being captured */
    status = driver->sequence_run(s->device, s->sequence, s->adopted, all, 2);
  if (s->sequence)
    driver->sequence_destroy(s->device, s->sequence);
  s->sequence = NULL;
  /* As it was, so that what follows finds the same. */
  if (status == KDL_OK)
    status = driver->fill(s->device, s->queue, s->x, 0, sizeof host, "\0\0\200\77", 4);
  return status;
}

static inline kdl_status load_and_launch(session *s) {
  kdl_backend_image image = fault_image();
  kdl_status status = driver->image_load(s->device, &image, &s->loaded);
  kdl_backend_kernel kernel = {.size = sizeof kernel};
  kdl_kernel_request request = {.size = sizeof request, .name = "saxpy", .shared = FAULT_SHARED};
  if (status == KDL_OK)
    status = driver->kernel_find(s->device, s->loaded, &request, &kernel);
  uint64_t address, size;
  const char *global = FAULT_GLOBAL;
  if (status == KDL_OK && global)
    status = driver->global_find(s->device, s->loaded, global, &address, &size);
  float a = 2;
  uint32_t n = count;
  kdl_launch_desc desc = shape_of(1, count);
  desc.shared = FAULT_SHARED;
  if (status == KDL_OK)
    status = launch(&kernel, s->queue, &desc, KDL_ARGS(&a, &s->x, &s->y, &n));
  if (status == KDL_OK && driver->sequence_create) {
    status = run_sequence(s, &kernel);
    status = status == KDL_UNSUPPORTED ? KDL_OK : status; /* a driver from before graphs */
  }
  return status;
}

/* Stops at the first failure. */
static inline kdl_status work(session *s) {
  kdl_backend_device desc = {.size = sizeof desc, .spec = DRIVER_SPEC, .ordinal = 0};
  float x[count], y[count];
  double ns;
  int capturing, done;
  uint64_t available, total;
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
    status = driver->fill(s->device, s->queue, s->y, 0, sizeof y,
                          "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1", 16);
  if (status == KDL_OK)
    status = driver->write(s->device, s->queue, s->y, 0, memset(y, 0, sizeof y), sizeof y);
  if (status == KDL_OK)
    status = driver->event_create(s->device, &s->event);
  if (status == KDL_OK)
    status = driver->event_record(s->device, s->event, s->queue);
  if (status == KDL_OK && driver->queue_capturing)
    status = driver->queue_capturing(s->device, s->queue, &capturing);
  if (status == KDL_OK)
    status = load_and_launch(s);
  if (status == KDL_OK)
    status = driver->event_wait(s->device, s->event, s->queue);
  if (status == KDL_OK)
    status = driver->event_sync(s->device, s->event);
  if (status == KDL_OK)
    status = driver->event_query(s->device, s->event, &done);
  if (status == KDL_OK)
    status = driver->event_elapsed(s->device, s->event, s->event, &ns);
  if (status == KDL_OK && driver->memory_info)
    status = driver->memory_info(s->device, &available, &total);
  if (status == KDL_OK && driver->alloc_host)
    status = driver->alloc_host(s->device, sizeof x, &s->pinned);
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

static inline void put_away(session *s) {
  if (s->loaded)
    driver->image_unload(s->device, s->loaded);
  if (s->event)
    driver->event_destroy(s->device, s->event);
  if (s->pinned)
    (void)driver->free_host(s->device, s->pinned);
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

/* A failure is reported with the error's code and name; some failures do not matter. */
static inline unsigned fail_each_call_once(const fault_error *error) {
  unsigned told = 0;
  for (unsigned n = 1; n < most_calls; ++n) {
    char rule[32];
    session s = {0};
    snprintf(rule, sizeof rule, "*:%u:%d", n, error->code);
    inject(rule);
    kdl_status status = work(&s);
    unsigned faults = ask_fake("fake_faults");
    inject("");
    if (status != KDL_OK) {
      const fault_error *told_of = fault_told(error);
      assert_int_equal(status, told_of->status);
      assert_int_equal(kdl_error_code(), told_of->code);
      if (!strstr(kdl_error_message(), told_of->name) ||
          strncmp(kdl_error_message(), FAULT_PREFIX, strlen(FAULT_PREFIX)) != 0)
        fail_msg("call %u: %s", n, kdl_error_message());
      ++told;
    }
    put_away(&s);
    if (ask_fake("fake_alive") != FAULT_KEPT)
      fail_msg("call %u left something behind after: %s", n, kdl_error_message());
    fault_check(n);
    if (!faults)
      return told;
  }
  fail_msg("more calls than %u", most_calls);
  return 0;
}

static inline void each_call_fails_once(void **state) {
  (void)state;
  for (size_t i = 0; i < fault_error_count; ++i)
    assert_true(fail_each_call_once(&fault_errors[i]) > 20);
}

/* Also while things are put away, when no error can be returned. */
static inline void the_device_is_lost(void **state) {
  (void)state;
  const fault_error *lost = &fault_errors[fault_error_count - 1];
  for (unsigned n = 1; n < most_calls; ++n) {
    char rule[32];
    session s = {0};
    snprintf(rule, sizeof rule, "*:%u+:%d", n, lost->code);
    inject(rule);
    kdl_status status = work(&s);
    put_away(&s);
    unsigned faults = ask_fake("fake_faults");
    inject("");
    tell_fake("fake_reset");
    fault_forget();
    if (status != KDL_OK)
      assert_int_equal(kdl_error_code(), fault_told(lost)->code);
    if (!faults)
      return;
  }
  fail_msg("more calls than %u", most_calls);
}

static inline void a_slow_call_is_waited_for(void **state) {
  (void)state;
  session s = {0};
  inject(FAULT_SLOW);
  assert_ok(work(&s));
  assert_int_equal(ask_fake("fake_faults"), 1);
  inject("");
  put_away(&s);
  assert_int_equal(ask_fake("fake_alive"), FAULT_KEPT);
}

#endif
