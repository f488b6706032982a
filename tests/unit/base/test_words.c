/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "support.h"

#include "support/base/string_list.h"

static void words_grow(void **state) {
  (void)state;
  enum { many = 1000 };
  kdl_arena arena = {.blocks = NULL};
  kdl_string_list words = {.arena = &arena};
  char word[16];
  for (int i = 0; i < many; ++i) {
    snprintf(word, sizeof word, "w%d", i);
    if (i % 2)
      kdl_string_list_append(&words, word);
    else
      kdl_string_list_append_format(&words, "w%d", i);
  }
  assert_false(words.failed);
  assert_int_equal(words.count, many);
  assert_null(words.items[many]);
  for (int i = 0; i < many; ++i) {
    snprintf(word, sizeof word, "w%d", i);
    assert_string_equal(words.items[i], word);
  }
  kdl_arena_free(&arena);
}

static void no_memory(void **state) {
  (void)state;
  kdl_arena arena = {.limit = 64};
  kdl_string_list words = {.arena = &arena};
  kdl_string_list_append(&words, "a word");
  assert_true(words.failed);
  kdl_arena_free(&arena);
}

/* The shell itself is the reference. */
static void shell(void **state) {
  (void)state;
  static const char *const given[] = {
      "printf", "%s\\n", "plain-_=+./:,@%", "",        "two words", "it's", "$HOME",
      "`id`",   "*",     "[a-z]*",          "a\\b\"c", "~",         "#",    "&|;"};
  enum { count = sizeof given / sizeof *given };
  kdl_arena arena = {.blocks = NULL};
  kdl_string_list words = {.arena = &arena};
  for (size_t i = 0; i < count; ++i)
    kdl_string_list_append(&words, given[i]);
  char *line = kdl_string_list_shell_command(&words);
  assert_non_null(strstr(line, " plain-_=+./:,@% '' 'two words' 'it'\\''s' "));
  FILE *said = popen(line, "r");
  assert_non_null(said);
  for (size_t i = 2; i < count; ++i) {
    char back[64];
    assert_non_null(fgets(back, sizeof back, said));
    back[strcspn(back, "\n")] = '\0';
    assert_string_equal(back, given[i]);
  }
  assert_int_equal(pclose(said), 0);
  free(line);
  kdl_arena_free(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(words_grow),
      cmocka_unit_test(no_memory),
      cmocka_unit_test(shell),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
