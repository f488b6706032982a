/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The system calls that kdl-ld must not make, one by one, and those that it still needs. */
#include "support.h"

#include "ld/confine/filter.c" /* NOLINT(bugprone-suspicious-include) */

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>

extern char **environ;

enum { unavailable = 77 };

/* Runs a check in a process that has the filter. */
static bool holds_with(bool (*check)(void), ld_filter_signals signals) {
  pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (ld_filter_install(signals) != 0)
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

static bool holds(bool (*check)(void)) {
  return holds_with(check, LD_FILTER_SIGNALS_OWN);
}

static bool is_refused(long result) {
  return result == -1 && errno == EPERM;
}

/* ------------------------------------------------------------------------------------------ */
/* By number                                                                                    */

/* Calls that a compiler has no use for, each of which does something to what is not the process's
 * own. */
static const struct {
  const char *name;
  long number;
} forbidden[] = {
#define CALL(name) {#name, SYS_##name},
    /* Files, by name and by descriptor, without opening them to write. */
    CALL(fchmod) CALL(fchmodat) CALL(fchown) CALL(fchownat) CALL(utimensat) CALL(setxattr)
        CALL(lsetxattr) CALL(fsetxattr) CALL(removexattr) CALL(lremovexattr) CALL(fremovexattr)
            CALL(getxattr) CALL(lgetxattr) CALL(fgetxattr) CALL(listxattr) CALL(llistxattr)
                CALL(flistxattr) CALL(inotify_init1) CALL(inotify_add_watch) CALL(fanotify_init)
                    CALL(fanotify_mark) CALL(mkdirat) CALL(mknodat) CALL(unlinkat) CALL(linkat)
                        CALL(symlinkat) CALL(renameat2) CALL(truncate) CALL(flock) CALL(sync)
                            CALL(syncfs) CALL(open_by_handle_at) CALL(name_to_handle_at)
                                CALL(io_setup) CALL(io_uring_setup) CALL(io_uring_enter)
                                    CALL(io_uring_register) CALL(execveat) CALL(acct) CALL(quotactl)
                                        CALL(lookup_dcookie)
    /* The network. */
    CALL(socket) CALL(socketpair) CALL(connect) CALL(bind) CALL(listen) CALL(accept) CALL(accept4)
        CALL(sendto) CALL(sendmsg) CALL(sendmmsg) CALL(recvfrom) CALL(recvmsg) CALL(recvmmsg)
            CALL(getsockopt) CALL(setsockopt) CALL(shutdown)
    /* Other processes. */
    CALL(kill) CALL(tkill) CALL(rt_sigqueueinfo) CALL(rt_tgsigqueueinfo) CALL(process_vm_readv)
        CALL(process_vm_writev) CALL(kcmp) CALL(setpriority) CALL(sched_setaffinity)
            CALL(sched_setscheduler) CALL(sched_setparam) CALL(sched_setattr) CALL(setpgid)
                CALL(setsid) CALL(get_robust_list) CALL(migrate_pages) CALL(move_pages)
                    CALL(ioprio_set) CALL(shmget) CALL(shmat) CALL(shmctl) CALL(msgget) CALL(msgsnd)
                        CALL(semget) CALL(semop) CALL(mq_open) CALL(mq_unlink)
    /* Who it is, and what it may use. */
    CALL(setuid) CALL(setgid) CALL(setreuid) CALL(setresuid) CALL(setresgid) CALL(setgroups)
        CALL(setfsuid) CALL(capset) CALL(setrlimit) CALL(personality) CALL(seccomp) CALL(chroot)
            CALL(unshare) CALL(setns) CALL(mount) CALL(umount2) CALL(pivot_root)
    /* The machine. */
    CALL(bpf) CALL(perf_event_open) CALL(userfaultfd) CALL(keyctl) CALL(add_key) CALL(request_key)
        CALL(init_module) CALL(finit_module) CALL(delete_module) CALL(kexec_load) CALL(reboot)
            CALL(swapon) CALL(swapoff) CALL(sethostname) CALL(setdomainname) CALL(syslog) CALL(
                settimeofday) CALL(clock_settime) CALL(adjtimex) CALL(clock_adjtime) CALL(vhangup)
#ifdef __x86_64__
                CALL(chmod) CALL(chown) CALL(lchown) CALL(utime) CALL(utimes) CALL(futimesat)
                    CALL(inotify_init) CALL(mkdir) CALL(rmdir) CALL(mknod) CALL(creat) CALL(unlink)
                        CALL(link) CALL(symlink) CALL(rename) CALL(renameat) CALL(iopl) CALL(ioperm)
                            CALL(modify_ldt) CALL(kexec_file_load) CALL(uselib)
#endif
#ifndef LD_SANITIZED
                                CALL(ptrace)
#endif
#undef CALL
                                    {"pidfd_send_signal", 424},
    {"open_tree", 428},
    {"move_mount", 429},
    {"fsopen", 430},
    {"fsconfig", 431},
    {"fsmount", 432},
    {"fspick", 433},
    {"pidfd_open", 434},
    {"pidfd_getfd", 438},
    {"process_madvise", 440},
    {"mount_setattr", 442},
    {"process_mrelease", 448},
    {"fchmodat2", 452},
    {"setxattrat", 463},
    {"getxattrat", 464},
    {"removexattrat", 466},
    {"open_tree_attr", 467},
    {"file_setattr", 469},
};

static bool refuses_each(void) {
  bool is_right = true;
  for (size_t i = 0; i < sizeof forbidden / sizeof *forbidden; ++i) {
    if (is_refused(syscall(forbidden[i].number, -1L, 0L, 0L, 0L, 0L, 0L)))
      continue;
    fprintf(stderr, "%s: %s, expected it to be refused\n", forbidden[i].name, strerror(errno));
    is_right = false;
  }
  return is_right;
}

/* A library that is newer than the list takes the older call. */
static bool does_not_know_newer_ones(void) {
  return syscall(number_newest + 1) == -1 && errno == ENOSYS &&
         syscall(number_clone3, NULL, 0L) == -1 && errno == ENOSYS &&
         syscall(number_openat2, AT_FDCWD, "/", NULL, 0L) == -1 && errno == ENOSYS;
}

/* ------------------------------------------------------------------------------------------ */
/* As a program would                                                                           */

static char own_file[] = "/tmp/kdl-filter-XXXXXX";

static bool refuses_changes_of_files(void) {
  const struct timespec times[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
  int fd = open(own_file, O_RDONLY | O_CLOEXEC);
  return fd >= 0 && is_refused(chmod(own_file, 0777)) && is_refused(fchmod(fd, 0777)) &&
         is_refused(chown(own_file, getuid(), getgid())) &&
         is_refused(fchown(fd, getuid(), getgid())) &&
         is_refused(utimensat(AT_FDCWD, own_file, times, 0)) && is_refused(futimens(fd, times)) &&
         is_refused(setxattr(own_file, "user.kdl", "x", 1, 0)) &&
         is_refused(fsetxattr(fd, "user.kdl", "x", 1, 0)) && is_refused(truncate(own_file, 0)) &&
         is_refused(unlink(own_file)) && is_refused(rename(own_file, "/tmp/kdl-filter-other"));
}

static bool refuses_watching(void) {
  int fd = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return fd >= 0 && is_refused(inotify_init1(0)) && is_refused(fcntl(fd, F_NOTIFY, DN_MODIFY)) &&
         is_refused(fcntl(fd, F_SETLEASE, F_RDLCK)) && is_refused(fcntl(fd, F_SETOWN, getppid()));
}

static bool refuses_sockets(void) {
  int pair[2];
  return is_refused(socket(AF_INET, SOCK_STREAM, 0)) &&
         is_refused(socket(AF_UNIX, SOCK_DGRAM, 0)) &&
         is_refused(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
}

static bool refuses_other_processes(void) {
  struct rlimit now;
  return is_refused(kill(getppid(), 0)) &&
         is_refused(syscall(SYS_tgkill, getppid(), getppid(), 0)) &&
         is_refused(prlimit(getppid(), RLIMIT_CORE, NULL, &now)) &&
         syscall(SYS_tgkill, getpid(), gettid(), 0) == 0;
}

/* Where something else keeps them from the others. */
static bool allows_signals_that_are_scoped(void) {
  return kill(getpid(), 0) == 0 && syscall(SYS_tgkill, getpid(), gettid(), 0) == 0 &&
         is_refused(syscall(SYS_rt_sigqueueinfo, getpid(), 0, NULL));
}

static bool refuses_namespaces(void) {
  return is_refused(unshare(CLONE_NEWUSER)) &&
         is_refused(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0L, 0L, 0L, 0L)) &&
         is_refused(syscall(SYS_clone, CLONE_NEWNET | SIGCHLD, 0L, 0L, 0L, 0L));
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
  return is_refused(ioctl(0, TIOCSTI, &letter)) && is_refused(ioctl(0, TIOCLINUX, &letter)) &&
         is_refused(ioctl(0, TIOCSCTTY, 0));
}

static bool refuses_other_options(void) {
  return is_refused(prctl(PR_SET_MM, 0, 0, 0, 0)) && is_refused(prctl(PR_SET_SECCOMP, 1, NULL)) &&
         is_refused(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0));
}

/* ------------------------------------------------------------------------------------------ */
/* What is needed                                                                               */

static void *return_it(void *value) {
  struct timespec moment = {.tv_nsec = 1000};
  nanosleep(&moment, NULL);
  return value;
}

static bool allows_threads(void) {
  pthread_t threads[4];
  int values[4];
  bool is_right = true;
  for (size_t i = 0; i < 4; ++i)
    is_right &= pthread_create(&threads[i], NULL, return_it, &values[i]) == 0;
  for (size_t i = 0; i < 4 && is_right; ++i) {
    void *result;
    is_right = pthread_join(threads[i], &result) == 0 && result == &values[i];
  }
  return is_right;
}

static bool allows_programs(void) {
  char *const words[] = {(char[]){"sh"}, (char[]){"-c"},
                         (char[]){"test \"$(echo a | cat)\" = a && exit 7"}, NULL};
  pid_t child;
  int state;
  return posix_spawn(&child, "/bin/sh", NULL, NULL, words, environ) == 0 &&
         waitpid(child, &state, 0) == child && WIFEXITED(state) && WEXITSTATUS(state) == 7;
}

static bool allows_files(void) {
  int ends[2], waiting = 0, file = memfd_create("filter", MFD_CLOEXEC);
  struct pollfd at_once = {.events = POLLIN};
  char text[8];
  void *memory;
  if (pipe(ends) != 0 || write(ends[1], "abc", 3) != 3)
    return false;
  at_once.fd = ends[0];
  memory = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return poll(&at_once, 1, 0) == 1 && ioctl(ends[0], FIONREAD, &waiting) == 0 && waiting == 3 &&
         open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0 && file >= 0 && ftruncate(file, 8) == 0 &&
         pread(file, text, 8, 0) == 8 && fcntl(file, F_DUPFD_CLOEXEC, 10) >= 10 &&
         memory != MAP_FAILED && munmap(memory, 1 << 20) == 0 && access("/", F_OK) == 0;
}

#define TEST(name)                                                                                 \
  static void the_filter_##name(void **state) {                                                    \
    (void)state;                                                                                   \
    assert_true(holds(name));                                                                      \
  }
