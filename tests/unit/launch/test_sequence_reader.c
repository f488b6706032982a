/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The seqfile reader: every field, files cut at every byte, thousands of mutations, excessive
 * counts and depths. */
#include "launch_support.h"
#include "lib/sequence/sequence.h"
#include "support/base/bytes.h"

/* ------------------------------------------------------------------------------------------ */
/* Files by hand                                                                                */

typedef struct {
  uint8_t data[4096];
  size_t size;
} bytes;

static void put32(bytes *to, uint32_t value) {
  kdl_store_u32(to->data + to->size, value);
  to->size += 4;
}

static void put64(bytes *to, uint64_t value) {
  kdl_store_u64(to->data + to->size, value);
  to->size += 8;
}

static void put_text(bytes *to, const char *text) {
  put32(to, (uint32_t)strlen(text));
  memcpy(to->data + to->size, text, strlen(text));
  to->size += strlen(text);
}

static bytes header(uint32_t slots, uint32_t kernels, uint32_t steps) {
  bytes to = {.size = 0};
  put32(&to, KDL_SEQFILE_MAGIC);
  put32(&to, KDL_SEQFILE_VERSION);
  put64(&to, 0);
  put32(&to, slots);
  put32(&to, kernels);
  put32(&to, steps);
  put32(&to, 0);
  return to;
}

static void put_slot(bytes *to, uint32_t kind, uint64_t size, const char *name) {
  put32(to, kind);
  put64(to, size);
  put_text(to, name);
}

/* Of f32 ptr<f32>, with a constant. */
static void put_kernel(bytes *to, const char *name) {
  put_text(to, name);
  put_text(to, "lib");
  put_text(to, "f32 ptr<f32>");
  put32(to, 1);
  put32(to, 2);
  put32(to, 4);
  put32(to, 8);
  for (int i = 0; i < 6; ++i)
    put32(to, i % 3 ? 1 : 64);
  put32(to, 1);
  put_text(to, "depth");
  put_text(to, "8");
}

static void put_memory(bytes *to, uint32_t slot, uint64_t offset) {
  put32(to, slot);
  put64(to, offset);
}

/* Every kind of everything. */
static bytes whole(void) {
  bytes to = header(5, 1, 12);
  put_slot(&to, KDL_SLOT_BUFFER, 64, "x");
  put_slot(&to, KDL_SLOT_SCALAR, 4, "a");
  put_slot(&to, KDL_SLOT_ITEMS, 0, "n");
  put_slot(&to, KDL_SLOT_HOST, 64, "h");
  put_slot(&to, KDL_SLOT_BUFFER, 8, "");
  put_kernel(&to, "k");
  put32(&to, KDL_STEP_FORK);
  put32(&to, KDL_STEP_LAUNCH); /* items */
  put32(&to, 0);
  put32(&to, 1);
  put64(&to, 10);
  put64(&to, 1);
  put64(&to, 1);
  put32(&to, 2);
  put32(&to, KDL_OPERAND_VALUE);
  put32(&to, 4);
  put32(&to, 0x3f800000);
  put32(&to, KDL_OPERAND_SLOT);
  put_memory(&to, 1, 8);
  put32(&to, KDL_STEP_BRANCH);
  put32(&to, KDL_STEP_LAUNCH); /* a slot of items */
  put32(&to, 0);
  put32(&to, 2);
  put32(&to, 3);
  put32(&to, 2);
  put32(&to, KDL_OPERAND_SLOT);
  put_memory(&to, 2, 0);
  put32(&to, KDL_OPERAND_BUFFER);
  put32(&to, KDL_STEP_JOIN);
  put32(&to, KDL_STEP_COPY);
  put64(&to, 32);
  put_memory(&to, 1, 32);
  put_memory(&to, 4, 0);
  put32(&to, KDL_STEP_FILL);
  put64(&to, 8);
  put_memory(&to, 5, 0);
  put32(&to, 2);
  to.data[to.size++] = 1;
  to.data[to.size++] = 2;
  put32(&to, KDL_STEP_WHILE);
  put_memory(&to, 1, 60);
  put32(&to, KDL_STEP_WHILE);
  put_memory(&to, 5, 4);
  put32(&to, KDL_STEP_LAUNCH); /* a grid */
  put32(&to, 0);
  put32(&to, 3);
  for (int i = 0; i < 11; ++i)
    put32(&to, i < 3 ? 2 : 0);
  put32(&to, 2);
  put32(&to, KDL_OPERAND_SLOT);
  put_memory(&to, 2, 0);
  put32(&to, KDL_OPERAND_SLOT);
  put_memory(&to, 1, 0);
  put32(&to, KDL_STEP_END);
  put32(&to, KDL_STEP_END);
  return to;
}

