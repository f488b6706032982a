/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* KDL_TRUST=require: an image loads if a trusted key signed it, and not after a bit of it, of its
 * metadata or of its signature has changed. */
#include "trust_support.h"

#include "lib/hooks.h"
#include "lib/trust/settings.h"
#include "lib/trust/trust.h"

static uint8_t *file;
static size_t file_size;
static char line[KDL_SIGNATURE_LINE];

static const kdl_pair keys[] = {{{"triple", 6}, {HOST_TRIPLE, sizeof HOST_TRIPLE - 1}},
                                {{"arch", 4}, {HOST_ARCH, sizeof HOST_ARCH - 1}},
                                {{"kdl.kernel.mark", 15}, {"sig=ptr<u32> u32; block=256x1x1", 31}}};

static int make_file(void **state) {
  size_t size;
  kdl_pair pairs[5];
  char digest[TRUST_DIGEST];
  (void)state;
  trust_begin("require");
  uint8_t *bytes = read_file(KDL_TEST_IMAGES "/mark1.so", &size);
  trust_digest(bytes, size, digest);
  memcpy(pairs, keys, sizeof keys);
  pairs[3] = (kdl_pair){text_of("kdl.digest"), text_of(digest)};
  const kdl_signed_image what = {1, 0, 0, pairs, 4};
  trust_sign(&what, line);
  pairs[4] = (kdl_pair){text_of("kdl.signature"), text_of(line)};
  kdl_writer_image image = {.size = sizeof image,
                            .declared_kind = 1,
                            .pairs = pairs,
                            .pair_count = 5,
                            .data = bytes,
                            .data_size = size};
  kdl_writer *writer;
  void *data;
  assert_ok(kdl_writer_create(KDL_FORMAT_V1, &writer));
  assert_ok(kdl_writer_add(writer, &image));
  assert_ok(kdl_writer_finish(writer, &data, &file_size));
  kdl_writer_destroy(writer);
  file = data;
  free(bytes);
  return 0;
}

static int remove_files(void **state) {
  (void)state;
  trust_end();
  free(file);
  return 0;
}

/* Whether `mark` can be loaded from the file as it is now. */
static kdl_status load(void) {
  kdl_library *lib;
  kdl_open_opts opts = {.size = sizeof opts, .name = "t"};
  kdl_status status = kdl_open_memory(file, file_size, &opts, &lib);
  if (status != KDL_OK)
    return status;
  kdl_selection choice = {.size = sizeof choice};
  status = kdl_select(lib, the_host(), "mark", NULL, &choice);
  kdl_close(lib);
  return status;
}

static void what_was_signed_is_loaded(void **state) {
  (void)state;
  assert_ok(load());
  assert_ok(load());
}

static void change(const char *what, size_t at) {
  for (unsigned bit = 0; bit < 8; bit += 3) {
    file[at] ^= (uint8_t)(1u << bit);
    if (load() == KDL_OK)
      fail_msg("%s: bit %u of byte %zu was changed, and the image is loaded", what, bit, at);
    file[at] ^= (uint8_t)(1u << bit);
  }
}

static size_t find(const char *text) {
  const uint8_t *at = memmem(file, file_size, text, strlen(text));
  assert_non_null(at);
  return (size_t)(at - file);
}

static void a_changed_bit_of_metadata_is_refused(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof keys / sizeof *keys; ++i) {
    size_t value = find(keys[i].value.data);
    for (size_t k = 0; k < keys[i].value.length; ++k)
      change("metadata", value + k);
    size_t key = find(keys[i].key.data);
    for (size_t k = 0; k < keys[i].key.length; ++k)
      change("metadata", key + k);
  }
  size_t digest = find("blake2b-256:");
  for (size_t k = 0; k < 76; ++k)
    change("kdl.digest", digest + k);
}

static void a_changed_bit_of_the_signature_is_refused(void **state) {
  (void)state;
  size_t at = find(line), key = find("kdl.signature");
  for (size_t k = 0; k < strlen(line); ++k)
    change("kdl.signature", at + k);
  for (size_t k = 0; k < strlen("kdl.signature"); ++k)
    change("kdl.signature", key + k);
}

static void a_changed_bit_of_the_image_is_refused(void **state) {
  (void)state;
  size_t image = find("\177ELF");
  for (size_t i = 0; i < 100; ++i)
    change("image", image + i * (file_size - image - 16) / 100);
}

