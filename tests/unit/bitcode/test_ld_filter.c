/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The system calls that kdl-ld refuses itself, one by one, and those that it goes on to need. */
#include "support.h"

#include "../../../tools/kdl-ld/confine/filter.c" /* NOLINT(bugprone-suspicious-include) */

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum { unavailable = 77 };

/* Runs a check in a process that has the filter. */
static bool holds(bool (*check)(void)) {
  pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (ld_filter_install() != 0)
      _exit(unavailable);
    _exit(check() ? 0 : 1);
  }
  int state;
  assert_int_equal(waitpid(child, &state, 0), child);
  assert_true(WIFEXITED(state));
  if (WEXITSTATUS(state) == unavailable) {
    print_message("skipped: this kernel has no seccomp filters\n");
    skip();
  }
  return WEXITSTATUS(state) == 0;
}

static bool is_refused(long result) {
  return result == -1 && errno == EPERM;
}

static bool refuses_sockets(void) {
  int pair[2];
  return is_refused(socket(AF_INET, SOCK_STREAM, 0)) &&
         is_refused(socket(AF_UNIX, SOCK_DGRAM, 0)) &&
         is_refused(socketpair(AF_UNIX, SOCK_STREAM, 0, pair)) &&
         is_refused(syscall(SYS_io_uring_setup, 1, NULL));
}

static bool refuses_other_processes(void) {
  char byte;
  struct {
    void *start;
    size_t length;
  } place = {&byte, 1};
  return is_refused(syscall(SYS_process_vm_readv, getppid(), &place, 1L, &place, 1L, 0L)) &&
         is_refused(syscall(SYS_pidfd_getfd, 0, 0, 0));
}

static bool refuses_namespaces(void) {
  return is_refused(unshare(CLONE_NEWUSER)) &&
         is_refused(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0L, 0L, 0L, 0L)) &&
         is_refused(syscall(SYS_clone, CLONE_NEWNET | SIGCHLD, 0L, 0L, 0L, 0L)) &&
         syscall(SYS_clone3, NULL, 0L) == -1 && errno == ENOSYS &&
         is_refused(syscall(SYS_mount, NULL, "/", NULL, 0L, NULL));
}

static bool refuses_new_limits(void) {
  struct rlimit now;
  return getrlimit(RLIMIT_CORE, &now) == 0 && is_refused(setrlimit(RLIMIT_CORE, &now)) &&
         is_refused(prlimit(0, RLIMIT_CORE, &now, NULL)) &&
         is_refused(syscall(SYS_prlimit64, 0L, RLIMIT_CORE, (uint64_t)1 << 32, NULL)) &&
         prlimit(0, RLIMIT_CORE, NULL, &now) == 0;
}

static bool refuses_letters(void) {
  char letter = 'x';
  return is_refused(ioctl(0, TIOCSTI, &letter)) && is_refused(ioctl(0, TIOCLINUX, &letter));
}

static bool allows_work(void) {
  int ends[2], waiting = 0, state;
  pid_t child = fork();
  if (child == 0)
    _exit(7);
  return child > 0 && waitpid(child, &state, 0) == child && WEXITSTATUS(state) == 7 &&
         pipe(ends) == 0 && write(ends[1], "abc", 3) == 3 &&
         ioctl(ends[0], FIONREAD, &waiting) == 0 && waiting == 3 &&
         open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0;
}

#define TEST(name)                                                                                 \
  static void the_filter_##name(void **state) {                                                    \
    (void)state;                                                                                   \
    assert_true(holds(name));                                                                      \
  }
TEST(refuses_sockets)
TEST(refuses_other_processes)
TEST(refuses_namespaces)
TEST(refuses_new_limits)
TEST(refuses_letters)
TEST(allows_work)

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_filter_refuses_sockets),
      cmocka_unit_test(the_filter_refuses_other_processes),
      cmocka_unit_test(the_filter_refuses_namespaces),
      cmocka_unit_test(the_filter_refuses_new_limits),
      cmocka_unit_test(the_filter_refuses_letters),
      cmocka_unit_test(the_filter_allows_work),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
