/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Sequences on the fake Level Zero, through the public API: recorded lists that can be updated,
 * that cannot, that the device has not finished, and drivers without them. The fake aborts if a
 * list is changed while it may still run. */
#define SETTINGS "KDL_FAKE_SETTINGS=level_zero."
#define DRIVER_RUNS                                                                                \
  {"mutable", "whole", NULL}, {"fixed", "whole", SETTINGS "mutable=0"},                            \
      {"arguments alone", "whole", SETTINGS "mutable=1"},                                          \
      {"mutable, behind", "whole", SETTINGS "lazy=1"},                                             \
      {"fixed, behind", "whole", SETTINGS "mutable=0;level_zero.lazy=1"},                          \
      {"no lists in lists", "whole", SETTINGS "lists=0"},                                          \
      {"before 1.9", "whole", SETTINGS "version=0x10008"}, {                                       \
    "old", "old", NULL                                                                             \
  }
#include "level_zero_support.h"

#include "lib/backends/level_zero/abi.h"
#include "sequence_support.h"

static const char *which(void) {
  return getenv("KDL_TEST_FAKE");
}

static bool has_lists(void) {
  return !is_old() && strcmp(which(), "no lists in lists") != 0 &&
         strcmp(which(), "before 1.9") != 0;
}

static bool is_mutable(void) {
  return strncmp(which(), "mutable", strlen("mutable")) == 0;
}

static bool is_behind(void) {
  return strstr(which(), "behind") != NULL;
}

static int open_it(void **state) {
  (void)state;
  start_log();
  kdl_backend_image image = golden_spirv("spirv64.spv");
  open_sequences("level_zero", "spirv64-unknown-unknown", "", KDL_IMAGE_SPIRV, KDL_OFFLOAD_NONE,
                 image.data, image.data_size);
  return 0;
}

/* What runs call: lists that are recorded, closed after they were changed, given to the queue, and
 * launches that are given to a list of either kind. */
static void expect_calls(unsigned recorded, unsigned updated, unsigned given, unsigned launched) {
  unsigned closed = calls_of("zeCommandListClose");
  assert_int_equal(calls_of("zeCommandListUpdateMutableCommandsExp"), updated);
  assert_int_equal(closed - updated, recorded);
  assert_int_equal(calls_of("zeCommandListImmediateAppendCommandListsExp"), given);
  assert_int_equal(calls_of("zeCommandListAppendLaunchKernel"), launched);
  clear_log();
}

static void zero(int buffer) {
  const float nothing = 0;
  assert_ok(kdl_fill(queue, &buffers[buffer], 0, bytes, &nothing, sizeof nothing));
  assert_ok(kdl_sync(queue));
}

/* Bindings that repeat set nothing; others are set, or launched once and recorded when they come
 * again. The queue is waited for in between. */
static void launches_are_recorded(void **state) {
  (void)state;
  kdl_sequence *sequence;
  bool has = has_lists(), sets = is_mutable();
  write_numbers();
  zero(2);
  zero(3);
  clear_log();
  assert_ok(make_launches(&sequence));
  assert_ok(run_launches(sequence, 0, 2, n));
  expect_calls(has, 0, has, 2);
  expect(2, 2);
  assert_string_equal(replay_of(sequence), has ? "commands" : "launches");
  clear_log();
  assert_ok(run_launches(sequence, 0, 2, n));
  assert_int_equal(calls_of("zeKernelSetArgumentValue"), 0);
  expect_calls(0, 0, has, has ? 0 : 2);
  expect(2, 4);
  clear_log();
  unsigned before = has ? ask_fake("fake_ze_changed") : 0;
  assert_ok(
      run_launches(sequence, 0, 3, n)); /* the second buffer is bound again, in both launches */
  if (has)
    assert_int_equal(ask_fake("fake_ze_changed") - before, sets ? 2 : 0);
  expect_calls(0, sets, sets, sets ? 0 : 2);
  expect(3, 2);
  clear_log();
  assert_ok(run_launches(sequence, 0, 3, n));
  expect_calls(has && !sets, 0, has, has && sets ? 0 : 2);
  expect(3, 4);
  clear_log();
  before = has ? ask_fake("fake_ze_changed") : 0;
  assert_ok(run_launches(sequence, 0, 3, n / 2)); /* a grid of as many groups */
  if (has)
    assert_int_equal(ask_fake("fake_ze_changed") - before, 0);
  expect(3, 6);
  clear_log();
  assert_ok(run_launches(sequence, 0, 3, 0)); /* the second launch is left out */
  expect_calls(0, 0, 0, 1);
  expect(3, 7);
  clear_log();
  assert_ok(run_launches(sequence, 0, 3, 0));
  expect_calls(has, 0, has, 1);
  expect(3, 8);
  assert_ok(run_launches(sequence, 0, 3, n));
  expect(3, 10);
  assert_ok(run_launches(sequence, 0, 3, n));
  expect(3, 12);
  kdl_sequence_destroy(sequence);
}

