/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/inspect/formats.h"
#include "support.h"

static kdl_msgpack reader_of(const char *bytes, size_t size) {
  return (kdl_msgpack){(const uint8_t *)bytes, size, 0, 0x100};
}

#define READER(text) reader_of((text), sizeof(text) - 1)

static void every_format_is_read(void **state) {
  (void)state;
  static const struct {
    const char *bytes;
    size_t size;
    kdl_msgpack_type type;
    uint64_t count;
  } rows[] = {
      {"\x00", 1, KDL_MSGPACK_SCALAR, 0},
      {"\x7f", 1, KDL_MSGPACK_SCALAR, 0},
      {"\x80", 1, KDL_MSGPACK_MAP, 0},
      {"\x81\xc0\xc0", 3, KDL_MSGPACK_MAP, 1},
      {"\x90", 1, KDL_MSGPACK_ARRAY, 0},
      {"\x92\x01\x02", 3, KDL_MSGPACK_ARRAY, 2},
      {"\xa0", 1, KDL_MSGPACK_STRING, 0},
      {"\xa3xyz", 4, KDL_MSGPACK_STRING, 3},
      {"\xc0", 1, KDL_MSGPACK_SCALAR, 0},
      {"\xc2", 1, KDL_MSGPACK_SCALAR, 0},
      {"\xc3", 1, KDL_MSGPACK_SCALAR, 0},
      {"\xc4\x01z", 3, KDL_MSGPACK_BINARY, 1},
      {"\xc5\x00\x01z", 4, KDL_MSGPACK_BINARY, 1},
      {"\xc6\x00\x00\x00\x01z", 6, KDL_MSGPACK_BINARY, 1},
      {"\xc7\x01\x05z", 4, KDL_MSGPACK_BINARY, 1},
      {"\xc8\x00\x01\x05z", 5, KDL_MSGPACK_BINARY, 1},
      {"\xc9\x00\x00\x00\x01\x05z", 7, KDL_MSGPACK_BINARY, 1},
      {"\xca\x01\x02\x03\x04", 5, KDL_MSGPACK_SCALAR, 0},
      {"\xcb\x01\x02\x03\x04\x05\x06\x07\x08", 9, KDL_MSGPACK_SCALAR, 0},
      {"\xcc\x01", 2, KDL_MSGPACK_SCALAR, 0},
      {"\xcd\x01\x02", 3, KDL_MSGPACK_SCALAR, 0},
      {"\xce\x01\x02\x03\x04", 5, KDL_MSGPACK_SCALAR, 0},
      {"\xcf\x01\x02\x03\x04\x05\x06\x07\x08", 9, KDL_MSGPACK_SCALAR, 0},
      {"\xd0\x01", 2, KDL_MSGPACK_SCALAR, 0},
      {"\xd1\x01\x02", 3, KDL_MSGPACK_SCALAR, 0},
      {"\xd2\x01\x02\x03\x04", 5, KDL_MSGPACK_SCALAR, 0},
      {"\xd3\x01\x02\x03\x04\x05\x06\x07\x08", 9, KDL_MSGPACK_SCALAR, 0},
      {"\xd4\x05z", 3, KDL_MSGPACK_BINARY, 0},
      {"\xd5\x05zz", 4, KDL_MSGPACK_BINARY, 0},
      {"\xd6\x05zzzz", 6, KDL_MSGPACK_BINARY, 0},
      {"\xd7\x05zzzzzzzz", 10, KDL_MSGPACK_BINARY, 0},
      {"\xd8\x05zzzzzzzzzzzzzzzz", 18, KDL_MSGPACK_BINARY, 0},
      {"\xd9\x02xy", 4, KDL_MSGPACK_STRING, 2},
      {"\xda\x00\x02xy", 5, KDL_MSGPACK_STRING, 2},
      {"\xdb\x00\x00\x00\x02xy", 7, KDL_MSGPACK_STRING, 2},
      {"\xdc\x00\x01\xc0", 4, KDL_MSGPACK_ARRAY, 1},
      {"\xdd\x00\x00\x00\x01\xc0", 6, KDL_MSGPACK_ARRAY, 1},
      {"\xde\x00\x01\xc0\xc0", 5, KDL_MSGPACK_MAP, 1},
      {"\xdf\x00\x00\x00\x01\xc0\xc0", 7, KDL_MSGPACK_MAP, 1},
      {"\xe0", 1, KDL_MSGPACK_SCALAR, 0},
      {"\xff", 1, KDL_MSGPACK_SCALAR, 0},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    kdl_msgpack reader = reader_of(rows[i].bytes, rows[i].size);
    kdl_msgpack_item item;
    assert_ok(kdl_msgpack_next(&reader, &item));
    assert_int_equal(item.type, rows[i].type);
    assert_int_equal(item.count, rows[i].count);
    assert_int_equal(item.offset, 0x100);
    reader.at = 0;
    assert_ok(kdl_msgpack_skip(&reader));
    assert_int_equal(reader.at, rows[i].size);
    for (size_t cut = 0; cut < rows[i].size; ++cut) {
      reader = reader_of(rows[i].bytes, cut);
      assert_int_equal(kdl_msgpack_skip(&reader), KDL_BAD_FILE);
    }
  }
}

