/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Recording and running sequences on the host: what is refused, how it is ordered, what is shared.
 */
#include "launch_support.h"
#include "lib/sequence/sequence.h"

static const host_row rows[] = {{"mark1", 0, NULL, NULL, NULL, NULL}};
static host_library made;
static kdl_queue *queue;

static int open_it(void **state) {
  (void)state;
  made = open_rows(rows, 1);
  assert_ok(kdl_queue_create(the_host(), NULL, &queue));
  return 0;
}

static int close_it(void **state) {
  (void)state;
  kdl_queue_destroy(queue);
  free_rows(&made);
  return 0;
}

static kdl_sequence_info told(const kdl_sequence *sequence) {
  kdl_sequence_info info = {.size = sizeof info};
  assert_ok(kdl_sequence_get(sequence, &info));
  return info;
}

/* ------------------------------------------------------------------------------------------ */
/* Recording                                                                                    */

static void slots_are_numbered_and_checked(void **state) {
  (void)state;
  kdl_sequence *sequence = created_sequence();
  kdl_slot slot = 0;
  assert_ok(kdl_sequence_add_buffer(sequence, "x", 4, &slot));
  assert_int_equal(slot, 1);
  assert_ok(kdl_sequence_add_scalar(sequence, NULL, 4096, &slot));
  assert_int_equal(slot, 2);
  assert_ok(kdl_sequence_add_items(sequence, NULL, &slot));
  assert_int_equal(slot, 3);
  assert_refused(kdl_sequence_add_host(sequence, "x", 4, &slot), KDL_BAD_CALL,
                 "kdl_sequence_add_slot: found a second slot \"x\", expected another name");
  assert_refused(kdl_sequence_add_scalar(sequence, NULL, 4097, &slot), KDL_BAD_CALL,
                 "kdl_sequence_add_slot: found a scalar of 4097 bytes, expected 1 to 4096");
  assert_refused(kdl_sequence_add_scalar(sequence, NULL, 0, &slot), KDL_BAD_CALL,
                 "kdl_sequence_add_slot: found a scalar of 0 bytes, expected 1 to 4096");
  const kdl_slot_desc unknown = {.size = sizeof unknown, .kind = 9};
  assert_refused(kdl_sequence_add_slot(sequence, &unknown, &slot), KDL_BAD_CALL,
                 "kdl_sequence_add_slot: found 9, expected a kdl_slot_kind");
  assert_int_equal(slot, 3);
  assert_int_equal(told(sequence).slot_count, 3);
  assert_null(told(sequence).replay);
  kdl_sequence_destroy(sequence);
}