/* A grid of more groups is set, and what it then covers is computed. */
static void grids_are_set(void **state) {
  (void)state;
  kdl_sequence *sequence;
  write_numbers();
  zero(2);
  assert_ok(make_launches(&sequence));
  assert_ok(run_launches(sequence, 0, 2, n));
  assert_ok(kdl_sync(queue));
  unsigned before = has_lists() ? ask_fake("fake_ze_changed") : 0;
  assert_ok(run_launches(sequence, 0, 2, (uint64_t)2 * n));
  if (has_lists())
    assert_int_equal(ask_fake("fake_ze_changed") - before, is_mutable());
  expect(2, 4);
  kdl_sequence_destroy(sequence);
}

static void copies_and_fills_are_recorded(void **state) {
  (void)state;
  kdl_sequence *sequence;
  bool has = has_lists();
  write_numbers();
  assert_ok(make(&sequence));
  for (int i = 0; i < 2; ++i) {
    assert_ok(run(sequence, 3, 0, 2, 1, 3));
    expect(3, 9);
  }
  assert_string_equal(replay_of(sequence), has ? "commands" : "launches");
  clear_log();
  assert_ok(run(sequence, 3, 0, 2, 1, 3));
  expect_calls(0, 0, has, has ? 0 : 2);
  for (int i = 0; i < 3; ++i) {
    assert_ok(run(sequence, 2, 1, 3, 0, 2));
    expect(2, 6);
  }
  kdl_sequence_destroy(sequence);
}

/* Bound again in each run, without waiting for the queue: two lists alternate as far as the device
 * keeps up, and launches do the remaining work. The last one leaves the expected values. */
static void a_device_that_is_behind_is_not_waited_for(void **state) {
  (void)state;
  kdl_sequence *sequence;
  write_numbers();
  assert_ok(make(&sequence));
  assert_ok(run(sequence, 1, 0, 2, 1, 3));
  clear_log();
  for (int i = 2; i < 12; ++i)
    assert_ok(run(sequence, (float)i, 0, 2, 1, 3));
  assert_int_equal(calls_of("zeEventHostSynchronize"), 0);
  if (is_behind()) /* each list asked for once, and not waited for */
    assert_int_equal(calls_of("zeCommandListHostSynchronize"), is_mutable() ? 2 : 1);
  if (is_mutable())
    assert_int_equal(calls_of("zeCommandListImmediateAppendCommandListsExp"), is_behind() ? 1 : 10);
  expect(3, 33);
  for (int i = 0; i < 4; ++i) { /* now that it has caught up */
    assert_ok(run(sequence, 11, 0, 2, 1, 3));
    expect(3, 33);
  }
  clear_log();
  assert_ok(run(sequence, 11, 0, 2, 1, 3));
  expect_calls(0, 0, has_lists(), has_lists() ? 0 : 2);
  kdl_sequence_destroy(sequence);
}

