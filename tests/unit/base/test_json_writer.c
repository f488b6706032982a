/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "support.h"

#include "support/base/text.h"
#include "support/json/reader.h"
#include "support/json/writer.h"

/* What the text is in a file; the caller frees it. */
static char *written(kdl_string text) {
  char *out = NULL;
  size_t size = 0;
  FILE *file = open_memstream(&out, &size);
  assert_non_null(file);
  kdl_json_write_string(file, text);
  assert_int_equal(fclose(file), 0);
  return out;
}

static void check(kdl_string text, const char *expected) {
  char *out = written(text);
  assert_string_equal(out, expected);
  free(out);
}

static void escapes(void **state) {
  (void)state;
  check(KDL_TEXT(""), "\"\"");
  check(KDL_TEXT("a \"b\" \\ c"), "\"a \\\"b\\\" \\\\ c\"");
  check(KDL_TEXT("\n\t\r\x01\x1f\x7f"), "\"\\n\\t\\u000d\\u0001\\u001f\\u007f\"");
  check(KDL_TEXT("a\0b"), "\"a\\u0000b\"");
  check(KDL_TEXT("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"),
        "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"");
}

/* What turns the direction of text, ends a line or commands a terminal is seen, and its neighbours
 * stay. */
static void controls_beyond_ascii_are_escaped(void **state) {
  (void)state;
  static const uint32_t first[] = {0x80, 0x61c, 0x200e, 0x2028, 0x2066};
  static const uint32_t last[] = {0x9f, 0x61c, 0x200f, 0x202e, 0x2069};
  for (size_t i = 0; i < sizeof first / sizeof *first; ++i) {
    for (uint32_t code = first[i] - 1; code <= last[i] + 1; ++code) {
      char text[5] = "", expected[16];
      kdl_utf8_encode(code, text);
      if (code >= first[i] && code <= last[i])
        snprintf(expected, sizeof expected, "\"\\u%04x\"", (unsigned)code);
      else
        snprintf(expected, sizeof expected, code == 0x7f ? "\"\\u007f\"" : "\"%s\"", text);
      check(kdl_text_of(text), expected);
    }
  }
}

static void what_is_no_utf8(void **state) {
  (void)state;
  check(KDL_TEXT("a\xff"), "\"a\\ufffd\"");
  check(KDL_TEXT("\xc3"), "\"\\ufffd\"");                                  /* cut */
  check(KDL_TEXT("\xc0\xaf"), "\"\\ufffd\\ufffd\"");                       /* overlong */
  check(KDL_TEXT("\xed\xa0\x80"), "\"\\ufffd\\ufffd\\ufffd\"");            /* a surrogate */
  check(KDL_TEXT("\xf4\x90\x80\x80"), "\"\\ufffd\\ufffd\\ufffd\\ufffd\""); /* beyond Unicode */
}

/* Every character comes back from the reader as it was. */
static void round_trip(void **state) {
  (void)state;
  for (uint32_t code = 1; code <= 0x10ffff; code += code < 0x900 ? 1 : 251) {
    char text[5] = "", back[8];
    uint32_t decoded = 0;
    kdl_json json;
    if (code >= 0xd800 && code < 0xe000)
      continue;
    size_t length = kdl_utf8_encode(code, text);
    assert_int_equal(kdl_utf8_decode(text, length, &decoded), length);
    assert_int_equal(decoded, code);
    assert_true(kdl_utf8_is_valid(text, length));
    assert_int_equal(kdl_utf8_decode(text, length - 1 ? length - 1 : 1, &decoded),
                     length == 1 ? 1 : 0);
    char *out = written((kdl_string){text, length});
    kdl_json_start(&json, "test", out, strlen(out));
    assert_int_equal(kdl_json_string(&json, back, sizeof back), KDL_OK);
    assert_string_equal(back, text);
    free(out);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(escapes),
      cmocka_unit_test(controls_beyond_ascii_are_escaped),
      cmocka_unit_test(what_is_no_utf8),
      cmocka_unit_test(round_trip),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
