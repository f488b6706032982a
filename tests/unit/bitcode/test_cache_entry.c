/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Cache entries as bytes: what is written is read back, and every change is detected. */
#include "cache_support.h"

#include "support/base/bytes.h"

static uint8_t *make_bytes(size_t image, size_t *out_size) {
  made_entry *made = make_entry(7, image);
  void *data;
  assert_ok(kdl_cache_entry_serialize(&made->entry, &data, out_size));
  free_entry(made);
  return data;
}

/* A copy that ends where the allocation does, so that ASan sees a step beyond. */
static kdl_status parse_exact(const uint8_t *data, size_t size) {
  uint8_t *exact = malloc(size ? size : 1);
  kdl_cache_entry entry;
  memcpy(exact, data, size);
  kdl_status status = kdl_cache_entry_parse(exact, size, &entry);
  free(exact);
  return status;
}

static void read_back(void **state) {
  (void)state;
  for (size_t image = 0; image < 300; image += 37) {
    made_entry *made = make_entry(7, image);
    size_t size;
    uint8_t *data = make_bytes(image, &size);
    kdl_cache_entry entry;
    assert_ok(kdl_cache_entry_parse(data, size, &entry));
    assert_int_equal(entry.kind, KDL_IMAGE_OBJECT);
    assert_int_equal(entry.link_key.length, made->entry.link_key.length);
    assert_memory_equal(entry.link_key.data, made->link_key, entry.link_key.length);
    assert_int_equal(entry.notes.length, made->entry.notes.length);
    assert_memory_equal(entry.notes.data, made->entry.notes.data, entry.notes.length);
    assert_int_equal(entry.image_size, image);
    assert_memory_equal(entry.image, made->image, image);
    free(data);
    free_entry(made);
  }
}

static void every_changed_bit_is_noticed(void **state) {
  (void)state;
  size_t size;
  uint8_t *data = make_bytes(500, &size);
  for (size_t i = 0; i < size; ++i) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      data[i] ^= (uint8_t)(1u << bit);
      assert_int_equal(parse_exact(data, size), KDL_BAD_FILE);
      data[i] ^= (uint8_t)(1u << bit);
    }
  }
  assert_ok(parse_exact(data, size));
  free(data);
}

static void every_other_length_is_noticed(void **state) {
  (void)state;
  size_t size;
  uint8_t *data = make_bytes(500, &size);
  for (size_t i = 0; i < size; ++i)
    assert_int_equal(parse_exact(data, i), KDL_BAD_FILE);
  uint8_t *longer = calloc(1, size + 100);
  memcpy(longer, data, size);
  for (size_t more = 1; more <= 100; ++more)
    assert_int_equal(parse_exact(longer, size + more), KDL_BAD_FILE);
  free(longer);
  free(data);
}

static void zeros_are_noticed(void **state) {
  (void)state;
  uint8_t zeros[4096] = {0};
  for (size_t size = 0; size <= sizeof zeros; size += 64)
    assert_int_equal(parse_exact(zeros, size), KDL_BAD_FILE);
  size_t size;
  uint8_t *data = make_bytes(5000, &size); /* a tail of zeros is what a torn write leaves */
  for (size_t from = 0; from < size; from += 512) {
    uint8_t *torn = calloc(1, size);
    memcpy(torn, data, from);
    assert_int_equal(parse_exact(torn, size), KDL_BAD_FILE);
    free(torn);
  }
  free(data);
}

static void refusals_tell_what_was_found(void **state) {
  (void)state;
  size_t size;
  uint8_t *data = make_bytes(10, &size);
  kdl_cache_entry entry;
  assert_fails(kdl_cache_entry_parse(data, 63, &entry), KDL_BAD_FILE,
               "found 63 bytes, expected a header of 64");
  assert_fails(kdl_cache_entry_parse(data, size - 1, &entry), KDL_BAD_FILE,
               "found 119 bytes, expected 120 as its header says");
  data[size - 1] ^= 1;
  assert_fails(kdl_cache_entry_parse(data, size, &entry), KDL_BAD_FILE,
               "offset 32: found a digest that is not that of its contents");
  kdl_store_u64(data + 24, UINT64_MAX);
  assert_fails(kdl_cache_entry_parse(data, size, &entry), KDL_BAD_FILE,
               "offset 16: found sizes of 28, 18 and 18446744073709551615 bytes, expected at most "
               "1048576, 1048576 and 1073741824");
  kdl_store_u32(data + 8, 2);
  assert_fails(kdl_cache_entry_parse(data, size, &entry), KDL_BAD_FILE,
               "offset 8: found version 2, expected 1");
  data[0] = 'k';
  assert_fails(kdl_cache_entry_parse(data, size, &entry), KDL_BAD_FILE,
               "offset 0: found no \"KDLCACHE\"");
  free(data);
}

static void fields(void **state) {
  (void)state;
  static const char lines[] = "const a=1\nconst b=2\nconstant c\nlast x";
  kdl_string text = {lines, sizeof lines - 1};
  kdl_string value;
  assert_true(kdl_cache_field(text, "const", 0, &value));
  assert_int_equal(value.length, 3);
  assert_memory_equal(value.data, "a=1", 3);
  assert_true(kdl_cache_field(text, "const", 1, &value));
  assert_memory_equal(value.data, "b=2", 3);
  assert_false(kdl_cache_field(text, "const", 2, &value));
  assert_true(kdl_cache_field(text, "last", 0, &value));
  assert_int_equal(value.length, 1);
  assert_false(kdl_cache_field(text, "missing", 0, &value));
  assert_false(kdl_cache_field((kdl_string){"", 0}, "a", 0, &value));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(read_back),
      cmocka_unit_test(every_changed_bit_is_noticed),
      cmocka_unit_test(every_other_length_is_noticed),
      cmocka_unit_test(zeros_are_noticed),
      cmocka_unit_test(refusals_tell_what_was_found),
      cmocka_unit_test(fields),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