/* A list runs on one queue at a time. */
static void queues_do_not_undo_each_other(void **state) {
  (void)state;
  enum { others = 12 }; /* more than a sequence has states for */
  kdl_sequence *sequence;
  kdl_queue *first = queue, *more[others];
  write_numbers();
  assert_ok(make(&sequence));
  for (int i = 0; i < others; ++i)
    assert_ok(kdl_queue_create(device, NULL, &more[i]));
  for (int i = 0; i < 2 * others; ++i) {
    queue = first;
    assert_ok(run(sequence, 2, 0, 2, 1, 3));
    expect(3, 6);
    queue = more[i % others];
    assert_ok(run(sequence, 5, 1, 3, 0, 2));
    expect(2, 15);
  }
  for (int i = 0; i < 2 * others; ++i) { /* and without waiting */
    queue = more[i % others];
    assert_ok(run(sequence, 4, 1, 3, 0, 2));
  }
  queue = first;
  for (int i = 0; i < others; ++i)
    kdl_queue_destroy(more[i]);
  assert_ok(run(sequence, 5, 1, 3, 0, 2));
  expect(2, 15);
  kdl_sequence_destroy(sequence);
}

static void *destroy_queue(void *destroyed) {
  kdl_queue_destroy(destroyed);
  return NULL;
}

/* The device may be at work on its lists until it has been waited for, which takes a while here. */
static void a_queue_that_is_being_destroyed_is_not_done(void **state) {
  (void)state;
  enum { others = 8 }; /* as many as a sequence has states for, the last one adopted */
  kdl_sequence *sequence;
  kdl_queue *first = queue, *more[others], *adopted;
  pthread_t thread;
  void *native;
  write_numbers();
  zero(3);
  assert_ok(make_launches(&sequence));
  for (int i = 0; i < others; ++i)
    assert_ok(kdl_queue_create(device, NULL, &more[i]));
  assert_ok(kdl_queue_native(more[others - 1], &native));
  assert_ok(kdl_queue_adopt(device, native, &adopted));
  for (int i = 0; i < others; ++i) {
    queue = i < others - 1 ? more[i] : adopted;
    assert_ok(run_launches(sequence, 0, 2, n));
  }
  inject("zeCommandListHostSynchronize:1:sleep=300");
  assert_int_equal(pthread_create(&thread, NULL, destroy_queue, adopted), 0);
  usleep(100000);
  queue = first;
  assert_ok(run_launches(sequence, 1, 3, n)); /* in the state that was the adopted queue's */
  pthread_join(thread, NULL);
  inject("");
  expect(3, 4);
  for (int i = 0; i < others; ++i)
    kdl_queue_destroy(more[i]);
  kdl_sequence_destroy(sequence);
}

/* More than is set by one call of the driver, of which the first fails: the run is made by launches
 * and the next one is recorded. */
static void many_changes_may_be_refused(void **state) {
  (void)state;
  enum { launches = 100 };
  kdl_sequence *sequence;
  kdl_slot slot;
  const uint32_t count = n;
  write_numbers();
  assert_ok(kdl_sequence_create(device, &sequence));
  assert_ok(kdl_sequence_add_scalar(sequence, "a", sizeof(float), &slot));
  assert_ok(kdl_sequence_add_buffer(sequence, "x", bytes, &slot));
  const kdl_operand args[] = {kdl_operand_slot(1), kdl_operand_slot(2),
                              kdl_operand_buffer(buffers[2]), KDL_VALUE(&count)};
  for (int i = 0; i < launches; ++i)
    assert_ok(
        kdl_sequence_launch_items(sequence, saxpy, kdl_operand_items(kdl_extent1(n)), args, 4));
  assert_ok(kdl_sequence_finish(sequence));
  for (int i = 0; i < 4; ++i) {
    const float a = i ? 2 : 1;
    const kdl_binding bindings[] = {KDL_BIND_SCALAR(1, &a), kdl_bind_buffer(2, buffers[i > 0])};
    if (i == 1)
      inject("zeCommandListUpdateMutableCommandsExp:1:0x70000002");
    zero(2);
    assert_ok(kdl_sequence_run(sequence, queue, bindings, 2));
    expect(2, i ? 4 * launches : launches);
  }
  inject("");
  kdl_sequence_destroy(sequence);
}

