/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* References to registries and folders: what each part is, and what is refused. */
#include "pack/oci/reference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#define DIGEST "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const struct {
  const char *text, *folder, *host, *name, *tag, *digest;
  bool is_secure;
} good[] = {
    {"oci:dir", "dir", "", "", "", "", false},
    {"oci:/a/dir:1.0", "/a/dir", "", "", "1.0", "", false},
    {"oci:dir@" DIGEST, "dir", "", "", "", DIGEST, false},
    {"example.org/a", NULL, "example.org", "a", "", "", true},
    {"example.org/a/b-c__d.e:T_1", NULL, "example.org", "a/b-c__d.e", "T_1", "", true},
    {"example.org:5000/a:1@" DIGEST, NULL, "example.org:5000", "a", "1", DIGEST, true},
    {"localhost/a", NULL, "localhost", "a", "", "", false},
    {"localhost:5000/a", NULL, "localhost:5000", "a", "", "", false},
    {"127.0.0.1:5000/a:t", NULL, "127.0.0.1:5000", "a", "t", "", false},
    {"[::1]:5000/a", NULL, "[::1]:5000", "a", "", "", false},
    {"https://localhost:5000/a", NULL, "localhost:5000", "a", "", "", true},
    {"10.0.0.1/a", NULL, "10.0.0.1", "a", "", "", true},
    {"127.0.0.1.example.org/a", NULL, "127.0.0.1.example.org", "a", "", "", true},
    {"localhost.example.org/a", NULL, "localhost.example.org", "a", "", "", true},
};

static void each_part_is_read(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof good / sizeof *good; ++i) {
    kdl_arena arena = {.blocks = NULL};
    oci_reference found;
    assert_int_equal(oci_reference_parse(&arena, good[i].text, &found), KDL_OK);
    if (good[i].folder)
      assert_string_equal(found.folder, good[i].folder);
    else
      assert_null(found.folder);
    assert_string_equal(found.host, good[i].host);
    assert_string_equal(found.name, good[i].name);
    assert_string_equal(found.tag, good[i].tag);
    assert_string_equal(found.digest, good[i].digest);
    assert_int_equal(found.is_secure, good[i].is_secure);
    kdl_arena_free(&arena);
  }
}

static void what_could_lead_elsewhere_is_refused(void **state) {
  static const char two_digests[] = "example.org/a@" DIGEST "@" DIGEST;
  static const char *const bad[] = {
      "",
      "oci:",
      "saxpy",
      "saxpy:1",
      "library/saxpy",
      "example.org/",
      "example.org/A",
      "example.org/a//b",
      "example.org/../a",
      "example.org/a/..",
      "example.org/.a",
      "example.org/a-",
      "example.org/a___b",
      "example.org/a..b",
      "example.org/a:",
      "example.org/a:-x",
      "example.org/a:b/c",
      "example.org/a?x=1",
      "example.org/a#b",
      "example.org/a%2e",
      "user@example.org/a",
      "user:secret@example.org/a",
      "example.org:port/a",
      "example.org:123456/a",
      "exa mple.org/a",
      "example.org\n/a",
      "http://example.org/a",
      "[::1/a",
      "[]/a",
      "[::1]x/a",
      "example.org/a@sha256:12",
      "example.org/a@sha512:12",
      two_digests,
  };
  (void)state;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
    kdl_arena arena = {.blocks = NULL};
    oci_reference found;
    assert_int_equal(oci_reference_parse(&arena, bad[i], &found), KDL_BAD_CALL);
    assert_non_null(strstr(kdl_error_message(), ": use "));
    kdl_arena_free(&arena);
  }
}

static void a_tag_has_at_most_128_characters(void **state) {
  char text[256] = "example.org/a:";
  size_t length = strlen(text);
  kdl_arena arena = {.blocks = NULL};
  oci_reference found;
  (void)state;
  memset(text + length, 't', 128);
  assert_int_equal(oci_reference_parse(&arena, text, &found), KDL_OK);
  text[length + 128] = 't';
  assert_int_equal(oci_reference_parse(&arena, text, &found), KDL_BAD_CALL);
  kdl_arena_free(&arena);
}

static void a_file_is_called_after_the_last_part(void **state) {
  kdl_arena arena = {.blocks = NULL};
  oci_reference found;
  (void)state;
  assert_int_equal(oci_reference_parse(&arena, "example.org/a/b:1", &found), KDL_OK);
  assert_string_equal(oci_reference_base(&found), "b");
  assert_int_equal(oci_reference_parse(&arena, "oci:/x/dir:1", &found), KDL_OK);
  assert_string_equal(oci_reference_base(&found), "dir");
  kdl_arena_free(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_part_is_read),
      cmocka_unit_test(what_could_lead_elsewhere_is_refused),
      cmocka_unit_test(a_tag_has_at_most_128_characters),
      cmocka_unit_test(a_file_is_called_after_the_last_part),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