/* Its digest can be put right by anyone; what was signed is the digest. */
static void an_image_with_another_digest_is_refused(void **state) {
  (void)state;
  char digest[TRUST_DIGEST], before[TRUST_DIGEST] = "";
  size_t image = find("\177ELF"), at = find("blake2b-256:");
  size_t size = file_size - image;
  while (trust_digest(file + image, size, digest), memcmp(digest, file + at, 76) != 0)
    --size; /* what pads the file */
  memcpy(before, file + at, 76);
  file[image + size / 2] ^= 1;
  trust_digest(file + image, size, digest);
  memcpy(file + at, digest, 76);
  assert_int_equal(load(), KDL_BAD_FILE);
  assert_non_null(strstr(kdl_error_message(), "kdl.signature: is not what key"));
  memcpy(file + at, before, 76);
  file[image + size / 2] ^= 1;
  assert_ok(load());
}

static void keys_and_signatures_of_others_are_told(void **state) {
  (void)state;
  kdl_public_key key;
  kdl_secret_key secret_key;
  kdl_signature signature;
  const char *const wrong[] = {"", "untrusted comment: x\n", "untrusted comment: x\nRWQ=\n",
                               "RWQxMjM0NTY3ONdamAGCsQq31Uv+08lkBzoO4XLz2qYjJa8CGmj3B1Ea\n"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
    assert_int_equal(kdl_public_key_read("f", text_of(wrong[i]), &key), KDL_BAD_FILE);
    assert_int_equal(kdl_secret_key_read("f", text_of(wrong[i]), &secret_key), KDL_BAD_FILE);
    assert_int_equal(kdl_signature_read_file("f", text_of(wrong[i]), &signature), KDL_BAD_FILE);
    assert_int_equal(kdl_signature_read_line(text_of(wrong[i]), &signature), KDL_BAD_FILE);
  }
  assert_ok(kdl_public_key_read("f", text_of(TRUST_PUBLIC_KEY), &key));
  char id[KDL_KEY_ID_TEXT];
  kdl_key_id_print(key.id, id);
  assert_string_equal(id, "3837363534333231");
}

static void users_cannot_weaken_what_programs_with_more_rights_do(void **state) {
  (void)state;
  for (int system = KDL_TRUST_OFF; system <= KDL_TRUST_REQUIRE; ++system) {
    for (int user = KDL_TRUST_OFF; user <= KDL_TRUST_REQUIRE; ++user) {
      kdl_trust_policy a = (kdl_trust_policy)system, b = (kdl_trust_policy)user;
      assert_int_equal(kdl_trust_effective_policy(a, b, false), b);
      assert_int_equal(kdl_trust_effective_policy(a, b, true), a > b ? a : b);
    }
  }
}

static void lists_that_differ_are_signed_as_such(void **state) {
  (void)state;
  kdl_pair one[] = {{text_of("kdl.digest"), text_of("d")}, {text_of("a"), text_of("b\n1:c=1:d")}};
  kdl_pair two[] = {{text_of("kdl.digest"), text_of("d")},
                    {text_of("a"), text_of("b")},
                    {text_of("c"), text_of("d")}};
  kdl_signed_image first = {0, 0, 0, one, 2}, second = {0, 0, 0, two, 3};
  kdl_string a, b;
  assert_ok(kdl_signed_message(&first, 1, &a));
  assert_ok(kdl_signed_message(&second, 1, &b));
  assert_true(a.length != b.length || memcmp(a.data, b.data, a.length) != 0);
  free((char *)a.data);
  free((char *)b.data);
  first.pairs = one + 1;
  first.pair_count = 1;
  assert_int_equal(kdl_signed_message(&first, 1, &a), KDL_BAD_FILE);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_was_signed_is_loaded),
      cmocka_unit_test(a_changed_bit_of_metadata_is_refused),
      cmocka_unit_test(a_changed_bit_of_the_signature_is_refused),
      cmocka_unit_test(a_changed_bit_of_the_image_is_refused),
      cmocka_unit_test(an_image_with_another_digest_is_refused),
      cmocka_unit_test(keys_and_signatures_of_others_are_told),
      cmocka_unit_test(lists_that_differ_are_signed_as_such),
      cmocka_unit_test(users_cannot_weaken_what_programs_with_more_rights_do),
  };
  return cmocka_run_group_tests(tests, make_file, remove_files);
}
