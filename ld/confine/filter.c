/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "ld/confine/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#ifdef OWN_ARCHITECTURE

/* Numbers that all architectures share. Headers may be older than the kernel, and than the C
 * libraries of started programs. */
enum {
  number_clone3 = 435,
  number_close_range = 436,
  number_openat2 = 437,
  number_faccessat2 = 439,
  number_futex_waitv = 449,
  number_map_shadow_stack = 453,
  number_futex_wake = 454,
  number_futex_wait = 455,
  number_futex_requeue = 456,
  number_mseal = 462,
  number_newest = 470,          /* of Linux 6.18 */
  foreign_numbers = 0x40000000, /* the x32 interface begins here */
};

/* Calls of LLVM, ld.lld, ptxas, shells and their C libraries, with alternatives that these
 * libraries may use: on files by descriptor or by path, where Landlock decides; on memory, threads
 * and signals of the process. */
static const uint16_t allowed[] = {
#if defined(__x86_64__) /* older calls; other architectures have only the newer names */
    SYS_open, SYS_stat, SYS_lstat, SYS_access, SYS_readlink, SYS_getdents, SYS_dup2, SYS_pipe,
    SYS_poll, SYS_select, SYS_pause, SYS_time, SYS_getpgrp, SYS_fork, SYS_vfork, SYS_arch_prctl,
#endif
#ifdef LD_SANITIZED /* LeakSanitizer traces its own process */
    SYS_ptrace,
#endif
#ifdef SYS_rseq
    SYS_rseq,
#endif
    /* Reading and writing open files. */
    SYS_read, SYS_write, SYS_readv, SYS_writev, SYS_pread64, SYS_pwrite64, SYS_preadv, SYS_pwritev,
    SYS_preadv2, SYS_pwritev2, SYS_lseek, SYS_ftruncate, SYS_fallocate, SYS_fadvise64, SYS_sendfile,
    SYS_copy_file_range, SYS_close, number_close_range, SYS_dup, SYS_dup3, SYS_pipe2, SYS_ppoll,
    SYS_pselect6, SYS_memfd_create, SYS_getdents64,
    /* Opening files, which Landlock controls, and their attributes. */
    SYS_openat, SYS_fstat, SYS_newfstatat, SYS_statx, SYS_statfs, SYS_fstatfs, SYS_faccessat,
    number_faccessat2, SYS_readlinkat, SYS_getcwd, SYS_chdir, SYS_fchdir, SYS_umask,
    /* Memory. */
    SYS_brk, SYS_mmap, SYS_munmap, SYS_mremap, SYS_mprotect, SYS_madvise, SYS_membarrier,
    number_map_shadow_stack, number_mseal,
    /* Threads, and starting programs. */
    SYS_execve, SYS_exit, SYS_exit_group, SYS_wait4, SYS_waitid, SYS_set_tid_address,
    SYS_set_robust_list, SYS_futex, number_futex_waitv, number_futex_wake, number_futex_wait,
    number_futex_requeue, SYS_sched_yield, SYS_sched_getaffinity, SYS_sched_getparam,
    SYS_sched_getscheduler, SYS_sched_get_priority_max, SYS_sched_get_priority_min, SYS_getcpu,
    /* Signals to this process. */
    SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigpending, SYS_rt_sigreturn, SYS_rt_sigsuspend,
    SYS_rt_sigtimedwait, SYS_sigaltstack, SYS_restart_syscall,
    /* The process's identity, and the time. */
    SYS_getpid, SYS_gettid, SYS_getppid, SYS_getpgid, SYS_getsid, SYS_getuid, SYS_geteuid,
    SYS_getgid, SYS_getegid, SYS_getresuid, SYS_getresgid, SYS_getgroups, SYS_getrlimit,
    SYS_getrusage, SYS_times, SYS_uname, SYS_sysinfo, SYS_getrandom, SYS_clock_gettime,
    SYS_clock_getres, SYS_clock_nanosleep, SYS_nanosleep, SYS_gettimeofday};

enum { allowed_count = sizeof allowed / sizeof *allowed };

/* Not F_NOTIFY, F_SETLEASE or locks, which other processes notice, nor F_SETOWN, which sends
 * signals. */
static const uint32_t file_commands[] = {F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD,     F_SETFD,
                                         F_GETFL, F_SETFL,         F_ADD_SEALS, F_GET_SEALS};

/* Terminal or not, and its width; how many bytes can be read. */
static const uint32_t device_requests[] = {
    TCGETS, 0x802c542a /* TCGETS2 */, TIOCGWINSZ, FIONREAD, FIOCLEX, FIONCLEX};

static const uint32_t process_options[] = {
#if defined(__aarch64__)
    74,
    75,
    76, /* PR_GET_SHADOW_STACK_STATUS; the next two set and lock it */
#endif
#ifdef LD_SANITIZED
    PR_SET_DUMPABLE,
    PR_SET_PTRACER,
#endif
    PR_SET_NAME,
    PR_GET_NAME,
    PR_SET_PDEATHSIG,
    PR_GET_DUMPABLE,
    PR_GET_SECCOMP,
    PR_GET_NO_NEW_PRIVS,
    PR_CAPBSET_READ,
    0x53564d41 /* PR_SET_VMA: names of mappings */
};