static void wrong_operands_are_told_when_they_are_recorded(void **state) {
  (void)state;
  kdl_sequence *sequence = created_sequence();
  kdl_kernel *mark = kernel_named(made.lib, "mark");
  uint32_t n = 1;
  uint64_t wide = 1;
  kdl_slot out, items, scalar;
  assert_ok(kdl_sequence_add_buffer(sequence, "out", 4, &out));
  assert_ok(kdl_sequence_add_items(sequence, "items", &items));
  assert_ok(kdl_sequence_add_scalar(sequence, "n", 8, &scalar));
  kdl_operand args[3] = {kdl_operand_slot(out), KDL_VALUE(&n), KDL_VALUE(&n)};
  const kdl_operand one = kdl_operand_items(kdl_extent1(1));
  assert_refused(kdl_sequence_launch_items(sequence, mark, one, args, 3), KDL_BAD_CALL,
                 "kdl_sequence_launch_items: mark: found 3 arguments, expected 2");
  args[1] = KDL_VALUE(&wide);
  assert_refused(kdl_sequence_launch_items(sequence, mark, one, args, 2), KDL_BAD_CALL,
                 "mark: argument 1: found 8 bytes, expected 4");
  args[1] = kdl_operand_slot(scalar);
  assert_refused(kdl_sequence_launch_items(sequence, mark, one, args, 2), KDL_BAD_CALL,
                 "mark: argument 1: found 8 bytes, expected 4");
  args[1] = kdl_operand_slot(items);
  assert_refused(kdl_sequence_launch_items(sequence, mark, one, args, 2), KDL_BAD_CALL,
                 "argument 1: slot 2 (\"items\") is of kind items, expected buffer or scalar");
  args[1] = kdl_operand_slot(7);
  assert_refused(kdl_sequence_launch_items(sequence, mark, one, args, 2), KDL_BAD_CALL,
                 "argument 1: found slot 7, expected one of the sequence's 3");
  args[1] = kdl_operand_host(&n);
  assert_refused(kdl_sequence_launch_items(sequence, mark, one, args, 2), KDL_BAD_CALL,
                 "argument 1: found an operand of kind 4, expected a value, buffer or slot");
  args[1] = KDL_VALUE(&n);
  assert_refused(kdl_sequence_launch_items(sequence, mark, kdl_operand_slot(out), args, 2),
                 KDL_BAD_CALL, "slot 1 (\"out\") is of kind buffer, expected items");
  assert_refused(kdl_sequence_launch_items(sequence, mark,
                                           kdl_operand_items(kdl_extent1(UINT64_MAX)), args, 2),
                 KDL_BAD_CALL, "expected at most 4294967295");
  assert_refused(kdl_sequence_fill(sequence, kdl_operand_slot(out), 6, &n, 4), KDL_BAD_CALL,
                 "kdl_sequence_fill: found a pattern of 4 bytes for 6 bytes at offset 0");
  assert_refused(kdl_sequence_copy(sequence, kdl_operand_host(&n), kdl_operand_host(&n), 4),
                 KDL_BAD_CALL, "found memory of the host on both sides, expected a buffer");
  assert_refused(kdl_sequence_copy(sequence, kdl_operand_slot(items), kdl_operand_host(&n), 4),
                 KDL_BAD_CALL, "to: slot 2 (\"items\") is of kind items, expected buffer or host");
  assert_refused(kdl_sequence_copy(sequence, kdl_operand_slot_offset(out, UINT64_MAX),
                                   kdl_operand_host(&n), 4),
                 KDL_BAD_CALL, "which is too much");
  assert_int_equal(told(sequence).node_count, 0);
  assert_refused(kdl_sequence_join(sequence), KDL_BAD_CALL, "found no fork that is open");
  assert_ok(kdl_sequence_fork(sequence));
  assert_refused(kdl_sequence_finish(sequence), KDL_BAD_CALL,
                 "kdl_sequence_finish: found 1 forks that are not joined");
  assert_ok(kdl_sequence_join(sequence));
  assert_refused(kdl_sequence_run(sequence, queue, NULL, 0), KDL_BAD_CALL, "is not finished");
  assert_ok(kdl_sequence_finish(sequence));
  assert_refused(kdl_sequence_fork(sequence), KDL_BAD_CALL,
                 "kdl_sequence_fork: found a sequence that is finished");
  kdl_sequence_destroy(sequence);
}

static void forks_nest_to_a_limit(void **state) {
  (void)state;
  kdl_sequence *sequence = created_sequence();
  for (int i = 0; i < 64; ++i)
    assert_ok(kdl_sequence_fork(sequence));
  assert_refused(kdl_sequence_fork(sequence), KDL_BAD_CALL, "found forks more than 64 deep");
  kdl_sequence_destroy(sequence); /* with forks open */
}

/* ------------------------------------------------------------------------------------------ */
/* Order                                                                                        */

/* Records that `out` gets `n` marks. */
static void record_mark(kdl_sequence *sequence, uint32_t *out, uint32_t n) {
  kdl_buffer buffer = kdl_buffer_adopt(the_host(), (uint64_t)(uintptr_t)out, n * sizeof *out);
  const kdl_operand args[] = {kdl_operand_buffer(buffer), KDL_VALUE(&n)};
  assert_ok(kdl_sequence_launch_items(sequence, kernel_named(made.lib, "mark"),
                                      kdl_operand_items(kdl_extent1(n)), args, 2));
}

