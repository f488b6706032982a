/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* KDL_PRELOAD: its kernels take precedence over those of any library, it changes no other lookup,
 * and a missing library is an error that names the variable. */
#include "launch_support.h"

#include <sys/wait.h>

static const host_row with_mark[] = {{"mark1", 0, NULL, NULL, NULL, NULL}};
static const host_row with_count[] = {{"mark3", 0, NULL, NULL, "kdl.kernel.count", "sig=ptr<u32>"}};

static void preloaded_kernel_wins(void **state) {
  (void)state;
  char path[] = "/tmp/kdl-preload-XXXXXX";
  host_library preloaded = make_library(with_count, 1);
  int fd = mkstemp(path);
  assert_int_equal(write(fd, preloaded.data, preloaded.size), (ssize_t)preloaded.size);
  close(fd);
  setenv("KDL_PRELOAD", path, 1);
  host_library made = open_rows(with_mark, 1);
  uint32_t cells[2] = {0}, *to = cells;
  kdl_kernel *count = kernel_named(made.lib, "count");
  assert_ok(kdl_launch_items(count, NULL, kdl_extent1(2), KDL_ARGS(&to)));
  assert_int_equal(cells[1], 3);
  assert_string_equal(info_of(count).library, path);
  assert_int_equal(run_mark(kernel_named(made.lib, "mark"), 100), 1);
  free_rows(&made);
  free_rows(&preloaded);
  unlink(path);
}

/* Read once per process, so another one looks at the error. */
static void missing_preload_is_an_error(void **state) {
  (void)state;
  pid_t child = fork();
  if (child == 0) {
    setenv("KDL_PRELOAD", "/no/such.offload", 1);
    host_library made = open_rows(with_mark, 1);
    kdl_kernel *kernel;
    kdl_status status = kdl_sym(made.lib, the_host(), "mark", NULL, &kernel);
    _exit(status == KDL_IO &&
                  strcmp(kdl_error_message(), "KDL_PRELOAD: /no/such.offload: cannot open: No such "
                                              "file or directory") == 0
              ? 0
              : 1);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(missing_preload_is_an_error),
      cmocka_unit_test(preloaded_kernel_wins),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
