/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Sequences with many launches and slots, many of them, deep ones, and ones that run often. */
#include "launch_support.h"

#include <sys/resource.h>

static const host_row rows[] = {{"mark1", 0, NULL, NULL, NULL, NULL}};
/* What `mark` writes to the first word of a launch. */
enum { first_mark = 1000000 };

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

static kdl_buffer whole(uint32_t *words, size_t count) {
  return (kdl_buffer){
      .address = (uintptr_t)words, .size = count * sizeof *words, .device = the_host()};
}

/* A launch that marks one word of a slot. */
static void record(kdl_sequence *sequence, kdl_slot slot, uint64_t word) {
  static const uint32_t one = 1;
  const kdl_operand args[] = {kdl_operand_slot_offset(slot, word * sizeof one), KDL_VALUE(&one)};
  assert_ok(kdl_sequence_launch_items(sequence, kernel_named(made.lib, "mark"),
                                      kdl_operand_items(kdl_extent1(1)), args, 2));
}

static void assert_marked(const uint32_t *words, size_t count, bool is_marked) {
  for (size_t i = 0; i < count; ++i)
    assert_int_equal(words[i], is_marked ? first_mark : 0);
}

/* Ten thousand launches over a thousand slots, which are bound to one half of memory and to the
 * other, in order and backwards. */
static void many_launches_and_slots_run(void **state) {
  (void)state;
  enum { slots = 1000, each = 10, words = slots * each };
  kdl_sequence *sequence = created_sequence();
  static uint32_t memory[2][words];
  static kdl_binding bindings[slots];
  for (uint32_t i = 0; i < slots; ++i) {
    char name[16];
    kdl_slot slot;
    snprintf(name, sizeof name, "slot %u", i);
    assert_ok(kdl_sequence_add_buffer(sequence, name, each * 4, &slot));
  }
  for (uint32_t i = 0; i < words; ++i)
    record(sequence, i % slots + 1, i / slots);
  assert_ok(kdl_sequence_finish(sequence));
  for (uint32_t run = 0; run < 2; ++run) {
    for (uint32_t i = 0; i < slots; ++i) {
      uint32_t slot = run ? slots - 1 - i : i;
      bindings[i] = kdl_bind_buffer(slot + 1, whole(&memory[run][(size_t)slot * each], each));
    }
    assert_ok(kdl_sequence_run(sequence, queue, bindings, slots));
    assert_ok(kdl_sync(queue));
    assert_marked(memory[run], words, 1);
    assert_marked(memory[1], words, run);
  }
  bindings[slots / 2].to.buffer.size = each * 4 - 1;
  assert_refused(kdl_sequence_run(sequence, queue, bindings, slots), KDL_BAD_CALL,
                 "found 39 bytes, expected at least 40");
  kdl_sequence_destroy(sequence);
}