/* Launches that were recorded alike are not, once one of them is bound to other items. */
static void a_launch_alone_has_its_items(void **state) {
  (void)state;
  static const uint64_t items[] = {4, 9, 4, 1, 0, 4};
  enum { launches = 3, most = 16, runs = sizeof items / sizeof *items };
  uint32_t counts[launches][most] = {{0}}, expected[most] = {0};
  kdl_sequence *sequence = created_sequence();
  kdl_slot slot;
  assert_ok(kdl_sequence_add_items(sequence, "items", &slot));
  for (int i = 0; i < launches; ++i) {
    kdl_buffer out = kdl_buffer_adopt(the_host(), (uint64_t)(uintptr_t)counts[i], sizeof counts[i]);
    const kdl_operand arg = kdl_operand_buffer(out);
    assert_ok(kdl_sequence_launch_items(
        sequence, kernel_named(made.lib, "count"),
        i == 1 ? kdl_operand_slot(slot) : kdl_operand_items(kdl_extent1(4)), &arg, 1));
  }
  assert_ok(kdl_sequence_finish(sequence));
  for (uint32_t run = 0; run < runs; ++run) {
    const kdl_binding binding = kdl_bind_items(slot, kdl_extent1(items[run]));
    assert_ok(kdl_sequence_run(sequence, queue, &binding, 1));
    for (uint32_t i = 0; i < most; ++i) {
      expected[i] += i < items[run];
      assert_int_equal(counts[0][i], i < 4 ? run + 1 : 0);
      assert_int_equal(counts[1][i], expected[i]);
      assert_int_equal(counts[2][i], i < 4 ? run + 1 : 0);
    }
  }
  kdl_sequence_destroy(sequence);
}

static void marks_say_what_waits_for_what(void **state) {
  (void)state;
  uint32_t out[4];
  kdl_sequence *sequence = created_sequence();
  record_mark(sequence, out, 4); /* 0 */
  assert_ok(kdl_sequence_fork(sequence));
  record_mark(sequence, out, 4); /* 1 */
  record_mark(sequence, out, 4); /* 2 */
  assert_ok(kdl_sequence_branch(sequence));
  assert_ok(kdl_sequence_branch(sequence)); /* one in which nothing is */
  record_mark(sequence, out, 4);            /* 3 */
  assert_ok(kdl_sequence_join(sequence));   /* 4 */
  record_mark(sequence, out, 4);            /* 5 */
  const kdl_recording *recording = &sequence->recording;
  assert_int_equal(recording->node_count, 6);
  static const uint32_t after[] = {KDL_NO_NODE, 0, 1, 0, KDL_NO_NODE, 4};
  for (size_t i = 0; i < 6; ++i)
    assert_int_equal(recording->nodes[i].after, after[i]);
  assert_int_equal(recording->nodes[4].kind, KDL_NODE_JOIN);
  assert_int_equal(recording->nodes[4].of.join.joined_count, 2);
  assert_int_equal(recording->nodes[4].of.join.joined[0], 2);
  assert_int_equal(recording->nodes[4].of.join.joined[1], 3);
  kdl_sequence_destroy(sequence);
}

/* Independent launches of several sizes, more groups than threads, as one step. */
static void independent_launches_run_all_their_groups(void **state) {
  (void)state;
  enum { branches = 9, most = 40000 };
  static uint32_t out[branches][most];
  kdl_sequence *sequence = created_sequence();
  assert_ok(kdl_sequence_fork(sequence));
  for (uint32_t i = 0; i < branches; ++i) {
    if (i)
      assert_ok(kdl_sequence_branch(sequence));
    record_mark(sequence, out[i], 1 + i * i * 600);
  }
  assert_ok(kdl_sequence_join(sequence));
  assert_ok(kdl_sequence_finish(sequence));
  assert_string_equal(told(sequence).replay, "list");
  for (int pass = 0; pass < 300; ++pass) {
    memset(out, 0xff, sizeof out);
    assert_ok(kdl_sequence_run(sequence, queue, NULL, 0));
    for (uint32_t i = 0; i < branches; ++i) {
      uint32_t n = 1 + i * i * 600;
      assert_int_equal(out[i][0] % 1000000, 0);
      assert_int_equal(out[i][n - 1] % 1000000, n - 1);
      assert_int_equal(out[i][n / 2] % 1000000, n / 2);
      assert_int_equal(out[i][n], UINT32_MAX);
    }
  }
  kdl_sequence_destroy(sequence);
}