static kdl_status read_bytes(bytes *from, kdl_seqfile *out_saved) {
  kdl_store_u64(from->data + 8, from->size);
  return kdl_seqfile_read(from->data, from->size, out_saved);
}

static void refuse(bytes from, const char *words) {
  kdl_seqfile saved;
  assert_refused(read_bytes(&from, &saved), KDL_BAD_FILE, words);
}

/* What is taken is laid out again as it was. */
static void assert_again(const uint8_t *data, size_t size, const kdl_seqfile *saved) {
  void *again;
  size_t again_size;
  assert_ok(kdl_seqfile_write(saved, &again, &again_size));
  assert_int_equal(size, again_size);
  assert_memory_equal(data, again, size);
  free(again);
}

/* ------------------------------------------------------------------------------------------ */
/* Fields                                                                                       */

static void every_field_is_read(void **state) {
  (void)state;
  bytes from = whole();
  kdl_seqfile saved;
  assert_ok(read_bytes(&from, &saved));
  assert_int_equal(saved.slot_count, 5);
  assert_string_equal(saved.slots[0].name.data, "x");
  assert_int_equal(saved.slots[3].kind, KDL_SLOT_HOST);
  assert_string_equal(saved.kernels[0].name.data, "k");
  assert_string_equal(saved.kernels[0].library.data, "lib");
  assert_string_equal(saved.kernels[0].sig.data, "f32 ptr<f32>");
  assert_int_equal(saved.kernels[0].param_sizes[1], 8);
  assert_int_equal(saved.kernels[0].tile[0], 64);
  assert_string_equal(saved.kernels[0].constants[0].name, "depth");
  assert_int_equal(saved.launch_count, 3);
  const kdl_seqfile_launch *launch = saved.steps[1].of.launch;
  assert_int_equal(launch->items.of.items.x, 10);
  assert_int_equal(launch->args[0].bytes, 4);
  assert_int_equal(launch->args[1].offset, 8);
  assert_int_equal(saved.steps[3].of.launch->items.slot, 3);
  assert_int_equal(saved.steps[5].of.copy->bytes, 32);
  assert_int_equal(saved.steps[6].of.copy->pattern[1], 2);
  assert_int_equal(saved.steps[7].of.condition->offset, 60);
  assert_int_equal(saved.steps[9].of.launch->desc.grid[2], 2);
  assert_again(from.data, from.size, &saved);
  kdl_seqfile_free(&saved);
}

static void what_is_wrong_is_named_with_its_offset(void **state) {
  (void)state;
  kdl_seqfile saved;
  bytes from = whole();
  from.data[0] = 0;
  refuse(from, "offset 0x0: magic: found 0x51534b00, expected 0x51534bf7");
  from = whole();
  from.data[4] = 2;
  assert_refused(read_bytes(&from, &saved), KDL_UNSUPPORTED,
                 "offset 0x4: version: found 2, expected 1");
  from.data[4] = 0;
  refuse(from, "offset 0x4: version: found 0, expected 1");
  from = whole();
  assert_refused(kdl_seqfile_read(from.data, from.size, &saved), KDL_BAD_FILE,
                 "offset 0x8: size: found 0, expected");
  from = header(4097, 0, 0);
  refuse(from, "offset 0x10: slots: found 4097, expected 0 to 4096");
  from = header(2, 0, 0);
  put_slot(&from, 1, 4, "x");
  refuse(from, "slots: found 2, expected no more than the 29 bytes behind it can hold");
  from = header(0, 0, 0);
  kdl_store_u32(from.data + 28, 7);
  refuse(from, "offset 0x1c: reserved: found 7, expected 0");
  from = header(0, 0, 0);
  put32(&from, 0);
  refuse(from, "offset 0x20: steps: found 4 bytes behind the last, expected none");
}

