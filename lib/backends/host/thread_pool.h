/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The state of the pool, and how its threads wait: for thread_pool.c, which runs launches on it,
 * and thread_claims.c, which decides on which of its threads.
 */
#ifndef KDL_LIB_BACKENDS_HOST_THREAD_POOL_H
#define KDL_LIB_BACKENDS_HOST_THREAD_POOL_H

#include "lib/backends/host/threads.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
  max_spin_ns = 50000,
  spin_factor = 4, /* spinning for longer than waking takes must end some time */
  spins_per_clock_read = 64,
  max_shares = 64,
  bits = 64,
  bitmap_words = KDL_HOST_MAX_THREADS / bits,
};

/* Groups one after the other that one thread begins with. */
typedef struct {
  _Alignas(64) atomic_uint_least64_t next; /* group */
  uint64_t end;
} share;

/* A launch that is shared. Its threads have positions; the caller's is 0. What threads write is on
 * separate cache lines. */
typedef struct job { /* NOLINT(clang-analyzer-optin.performance.Padding) */
  const kdl_host_work *work;
  unsigned share_count;
  unsigned offer_end;  /* positions before were claimed before it was handed to any */
  atomic_uint allowed; /* threads: those at positions from here on leave */

  /* Of the caller. */
  unsigned limit, claimed; /* threads, the caller included */
  unsigned total;          /* the same of all jobs, as far as this one says */
  bool was_asleep, is_new; /* position 1, and whether some were started for it */
  struct job *next, **previous;

  _Alignas(64) atomic_uint next_wake; /* the position that is woken next, if it sleeps */
  _Alignas(64) atomic_uint members;   /* claimed threads that have not left, JOB_CALLER_SLEEPS */
  atomic_int_least64_t began_ns;      /* when position 1 began; 0: it is not known */
  uint16_t workers[KDL_HOST_MAX_THREADS]; /* by position */
  share shares[max_shares];
} job;

#define JOB_CALLER_SLEEPS 0x80000000u

/* A thread of the pool. */
typedef struct {
  _Alignas(64) _Atomic(job *) offer; /* taken by the thread, or taken back by the job's caller */
  unsigned position;                 /* in the job that is offered */
  atomic_uint sleeps;                /* a futex: 1 while it does */
  atomic_int only_cpu, avoided_cpu;  /* of the two that it has; -1: it has others */
  pid_t id;
} worker;

typedef struct kdl_host_thread_pool {
  pthread_mutex_t lock; /* guards what follows */
  worker *workers;
  unsigned started;
  unsigned job_count;
  job *jobs;

  /* By worker. */
  _Alignas(64) atomic_uint_least64_t idle[bitmap_words]; /* cleared with the lock held */
  _Alignas(64) atomic_uint_least64_t asleep[bitmap_words];

  atomic_int caller; /* the CPU where a launch was last shared; -1: not known */
  int first_caller;  /* and where the first was */
} kdl_host_thread_pool;

extern kdl_host_thread_pool kdl_host_pool;

/* Called with the lock held. Starts a thread, which is claimed. */
bool kdl_host_pool_start_thread(void);

/* Offers the job to positions from `first` to `end`. */
void kdl_host_pool_offer(job *of, unsigned first, unsigned end);

/* Returns whether the thread slept. */
bool kdl_host_pool_wake(unsigned number);

/* Adds the job to those that run, and claims threads for it: as many as it is allowed and the
 * others do not use. */
void kdl_host_job_enter(job *of);

/* Claims threads that other launches have left since, and offers the job to them. */
void kdl_host_job_claim_more(job *of);

/* Takes the job from those that run. */
void kdl_host_job_exit(job *of);

/* ------------------------------------------------------------------------------------------ */
/* Waiting                                                                                      */

static inline void host_cpu_relax(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

static inline bool host_may_spin(void) {
  return kdl_host_thread_limits_get()->may_spin;
}

static inline void host_futex_wait(atomic_uint *word, unsigned value) {
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static inline void host_futex_wake(atomic_uint *word) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static inline int64_t host_spin_ns(void) {
  int64_t ns = spin_factor * (int64_t)kdl_host_costs_get().begin_ns[true];
  return ns < max_spin_ns ? ns : max_spin_ns;
}

/* Whether it happened before it was time to sleep. */
static inline bool host_spin_until(bool (*has_happened)(void *of), void *of) {
  int64_t end = kdl_host_now_ns() + host_spin_ns();
  do {
    for (int i = 0; i < spins_per_clock_read; ++i) {
      if (has_happened(of))
        return true;
      host_cpu_relax();
    }
  } while (kdl_host_now_ns() < end);
  return false;
}

#endif
