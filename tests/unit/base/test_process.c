/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "support.h"

#include "support/system/file.h"
#include "support/system/subprocess.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs a line of shell, and returns what it wrote to standard output. */
static char *said(const char *line, const int *files, size_t count, bool is_apart, int *out_code) {
  int fd = kdl_memory_file_create("test", KDL_MEMORY_FILE_DATA, "", 0);
  assert_true(fd >= 0);
  const char *const arguments[] = {"sh", "-c", line, NULL};
  kdl_process process = {.path = "/bin/sh",
                         .arguments = arguments,
                         .standard = {-1, fd, -1},
                         .files = files,
                         .file_count = count,
                         .is_isolated = is_apart};
  pid_t child;
  int state;
  void *text;
  size_t size;
  assert_int_equal(kdl_process_start(&process, &child), 0);
  assert_int_equal(kdl_process_wait(child, &state), 0);
  assert_true(WIFEXITED(state));
  *out_code = WEXITSTATUS(state);
  assert_ok(kdl_memory_file_read(fd, "sh", 1 << 20, &text, &size));
  assert_int_equal(strlen(text), size);
  close(fd);
  return text;
}

static void output_and_code(void **state) {
  (void)state;
  int code;
  char *text = said("cat; echo out; echo err >&2; exit 7", NULL, 0, false, &code);
  assert_int_equal(code, 7);
  assert_string_equal(text, "out\n");
  free(text);
}

/* They change places: one must not overwrite the other on the way. */
static void files_in_each_others_place(void **state) {
  (void)state;
  int fds[2], code;
  fds[0] = kdl_memory_file_create("a", KDL_MEMORY_FILE_DATA, "first\n", 6);
  fds[1] = kdl_memory_file_create("b", KDL_MEMORY_FILE_DATA, "second\n", 7);
  assert_true(fds[0] >= 0 && fds[1] >= 0);
  int low = fcntl(fds[0], F_DUPFD_CLOEXEC, 4);
  int swapped[2] = {low, fds[1]};
  char *text = said("cat /proc/self/fd/3 /proc/self/fd/4", swapped, 2, true, &code);
  assert_int_equal(code, 0);
  assert_string_equal(text, "first\nsecond\n");
  free(text);
  close(low);
  close(fds[0]);
  close(fds[1]);
}

/* Where the caller has closed its own, the program's are what was asked for all the same. */
static void closed_input(void **state) {
  (void)state;
  int code, kept = dup(STDIN_FILENO);
  close(STDIN_FILENO);
  char *text = said("readlink /proc/self/fd/0", NULL, 0, false, &code);
  dup2(kept, STDIN_FILENO);
  close(kept);
  assert_int_equal(code, 0);
  assert_string_equal(text, "/dev/null\n");
  free(text);
}

static void apart(void **state) {
  (void)state;
  int code, open = fcntl(STDERR_FILENO, F_DUPFD, 40);
  assert_true(open >= 0);
  char number[64];
  snprintf(number, sizeof number, "test -e /proc/self/fd/%d", open);
  free(said(number, NULL, 0, false, &code));
  assert_int_equal(code, 0);
  free(said(number, NULL, 0, true, &code));
  assert_int_equal(code, 1);
  close(open);
  signal(SIGTERM, SIG_IGN);
  free(said("kill -TERM $$; exit 5", NULL, 0, false, &code));
  signal(SIGTERM, SIG_DFL);
  assert_int_equal(code, 5);
}

static void what_cannot_be_started(void **state) {
  (void)state;
  static const int many[100] = {0};
  const char *const arguments[] = {"x", NULL};
  kdl_process process = {
      .path = "/nonexistent/x", .arguments = arguments, .standard = {-1, -1, -1}};
  pid_t child;
  int state_of;
  assert_int_equal(kdl_process_start(&process, &child), ENOENT);
  process.standard[1] = 9999;
  assert_int_equal(kdl_process_start(&process, &child), EBADF);
  process =
      (kdl_process){.path = "/bin/true", .arguments = arguments, .files = many, .file_count = 100};
  assert_int_equal(kdl_process_start(&process, &child), EMFILE);
  assert_int_equal(kdl_process_wait(getpid(), &state_of), ECHILD);
}

static void limit_of_a_file(void **state) {
  (void)state;
  int fd = kdl_memory_file_create("test", KDL_MEMORY_FILE_DATA, "12345", 5);
  void *text;
  size_t size;
  assert_int_equal(kdl_memory_file_read(fd, "test", 4, &text, &size), KDL_NO_MEMORY);
  assert_string_equal(kdl_error_message(), "test wrote more than 4 bytes");
  assert_ok(kdl_memory_file_read(fd, "test", 5, &text, &size));
  assert_string_equal(text, "12345");
  free(text);
  close(fd);
}