static void slots_are_checked(void **state) {
  (void)state;
  bytes from = header(1, 0, 0);
  put_slot(&from, 5, 4, "x");
  refuse(from, "offset 0x20: slot 1: kind: found 5, expected 1 to 4");
  from = header(1, 0, 0);
  put_slot(&from, KDL_SLOT_SCALAR, 4097, "x");
  refuse(from, "offset 0x24: slot 1: bytes: found a scalar of 4097, expected 1 to 4096");
  from = header(1, 0, 0);
  put_slot(&from, KDL_SLOT_ITEMS, 1, "x");
  refuse(from, "slot 1: bytes: found 1 of items, expected 0");
  from = header(2, 0, 0);
  put_slot(&from, KDL_SLOT_BUFFER, 1, "xyz");
  put_slot(&from, KDL_SLOT_BUFFER, 1, "xyz");
  refuse(from, "slots: found \"xyz\" twice, expected each name once");
  from = header(1, 0, 0);
  put_slot(&from, KDL_SLOT_BUFFER, 1, "xyz");
  from.data[from.size - 2] = 0;
  refuse(from, "slot 1: name: found a NUL, expected text");
  kdl_store_u32(from.data + from.size - 7, 256);
  refuse(from, "slot 1: name: found 256, expected 0 to 255");
}

static void kernels_are_checked(void **state) {
  (void)state;
  bytes from = header(0, 1, 0);
  put_kernel(&from, "");
  refuse(from, "offset 0x20: kernel 0: name: found 0, expected 1 to 65536");
  from = header(0, 1, 0);
  put_kernel(&from, "k");
  size_t sig = 32 + 5 + 7 + 4;
  from.data[sig] = 'q';
  refuse(from, "kernel 0: signature: found \"q32 ptr<f32>\" at 0, expected");
  from.data[sig] = 'u';
  kdl_store_u32(from.data + sig + 12 + 8, 5);
  refuse(from, "parameters: found 5 bytes of parameter 0, expected 4 as its signature says");
  kdl_store_u32(from.data + sig + 12 + 4, KDL_SEQFILE_UNKNOWN);
  refuse(from, "parameters: found no number, expected that of the signature");
  kdl_store_u32(from.data + sig + 12 + 4, 257);
  refuse(from, "parameters: found 257, expected at most 256");
  from = header(0, 1, 0);
  put_kernel(&from, "k");
  kdl_store_u32(from.data + sig + 12 + 16, 0);
  refuse(from, "block: found 0x1x1, expected none of them to be 0, or all");
}

/* A launch of `whole`'s kernel that goes wrong at one place. */
static bytes launch(uint32_t kernel, uint32_t shape, uint32_t slot, uint32_t args) {
  bytes to = header(3, 1, 1);
  put_slot(&to, KDL_SLOT_BUFFER, 64, "x");
  put_slot(&to, KDL_SLOT_ITEMS, 0, "n");
  put_slot(&to, KDL_SLOT_HOST, 64, "h");
  put_kernel(&to, "k");
  put32(&to, KDL_STEP_LAUNCH);
  put32(&to, kernel);
  put32(&to, shape);
  put32(&to, slot);
  put32(&to, args);
  return to;
}

static void launches_are_checked(void **state) {
  (void)state;
  refuse(launch(1, 2, 2, 0), "step 0: kernel: found 1, expected less than 1");
  refuse(launch(0, 4, 2, 0), "step 0: shape: found 4, expected 1 to 3");
  refuse(launch(0, 2, 1, 0), "step 0: items: found slot 1, expected one of items");
  refuse(launch(0, 2, 4, 0), "step 0: items: found 4, expected 1 to 3");
  refuse(launch(0, 2, 2, 0), "step 0: arguments: found 0, expected 2 of k");
  refuse(launch(0, 2, 2, 257), "step 0: arguments: found 257, expected 0 to 256");
  bytes from = launch(0, 2, 2, 2);
  put64(&from, 4);
  refuse(from, "step 0: argument: found kind 4, expected 1 (a value), 2 (a null pointer) or 5");
  from = launch(0, 2, 2, 2);
  put64(&from, KDL_OPERAND_BUFFER);
  refuse(from, "argument: found 8 bytes for parameter 0 of k, expected 4");
  from = launch(0, 2, 2, 2);
  put32(&from, KDL_OPERAND_SLOT);
  put_memory(&from, 3, 0);
  refuse(from, "argument: found slot 3, expected a buffer or scalar");
  from = launch(0, 2, 2, 2);
  put32(&from, KDL_OPERAND_SLOT);
  put_memory(&from, 1, 64);
  refuse(from, "argument: found an offset of 64 into slot 1 of 64 bytes");
  from = launch(0, 2, 2, 2);
  put32(&from, KDL_OPERAND_VALUE);
  put32(&from, 5000);
  refuse(from, "argument: found 5000, expected 1 to 4096");
}

