/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "system/lock.h"

#include "base/error.h"

#include <time.h>

/* Held for reading by those who hold any lock, and for writing by a fork. No thread that waits for
 * it holds it: `depth` sees to that, so that a fork may go before threads that come later. */
#ifdef PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP
#define GATE_INITIALIZER PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP
#else
#define GATE_INITIALIZER PTHREAD_RWLOCK_INITIALIZER
#endif
static pthread_rwlock_t gate = GATE_INITIALIZER;
static _Thread_local unsigned depth; /* locks that this thread holds */

static atomic_uint fork_count;
static bool is_orphan; /* of threads that were inside when this process was forked */

enum { most_listeners = 8, patience_s = 1 };
static void (*listeners[most_listeners])(void);
static unsigned listener_count;

/* For those who wait for work to end. */
static pthread_mutex_t ended_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;

/* ------------------------------------------------------------------------------------------ */
/* Forks                                                                                        */

static _Thread_local bool holds_gate;

/* ThreadSanitizer follows calls, and the child makes none to unlock. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define THREADS_ARE_WATCHED
#include <sanitizer/tsan_interface.h>
#define FORGET_LOCK(lock) (__tsan_mutex_pre_unlock(lock, 0), __tsan_mutex_post_unlock(lock, 0))
#endif
#endif
#ifndef FORGET_LOCK
#define FORGET_LOCK(lock) ((void)(lock))
#endif

/* By the clock that cannot be set, where the C library has the call; ThreadSanitizer does not
 * follow it. */
#if defined(__GLIBC_PREREQ) && !defined(THREADS_ARE_WATCHED)
#if __GLIBC_PREREQ(2, 30)
#define PATIENCE_CLOCK CLOCK_MONOTONIC
#define LOCK_GATE(until) pthread_rwlock_clockwrlock(&gate, PATIENCE_CLOCK, until)
#endif
#endif
#ifndef PATIENCE_CLOCK
#define PATIENCE_CLOCK CLOCK_REALTIME
#define LOCK_GATE(until) pthread_rwlock_timedwrlock(&gate, until)
#endif

static void before_fork(void) {
  struct timespec until;
  clock_gettime(PATIENCE_CLOCK, &until);
  until.tv_sec += patience_s;
  holds_gate = depth == 0 && LOCK_GATE(&until) == 0;
}

static void in_parent(void) {
  if (holds_gate)
    pthread_rwlock_unlock(&gate);
}

/* Unlocking would ask for the thread that locked it, which has another number here. */
static void in_child(void) {
  if (holds_gate)
    FORGET_LOCK(&gate);
  gate = (pthread_rwlock_t)GATE_INITIALIZER;
  if (depth)
    pthread_rwlock_rdlock(&gate);
  ended_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
  ended = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
  is_orphan |= !holds_gate;
  atomic_fetch_add_explicit(&fork_count, 1, memory_order_relaxed);
  for (unsigned i = 0; i < listener_count; ++i)
    listeners[i]();
}

static void start_watching(void) {
  pthread_atfork(before_fork, in_parent, in_child);
}

static void watch(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, start_watching);
}

unsigned kdl_fork_count(void) {
  return atomic_load_explicit(&fork_count, memory_order_relaxed);
}

void kdl_fork_tell(void (*listener)(void)) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  kdl_lock(&lock);
  unsigned at = 0;
  while (at < listener_count && listeners[at] != listener)
    ++at;
  if (at == listener_count && at < most_listeners)
    listeners[listener_count++] = listener;
  kdl_unlock(&lock);
}

kdl_status kdl_fork_check(void) {
  if (!is_orphan)
    return KDL_OK;
  return kdl_fail(KDL_DEVICE, "this process was forked while a thread was inside libkdl, and what "
                              "it held stays locked: start the child with exec");
}

/* ------------------------------------------------------------------------------------------ */
/* Locks                                                                                        */

void kdl_fork_hold(void) {
  if (depth++ == 0) {
    watch();
    pthread_rwlock_rdlock(&gate);
  }
}

void kdl_fork_release(void) {
  if (--depth == 0)
    pthread_rwlock_unlock(&gate);
}

void kdl_lock(pthread_mutex_t *lock) {
  kdl_fork_hold();
  pthread_mutex_lock(lock);
}

void kdl_unlock(pthread_mutex_t *lock) {
  pthread_mutex_unlock(lock);
  kdl_fork_release();
}

/* ------------------------------------------------------------------------------------------ */
/* Work                                                                                         */

/* In a claim: a thread waits for the work to end. */
static const unsigned is_awaited = 1u << 31;

kdl_work_turn kdl_work_begin(kdl_work *work) {
  watch();
  unsigned mine = kdl_fork_count() + 1;
  unsigned claim = 0;
  if (atomic_compare_exchange_strong(&work->claim, &claim, mine))
    return KDL_WORK_MINE;
  if ((claim & ~is_awaited) != mine && atomic_compare_exchange_strong(&work->claim, &claim, mine))
    return KDL_WORK_ABANDONED;
  pthread_mutex_lock(&ended_lock);
  for (claim = atomic_load(&work->claim); (claim & ~is_awaited) == mine;) {
    if (!atomic_compare_exchange_strong(&work->claim, &claim, mine | is_awaited))
      continue;
    pthread_cond_wait(&ended, &ended_lock);
    claim = atomic_load(&work->claim);
  }
  pthread_mutex_unlock(&ended_lock);
  return KDL_WORK_WAITED;
}

kdl_work_turn kdl_work_take(kdl_work *work) {
  kdl_work_turn turn;
  do
    turn = kdl_work_begin(work);
  while (turn == KDL_WORK_WAITED);
  return turn;
}

void kdl_work_end(kdl_work *work) {
  if (!(atomic_exchange(&work->claim, 0) & is_awaited))
    return;
  pthread_mutex_lock(&ended_lock);
  pthread_cond_broadcast(&ended);
  pthread_mutex_unlock(&ended_lock);
}
