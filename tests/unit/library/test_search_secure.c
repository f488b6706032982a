/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a program with more rights than its user opens: no file that its user could have created.
 * The program is a set-user-ID copy of this one, in a folder full of libraries. */
#include "support.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char root[] = "/tmp/kdl-secure-XXXXXX";
static char self[PATH_MAX], program[64];

/* ------------------------------------------------------------------------------------------ */
/* In the copy                                                                                  */

enum {
  opens_bare = 1,
  opens_relative = 2,
  opens_file = 4,
  opens_absolute = 8,
  opens_beside = 16,
  opens_listed = 32,
};

static bool opens(const char *path, uint32_t flags) {
  kdl_library *lib;
  kdl_open_opts opts = {.size = sizeof opts, .flags = flags};
  if (kdl_open(path, &opts, &lib) != KDL_OK)
    return false;
  kdl_close(lib);
  return true;
}

static int try_all(const char *absolute) {
  return (opens("bare.offload", 0) || opens("bare", 0) ? opens_bare : 0) |
         (opens("./bare.offload", 0) ? opens_relative : 0) |
         (opens("bare.offload", KDL_OPEN_FILE) ? opens_file : 0) |
         (opens(absolute, 0) && opens(absolute, KDL_OPEN_FILE) ? opens_absolute : 0) |
         (opens("beside", 0) ? opens_beside : 0) | (opens("listed", 0) ? opens_listed : 0);
}

/* ------------------------------------------------------------------------------------------ */

static void put(const char *name) {
  size_t size;
  uint8_t *data = read_file(KDL_TEST_DATA "/offload/v1_one.offload", &size);
  int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  assert_true(fd >= 0);
  assert_int_equal(write(fd, data, size), size);
  close(fd);
  free(data);
}

static int run_copy(const char *what) {
  char absolute[128];
  snprintf(absolute, sizeof absolute, "%s/work/bare.offload", root);
  pid_t child = fork();
  if (child == 0) {
    setenv("KDL_LIBRARY_PATH", "../list", 1);
    setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
    execl(program, program, what, absolute, (char *)NULL);
    _exit(127);
  }
  int state;
  assert_int_equal(waitpid(child, &state, 0), child);
  assert_true(WIFEXITED(state));
  return WEXITSTATUS(state);
}

static void ordinary_programs_search(void **state) {
  (void)state;
  assert_int_equal(run_copy("try"),
                   opens_relative | opens_file | opens_absolute | opens_beside | opens_listed);
}

static void privileged_programs_do_not(void **state) {
  (void)state;
  if (geteuid() != 0) {
    print_message("skipped: only root can make a set-user-ID program of another user\n");
    skip();
  }
  assert_int_equal(chown(program, 12345, 12345), 0);
  assert_int_equal(chmod(program, 06755), 0);
  if (run_copy("is-secure") != 1) {
    print_message("skipped: set-user-ID bits have no effect in /tmp\n");
    skip();
  }
  assert_int_equal(run_copy("try"), opens_absolute);
}

static int make_tree(void **state) {
  (void)state;
  if (!mkdtemp(root) || chmod(root, 0755) != 0 || chdir(root) != 0 || mkdir("bin", 0755) != 0 ||
      mkdir("work", 0755) != 0 || mkdir("list", 0755) != 0)
    return 1;
  size_t size;
  uint8_t *data = read_file(self, &size);
  snprintf(program, sizeof program, "%s/bin/program", root);
  int fd = open(program, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
  bool is_whole = fd >= 0 && write(fd, data, size) == (ssize_t)size;
  close(fd);
  free(data);
  put("work/bare.offload");
  put("bin/beside.offload");
  put("list/listed.offload");
  return !is_whole || chdir("work") != 0;
}

static int remove_tree(void **state) {
  (void)state;
  char command[64];
  snprintf(command, sizeof command, "rm -r %s", root);
  return chdir("/") != 0 || system(command) != 0;
}

int main(int argc, char **argv) {
  /* _exit: a leak sanitizer does not work in secure programs. */
  if (argc > 1 && strcmp(argv[1], "is-secure") == 0)
    _exit(secure_getenv("PATH") == NULL && getenv("PATH") != NULL);
  if (argc > 2)
    _exit(try_all(argv[2]));
  if (!realpath("/proc/self/exe", self))
    return 1;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ordinary_programs_search),
      cmocka_unit_test(privileged_programs_do_not),
  };
  return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