/* One step behind two slots. */
static bytes step(uint32_t kind) {
  bytes to = header(2, 0, 1);
  put_slot(&to, KDL_SLOT_BUFFER, 64, "x");
  put_slot(&to, KDL_SLOT_HOST, 64, "h");
  put32(&to, kind);
  return to;
}

static void copies_and_marks_are_checked(void **state) {
  (void)state;
  bytes from = step(KDL_STEP_COPY);
  put64(&from, 0);
  refuse(from, "step 0: bytes: found 0, expected at least 1");
  from = step(KDL_STEP_COPY);
  put64(&from, UINT64_MAX);
  put_memory(&from, 1, 0);
  refuse(from, "to: found 18446744073709551615 bytes at offset 0 of slot 1, expected them inside");
  from = step(KDL_STEP_COPY);
  put64(&from, 1);
  put_memory(&from, 1, UINT64_MAX);
  refuse(from, "to: found 1 bytes at offset 18446744073709551615 of slot 1");
  from = step(KDL_STEP_COPY);
  put64(&from, 64);
  put_memory(&from, 2, 0);
  put_memory(&from, 2, 0);
  refuse(from, "to: found memory of the host on both sides, expected a buffer");
  from = step(KDL_STEP_FILL);
  put64(&from, 4);
  put_memory(&from, 2, 0);
  refuse(from, "to: found slot 2, which is no memory of the device, expected one that is");
  from = step(KDL_STEP_FILL);
  put64(&from, 9);
  put_memory(&from, 1, 0);
  put32(&from, 3);
  put32(&from, 0);
  refuse(from, "pattern: found 3 bytes for 9 at offset 0, expected 1, 2, 4, 8 or 16");
  from = step(KDL_STEP_WHILE);
  put_memory(&from, 1, 2);
  refuse(from, "condition: found offset 2, expected a multiple of 4");
  refuse(step(KDL_STEP_JOIN), "step 0: mark: found no fork that is open, expected one");
  refuse(step(KDL_STEP_BRANCH), "step 0: mark: found no fork that is open");
  refuse(step(KDL_STEP_END), "step 0: mark: found no loop that is open");
  refuse(step(KDL_STEP_FORK), "steps: found 1 forks and 0 loops open at the end, expected none");
  refuse(step(9), "step 0: kind: found 9, expected 1 to 8");
}

static void depth_has_a_limit(void **state) {
  (void)state;
  bytes from = header(0, 0, 65);
  for (int i = 0; i < 65; ++i)
    put32(&from, KDL_STEP_FORK);
  refuse(from, "step 64: mark: found more than 64 within one another");
  from = header(1, 0, 9);
  put_slot(&from, KDL_SLOT_BUFFER, 4, "x");
  for (int i = 0; i < 9; ++i) {
    put32(&from, KDL_STEP_WHILE);
    put_memory(&from, 1, 0);
  }
  refuse(from, "step 8: mark: found more than 8 within one another");
}

/* ------------------------------------------------------------------------------------------ */
/* Whole files                                                                                  */

static void nothing_at_all_is_a_sequence(void **state) {
  (void)state;
  bytes from = header(0, 0, 0);
  kdl_seqfile saved;
  assert_ok(read_bytes(&from, &saved));
  assert_again(from.data, from.size, &saved);
  kdl_seqfile_free(&saved);
}