/* Memory that was freed since is not used, also where other memory has its address: the fake loses
 * the device. */
static void freed_memory_is_recorded_again(void **state) {
  (void)state;
  kdl_sequence *sequence;
  write_numbers();
  assert_ok(make(&sequence));
  assert_ok(run(sequence, 3, 0, 2, 1, 3));
  for (int i = 0; i < 4; ++i) {
    assert_ok(kdl_sync(queue));
    assert_ok(kdl_free(&buffers[2]));
    assert_ok(kdl_alloc(device, bytes, &buffers[2]));
    assert_ok(run(sequence, 3, 0, 2, 1, 3));
    expect(3, 9);
  }
  kdl_sequence_destroy(sequence);
}

/* Destroyed while it runs, which waits for it; and with its queue gone. */
static void a_sequence_is_destroyed_while_it_runs(void **state) {
  (void)state;
  unsigned alive = ask_fake("fake_alive");
  kdl_queue *first = queue;
  for (int i = 0; i < 2; ++i) {
    kdl_sequence *sequence;
    assert_ok(make(&sequence));
    if (i)
      assert_ok(kdl_queue_create(device, NULL, &queue));
    assert_ok(run(sequence, 3, 0, 2, 1, 3));
    if (i) {
      kdl_queue_destroy(queue);
      queue = first;
    }
    kdl_sequence_destroy(sequence);
  }
  assert_int_equal(ask_fake("fake_alive"), alive);
}

/* What lists have not is replayed by launches: events, and loops. */
static void others_are_launched(void **state) {
  (void)state;
  kdl_sequence *sequence;
  kdl_event *event;
  write_numbers();
  assert_ok(kdl_event_create(device, &event));
  assert_ok(kdl_sequence_create(device, &sequence));
  assert_ok(kdl_sequence_copy(sequence, kdl_operand_buffer(buffers[2]),
                              kdl_operand_buffer(buffers[1]), bytes));
  assert_ok(kdl_sequence_event_record(sequence, event));
  assert_ok(kdl_sequence_finish(sequence));
  for (int i = 0; i < 3; ++i)
    assert_ok(kdl_sequence_run(sequence, queue, NULL, 0));
  assert_ok(kdl_event_sync(event));
  expect(2, 2);
  assert_string_equal(replay_of(sequence), "launches");
  kdl_sequence_destroy(sequence);
  kdl_event_destroy(event);
}

/* Forks are put in a row, and memory of the host is copied where a run finds it. */
static void forks_and_host_copies_are_recorded(void **state) {
  (void)state;
  kdl_sequence *sequence;
  kdl_slot from, to;
  float in[n], out[n] = {0}, other[n] = {0};
  assert_ok(kdl_sequence_create(device, &sequence));
  assert_ok(kdl_sequence_add_host(sequence, "from", bytes, &from));
  assert_ok(kdl_sequence_add_host(sequence, "to", bytes, &to));
  assert_ok(
      kdl_sequence_copy(sequence, kdl_operand_buffer(buffers[0]), kdl_operand_slot(from), bytes));
  assert_ok(kdl_sequence_fork(sequence));
  assert_ok(kdl_sequence_copy(sequence, kdl_operand_buffer(buffers[2]),
                              kdl_operand_buffer(buffers[0]), bytes));
  assert_ok(kdl_sequence_branch(sequence));
  assert_ok(kdl_sequence_copy(sequence, kdl_operand_buffer(buffers[3]),
                              kdl_operand_buffer(buffers[0]), bytes));
  assert_ok(kdl_sequence_join(sequence));
  assert_ok(
      kdl_sequence_copy(sequence, kdl_operand_slot(to), kdl_operand_buffer(buffers[3]), bytes));
  assert_ok(kdl_sequence_finish(sequence));
  for (int i = 0; i < 4; ++i) {
    float *where = i < 2 ? out : other;
    for (int k = 0; k < n; ++k)
      in[k] = (float)(i + k);
    const kdl_binding bindings[] = {kdl_bind_host(from, in, bytes),
                                    kdl_bind_host(to, where, bytes)};
    assert_ok(kdl_sequence_run(sequence, queue, bindings, 2));
    assert_ok(kdl_sync(queue));
    assert_memory_equal(where, in, bytes);
  }
  assert_string_equal(replay_of(sequence), has_lists() ? "commands" : "launches");
  kdl_sequence_destroy(sequence);
}

