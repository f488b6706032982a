/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "support/system/lock.h"

#include "support/base/cancel.h"
#include "support/base/error.h"

#include <time.h>

/* The gate: a fork waits until no thread is between lock and unlock, and threads that arrive
 * meanwhile wait for the fork. Each side first announces itself and then looks for the other. */
static atomic_uint inside;     /* threads that hold locks */
static atomic_bool is_forking; /* one at a time, by `forks` */
static pthread_mutex_t forks = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local unsigned depth; /* locks that this thread holds */

static atomic_uint fork_count;
static bool is_orphan; /* threads held locks when this process was forked */

enum { most_listeners = 8, patience_ms = 1000 };
static void (*listeners[most_listeners])(void);
static unsigned listener_count;

/* For threads that wait for work to end. */
static pthread_mutex_t ended_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;

/* ------------------------------------------------------------------------------------------ */
/* Forks                                                                                        */

static _Thread_local bool holds_gate;

/* ThreadSanitizer tracks calls, and the child makes none to unlock. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#include <sanitizer/tsan_interface.h>
#define FORGET_LOCK(lock) (__tsan_mutex_pre_unlock(lock, 0), __tsan_mutex_post_unlock(lock, 0))
#endif
#endif
#ifndef FORGET_LOCK
#define FORGET_LOCK(lock) ((void)(lock))
#endif

static void open_gate(void) {
  pthread_mutex_lock(&ended_lock);
  atomic_store(&is_forking, false);
  pthread_cond_broadcast(&ended);
  pthread_mutex_unlock(&ended_lock);
}

/* Locks are held briefly, so polling is enough. False where one is held for long. */
static bool wait_for_those_inside(void) {
  KDL_NOT_CANCELLED;
  const struct timespec pause = {.tv_nsec = 20000};
  struct timespec now, start;
  clock_gettime(CLOCK_MONOTONIC, &start);
  while (atomic_load(&inside)) {
    clock_gettime(CLOCK_MONOTONIC, &now);
    if ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 > patience_ms)
      return false;
    nanosleep(&pause, NULL);
  }
  return true;
}

static void before_fork(void) {
  holds_gate = false;
  if (depth)
    return;
  pthread_mutex_lock(&forks);
  atomic_store(&is_forking, true);
  holds_gate = wait_for_those_inside();
  if (holds_gate)
    return;
  open_gate();
  pthread_mutex_unlock(&forks);
}

static void in_parent(void) {
  if (!holds_gate)
    return;
  open_gate();
  pthread_mutex_unlock(&forks);
}

/* Mutexes are initialized again: unlocking would check the owner's thread ID, which differs in the
 * child. */
static void in_child(void) {
  if (holds_gate)
    FORGET_LOCK(&forks);
  forks = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
  atomic_store(&is_forking, false);
  atomic_store(&inside, depth ? 1 : 0);
  ended_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
  ended = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
  is_orphan |= !holds_gate;
  atomic_fetch_add_explicit(&fork_count, 1, memory_order_relaxed);
  for (unsigned i = 0; i < listener_count; ++i)
    listeners[i]();
}

static atomic_bool is_watching;

static void start_watching(void) {
  pthread_atfork(before_fork, in_parent, in_child);
  atomic_store_explicit(&is_watching, true, memory_order_release);
}

static void watch(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  if (!atomic_load_explicit(&is_watching, memory_order_acquire))
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

static __attribute__((noinline, cold)) void wait_for_fork(void) {
  KDL_NOT_CANCELLED;
  do {
    atomic_fetch_sub(&inside, 1);
    pthread_mutex_lock(&ended_lock);
    while (atomic_load(&is_forking))
      pthread_cond_wait(&ended, &ended_lock);
    pthread_mutex_unlock(&ended_lock);
    atomic_fetch_add(&inside, 1);
  } while (atomic_load(&is_forking));
}

void kdl_fork_hold(void) {
  if (depth++)
    return;
  watch();
  atomic_fetch_add(&inside, 1);
  if (atomic_load(&is_forking))
    wait_for_fork();
}

void kdl_fork_release(void) {
  if (--depth == 0)
    atomic_fetch_sub(&inside, 1);
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

/* A bit of a claim: a thread waits for the work to end. */
static const unsigned is_awaited = 1u << 31;

static void await_end(kdl_work *work, unsigned mine) {
  KDL_NOT_CANCELLED;
  unsigned claim;
  pthread_mutex_lock(&ended_lock);
  for (claim = atomic_load(&work->claim); (claim & ~is_awaited) == mine;) {
    if (!atomic_compare_exchange_strong(&work->claim, &claim, mine | is_awaited))
      continue;
    pthread_cond_wait(&ended, &ended_lock);
    claim = atomic_load(&work->claim);
  }
  pthread_mutex_unlock(&ended_lock);
}

kdl_work_turn kdl_work_begin(kdl_work *work) {
  watch();
  unsigned mine = kdl_fork_count() + 1;
  unsigned claim = 0;
  if (atomic_compare_exchange_strong(&work->claim, &claim, mine))
    return KDL_WORK_MINE;
  if ((claim & ~is_awaited) != mine && atomic_compare_exchange_strong(&work->claim, &claim, mine))
    return KDL_WORK_ABANDONED;
  await_end(work, mine);
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
