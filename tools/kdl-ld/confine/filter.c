/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "confine/filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_X86_64
enum { foreign_numbers = 0x40000000 }; /* the x32 interface begins here */
#elif defined(__aarch64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_AARCH64
enum { foreign_numbers = 0x40000000 };
#endif

#ifdef OWN_ARCHITECTURE

/* Numbers that are the same on every architecture; the headers may be older than the kernel. */
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif
#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif
#ifndef SYS_clone3
#define SYS_clone3 435
#endif

static const uint16_t refused[] = {
    /* The network, and sockets that came from elsewhere. */
    SYS_socket,
    SYS_socketpair,
    SYS_connect,
    SYS_bind,
    SYS_listen,
    SYS_accept,
    SYS_accept4,
    SYS_sendto,
    SYS_sendmsg,
    SYS_sendmmsg,
/* Other processes. A leak sanitizer traces its own. */
#ifndef LD_SANITIZED
    SYS_ptrace,
#endif
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_kcmp,
    SYS_pidfd_getfd,
    /* Other ways to files than by opening them. */
    SYS_open_by_handle_at,
    SYS_name_to_handle_at,
    SYS_io_uring_setup,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    /* Namespaces and mounts. */
    SYS_unshare,
    SYS_setns,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_fsopen,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fspick,
    SYS_move_mount,
    SYS_open_tree,
    SYS_mount_setattr,
    /* The kernel. */
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_acct,
    SYS_quotactl,
    SYS_syslog,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_adjtimex,
    SYS_clock_adjtime,
    SYS_fanotify_init,
    SYS_vhangup,
    SYS_setrlimit,
    /* What processes share. */
    SYS_shmget,
    SYS_shmat,
    SYS_msgget,
    SYS_semget,
    SYS_mq_open,
#if defined(__x86_64__)
    SYS_iopl,
    SYS_ioperm,
    SYS_modify_ldt,
    SYS_kexec_file_load,
    SYS_uselib,
#endif
};

enum { refused_count = sizeof refused / sizeof *refused };

#define LOAD(field)                                                                                \
  (struct sock_filter) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define LOAD_HALF(index, half)                                                                     \
  (struct sock_filter) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args) +    \
                                                              sizeof(uint64_t) * (index) +         \
                                                              sizeof(uint32_t) * (half))
#define LOAD_LOW(index) LOAD_HALF(index, 0)
#define LOAD_HIGH(index) LOAD_HALF(index, 1)
#define IF(test, value, yes, no)                                                                   \
  (struct sock_filter) BPF_JUMP(BPF_JMP | BPF_##test | BPF_K, value, yes, no)
#define RETURN(value) (struct sock_filter) BPF_STMT(BPF_RET | BPF_K, value)
#define REFUSE(number) RETURN(SECCOMP_RET_ERRNO | (number))

enum { most_steps = refused_count + 32 };

typedef struct {
  struct sock_filter steps[most_steps];
  unsigned short count;
} filter;

static void add(filter *to, struct sock_filter step) {
  to->steps[to->count++] = step;
}

static void write_filter(filter *to) {
  const uint32_t namespaces = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET |
                              CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
  add(to, LOAD(arch));
  add(to, IF(JEQ, OWN_ARCHITECTURE, 1, 0));
  add(to, REFUSE(EPERM));
  add(to, LOAD(nr));
  add(to, IF(JGE, foreign_numbers, 0, 1));
  add(to, REFUSE(EPERM));
  for (size_t i = 0; i < refused_count; ++i) {
    add(to, IF(JEQ, refused[i], (unsigned char)(refused_count - i), 0));
  }
  add(to, IF(JA, 1, 0, 0));
  add(to, REFUSE(EPERM));
  /* Its flags lie in memory, out of reach: C libraries then take the older call. */
  add(to, IF(JEQ, SYS_clone3, 0, 1));
  add(to, REFUSE(ENOSYS));
  add(to, IF(JEQ, SYS_clone, 0, 3));
  add(to, LOAD_LOW(0));
  add(to, IF(JSET, namespaces, 0, 12));
  add(to, REFUSE(EPERM));
  /* Limits can be asked for, and not set: root could raise them. */
  add(to, IF(JEQ, SYS_prlimit64, 0, 5));
  add(to, LOAD_LOW(2));
  add(to, IF(JEQ, 0, 0, 2));
  add(to, LOAD_HIGH(2));
  add(to, IF(JEQ, 0, 6, 0));
  add(to, REFUSE(EPERM));
  /* Letters put into the terminal that shows the messages. */
  add(to, IF(JEQ, SYS_ioctl, 0, 4));
  add(to, LOAD_LOW(1));
  add(to, IF(JEQ, TIOCSTI, 1, 0));
  add(to, IF(JEQ, TIOCLINUX, 0, 1));
  add(to, REFUSE(EPERM));
  add(to, RETURN(SECCOMP_RET_ALLOW));
}

int ld_filter_install(void) {
  filter made = {.count = 0};
  write_filter(&made);
  struct sock_fprog program = {.len = made.count, .filter = made.steps};
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0 ? 0 : errno;
}

#else

int ld_filter_install(void) {
  return ENOSYS;
}

#endif