TEST(refuses_each)
TEST(does_not_know_newer_ones)
TEST(refuses_changes_of_files)
TEST(refuses_watching)
TEST(refuses_sockets)
TEST(refuses_other_processes)
TEST(refuses_namespaces)
TEST(refuses_new_limits)
TEST(refuses_letters)
TEST(refuses_other_options)
TEST(allows_threads)
TEST(allows_programs)
TEST(allows_files)

static void the_filter_allows_signals_that_are_scoped(void **state) {
  (void)state;
  assert_true(holds_with(allows_signals_that_are_scoped, LD_FILTER_SIGNALS_SCOPED));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_filter_refuses_each),
      cmocka_unit_test(the_filter_does_not_know_newer_ones),
      cmocka_unit_test(the_filter_refuses_changes_of_files),
      cmocka_unit_test(the_filter_refuses_watching),
      cmocka_unit_test(the_filter_refuses_sockets),
      cmocka_unit_test(the_filter_refuses_other_processes),
      cmocka_unit_test(the_filter_allows_signals_that_are_scoped),
      cmocka_unit_test(the_filter_refuses_namespaces),
      cmocka_unit_test(the_filter_refuses_new_limits),
      cmocka_unit_test(the_filter_refuses_letters),
      cmocka_unit_test(the_filter_refuses_other_options),
      cmocka_unit_test(the_filter_allows_threads),
      cmocka_unit_test(the_filter_allows_programs),
      cmocka_unit_test(the_filter_allows_files),
  };
  int fd = mkstemp(own_file);
  if (fd < 0)
    return 1;
  close(fd);
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  unlink(own_file);
  return failed;
}
