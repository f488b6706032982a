/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A lock of one word for launches: a few instructions without contention, where a pthread mutex
 * would cost more than the rest of a launch. */
#ifndef KDL_LIB_BACKENDS_COMMON_FUTEX_LOCK_H
#define KDL_LIB_BACKENDS_COMMON_FUTEX_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>

enum { KDL_FUTEX_HELD = 1, KDL_FUTEX_CONTENDED = 2 };

/* Zero means unlocked. */
typedef struct kdl_futex_lock {
  atomic_uint state; /* KDL_BRIEF_ */
} kdl_futex_lock;

/* Test-and-set of one bit takes two instructions; compare-and-exchange takes four. */
static inline bool kdl_futex_lock_try(kdl_futex_lock *lock) {
  return !(atomic_fetch_or_explicit(&lock->state, KDL_FUTEX_HELD, memory_order_acquire) &
           KDL_FUTEX_HELD);
}

/* Sleeps until the lock is free, and takes it. */
void kdl_futex_lock_wait(kdl_futex_lock *lock);

/* Wakes one waiter after a release. */
void kdl_futex_lock_wake(kdl_futex_lock *lock);

static inline void kdl_futex_lock_acquire(kdl_futex_lock *lock) {
  if (!kdl_futex_lock_try(lock))
    kdl_futex_lock_wait(lock);
}

/* Releases the lock; true if a waiter must be woken. */
static inline bool kdl_futex_lock_release_fast(kdl_futex_lock *lock) {
  return atomic_fetch_sub_explicit(&lock->state, KDL_FUTEX_HELD, memory_order_release) !=
         KDL_FUTEX_HELD;
}

static inline void kdl_futex_lock_release(kdl_futex_lock *lock) {
  if (__builtin_expect(kdl_futex_lock_release_fast(lock), 0))
    kdl_futex_lock_wake(lock);
}

#endif