/* ------------------------------------------------------------------------------------------ */
/* Slots                                                                                        */

static void launches_share_what_is_bound(void **state) {
  (void)state;
  enum { count = 100 };
  kdl_sequence *sequence = created_sequence();
  kdl_slot out, number;
  assert_ok(kdl_sequence_add_buffer(sequence, "out", 0, &out));
  assert_ok(kdl_sequence_add_scalar(sequence, "n", 4, &number));
  for (uint64_t i = 0; i < count; ++i) {
    const kdl_operand args[] = {kdl_operand_slot_offset(out, i % 4 * 64), kdl_operand_slot(number)};
    assert_ok(kdl_sequence_launch_items(sequence, kernel_named(made.lib, "mark"),
                                        kdl_operand_items(kdl_extent1(8)), args, 2));
  }
  assert_ok(kdl_sequence_finish(sequence));
  assert_int_equal(sequence->plan.cell_count, 5); /* four places and a number */
  uint32_t memory[64];
  memset(memory, 0xff, sizeof memory);
  uint32_t n = 8;
  kdl_buffer buffer = kdl_buffer_adopt(the_host(), (uint64_t)(uintptr_t)memory, 3 * 64);
  kdl_binding bindings[] = {kdl_bind_buffer(out, buffer), KDL_BIND_SCALAR(number, &n)};
  assert_refused(kdl_sequence_run(sequence, queue, bindings, 2), KDL_BAD_CALL,
                 "slot 1 (\"out\"): found 192 bytes, expected at least 193");
  assert_int_equal(memory[0], UINT32_MAX);
  bindings[0].to.buffer.size = sizeof memory;
  assert_ok(kdl_sequence_run(sequence, queue, bindings, 2));
  for (uint32_t i = 0; i < 64; ++i)
    assert_int_equal(memory[i] == UINT32_MAX, i % 16 >= 8);
  kdl_sequence_destroy(sequence);
}

static void slots_that_nothing_uses_are_bound_all_the_same(void **state) {
  (void)state;
  enum { count = 40 };
  kdl_sequence *sequence = created_sequence();
  kdl_binding bindings[count];
  uint32_t n = 3;
  for (uint32_t i = 0; i < count; ++i) {
    kdl_slot slot;
    assert_ok(kdl_sequence_add_scalar(sequence, NULL, 4, &slot));
    bindings[count - 1 - i] = KDL_BIND_SCALAR(slot, &n); /* not in their order */
  }
  assert_ok(kdl_sequence_finish(sequence));
  assert_ok(kdl_sequence_run(sequence, NULL, bindings, count));
  assert_refused(kdl_sequence_run(sequence, NULL, bindings, count - 1), KDL_BAD_CALL,
                 "kdl_sequence_run: slot 1 is not bound");
  kdl_sequence_destroy(sequence);
}

