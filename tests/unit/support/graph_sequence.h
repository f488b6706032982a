/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Sequences as graphs of a driver, through the public API: what a run updates, and calls that fail.
 * The file that includes this, after the header of its driver, defines
 *
 *     GRAPH_PREFIX        "cu", the prefix of its graph functions
 *     GRAPH_PLAIN_LAUNCH  the launch function without graphs
 *     GRAPH_NO_MEMORY     error 2 in messages
 *     GRAPH_LOST          the error of a lost device
 *     graph_is_there      whether the driver has graphs
 *     graph_nodes_set     how many nodes of instances were updated
 *     graph_check         fails if the driver's own state changed */
#ifndef KDL_TESTS_UNIT_GRAPH_SEQUENCE_H
#define KDL_TESTS_UNIT_GRAPH_SEQUENCE_H

#include "sequence_support.h"

static bool graph_is_there(void);
static unsigned graph_nodes_set(void);
static void graph_check(void);

static inline unsigned nodes_set_by(kdl_sequence *sequence, float a, int x, int y, int z,
                                    int copy) {
  unsigned before = graph_nodes_set();
  assert_ok(run(sequence, a, x, y, z, copy));
  return graph_nodes_set() - before;
}

/* Nothing if bindings repeat, else the nodes that use a changed binding. */
static inline void what_changed_is_set(void **state) {
  (void)state;
  kdl_sequence *sequence;
  kdl_sequence_info info = {.size = sizeof info};
  assert_ok(make(&sequence));
  write_numbers();
  assert_ok(run(sequence, 3, 0, 2, 1, 3));
  expect(3, 9);
  assert_ok(kdl_sequence_get(sequence, &info));
  assert_string_equal(info.replay, graph_is_there() ? "graph" : "launches");
  if (graph_is_there()) {
    assert_int_equal(nodes_set_by(sequence, 3, 0, 2, 1, 3), 0);
    assert_int_equal(nodes_set_by(sequence, 2, 0, 2, 1, 3), 2); /* both launches */
    expect(3, 6);
    assert_int_equal(nodes_set_by(sequence, 2, 1, 2, 1, 3), 1);
    expect(3, 8);
    assert_int_equal(nodes_set_by(sequence, 2, 1, 3, 1, 2), 4); /* y is everywhere */
    expect(2, 8);
    assert_int_equal(nodes_set_by(sequence, 2, 1, 3, 1, 2), 0);
  }
  kdl_sequence_destroy(sequence);
}

/* A queue has its own graph, which keeps what it was bound to. */
static inline void queues_do_not_undo_each_other(void **state) {
  (void)state;
  kdl_sequence *sequence;
  kdl_queue *first = queue, *second;
  if (!graph_is_there())
    return;
  assert_ok(make(&sequence));
  assert_ok(kdl_queue_create(device, NULL, &second));
  for (int i = 0; i < 3; ++i) {
    queue = first;
    unsigned sets = nodes_set_by(sequence, 2, 0, 2, 1, 3);
    queue = second;
    sets += nodes_set_by(sequence, 5, 1, 3, 0, 2);
    assert_int_equal(sets, 0); /* the first run of each makes its graph as it is bound */
  }
  queue = first;
  kdl_queue_destroy(second);
  kdl_sequence_destroy(sequence);
}

static inline void threads_run_it_at_once(void **state) {
  (void)state;
  run_in_threads();
}

static inline void each_call_fails_once(void **state) {
  (void)state;
  fail_each_call(2, KDL_NO_MEMORY, GRAPH_NO_MEMORY);
  graph_check();
}

static inline void each_call_of_a_file_fails(void **state) {
  (void)state;
  fail_each_call_of_a_file(2, GRAPH_NO_MEMORY);
  graph_check();
}

/* Twice: the number is copied from one that the first pass clears. */
static inline kdl_status make_loop(kdl_sequence **out_sequence) {
  kdl_slot slot;
  const uint32_t zero = 0, word = 5;
  kdl_sequence *sequence;
  kdl_status status = kdl_sequence_create(device, &sequence);
  if (status != KDL_OK)
    return status;
  status = kdl_sequence_add_buffer(sequence, "number", 8, &slot);
  if (status == KDL_OK)
    status = kdl_sequence_while(sequence, kdl_operand_slot(slot));
  if (status == KDL_OK)
    status =
        kdl_sequence_copy(sequence, kdl_operand_slot(slot), kdl_operand_slot_offset(slot, 4), 4);
  if (status == KDL_OK)
    status = kdl_sequence_fill(sequence, kdl_operand_slot_offset(slot, 4), 4, &zero, sizeof zero);
  if (status == KDL_OK)
    status = kdl_sequence_end_while(sequence);
  if (status == KDL_OK)
    status = kdl_sequence_fill(sequence, kdl_operand_slot_offset(slot, 4), 4, &word, sizeof word);
  if (status == KDL_OK)
    status = kdl_sequence_finish(sequence);
  if (status == KDL_OK)
    *out_sequence = sequence;
  else
    kdl_sequence_destroy(sequence);
  return status;
}

