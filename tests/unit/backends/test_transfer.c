/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "support.h"

#include "lib/backends/common/replay.h"

#include <inttypes.h>

static int device, queue, host;
static char said[128];

static kdl_status say(const char *call, void *on, void *in, const void *data) {
  assert_ptr_equal(on, &device);
  assert_ptr_equal(in, &queue);
  size_t used = strlen(said);
  snprintf(said + used, sizeof said - used, "%s%s ", call, data == &host ? " host" : "");
  return KDL_OK;
}

static void add(uint64_t number) {
  size_t used = strlen(said);
  snprintf(said + used, sizeof said - used, "%" PRIu64 " ", number);
}

static kdl_status give_write(void *on, void *in, uint64_t address, uint64_t offset,
                             const void *data, uint64_t size) {
  kdl_status status = say("write", on, in, data);
  add(address), add(offset), add(size);
  return status;
}

static kdl_status give_read(void *on, void *in, void *data, uint64_t address, uint64_t offset,
                            uint64_t size) {
  say("read", on, in, data);
  add(address), add(offset), add(size);
  return KDL_IO;
}

static kdl_status give_copy(void *on, void *in, uint64_t to, uint64_t to_offset, uint64_t from,
                            uint64_t from_offset, uint64_t size) {
  kdl_status status = say("copy", on, in, NULL);
  add(to), add(to_offset), add(from), add(from_offset), add(size);
  return status;
}

static kdl_status give_fill(void *on, void *in, uint64_t address, uint64_t offset, uint64_t size,
                            const void *pattern, size_t pattern_size) {
  kdl_status status = say("fill", on, in, NULL);
  add(address), add(offset), add(size), add(*(const uint8_t *)pattern), add(pattern_size);
  return status;
}

static kdl_status give(kdl_node_kind kind) {
  static const kdl_backend_table table = {
      .write = give_write, .read = give_read, .copy = give_copy, .fill = give_fill};
  const kdl_backend_node node = {.kind = kind,
                                 .to = 1,
                                 .to_offset = 2,
                                 .from = 3,
                                 .from_offset = 4,
                                 .bytes = 5,
                                 .host = &host,
                                 .pattern = {6},
                                 .pattern_size = 7};
  said[0] = '\0';
  return kdl_transfer_node(&table, &device, &queue, &node);
}

static void each_is_given_to_its_function(void **state) {
  (void)state;
  assert_ok(give(KDL_NODE_COPY));
  assert_string_equal(said, "copy 1 2 3 4 5 ");
  assert_ok(give(KDL_NODE_WRITE));
  assert_string_equal(said, "write host 1 2 5 ");
  assert_ok(give(KDL_NODE_FILL));
  assert_string_equal(said, "fill 1 2 5 6 7 ");
}

static void what_fails_is_returned(void **state) {
  (void)state;
  assert_int_equal(give(KDL_NODE_READ), KDL_IO);
  assert_string_equal(said, "read host 3 4 5 ");
}

static void other_nodes_are_left_out(void **state) {
  (void)state;
  static const kdl_node_kind others[] = {KDL_NODE_LAUNCH, KDL_NODE_RECORD, KDL_NODE_WAIT,
                                         KDL_NODE_JOIN,   KDL_NODE_WHILE,  KDL_NODE_END};
  for (size_t i = 0; i < sizeof others / sizeof *others; ++i) {
    assert_ok(give(others[i]));
    assert_string_equal(said, "");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_is_given_to_its_function),
      cmocka_unit_test(what_fails_is_returned),
      cmocka_unit_test(other_nodes_are_left_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
