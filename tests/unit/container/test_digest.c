/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kdl.digest when an image is loaded: every changed bit is refused, with the key's name. */
#include "launch_support.h"

#include "lib/inspect/libraries.h"

enum { flips = 300 };

typedef struct {
  void *data;
  size_t size;
  size_t image_at;
  size_t image_size;
} digested;

static digested make_digested(void) {
  kdl_pair pairs[] = {{text_of("triple"), text_of(HOST_TRIPLE)},
                      {text_of("arch"), text_of(HOST_ARCH)},
                      {text_of("kdl.kernel.mark"), text_of("sig=ptr<u32> u32; block=256x1x1")}};
  char path[1024];
  digested made = {0};
  snprintf(path, sizeof path, "%s/mark1.so", KDL_TEST_IMAGES);
  uint8_t *bytes = read_file(path, &made.image_size);
  kdl_writer *writer;
  kdl_writer_image image = {.size = sizeof image,
                            .declared_kind = 1,
                            .pairs = pairs,
                            .pair_count = 3,
                            .data = bytes,
                            .data_size = made.image_size};
  assert_ok(kdl_writer_create(KDL_FORMAT_V1, &writer));
  assert_ok(kdl_writer_add_with_digest(writer, &image));
  assert_ok(kdl_writer_finish(writer, &made.data, &made.size));
  kdl_writer_destroy(writer);
  const uint8_t *at = memmem(made.data, made.size, bytes, made.image_size);
  assert_non_null(at);
  made.image_at = (size_t)(at - (const uint8_t *)made.data);
  free(bytes);
  return made;
}

static kdl_library *open_digested(const digested *made) {
  kdl_library *lib;
  kdl_open_opts opts = {.size = sizeof opts, .name = "t"};
  assert_ok(kdl_open_memory(made->data, made->size, &opts, &lib));
  return lib;
}

static kdl_status load(kdl_library *lib) {
  kdl_kernel_info info = {.size = sizeof info};
  return kdl_kernel_get(kernel_named(lib, "mark"), &info);
}

static void a_whole_image_runs(void **state) {
  (void)state;
  digested made = make_digested();
  kdl_library *lib = open_digested(&made);
  assert_int_equal(run_mark(kernel_named(lib, "mark"), 1000), 1);
  kdl_close(lib);
  free(made.data);
}

static void every_changed_bit_is_refused(void **state) {
  (void)state;
  digested made = make_digested();
  uint8_t *image = (uint8_t *)made.data + made.image_at;
  for (size_t i = 0; i < flips; ++i) {
    size_t at = i * (made.image_size - 1) / (flips - 1);
    uint8_t bit = (uint8_t)(1u << (i % 8));
    image[at] ^= bit;
    kdl_library *lib = open_digested(&made);
    kdl_status status = load(lib);
    if (status != KDL_BAD_FILE || !strstr(kdl_error_message(), "kdl.digest: found blake2b-256:"))
      fail_msg("bit %zu of byte %zu: status %d, \"%s\"", i % 8, at, status, kdl_error_message());
    kdl_selection choice = {.size = sizeof choice};
    assert_int_equal(kdl_select(lib, the_host(), "mark", NULL, &choice), KDL_BAD_FILE);
    kdl_close(lib);
    image[at] ^= bit;
  }
  free(made.data);
}

static void a_repeated_or_old_digest_is_replaced(void **state) {
  (void)state;
  kdl_pair pairs[] = {{text_of(KDL_DIGEST_KEY), text_of("old")},
                      {text_of("k"), text_of("v")},
                      {text_of(KDL_DIGEST_KEY), text_of("older")}};
  kdl_writer *writer;
  kdl_writer_image image = {
      .size = sizeof image, .pairs = pairs, .pair_count = 3, .data = "abc", .data_size = 3};
  void *data;
  size_t size;
  kdl_library *lib;
  assert_ok(kdl_writer_create(KDL_FORMAT_V2, &writer));
  assert_ok(kdl_writer_add_with_digest(writer, &image));
  image.data_size = 0;
  image.pair_count = 0;
  assert_ok(kdl_writer_add_with_digest(writer, &image));
  assert_ok(kdl_writer_finish(writer, &data, &size));
  kdl_writer_destroy(writer);
  assert_ok(kdl_open_memory(data, size, NULL, &lib));
  kdl_image_info info = image_at(lib, 0);
  assert_int_equal(info.pair_count, 2);
  assert_string_equal(info.pairs[1].key.data, KDL_DIGEST_KEY);
  assert_string_equal(info.pairs[1].value.data,
                      "blake2b-256:"
                      "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
  assert_int_equal(image_at(lib, 1).pair_count, 0);
  kdl_close(lib);
  free(data);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_whole_image_runs),
      cmocka_unit_test(every_changed_bit_is_refused),
      cmocka_unit_test(a_repeated_or_old_digest_is_replaced),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