static void nesting_is_checked_and_adds_offsets(void **state) {
  (void)state;
  kdl_sequence *inner = created_sequence(), *outer = created_sequence();
  kdl_slot to, whole;
  const uint32_t word = 0x01010101;
  uint32_t memory[8] = {0};
  assert_ok(kdl_sequence_add_buffer(inner, "to", 0, &to));
  assert_ok(kdl_sequence_fill(inner, kdl_operand_slot_offset(to, 4), 4, &word, 4));
  assert_ok(kdl_sequence_add_buffer(outer, "whole", 0, &whole));
  kdl_operand operand = kdl_operand_slot_offset(whole, 8);
  assert_refused(kdl_sequence_nest(outer, inner, &operand, 1), KDL_BAD_CALL, "is not finished");
  assert_ok(kdl_sequence_finish(inner));
  assert_refused(kdl_sequence_nest(outer, inner, NULL, 0), KDL_BAD_CALL,
                 "kdl_sequence_nest: found 0 operands, expected one for each of 1 slots");
  operand = KDL_VALUE(&word);
  assert_refused(
      kdl_sequence_nest(outer, inner, &operand, 1), KDL_BAD_CALL,
      "kdl_sequence_nest: for slot 1 (\"to\"): found an operand of kind 1, expected 2 or a "
      "slot");
  operand = kdl_operand_slot_offset(whole, 2);
  assert_refused(kdl_sequence_nest(outer, inner, &operand, 1), KDL_BAD_CALL,
                 "found a fill at offset 6, expected a multiple of its pattern's 4 bytes");
  operand = kdl_operand_slot_offset(whole, 8);
  assert_ok(kdl_sequence_nest(outer, inner, &operand, 1));
  assert_int_equal(told(outer).node_count, 1);
  kdl_sequence_destroy(inner);
  assert_ok(kdl_sequence_finish(outer));
  kdl_buffer buffer = kdl_buffer_adopt(the_host(), (uint64_t)(uintptr_t)memory, 15);
  kdl_binding binding = kdl_bind_buffer(whole, buffer);
  assert_refused(kdl_sequence_run(outer, NULL, &binding, 1), KDL_BAD_CALL,
                 "slot 1 (\"whole\"): found 15 bytes, expected at least 16");
  binding.to.buffer.size = 16;
  assert_ok(kdl_sequence_run(outer, NULL, &binding, 1));
  for (int i = 0; i < 8; ++i)
    assert_int_equal(memory[i], i == 3 ? word : 0);
  kdl_sequence_destroy(outer);
}

/* What cannot be nested leaves the outer sequence as it was, also what its slots need. */
static void a_refused_nesting_changes_nothing(void **state) {
  (void)state;
  kdl_sequence *inner = created_sequence(), *outer = created_sequence();
  kdl_slot to, go, whole, flag;
  const uint32_t word = 0;
  uint32_t memory[8] = {1, 1};
  assert_ok(kdl_sequence_add_buffer(inner, "to", 0, &to));
  assert_ok(kdl_sequence_add_buffer(inner, "go", 0, &go));
  assert_ok(kdl_sequence_fill(inner, kdl_operand_slot_offset(to, 4096), 4, &word, 4));
  assert_ok(kdl_sequence_while(inner, kdl_operand_slot(go)));
  assert_ok(kdl_sequence_fill(inner, kdl_operand_slot(go), 4, &word, 4));
  assert_ok(kdl_sequence_end_while(inner));
  assert_ok(kdl_sequence_finish(inner));
  assert_ok(kdl_sequence_add_buffer(outer, "whole", 0, &whole));
  assert_ok(kdl_sequence_add_buffer(outer, "flag", 0, &flag));
  const kdl_operand unaligned[] = {kdl_operand_slot(whole), kdl_operand_slot_offset(flag, 2)};
  assert_refused(kdl_sequence_nest(outer, inner, unaligned, 2), KDL_BAD_CALL,
                 "kdl_sequence_nest: found a condition at offset 2, expected a multiple of 4");
  assert_int_equal(told(outer).node_count, 0);
  assert_ok(kdl_sequence_fill(outer, kdl_operand_slot(whole), 4, &word, 4));
  assert_ok(kdl_sequence_fill(outer, kdl_operand_slot(flag), 4, &word, 4));
  assert_ok(kdl_sequence_finish(outer));
  kdl_buffer buffer = kdl_buffer_adopt(the_host(), (uint64_t)(uintptr_t)memory, 4);
  kdl_binding bindings[] = {kdl_bind_buffer(whole, buffer), kdl_bind_buffer(flag, buffer)};
  assert_ok(kdl_sequence_run(outer, NULL, bindings, 2));
  assert_int_equal(memory[0], 0);
  assert_int_equal(memory[1], 1);
  kdl_sequence_destroy(inner);
  kdl_sequence_destroy(outer);
}

