/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Text that grows as it is printed. tests/memory covers running out of memory. */
#include "support.h"
#include "support/base/text.h"

static void text_is_what_was_printed(void **state) {
  (void)state;
  char *text;
  size_t length;
  FILE *file = kdl_text_stream(&text, &length);
  assert_non_null(file);
  fprintf(file, "%d-%s", 7, "x");
  fputc('\0', file);
  fputs("end", file);
  assert_int_equal(fclose(file), 0);
  assert_int_equal(length, 7);
  assert_memory_equal(text, "7-x\0end", 8);
  free(text);
}

static void nothing_printed_is_a_text(void **state) {
  (void)state;
  char *text;
  size_t length;
  FILE *file = kdl_text_stream(&text, &length);
  assert_non_null(file);
  assert_int_equal(fclose(file), 0);
  assert_int_equal(length, 0);
  assert_string_equal(text, "");
  free(text);
}

static void long_text_is_whole(void **state) {
  (void)state;
  enum { count = 100000, width = 8 };
  char *text, expected[width + 1];
  size_t length;
  FILE *file = kdl_text_stream(&text, &length);
  assert_non_null(file);
  for (int i = 0; i < count; ++i)
    fprintf(file, "%07d,", i);
  assert_int_equal(fclose(file), 0);
  assert_int_equal(length, (size_t)count * width);
  for (size_t i = 0; i < count; ++i) {
    snprintf(expected, sizeof expected, "%07zu,", i);
    assert_memory_equal(text + i * width, expected, width);
  }
  assert_int_equal(text[length], '\0');
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(text_is_what_was_printed),
      cmocka_unit_test(nothing_printed_is_a_text),
      cmocka_unit_test(long_text_is_whole),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
