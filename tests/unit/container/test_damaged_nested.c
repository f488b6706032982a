/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* One damaged nested container among the images of a file: the file opens, the others are listed,
 * and the damaged one has a message. */
#include "support.h"

#include "support/base/bytes.h"

/* An OffloadBinary of three images: a fatbin, a fatbin with a wrong size, a plain image. */
static void the_others_are_listed(void **state) {
  (void)state;
  size_t good_size;
  uint8_t *good = read_golden("fatbin/archs.fatbin", &good_size);
  uint8_t *bad = malloc(good_size);
  memcpy(bad, good, good_size);
  kdl_store_u64(bad + 8, good_size);
  const void *const contents[] = {good, bad, "plain"};
  const size_t sizes[] = {good_size, good_size, 5};
  kdl_writer *writer;
  assert_ok(kdl_writer_create(KDL_FORMAT_V2, &writer));
  for (size_t i = 0; i < 3; ++i) {
    kdl_writer_image image = {.size = sizeof image, .data = contents[i], .data_size = sizes[i]};
    assert_ok(kdl_writer_add(writer, &image));
  }
  void *file;
  size_t file_size;
  assert_ok(kdl_writer_finish(writer, &file, &file_size));
  kdl_writer_destroy(writer);

  kdl_library *alone;
  assert_ok(try_open(good, good_size, &alone));
  size_t inside = kdl_image_count(alone);
  kdl_close(alone);

  kdl_library *lib;
  assert_ok(try_open(file, file_size, &lib));
  assert_int_equal(kdl_image_count(lib), 3 + inside);
  assert_string_equal(image_at(lib, 0).problem.data, "");
  assert_string_equal(image_at(lib, 1).problem.data, "");
  kdl_image_info info = image_at(lib, 1 + inside);
  assert_int_equal(info.kind, KDL_IMAGE_FATBIN);
  char expected[160];
  snprintf(expected, sizeof expected,
           "fatSize: found %zu, expected at most %zu, the bytes after the header", good_size,
           good_size - 16);
  assert_non_null(strstr(info.problem.data, expected));
  const void *bytes;
  size_t size;
  assert_ok(kdl_image_bytes(lib, 1 + inside, &bytes, &size));
  assert_memory_equal(bytes, bad, good_size);
  assert_string_equal(image_at(lib, 2 + inside).problem.data, "");
  /* A caller that does not know the field yet. */
  kdl_image_info older = {.size = offsetof(kdl_image_info, problem)};
  assert_ok(kdl_image_get(lib, 1, &older));
  kdl_close(lib);
  free(file);
  free(bad);
  free(good);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_others_are_listed)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