#define LOAD(field)                                                                                \
  (struct sock_filter) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define LOAD_HALF(index, half)                                                                     \
  (struct sock_filter)                                                                             \
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS,                                                           \
               (uint32_t)(offsetof(struct seccomp_data, args) + sizeof(uint64_t) * (index) +       \
                          sizeof(uint32_t) * (half)))
#define LOAD_LOW(index) LOAD_HALF(index, 0)
#define LOAD_HIGH(index) LOAD_HALF(index, 1)
#define IF(test, value, yes, no)                                                                   \
  (struct sock_filter) BPF_JUMP(BPF_JMP | BPF_##test | BPF_K, value, yes, no)
#define RETURN(value) (struct sock_filter) BPF_STMT(BPF_RET | BPF_K, value)
#define REFUSE(number) RETURN(SECCOMP_RET_ERRNO | (number))
#define ALLOW RETURN(SECCOMP_RET_ALLOW)

enum { most_steps = allowed_count + 96 };
_Static_assert(allowed_count < 255, "a jump leads over all of them");

typedef struct {
  struct sock_filter steps[most_steps];
  unsigned short count;
} filter;

static void filter_append(filter *to, struct sock_filter step) {
  to->steps[to->count++] = step;
}

/* Allows a call if this argument, an int, is one of the values. */
static void add_values(filter *to, uint32_t call, unsigned argument, const uint32_t *values,
                       size_t count) {
  filter_append(to, IF(JEQ, call, 0, (unsigned char)(count + 3)));
  filter_append(to, LOAD_LOW(argument));
  for (size_t i = 0; i < count; ++i)
    filter_append(to, IF(JEQ, values[i], (unsigned char)(count - i), 0));
  filter_append(to, REFUSE(EPERM));
  filter_append(to, ALLOW);
}

#define ADD_VALUES(to, call, argument, values)                                                     \
  add_values(to, call, argument, values, sizeof(values) / sizeof *(values))

static void add_signals(filter *to, ld_filter_signals signals) {
  if (signals == LD_FILTER_SIGNALS_SCOPED) {
    filter_append(to, IF(JEQ, SYS_kill, 2, 0));
    filter_append(to, IF(JEQ, SYS_tkill, 1, 0));
    filter_append(to, IF(JEQ, SYS_tgkill, 0, 1));
    filter_append(to, ALLOW);
  } else {
    const uint32_t own[] = {(uint32_t)getpid()};
    ADD_VALUES(to, SYS_tgkill, 0, own);
  }
}

static void write_filter(filter *to, ld_filter_signals signals) {
  const uint32_t namespaces = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET |
                              CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
  filter_append(to, LOAD(arch));
  filter_append(to, IF(JEQ, OWN_ARCHITECTURE, 1, 0));
  filter_append(to, REFUSE(EPERM));
  filter_append(to, LOAD(nr));
  filter_append(to, IF(JGE, foreign_numbers, 0, 1));
  filter_append(to, REFUSE(EPERM));
  for (size_t i = 0; i < allowed_count; ++i)
    filter_append(to, IF(JEQ, allowed[i], (unsigned char)(allowed_count - i), 0));
  filter_append(to, IF(JA, 1, 0, 0));
  filter_append(to, ALLOW);
  filter_append(to, IF(JEQ, SYS_clone, 0, 4));
  filter_append(to, LOAD_LOW(0));
  filter_append(to, IF(JSET, namespaces, 0, 1));
  filter_append(to, REFUSE(EPERM));
  filter_append(to, ALLOW);
  /* The process may read its limits but not set them: root could raise them. */
  filter_append(to, IF(JEQ, SYS_prlimit64, 0, 8));
  filter_append(to, LOAD_LOW(0));
  filter_append(to, IF(JEQ, 0, 0, 4));
  filter_append(to, LOAD_LOW(2));
  filter_append(to, IF(JEQ, 0, 0, 2));
  filter_append(to, LOAD_HIGH(2));
  filter_append(to, IF(JEQ, 0, 1, 0));
  filter_append(to, REFUSE(EPERM));
  filter_append(to, ALLOW);
  add_signals(to, signals);
  ADD_VALUES(to, SYS_fcntl, 1, file_commands);
  ADD_VALUES(to, SYS_ioctl, 1, device_requests);
  ADD_VALUES(to, SYS_prctl, 0, process_options);
  /* The flags of these calls are in memory, which a filter cannot read, and later calls are
   * unknown. With ENOSYS, C libraries use the older call. */
  filter_append(to, IF(JEQ, number_clone3, 2, 0));
  filter_append(to, IF(JEQ, number_openat2, 1, 0));
  filter_append(to, IF(JGT, number_newest, 0, 1));
  filter_append(to, REFUSE(ENOSYS));
  filter_append(to, REFUSE(EPERM));
}

int ld_filter_install(ld_filter_signals signals) {
  filter made = {.count = 0};
  write_filter(&made, signals);
  struct sock_fprog program = {.len = made.count, .filter = made.steps};
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0 ? 0 : errno;
}

#else

int ld_filter_install(ld_filter_signals signals) {
  (void)signals;
  return ENOSYS;
}

#endif
