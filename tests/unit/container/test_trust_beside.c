/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A detached signature signs all images of a file, and is verified once while the file is open: the
 * cost of a file depends on its size, not on the number of its images or on the signature file. */
#include "trust_support.h"

#include <time.h>

enum { many = 3000 };

static char path[256], beside[300];
static kdl_signed_image *what;
static kdl_pair (*pairs)[4];
static char (*tags)[40];
static char digest[TRUST_DIGEST];

/* Images for the host that do not load. */
static int make_file(void **state) {
  (void)state;
  static const uint8_t bytes[64] = "\177ELF and nothing more";
  kdl_writer *writer;
  void *data;
  size_t size;
  trust_begin("require");
  trust_path("many.offload", path);
  snprintf(beside, sizeof beside, "%s.minisig", path);
  what = calloc(many, sizeof *what);
  pairs = calloc(many, sizeof *pairs);
  tags = calloc(many, sizeof *tags);
  trust_digest(bytes, sizeof bytes, digest);
  assert_ok(kdl_writer_create(KDL_FORMAT_V1, &writer));
  for (size_t i = 0; i < many; ++i) {
    snprintf(tags[i], sizeof tags[i], "kdl.kernel.k%zu", i);
    pairs[i][0] = (kdl_pair){text_of("triple"), text_of(HOST_TRIPLE)};
    pairs[i][1] = (kdl_pair){text_of("arch"), text_of(HOST_ARCH)};
    pairs[i][2] = (kdl_pair){text_of(i % 2 ? "kdl.kernel.mark" : tags[i]), text_of("rev=1")};
    pairs[i][3] = (kdl_pair){text_of("kdl.digest"), text_of(digest)};
    kdl_writer_image image = {.size = sizeof image,
                              .declared_kind = 1,
                              .pairs = pairs[i],
                              .pair_count = 4,
                              .data = bytes,
                              .data_size = sizeof bytes};
    what[i] = (kdl_signed_image){1, 0, 0, pairs[i], 4};
    assert_ok(kdl_writer_add(writer, &image));
  }
  assert_ok(kdl_writer_finish(writer, &data, &size));
  kdl_writer_destroy(writer);
  write_bytes(path, data, size);
  free(data);
  return 0;
}

static int remove_file(void **state) {
  (void)state;
  unlink(path);
  unlink(beside);
  trust_end();
  free(what);
  free(pairs);
  free(tags);
  return 0;
}

/* Signs the first `count` images. */
static void sign_beside(size_t count) {
  char line[KDL_SIGNATURE_LINE], text[KDL_SIGNATURE_LINE + 64];
  kdl_secret_key key = {.id = {'1', '2', '3', '4', '5', '6', '7', '8'}};
  kdl_string message;
  kdl_signature signature;
  memcpy(key.key, trust_secret, sizeof trust_secret);
  assert_ok(kdl_signed_message(what, count, &message));
  kdl_signature_make(&key, message, text_of("c"), &signature);
  kdl_signature_write_line(&signature, line);
  free((char *)message.data);
  char *second = strchr(line, ' ');
  *second++ = '\0';
  char *comment = strchr(second, ' ');
  *comment++ = '\0';
  int size = snprintf(text, sizeof text, "untrusted comment: x\n%s\ntrusted comment: %s\n%s\n",
                      line, comment, second);
  write_bytes(beside, text, (size_t)size);
}

/* Loads every image of `mark`, which fails; returns CPU seconds. */
static double try_all(kdl_status expected, const char *message) {
  kdl_library *lib;
  clock_t start = clock();
  assert_ok(kdl_open(path, NULL, &lib));
  assert_int_equal(kdl_prefetch(kernel_named(lib, "mark")), expected);
  if (!strstr(kdl_error_message(), message))
    fail_msg("found \"%s\", expected \"%s\"", kdl_error_message(), message);
  kdl_close(lib);
  return (double)(clock() - start) / CLOCKS_PER_SEC;
}

static void a_wrong_signature_is_looked_at_once(void **state) {
  (void)state;
  sign_beside(many - 1);
  assert_true(try_all(KDL_BAD_FILE, "kdl.signature: is not what key") < 3);
}

static void none_is_looked_for_once(void **state) {
  (void)state;
  unlink(beside);
  assert_true(try_all(KDL_BAD_FILE, "kdl.signature: found none") < 3);
}

/* All signatures are valid; the loader reports what is wrong with the images. */
static void a_right_signature_is_looked_at_once(void **state) {
  (void)state;
  sign_beside(many);
  kdl_library *lib;
  kdl_selection choice = {.size = sizeof choice};
  assert_ok(kdl_open(path, NULL, &lib));
  clock_t start = clock();
  for (size_t i = 0; i < many; i += 2)
    assert_ok(kdl_select(lib, the_host(), tags[i] + strlen("kdl.kernel."), NULL, &choice));
  assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 3);
  unlink(beside); /* it was verified */
  assert_ok(kdl_select(lib, the_host(), "mark", NULL, &choice));
  kdl_close(lib);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_wrong_signature_is_looked_at_once),
      cmocka_unit_test(none_is_looked_for_once),
      cmocka_unit_test(a_right_signature_is_looked_at_once),
  };
  return cmocka_run_group_tests(tests, make_file, remove_file);
}
