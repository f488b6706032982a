/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* KDL_TRUST=require: an image is loaded where its signature is of a key that is there, and no
 * longer where a bit of it, of its metadata or of its signature has changed. */
#include "launch_support.h"

#include "base/blake2b.h"
#include "trust/trust.h"

#include <sys/stat.h>

/* RFC 8032, test 1: the seed and its public key. */
static const uint8_t secret[KDL_ED25519_SECRET] = {
    0x9d, 0x61, 0xb1, 0x9d, 0xef, 0xfd, 0x5a, 0x60, 0xba, 0x84, 0x4a, 0xf4, 0x92, 0xec, 0x2c, 0xc4,
    0x44, 0x49, 0xc5, 0x69, 0x7b, 0x32, 0x69, 0x19, 0x70, 0x3b, 0xac, 0x03, 0x1c, 0xae, 0x7f, 0x60,
    0xd7, 0x5a, 0x98, 0x01, 0x82, 0xb1, 0x0a, 0xb7, 0xd5, 0x4b, 0xfe, 0xd3, 0xc9, 0x64, 0x07, 0x3a,
    0x0e, 0xe1, 0x72, 0xf3, 0xda, 0xa6, 0x23, 0x25, 0xaf, 0x02, 0x1a, 0x68, 0xf7, 0x07, 0x51, 0x1a};
/* "Ed", "12345678" and that public key. */
static const char public_key[] = "untrusted comment: a test's\n"
                                 "RWQxMjM0NTY3ONdamAGCsQq31Uv+08lkBzoO4XLz2qYjJa8CGmj3B1Ea\n";

static char folder[] = "/tmp/kdl-trust-XXXXXX";
static uint8_t *file;
static size_t file_size;
static char line[KDL_SIGNATURE_LINE];

static const kdl_pair keys[] = {{{"triple", 6}, {HOST_TRIPLE, sizeof HOST_TRIPLE - 1}},
                                {{"arch", 4}, {HOST_ARCH, sizeof HOST_ARCH - 1}},
                                {{"kdl.kernel.mark", 15}, {"sig=ptr<u32> u32; block=256x1x1", 31}}};

static int make_file(void **state) {
  char path[1100];
  kdl_pair pairs[5];
  (void)state;
  if (kdl_sodium_open() != KDL_OK) {
    printf("skipped: libsodium.so.23 not found (Debian: libsodium23)\n");
    exit(77);
  }
  assert_non_null(mkdtemp(folder));
  setenv("KDL_TRUST", "require", 1);
  setenv("KDL_TRUST_DIR", folder, 1);
  snprintf(path, sizeof path, "%s/keys.d", folder);
  assert_int_equal(mkdir(path, 0700), 0);
  snprintf(path, sizeof path, "%s/keys.d/test.pub", folder);
  FILE *out = fopen(path, "we");
  fputs(public_key, out);
  fclose(out);
  snprintf(path, sizeof path, "%s/mark1.so", KDL_TEST_IMAGES);
  size_t size;
  uint8_t *bytes = read_file(path, &size);
  char digest[80] = "blake2b-256:";
  kdl_digest of = kdl_digest_of(bytes, size);
  kdl_digest_print(&of, digest + 12);
  memcpy(pairs, keys, sizeof keys);
  pairs[3] = (kdl_pair){text_of("kdl.digest"), text_of(digest)};
  kdl_signed_image what = {1, 0, 0, pairs, 4};
  kdl_secret_key key = {.id = "1234567"};
  key.id[7] = '8';
  memcpy(key.key, secret, sizeof secret);
  kdl_string message;
  kdl_signature signature;
  assert_ok(kdl_signed_message(&what, 1, &message));
  kdl_signature_make(&key, message, text_of("a comment"), &signature);
  kdl_signature_write_line(&signature, line);
  free((char *)message.data);
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
  char path[1100];
  (void)state;
  snprintf(path, sizeof path, "%s/keys.d/test.pub", folder);
  unlink(path);
  snprintf(path, sizeof path, "%s/keys.d", folder);
  rmdir(path);
  rmdir(folder);
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
  kdl_choice choice = {.size = sizeof choice};
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
  assert_ok(kdl_public_key_read("f", text_of(public_key), &key));
  char id[KDL_KEY_ID_TEXT];
  kdl_key_id_print(key.id, id);
  assert_string_equal(id, "3837363534333231");
}

static void users_cannot_weaken_what_programs_with_more_rights_do(void **state) {
  (void)state;
  for (int system = KDL_TRUST_OFF; system <= KDL_TRUST_REQUIRE; ++system) {
    for (int user = KDL_TRUST_OFF; user <= KDL_TRUST_REQUIRE; ++user) {
      kdl_trust_policy a = (kdl_trust_policy)system, b = (kdl_trust_policy)user;
      assert_int_equal(kdl_trust_decide(a, b, false), b);
      assert_int_equal(kdl_trust_decide(a, b, true), a > b ? a : b);
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
      cmocka_unit_test(keys_and_signatures_of_others_are_told),
      cmocka_unit_test(lists_that_differ_are_signed_as_such),
      cmocka_unit_test(users_cannot_weaken_what_programs_with_more_rights_do),
  };
  return cmocka_run_group_tests(tests, make_file, remove_files);
}