/* With few files to be had: a sequence takes none. */
static void many_sequences_are_there_at_once(void **state) {
  (void)state;
  enum { count = 500 };
  static kdl_sequence *all[count];
  static uint32_t words[count];
  struct rlimit before, few;
  assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
  few = (struct rlimit){8, before.rlim_max};
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
  for (uint32_t i = 0; i < count; ++i) {
    kdl_slot slot;
    all[i] = created_sequence();
    assert_ok(kdl_sequence_add_buffer(all[i], "x", 4, &slot));
    record(all[i], slot, 0);
    assert_ok(kdl_sequence_finish(all[i]));
  }
  for (uint32_t i = 0; i < count; ++i) {
    const kdl_binding binding = kdl_bind_buffer(1, whole(&words[i], 1));
    assert_ok(kdl_sequence_run(all[i], queue, &binding, 1));
  }
  assert_ok(kdl_sync(queue));
  assert_marked(words, count, 1);
  for (uint32_t i = 0; i < count; ++i)
    kdl_sequence_destroy(all[i]);
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

/* Each holds the one before twice, its second half behind the first, and is destroyed then. */
static void sequences_nest_twenty_deep(void **state) {
  (void)state;
  enum { deep = 20, doubled = 10, words = 1 << doubled };
  static uint32_t memory[words];
  kdl_slot slot;
  uint64_t length = 1;
  kdl_sequence *inner = created_sequence();
  assert_ok(kdl_sequence_add_buffer(inner, "x", 4, &slot));
  record(inner, slot, 0);
  assert_ok(kdl_sequence_finish(inner));
  for (int i = 1; i < deep; ++i) {
    kdl_sequence *outer = created_sequence();
    assert_ok(kdl_sequence_add_buffer(outer, "x", 0, &slot));
    kdl_operand operand = kdl_operand_slot(slot);
    assert_ok(kdl_sequence_nest(outer, inner, &operand, 1));
    if (i <= doubled) {
      operand = kdl_operand_slot_offset(slot, length * 4);
      assert_ok(kdl_sequence_nest(outer, inner, &operand, 1));
      length *= 2;
    }
    assert_ok(kdl_sequence_finish(outer));
    kdl_sequence_destroy(inner);
    inner = outer;
  }
  kdl_slot_desc desc = {.size = sizeof desc, .kind = KDL_SLOT_BUFFER};
  assert_ok(kdl_sequence_slot_get(inner, 1, &desc));
  assert_int_equal(desc.bytes, sizeof memory);
  const kdl_binding binding = kdl_bind_buffer(1, whole(memory, words));
  assert_ok(kdl_sequence_run(inner, queue, &binding, 1));
  assert_ok(kdl_sync(queue));
  assert_marked(memory, words, 1);
  kdl_sequence_destroy(inner);
}

/* Launches of many groups and of one, so often that they are measured again, and with a count of
 * items that changes in between: each group runs once in each run. */
static void a_sequence_runs_often(void **state) {
  (void)state;
  enum { runs = 2500, words = 512, seldom = 1000 };
  static uint32_t memory[words];
  kdl_slot x, items;
  kdl_sequence *sequence = created_sequence();
  kdl_kernel *count = kernel_named(made.lib, "count");
  assert_ok(kdl_sequence_add_buffer(sequence, "x", sizeof memory, &x));
  assert_ok(kdl_sequence_add_items(sequence, "items", &items));
  const kdl_operand arg = kdl_operand_slot(x);
  for (int i = 0; i < 3; ++i)
    assert_ok(kdl_sequence_launch_items(
        sequence, count, i == 1 ? kdl_operand_items(kdl_extent1(1)) : kdl_operand_slot(items), &arg,
        1));
  assert_ok(kdl_sequence_finish(sequence));
  for (uint32_t run = 1; run <= runs; ++run) {
    const kdl_binding bindings[] = {kdl_bind_buffer(x, whole(memory, words)),
                                    kdl_bind_items(items, kdl_extent1(run % seldom ? words : 1))};
    assert_ok(kdl_sequence_run(sequence, queue, bindings, 2));
  }
  assert_ok(kdl_sync(queue));
  assert_int_equal(memory[0], 3 * runs);
  for (uint32_t i = 1; i < words; ++i)
    assert_int_equal(memory[i], 2 * (runs - runs / seldom));
  kdl_sequence_destroy(sequence);
}

/* Launches that do not wait for each other, each with a word of its own, and all of those items or,
 * where they are NULL, of as many as a slot has. */
static kdl_sequence *side_by_side(uint32_t launches, const kdl_operand *items) {
  kdl_sequence *sequence = created_sequence();
  kdl_kernel *count = kernel_named(made.lib, "count");
  kdl_slot x, slot;
  assert_ok(kdl_sequence_add_buffer(sequence, "x", launches * 4, &x));
  assert_ok(kdl_sequence_add_items(sequence, "items", &slot));
  const kdl_operand shape = items ? *items : kdl_operand_slot(slot);
  assert_ok(kdl_sequence_fork(sequence));
  for (uint32_t i = 0; i < launches; ++i) {
    const kdl_operand arg = kdl_operand_slot_offset(x, i * 4);
    if (i)
      assert_ok(kdl_sequence_branch(sequence));
    assert_ok(kdl_sequence_launch_items(sequence, count, shape, &arg, 1));
  }
  assert_ok(kdl_sequence_join(sequence));
  return sequence;
}

/* Four times 2^62 groups are 0 groups where they are added in 64 bits. */
static void groups_of_one_level_do_not_overflow(void **state) {
  (void)state;
  enum { launches = 4 };
  static const kdl_extent huge = {(uint64_t)1 << 31, (uint64_t)1 << 31, 1};
  const kdl_operand items = kdl_operand_items(huge);
  uint32_t words[launches] = {0};
  kdl_sequence *sequence = side_by_side(launches, &items);
  assert_refused(kdl_sequence_finish(sequence), KDL_BAD_CALL, "more than 2^63 - 1 groups");
  kdl_sequence_destroy(sequence);
  sequence = side_by_side(launches, NULL);
  assert_ok(kdl_sequence_finish(sequence));
  kdl_binding bindings[] = {kdl_bind_buffer(1, whole(words, launches)), kdl_bind_items(2, huge)};
  for (int i = 0; i < 2; ++i)
    assert_refused(kdl_sequence_run(sequence, queue, bindings, 2), KDL_BAD_CALL,
                   "more than 2^63 - 1 groups");
  bindings[1] = kdl_bind_items(2, kdl_extent1(1));
  assert_ok(kdl_sequence_run(sequence, queue, bindings, 2));
  assert_ok(kdl_sync(queue));
  for (int i = 0; i < launches; ++i)
    assert_int_equal(words[i], 1);
  kdl_sequence_destroy(sequence);
}

/* Nor those of one launch: 2^96 are refused, whatever is left of them in 64 bits. */
static void groups_of_one_launch_do_not_overflow(void **state) {
  (void)state;
  uint32_t word = 0;
  kdl_buffer buffer = whole(&word, 1);
  const void *pointers[] = {&buffer.address};
  const kdl_args args = {.pointers = pointers, .count = 1};
  static const uint32_t grids[][3] = {{1u << 31, 1u << 31, 2},
                                      {1u << 31, 1u << 31, 4},
                                      {1u << 31, 1u << 31, 1u << 31},
                                      {UINT32_MAX, UINT32_MAX, UINT32_MAX}};
  for (size_t i = 0; i < sizeof grids / sizeof *grids; ++i) {
    kdl_launch_desc desc = {.size = sizeof desc, .block = {1, 1, 1}};
    memcpy(desc.grid, grids[i], sizeof desc.grid);
    assert_refused(kdl_launch(kernel_named(made.lib, "count"), queue, &desc, args), KDL_BAD_CALL,
                   "expected 1 to 2^63 - 1");
  }
  assert_int_equal(word, 0);
}

/* A count of items that many launches of one level have changes for all of them. */
static void many_launches_of_one_level_change(void **state) {
  (void)state;
  enum { launches = 50000, runs = 4 };
  static uint32_t words[launches];
  kdl_sequence *sequence = side_by_side(launches, NULL);
  assert_ok(kdl_sequence_finish(sequence));
  for (uint32_t run = 1; run <= runs; ++run) {
    const kdl_binding bindings[] = {kdl_bind_buffer(1, whole(words, launches)),
                                    kdl_bind_items(2, kdl_extent1(run % 2))};
    assert_ok(kdl_sequence_run(sequence, queue, bindings, 2));
  }
  assert_ok(kdl_sync(queue));
  for (int i = 0; i < launches; ++i)
    assert_int_equal(words[i], runs / 2);
  kdl_sequence_destroy(sequence);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(many_launches_and_slots_run),
      cmocka_unit_test(many_sequences_are_there_at_once),
      cmocka_unit_test(sequences_nest_twenty_deep),
      cmocka_unit_test(a_sequence_runs_often),
      cmocka_unit_test(groups_of_one_level_do_not_overflow),
      cmocka_unit_test(groups_of_one_launch_do_not_overflow),
      cmocka_unit_test(many_launches_of_one_level_change),
  };
  return cmocka_run_group_tests(tests, open_it, close_it);
}