/* A state stays with its queue, and a repeated run changes nothing. */
static void what_is_bound_again_is_not_written_again(void **state) {
  (void)state;
  kdl_sequence *sequence = created_sequence();
  kdl_slot items;
  uint32_t out[200];
  kdl_buffer buffer = kdl_buffer_adopt(the_host(), (uint64_t)(uintptr_t)out, sizeof out);
  const uint32_t n = 200;
  assert_ok(kdl_sequence_add_items(sequence, "items", &items));
  const kdl_operand args[] = {kdl_operand_buffer(buffer), KDL_VALUE(&n)};
  assert_ok(kdl_sequence_launch_items(sequence, kernel_named(made.lib, "mark"),
                                      kdl_operand_slot(items), args, 2));
  assert_ok(kdl_sequence_finish(sequence));
  kdl_binding binding = kdl_bind_items(items, kdl_extent1(100));
  static const size_t expected[] = {1, 0, 1, 0};
  for (int i = 0; i < 4; ++i) {
    binding.to.items.x = i < 2 ? 100 : 200;
    assert_ok(kdl_sequence_run(sequence, queue, &binding, 1));
    assert_int_equal(atomic_load(&sequence->cached_state)->changed_count, expected[i]);
  }
  binding.to.items.x = UINT64_MAX;
  assert_refused(kdl_sequence_run(sequence, queue, &binding, 1), KDL_BAD_CALL,
                 "kdl_sequence_run: slot 1 (\"items\"): mark: 18446744073709551615 work-items");
  binding.to.items.x = 200;
  memset(out, 0, sizeof out);
  assert_ok(kdl_sequence_run(sequence, queue, &binding, 1));
  assert_int_equal(out[199] % 1000000, 199);
  kdl_sequence_destroy(sequence);
}

/* The kernels' library may be closed. */
static void a_sequence_keeps_its_library(void **state) {
  (void)state;
  host_library other = open_rows(rows, 1);
  uint32_t out[4] = {0}, n = 4;
  kdl_buffer buffer = kdl_buffer_adopt(the_host(), (uint64_t)(uintptr_t)out, sizeof out);
  const kdl_operand args[] = {kdl_operand_buffer(buffer), KDL_VALUE(&n)};
  kdl_sequence *sequence = created_sequence();
  assert_ok(kdl_sequence_launch_items(sequence, kernel_named(other.lib, "mark"),
                                      kdl_operand_items(kdl_extent1(4)), args, 2));
  kdl_close(other.lib);
  other.lib = NULL;
  assert_ok(kdl_sequence_finish(sequence));
  assert_ok(kdl_sequence_run(sequence, NULL, NULL, 0));
  assert_int_equal(out[3] % 1000000, 3);
  kdl_sequence_destroy(sequence);
  free_rows(&other);
}

/* ------------------------------------------------------------------------------------------ */
/* Threads                                                                                      */

enum { thread_count = 16, turns = 200, length = 64 };

typedef struct {
  kdl_sequence *sequence;
  uint32_t number;
} runner;