static inline void each_call_of_a_loop_fails_once(void **state) {
  (void)state;
  enum { most = 400 };
  unsigned alive = ask_fake("fake_alive");
  const uint32_t ones[2] = {1, 1};
  uint32_t host[2];
  for (unsigned i = 1; i < most; ++i) {
    kdl_sequence *sequence = NULL;
    const kdl_binding bindings[] = {kdl_bind_buffer(1, buffers[0]), kdl_bind_buffer(1, buffers[1])};
    char rule[32];
    for (int k = 0; k < 2; ++k)
      assert_ok(kdl_write(queue, &buffers[k], 0, ones, sizeof ones));
    snprintf(rule, sizeof rule, "*:%u:%d", i, i % 2 ? 2 : GRAPH_LOST);
    inject(rule);
    kdl_status status = make_loop(&sequence);
    for (int k = 0; k < 2 && status == KDL_OK; ++k)
      status = kdl_sequence_run(sequence, queue, &bindings[k], 1);
    unsigned faults = ask_fake("fake_faults");
    inject("");
    if (sequence) {
      assert_ok(kdl_write(queue, &buffers[1], 0, ones, sizeof ones));
      assert_ok(kdl_sequence_run(sequence, queue, &bindings[1], 1));
      assert_ok(kdl_read(queue, host, &buffers[1], 0, sizeof host));
      assert_ok(kdl_sync(queue));
      assert_int_equal(host[0], 0);
      assert_int_equal(host[1], 5);
    }
    kdl_sequence_destroy(sequence);
    if (ask_fake("fake_alive") != alive)
      fail_msg("call %u left something behind", i);
    graph_check();
    if (!faults)
      return;
  }
  fail_msg("more calls than %d", most);
}

/* The device is lost in a replay: each further run reports that, and nothing leaks. */
static inline void a_lost_device_is_told(void **state) {
  (void)state;
  kdl_sequence *sequence;
  unsigned alive = ask_fake("fake_alive");
  assert_ok(make(&sequence));
  assert_ok(run(sequence, 3, 0, 2, 1, 3));
  char rule[64];
  snprintf(rule, sizeof rule, "%s:1+:%d",
           graph_is_there() ? GRAPH_PREFIX "GraphLaunch" : GRAPH_PLAIN_LAUNCH, GRAPH_LOST);
  inject(rule);
  for (int i = 0; i < 3; ++i) {
    assert_int_equal(run(sequence, 3, 0, 2, 1, 3), KDL_DEVICE);
    assert_int_equal(kdl_error_code(), GRAPH_LOST);
    assert_non_null(strstr(kdl_error_message(), "kdl_sequence_run: "));
  }
  inject("");
  assert_ok(run(sequence, 3, 0, 2, 1, 3)); /* a driver that recovers */
  kdl_sequence_destroy(sequence);
  assert_int_equal(ask_fake("fake_alive"), alive);
}

/* A launch over no items is disabled, and enabled again; a grid of more groups is set. */
static inline void launches_are_left_out(void **state) {
  (void)state;
  kdl_sequence *sequence;
  const float nothing = 0;
  write_numbers();
  assert_ok(kdl_fill(queue, &buffers[2], 0, bytes, &nothing, sizeof nothing));
  assert_ok(make_launches(&sequence));
  assert_ok(run_launches(sequence, 0, 2, n));
  expect(2, 2);
  assert_ok(run_launches(sequence, 0, 2, 0));
  expect(2, 3);
  assert_ok(run_launches(sequence, 0, 2, (uint64_t)3 * n));
  expect(2, 5);
  assert_ok(run_launches(sequence, 1, 2, 0));
  expect(2, 7);
  kdl_sequence_destroy(sequence);
}

#define GRAPH_TESTS                                                                                \
  cmocka_unit_test(what_changed_is_set), cmocka_unit_test(launches_are_left_out),                  \
      cmocka_unit_test(queues_do_not_undo_each_other), cmocka_unit_test(threads_run_it_at_once),   \
      cmocka_unit_test(each_call_fails_once), cmocka_unit_test(each_call_of_a_file_fails),         \
      cmocka_unit_test(each_call_of_a_loop_fails_once), cmocka_unit_test(a_lost_device_is_told)

#endif
