/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* environment.def, and who reads its rows: also a set-user-ID copy of this program. */
#include "support.h"
#include "support/system/environment.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char self[PATH_MAX], program[] = "/tmp/kdl-environment-XXXXXX";

static const struct {
  const char *name, *meaning;
  kdl_variable_rule rule;
} rows[] = {
#define KDL_VARIABLE_GROUP(heading) {NULL, heading, KDL_VARIABLE_RULE_USUAL},
#define KDL_VARIABLE_ROW(constant, name, rule, meaning) {name, meaning, rule},
#define KDL_TEST_VARIABLE_ROW(name, meaning) {name, meaning, KDL_VARIABLE_RULE_USUAL},
#include "support/system/environment.def"
#undef KDL_VARIABLE_ROW
#undef KDL_VARIABLE_GROUP
};
enum { row_count = sizeof rows / sizeof *rows };

static void names_are_unique(void **state) {
  (void)state;
  for (size_t i = 0; i < row_count; ++i) {
    for (size_t k = 0; rows[i].name && k < i; ++k) {
      if (rows[k].name)
        assert_string_not_equal(rows[i].name, rows[k].name);
    }
  }
}

static void rows_of_a_group_are_sorted(void **state) {
  (void)state;
  for (size_t i = 1; i < row_count; ++i) {
    if (rows[i - 1].name && rows[i].name && strcmp(rows[i - 1].name, rows[i].name) >= 0)
      fail_msg("%s stands after %s", rows[i].name, rows[i - 1].name);
  }
}

/* "" stands for the meaning of the next row, which documents print once, with one rule. */
static void every_row_has_a_meaning(void **state) {
  (void)state;
  for (size_t i = 0; i < row_count; ++i) {
    const char *meaning = rows[i].meaning;
    size_t length = strlen(meaning), ticks = 0;
    for (const char *at = meaning; *at; ++at)
      ticks += *at == '`';
    bool is_whole = length
                        ? !rows[i].name || meaning[length - 1] == '.'
                        : i + 1 < row_count && rows[i + 1].name && rows[i + 1].rule == rows[i].rule;
    if (!is_whole || ticks % 2)
      fail_msg("%s: found the meaning \"%s\"", rows[i].name, meaning);
  }
}

static void set_all(const char *value) {
  for (kdl_variable which = 0; which < KDL_VARIABLE_COUNT; ++which)
    setenv(kdl_variable_name(which), value, 1);
}

static void ordinary_programs_read_every_row(void **state) {
  (void)state;
  set_all("1");
  for (kdl_variable which = 0; which < KDL_VARIABLE_COUNT; ++which)
    assert_string_equal(kdl_environment(which), "1");
}

static void nothing_counts_as_unset(void **state) {
  (void)state;
  set_all("");
  for (kdl_variable which = 0; which < KDL_VARIABLE_COUNT; ++which) {
    assert_null(kdl_environment(which));
    assert_string_equal(kdl_environment_or_empty(which), "");
  }
}

/* In the copy. The loader itself removes some. */
static int count_wrongly_read(void) {
  int wrong = 0;
  for (kdl_variable which = 0; which < KDL_VARIABLE_COUNT; ++which) {
    bool is_read = kdl_variable_rule_of(which) == KDL_VARIABLE_RULE_PRIVILEGED;
    wrong += (kdl_environment(which) != NULL) != is_read;
    wrong += (kdl_environment_or_empty(which) != NULL) != is_read;
  }
  return wrong;
}

static int run_copy(const char *what) {
  pid_t child = fork();
  if (child == 0) {
    if (strcmp(what, "count") == 0)
      set_all("1");
    setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
    execl(program, program, what, (char *)NULL);
    _exit(127);
  }
  int state;
  assert_int_equal(waitpid(child, &state, 0), child);
  assert_true(WIFEXITED(state));
  return WEXITSTATUS(state);
}

static void privileged_programs_read_only_rows_that_say_so(void **state) {
  (void)state;
  if (geteuid() != 0) {
    print_message("skipped: only root can make a set-user-ID program of another user\n");
    skip();
  }
  size_t size;
  uint8_t *data = read_file(self, &size);
  int fd = mkstemp(program);
  assert_true(fd >= 0);
  assert_int_equal(write(fd, data, size), size);
  close(fd);
  free(data);
  setenv("PATH", "/usr/bin:/bin", 1);
  bool is_set = chown(program, 12345, 12345) == 0 && chmod(program, 06755) == 0;
  int probe = is_set ? run_copy("is-secure") : 0, wrong = run_copy("count");
  unlink(program);
  if (probe != 1) {
    print_message("skipped: set-user-ID bits have no effect in /tmp\n");
    skip();
  }
  assert_int_equal(wrong, 0);
}

int main(int argc, char **argv) {
  /* _exit: a leak sanitizer does not work in secure programs. */
  if (argc > 1 && strcmp(argv[1], "is-secure") == 0)
    _exit(secure_getenv("PATH") == NULL && getenv("PATH") != NULL);
  if (argc > 1)
    _exit(count_wrongly_read());
  if (!realpath("/proc/self/exe", self))
    return 1;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names_are_unique),
      cmocka_unit_test(rows_of_a_group_are_sorted),
      cmocka_unit_test(every_row_has_a_meaning),
      cmocka_unit_test(ordinary_programs_read_every_row),
      cmocka_unit_test(nothing_counts_as_unset),
      cmocka_unit_test(privileged_programs_read_only_rows_that_say_so),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