static void strings_compare_by_content_and_length(void **state) {
  (void)state;
  kdl_msgpack reader = READER("\xa5.name\xc4\x05.name");
  kdl_msgpack_item item;
  assert_ok(kdl_msgpack_next(&reader, &item));
  assert_true(kdl_msgpack_is(&item, ".name"));
  assert_false(kdl_msgpack_is(&item, ".nam"));
  assert_false(kdl_msgpack_is(&item, ".names"));
  assert_ok(kdl_msgpack_next(&reader, &item));
  assert_false(kdl_msgpack_is(&item, ".name")); /* binary is no string */
}

static void skip_passes_over_nested_items(void **state) {
  (void)state;
  kdl_msgpack reader = READER("\x82\xa1k\x93\x01\x81\x02\x90\xa1x\xa1l\xc0\xa3"
                              "end");
  kdl_msgpack_item item;
  assert_ok(kdl_msgpack_skip(&reader));
  assert_ok(kdl_msgpack_next(&reader, &item));
  assert_true(kdl_msgpack_is(&item, "end"));
}

/* Deep nesting costs no stack: each level is one byte and one step. */
static void deep_nesting_is_no_recursion(void **state) {
  (void)state;
  enum { depth = 1 << 20 };
  char *bytes = malloc(depth + 1);
  memset(bytes, 0x91, depth);
  bytes[depth] = 0x01;
  kdl_msgpack reader = reader_of(bytes, depth + 1);
  assert_ok(kdl_msgpack_skip(&reader));
  assert_int_equal(reader.at, depth + 1);
  free(bytes);
}

static void wrong_items_are_refused(void **state) {
  (void)state;
  kdl_msgpack_item item;
  kdl_msgpack reader = READER("");
  assert_fails(kdl_msgpack_next(&reader, &item), KDL_BAD_FILE,
               "offset 0x100: MessagePack: found 0 bytes, expected 1 for this item");
  reader = READER("\xc1");
  assert_fails(kdl_msgpack_next(&reader, &item), KDL_BAD_FILE,
               "offset 0x100: MessagePack: found 0xc1, which begins no item, expected one");
  reader = READER("\xa4xyz");
  assert_fails(kdl_msgpack_next(&reader, &item), KDL_BAD_FILE,
               "offset 0x100: MessagePack: found 3 bytes, expected 4 for this item");
  reader = READER("\xdf\xff\xff\xff\xff\x01\x01");
  assert_fails(kdl_msgpack_next(&reader, &item), KDL_BAD_FILE,
               "offset 0x100: MessagePack: found 2 bytes, expected 8589934590 for this item");
  reader = READER("\xc0\x92\x01");
  assert_ok(kdl_msgpack_next(&reader, &item));
  assert_fails(kdl_msgpack_skip(&reader), KDL_BAD_FILE,
               "offset 0x101: MessagePack: found 1 bytes, expected 2 for this item");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_format_is_read),
      cmocka_unit_test(strings_compare_by_content_and_length),
      cmocka_unit_test(skip_passes_over_nested_items),
      cmocka_unit_test(deep_nesting_is_no_recursion),
      cmocka_unit_test(wrong_items_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