static void threads_run_it_at_once(void **state) {
  (void)state;
  run_in_threads();
}

/* As far as no barrier failed. */
static void order_was_kept(void **state) {
  (void)state;
  assert_true(is_order_kept());
}

static void each_call_fails_once(void **state) {
  (void)state;
  fail_each_call(KDL_ZE_OUT_OF_HOST_MEMORY, KDL_NO_MEMORY,
                 "ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY (0x70000002)");
}

static void each_call_of_a_file_fails(void **state) {
  (void)state;
  fail_each_call_of_a_file(KDL_ZE_OUT_OF_HOST_MEMORY,
                           "ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY (0x70000002)");
}

static void a_lost_device_is_told(void **state) {
  (void)state;
  kdl_sequence *sequence;
  unsigned alive = ask_fake("fake_alive");
  if (!has_lists())
    return;
  write_numbers();
  assert_ok(make(&sequence));
  assert_ok(run(sequence, 3, 0, 2, 1, 3));
  assert_ok(kdl_sync(queue));
  inject("zeCommandListImmediateAppendCommandListsExp:1+:0x70000001");
  for (int i = 0; i < 3; ++i) {
    assert_int_equal(run(sequence, 3, 0, 2, 1, 3), KDL_DEVICE);
    assert_int_equal(kdl_error_code(), 0x70000001);
    assert_non_null(strstr(kdl_error_message(), "kdl_sequence_run: "));
  }
  inject("");
  assert_ok(run(sequence, 3, 0, 2, 1, 3)); /* a driver that recovers */
  expect(3, 9);
  kdl_sequence_destroy(sequence);
  assert_int_equal(ask_fake("fake_alive"), alive);
}

int main(int argc, char **argv) {
  (void)argc;
  int result;
  if (!run_for_each_driver(argv, &result))
    return result;
  driver = kdl_built_in_level_zero.table;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(launches_are_recorded),
      cmocka_unit_test(grids_are_set),
      cmocka_unit_test(copies_and_fills_are_recorded),
      cmocka_unit_test(a_device_that_is_behind_is_not_waited_for),
      cmocka_unit_test(queues_do_not_undo_each_other),
      cmocka_unit_test(a_queue_that_is_being_destroyed_is_not_done),
      cmocka_unit_test(many_changes_may_be_refused),
      cmocka_unit_test(freed_memory_is_recorded_again),
      cmocka_unit_test(a_sequence_is_destroyed_while_it_runs),
      cmocka_unit_test(others_are_launched),
      cmocka_unit_test(forks_and_host_copies_are_recorded),
      cmocka_unit_test(threads_run_it_at_once),
      cmocka_unit_test(order_was_kept),
      cmocka_unit_test(each_call_fails_once),
      cmocka_unit_test(each_call_of_a_file_fails),
      cmocka_unit_test(a_lost_device_is_told),
  };
  return cmocka_run_group_tests(tests, open_it, close_sequences);
}