/* A run that is captured is held to what any run is. */
static void a_captured_run_is_checked(void **state) {
  (void)state;
  kdl_sequence *inner = created_sequence(), *outer;
  kdl_queue *own;
  kdl_buffer memory;
  kdl_slot slot;
  char host[64] = {0};
  assert_ok(kdl_alloc(the_host(), sizeof host, &memory));
  assert_ok(kdl_device_queue(the_host(), &own));
  assert_ok(kdl_sequence_add_host(inner, "host", 0, &slot));
  assert_ok(kdl_sequence_copy(inner, kdl_operand_slot(slot), kdl_operand_buffer(memory),
                              (uint64_t)sizeof host));
  assert_ok(kdl_sequence_finish(inner));
  kdl_binding binding = kdl_bind_host(slot, host, sizeof host - 1);
  assert_refused(kdl_sequence_run(inner, own, &binding, 1), KDL_BAD_CALL,
                 "found 63 bytes, expected at least 64");
  assert_ok(kdl_capture_begin(own));
  assert_refused(kdl_sequence_run(inner, own, &binding, 1), KDL_BAD_CALL,
                 "found 63 bytes, expected at least 64");
  binding = kdl_bind_host(slot, host, sizeof host);
  assert_ok(kdl_sequence_run(inner, own, &binding, 1));
  assert_ok(kdl_capture_end(own, &outer));
  assert_int_equal(told(outer).node_count, 1);
  kdl_sequence_destroy(outer);
  kdl_sequence_destroy(inner);
  assert_ok(kdl_free(&memory));
}

static void *run_often(void *user) {
  const runner *self = user;
  uint32_t out[length];
  kdl_buffer buffer = kdl_buffer_adopt(the_host(), (uint64_t)(uintptr_t)out, sizeof out);
  for (uint32_t i = 0; i < turns; ++i) {
    uint32_t n = 1 + (self->number * 7 + i) % (length - 1);
    const kdl_binding bindings[] = {kdl_bind_buffer(1, buffer), KDL_BIND_SCALAR(2, &n),
                                    kdl_bind_items(3, kdl_extent1(n))};
    memset(out, 0xff, sizeof out);
    assert_ok(kdl_sequence_run(self->sequence, NULL, bindings, 3));
    assert_int_equal(out[n - 1] % 1000000, n - 1);
    assert_int_equal(out[n], UINT32_MAX);
  }
  return NULL;
}

static void threads_run_it_at_once(void **state) {
  (void)state;
  pthread_t threads[thread_count];
  runner runners[thread_count];
  kdl_sequence *sequence = created_sequence();
  kdl_slot slot;
  assert_ok(kdl_sequence_add_buffer(sequence, "out", 0, &slot));
  assert_ok(kdl_sequence_add_scalar(sequence, "n", 4, &slot));
  assert_ok(kdl_sequence_add_items(sequence, "items", &slot));
  const kdl_operand args[] = {kdl_operand_slot(1), kdl_operand_slot(2)};
  for (int i = 0; i < 5; ++i)
    assert_ok(kdl_sequence_launch_items(sequence, kernel_named(made.lib, "mark"),
                                        kdl_operand_slot(3), args, 2));
  assert_ok(kdl_sequence_finish(sequence));
  for (uint32_t i = 0; i < thread_count; ++i) {
    runners[i] = (runner){sequence, i};
    assert_int_equal(pthread_create(&threads[i], NULL, run_often, &runners[i]), 0);
  }
  for (int i = 0; i < thread_count; ++i)
    pthread_join(threads[i], NULL);
  assert_true(sequence->state_count <= thread_count);
  kdl_sequence_destroy(sequence);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(slots_are_numbered_and_checked),
      cmocka_unit_test(wrong_operands_are_told_when_they_are_recorded),
      cmocka_unit_test(forks_nest_to_a_limit),
      cmocka_unit_test(a_launch_alone_has_its_items),
      cmocka_unit_test(marks_say_what_waits_for_what),
      cmocka_unit_test(independent_launches_run_all_their_groups),
      cmocka_unit_test(launches_share_what_is_bound),
      cmocka_unit_test(slots_that_nothing_uses_are_bound_all_the_same),
      cmocka_unit_test(nesting_is_checked_and_adds_offsets),
      cmocka_unit_test(a_refused_nesting_changes_nothing),
      cmocka_unit_test(what_is_bound_again_is_not_written_again),
      cmocka_unit_test(a_sequence_keeps_its_library),
      cmocka_unit_test(a_captured_run_is_checked),
      cmocka_unit_test(threads_run_it_at_once),
  };
  return cmocka_run_group_tests(tests, open_it, close_it);
}