static void a_file_cut_anywhere_is_refused(void **state) {
  (void)state;
  bytes from = whole();
  for (size_t size = 0; size < from.size; ++size) {
    kdl_seqfile saved;
    uint8_t *cut = malloc(size ? size : 1); /* so that a sanitizer sees what lies behind */
    memcpy(cut, from.data, size);
    if (size >= 16)
      kdl_store_u64(cut + 8, size);
    assert_int_equal(kdl_seqfile_read(cut, size, &saved), KDL_BAD_FILE);
    assert_non_null(strstr(kdl_error_message(), "offset 0x"));
    free(cut);
  }
}

static uint64_t seed;
static uint32_t chance(uint32_t below) {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(seed >> 33) % below;
}

static void mutate(uint8_t *data, size_t size) {
  static const uint32_t words[] = {0, 1, 2, 5, 8, 255, 256, 4096, 65536, INT32_MAX, UINT32_MAX};
  for (uint32_t i = chance(3) + 1; i > 0; --i) {
    size_t at = chance((uint32_t)size - 4);
    if (chance(2))
      kdl_store_u32(data + at, words[chance(sizeof words / sizeof *words)]);
    else
      data[at] = (uint8_t)chance(256);
  }
}

/* Each is refused with a reason, or is what it would be written as. */
static void mutations_are_refused_or_mean_what_they_say(void **state) {
  (void)state;
  size_t taken = 0, refused = 0;
  for (seed = 1; taken + refused < 20000;) {
    bytes from = whole();
    uint8_t *data = malloc(from.size);
    kdl_seqfile saved;
    kdl_store_u64(from.data + 8, from.size);
    memcpy(data, from.data, from.size);
    mutate(data, from.size);
    kdl_status status = kdl_seqfile_read(data, from.size, &saved);
    if (status == KDL_OK) {
      assert_again(data, from.size, &saved);
      kdl_seqfile_free(&saved);
      ++taken;
    } else {
      assert_true(status == KDL_BAD_FILE || status == KDL_UNSUPPORTED);
      assert_true(kdl_error_message()[0] != '\0');
      ++refused;
    }
    free(data);
  }
  assert_true(taken > 100 && refused > 100);
}

/* A hundred thousand steps, and ten times as many as there is room for. */
static void many_steps_take_memory_in_proportion(void **state) {
  (void)state;
  enum { steps = 100000 };
  size_t size = KDL_SEQFILE_HEADER + (size_t)steps * 4;
  uint8_t *data = calloc(1, size);
  bytes head = header(0, 0, steps);
  kdl_seqfile saved;
  memcpy(data, head.data, head.size);
  kdl_store_u64(data + 8, size);
  for (size_t i = 0; i < steps; ++i)
    kdl_store_u32(data + KDL_SEQFILE_HEADER + i * 4, i % 2 ? KDL_STEP_JOIN : KDL_STEP_FORK);
  assert_ok(kdl_seqfile_read(data, size, &saved));
  assert_int_equal(saved.step_count, steps);
  assert_true(saved.memory.used < 12 * size);
  assert_again(data, size, &saved);
  kdl_seqfile_free(&saved);
  kdl_store_u32(data + 24, 10 * steps);
  assert_refused(kdl_seqfile_read(data, size, &saved), KDL_BAD_FILE,
                 "steps: found 1000000, expected no more than the 400004 bytes behind it can hold");
  kdl_store_u32(data + 24, UINT32_MAX);
  assert_refused(kdl_seqfile_read(data, size, &saved), KDL_BAD_FILE, "steps: found 4294967295");
  free(data);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_field_is_read),
      cmocka_unit_test(what_is_wrong_is_named_with_its_offset),
      cmocka_unit_test(slots_are_checked),
      cmocka_unit_test(kernels_are_checked),
      cmocka_unit_test(launches_are_checked),
      cmocka_unit_test(copies_and_marks_are_checked),
      cmocka_unit_test(depth_has_a_limit),
      cmocka_unit_test(nothing_at_all_is_a_sequence),
      cmocka_unit_test(a_file_cut_anywhere_is_refused),
      cmocka_unit_test(mutations_are_refused_or_mean_what_they_say),
      cmocka_unit_test(many_steps_take_memory_in_proportion),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
