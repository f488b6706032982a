/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* libkdl uses the copy of a driver that the process already uses, as with frameworks that bring
 * their own: streams of one copy mean nothing to another. */
#include "support.h"

#include "lib/registry/discover.h"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

static void assert_library(const char *expected) {
  kdl_discover_opts opts = {.backends = 1u << KDL_BACKEND_HIP};
  kdl_discovery *found;
  assert_ok(kdl_discover(&opts, &found));
  assert_string_equal(found->reports[0].library, expected);
  assert_int_equal(found->device_count, 1);
  kdl_discovery_free(found);
}

static void the_one_in_use_is_taken(void **state) {
  (void)state;
  assert_non_null(dlopen("libamdhip64.so.5", RTLD_NOW | RTLD_LOCAL));
  assert_library("libamdhip64.so.5");
}

/* In a process of its own, since drivers are never closed. */
static void else_the_newest(void **state) {
  (void)state;
  assert_library("libamdhip64.so.7");
}

static int run_again(char **argv, const char *which) {
  pid_t child = fork();
  if (child == 0) {
    setenv("LD_LIBRARY_PATH", KDL_TEST_FAKES "/whole:" KDL_TEST_FAKES "/old", 1);
    setenv("KDL_FAKE_DEVICES", "hip:gfx942 driver=6.4.1", 1);
    setenv("KDL_TEST_WHICH", which, 1);
    execv("/proc/self/exe", argv);
    _exit(127);
  }
  int status = 1;
  waitpid(child, &status, 0);
  return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

int main(int argc, char **argv) {
  (void)argc;
  const char *which = getenv("KDL_TEST_WHICH");
  if (!which)
    return run_again(argv, "loaded") | run_again(argv, "newest");
  const struct CMUnitTest loaded[] = {cmocka_unit_test(the_one_in_use_is_taken)};
  const struct CMUnitTest newest[] = {cmocka_unit_test(else_the_newest)};
  return strcmp(which, "loaded") == 0 ? cmocka_run_group_tests(loaded, NULL, NULL)
                                      : cmocka_run_group_tests(newest, NULL, NULL);
}
