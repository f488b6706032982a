/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Text that messages quote cannot look like another message. */
#include "support.h"

#include "support/base/error.h"
#include "support/base/text.h"
#include "support/system/environment.h"

static void check(const char *before, const char *after) {
  char text[256];
  snprintf(text, sizeof text, "%s", before);
  kdl_text_escape_controls(text, sizeof text);
  assert_string_equal(text, after);
  kdl_text_escape_controls(text, sizeof text);
  assert_string_equal(text, after);
}

static void control_characters_are_written_out(void **state) {
  (void)state;
  check("", "");
  check("as it was, \\x0a too", "as it was, \\x0a too");
  check("a\nkdl: error: b", "a\\x0akdl: error: b");
  check("a\n b\n", "a\\x0a b\\x0a");
  check("a:\n  first\n  second", "a:\n  first\n  second");
  check("a\tb", "a\tb");
  check("\r\033[2J\x7f", "\\x0d\\x1b[2J\\x7f");
  check("\xc2\x9b"
        "2J \xc3\xa4 \xc2\xa7 \xc2",
        "\\xc2\\x9b2J \xc3\xa4 \xc2\xa7 \xc2");
  check("k\xe2\x80\xae"
        "cba\xe2\x81\xa9 \xd8\x9c \xe2\x80\xa8 \xe2\x80\xa7 \xe2\x82\xac",
        "k\\xe2\\x80\\xae"
        "cba\\xe2\\x81\\xa9 \\xd8\\x9c \\xe2\\x80\\xa8 \xe2\x80\xa7 \xe2\x82\xac");
  check("a\x9b"
        "31m \x80\x9f\xa0 \xc0\x9b \xe2\x80 \xf0\x9f\x98\x80",
        "a\\x9b31m \\x80\\x9f\xa0 \xc0\\x9b \xe2\\x80 \xf0\x9f\x98\x80");
}

/* At every size, and never beyond it. */
static void what_does_not_fit_is_cut(void **state) {
  (void)state;
  static const char whole[] = "a\\x01b\\x02\\x1bc";
  for (size_t size = 1; size < sizeof whole + 4; ++size) {
    char text[64];
    memset(text, '#', sizeof text);
    snprintf(text, size, "a\001b\002\033c");
    kdl_text_escape_controls(text, size);
    assert_true(strlen(text) < size);
    assert_int_equal(strncmp(whole, text, strlen(text)), 0);
    for (size_t at = size; at < sizeof text; ++at)
      assert_int_equal(text[at], '#');
  }
}

static void errors_are_plain(void **state) {
  (void)state;
  (void)kdl_fail(KDL_BAD_FILE, "key \"%s\"", "a\nkdl: all is well");
  assert_string_equal(kdl_error_message(), "key \"a\\x0akdl: all is well\"");
  kdl_error_prefix("f\n%s", "g\r");
  assert_string_equal(kdl_error_message(), "f\\x0ag\\x0d: key \"a\\x0akdl: all is well\"");
}

static char logged[256];

static void keep_line(void *user, const char *topic, const char *line) {
  (void)user;
  (void)topic;
  snprintf(logged, sizeof logged, "%s", line);
}

static void logs_are_plain(void **state) {
  (void)state;
  kdl_set_log("load", keep_line, NULL);
  kdl_debug(KDL_DEBUG_LOAD, "kernel %s", "k\nkdl: load: another");
  kdl_set_log(NULL, NULL, NULL);
  assert_string_equal(logged, "kernel k\\x0akdl: load: another");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(control_characters_are_written_out),
      cmocka_unit_test(what_does_not_fit_is_cut),
      cmocka_unit_test(errors_are_plain),
      cmocka_unit_test(logs_are_plain),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
