/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Sequences on the fake CUDA driver, through the whole library: what a run sets, and what becomes
 * of calls that fail. */
#include "cuda_support.h"
#include "sequence_support.h"

static int open_it(void **state) {
  (void)state;
  open_sequences("cuda", "nvptx64-nvidia-cuda", "sm_80", KDL_IMAGE_PTX, KDL_OFFLOAD_CUDA, good_ptx,
                 strlen(good_ptx));
  return 0;
}

static unsigned nodes_set_by(kdl_sequence *sequence, float a, int x, int y, int z, int copy) {
  unsigned before = ask_fake("fake_cuda_nodes_set");
  assert_ok(run(sequence, a, x, y, z, copy));
  return ask_fake("fake_cuda_nodes_set") - before;
}

/* Nothing where bindings repeat, and else the nodes that use what is bound anew. */
static void what_changed_is_set(void **state) {
  (void)state;
  kdl_sequence *sequence;
  kdl_sequence_info info = {.size = sizeof info};
  assert_ok(make(&sequence));
  write_numbers();
  assert_ok(run(sequence, 3, 0, 2, 1, 3));
  expect(3, 9);
  assert_ok(kdl_sequence_get(sequence, &info));
  assert_string_equal(info.replay, is_old() ? "launches" : "graph");
  if (!is_old()) {
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
static void queues_do_not_undo_each_other(void **state) {
  (void)state;
  kdl_sequence *sequence;
  kdl_queue *first = queue, *second;
  if (is_old())
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

static void threads_run_it_at_once(void **state) {
  (void)state;
  run_in_threads();
}

static void each_call_fails_once(void **state) {
  (void)state;
  fail_each_call(2, KDL_NO_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY (2)");
  assert_int_equal(ask_fake("fake_cuda_depth"), 0);
}

/* Twice: the number is copied from one that the first pass clears. */
static kdl_status make_loop(kdl_sequence **out_sequence) {
  kdl_slot slot;
  const uint32_t zero = 0, word = 5;
  kdl_sequence *sequence;
  kdl_status status = kdl_sequence_create(device, &sequence);
  if (status != KDL_OK)
    return status;
  status = kdl_sequence_buffer(sequence, "number", 8, &slot);
  if (status == KDL_OK)
    status = kdl_sequence_while(sequence, kdl_at_slot(slot));
  if (status == KDL_OK)
    status = kdl_sequence_copy(sequence, kdl_at_slot(slot), kdl_at_slot_offset(slot, 4), 4);
  if (status == KDL_OK)
    status = kdl_sequence_fill(sequence, kdl_at_slot_offset(slot, 4), 4, &zero, sizeof zero);
  if (status == KDL_OK)
    status = kdl_sequence_end_while(sequence);
  if (status == KDL_OK)
    status = kdl_sequence_fill(sequence, kdl_at_slot_offset(slot, 4), 4, &word, sizeof word);
  if (status == KDL_OK)
    status = kdl_sequence_finish(sequence);
  if (status == KDL_OK)
    *out_sequence = sequence;
  else
    kdl_sequence_destroy(sequence);
  return status;
}

static void each_call_of_a_loop_fails_once(void **state) {
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
    snprintf(rule, sizeof rule, "*:%u:%d", i, i % 2 ? 2 : 719);
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
    assert_int_equal(ask_fake("fake_cuda_depth"), 0);
    if (!faults)
      return;
  }
  fail_msg("more calls than %d", most);
}

/* The device is lost in a replay: each further run says so, and nothing is left behind. */
static void a_lost_device_is_told(void **state) {
  (void)state;
  kdl_sequence *sequence;
  unsigned alive = ask_fake("fake_alive");
  assert_ok(make(&sequence));
  assert_ok(run(sequence, 3, 0, 2, 1, 3));
  inject(is_old() ? "cuLaunchKernel:1+:719" : "cuGraphLaunch:1+:719");
  for (int i = 0; i < 3; ++i) {
    assert_int_equal(run(sequence, 3, 0, 2, 1, 3), KDL_DEVICE);
    assert_int_equal(kdl_error_code(), 719);
    assert_non_null(strstr(kdl_error_message(), "kdl_sequence_run: "));
  }
  inject("");
  assert_ok(run(sequence, 3, 0, 2, 1, 3)); /* a driver that recovers */
  kdl_sequence_destroy(sequence);
  assert_int_equal(ask_fake("fake_alive"), alive);
}

int main(int argc, char **argv) {
  (void)argc;
  int result;
  if (!run_for_each_driver(argv, &result))
    return result;
  driver = kdl_built_in_cuda.table;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_changed_is_set),
      cmocka_unit_test(queues_do_not_undo_each_other),
      cmocka_unit_test(threads_run_it_at_once),
      cmocka_unit_test(each_call_fails_once),
      cmocka_unit_test(each_call_of_a_loop_fails_once),
      cmocka_unit_test(a_lost_device_is_told),
  };
  return cmocka_run_group_tests(tests, open_it, close_sequences);
}