/* ------------------------------------------------------------------------------------------ */
/* Subprocesses with limits                                                                     */

static kdl_subprocess_outcome run_line(const char *line, int64_t milliseconds) {
  const char *const arguments[] = {"sh", "-c", line, NULL}, *const environment[] = {NULL};
  kdl_subprocess subprocess = {.path = "/bin/sh",
                               .arguments = arguments,
                               .environment = environment,
                               .milliseconds = milliseconds,
                               .largest_file = 1 << 20};
  kdl_subprocess_outcome outcome;
  assert_ok(kdl_subprocess_run(&subprocess, &outcome));
  return outcome;
}

static void how_a_subprocess_ends(void **state) {
  (void)state;
  kdl_subprocess_outcome outcome = run_line("echo words >&2; exit 7", 20000);
  assert_int_equal(outcome.end, KDL_SUBPROCESS_EXITED);
  assert_int_equal(outcome.code, 7);
  assert_string_equal(outcome.words, "words\n");
  outcome = run_line("kill -SEGV $$", 20000);
  assert_int_equal(outcome.end, KDL_SUBPROCESS_KILLED);
  assert_int_equal(outcome.code, SIGSEGV);
  outcome = run_line("while :; do :; done", 50);
  assert_int_equal(outcome.end, KDL_SUBPROCESS_OVERRAN);
  outcome = run_line("exec sleep 20 2>&-", 50);
  assert_int_equal(outcome.end, KDL_SUBPROCESS_OVERRAN);
  /* What it started goes with it, and does not hold up the end by its standard error. */
  outcome = run_line("sleep 20 & exit 3", 20000);
  assert_int_equal(outcome.end, KDL_SUBPROCESS_EXITED);
  assert_int_equal(outcome.code, 3);
}

static void a_subprocess_is_cancelled(void **state) {
  (void)state;
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  kdl_subprocess_cancel_on(ends[0]);
  assert_false(kdl_subprocess_is_cancelled());
  assert_int_equal(run_line("exit 7", 20000).end, KDL_SUBPROCESS_EXITED);
  assert_int_equal(write(ends[1], "", 1), 1);
  assert_true(kdl_subprocess_is_cancelled());
  assert_int_equal(run_line("sleep 20", 20000).end, KDL_SUBPROCESS_CANCELLED);
  kdl_subprocess_cancel_on(-1);
  assert_int_equal(run_line("exit 7", 20000).end, KDL_SUBPROCESS_EXITED);
  close(ends[0]);
  close(ends[1]);
}

/* One that is started after the byte has come has the limits that its parent was given. */
static void a_byte_comes_when_the_limits_are_set(void **state) {
  (void)state;
  const char *const environment[] = {NULL};
  const char *const arguments[] = {"sh", "-c",
                                   "dd bs=1 count=1 2>/dev/null | wc -c; sh -c 'ulimit -f'", NULL};
  kdl_subprocess subprocess = {.path = "/bin/sh",
                               .arguments = arguments,
                               .environment = environment,
                               .milliseconds = 20000,
                               .largest_file = 1 << 20,
                               .awaits_limits = true};
  kdl_subprocess_outcome outcome;
  for (int i = 0; i < 10; ++i) {
    assert_ok(kdl_subprocess_run(&subprocess, &outcome));
    assert_true(strcmp(outcome.words, "1\n2048\n") == 0 || strcmp(outcome.words, "1\n1024\n") == 0);
  }
}

/* Also if standard error stays open: it waits for the end itself, and does not poll. */
static void waiting_wakes_for_what_happens_only(void **state) {
  (void)state;
  static const char *const lines[] = {"sleep 0.4", "exec sleep 0.4 2>&-"};
  int child = (int)syscall(SYS_pidfd_open, getpid(), 0);
  if (child < 0)
    skip();
  close(child);
  for (size_t i = 0; i < 2; ++i) {
    struct rusage before, after;
    getrusage(RUSAGE_THREAD, &before);
    kdl_subprocess_outcome outcome = run_line(lines[i], 20000);
    getrusage(RUSAGE_THREAD, &after);
    assert_int_equal(outcome.end, KDL_SUBPROCESS_EXITED);
    assert_true(after.ru_nvcsw - before.ru_nvcsw < 12);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(output_and_code),
      cmocka_unit_test(files_in_each_others_place),
      cmocka_unit_test(closed_input),
      cmocka_unit_test(apart),
      cmocka_unit_test(what_cannot_be_started),
      cmocka_unit_test(limit_of_a_file),
      cmocka_unit_test(how_a_subprocess_ends),
      cmocka_unit_test(a_subprocess_is_cancelled),
      cmocka_unit_test(a_byte_comes_when_the_limits_are_set),
      cmocka_unit_test(waiting_wakes_for_what_happens_only),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
