/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A lock that is taken and given back in a few instructions where no thread waits for it: what a
 * launch can afford, where pthread's costs more than the rest of it. */
#ifndef KDL_BACKENDS_COMMON_BRIEF_LOCK_H
#define KDL_BACKENDS_COMMON_BRIEF_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>

enum { KDL_FUTEX_HELD = 1, KDL_FUTEX_CONTENDED = 2 };

/* Zero is free. */
typedef struct kdl_futex_lock {
  atomic_uint state; /* KDL_BRIEF_ */
} kdl_futex_lock;

/* Setting one bit and branching on what it was are two instructions; comparing and exchanging are
 * four. */
static inline bool kdl_futex_lock_try(kdl_futex_lock *lock) {
  return !(atomic_fetch_or_explicit(&lock->state, KDL_FUTEX_HELD, memory_order_acquire) &
           KDL_FUTEX_HELD);
}

/* Takes it, asleep until it is free. */
void kdl_futex_lock_wait(kdl_futex_lock *lock);

/* Lets one of those go on that wait, after a release. */
void kdl_futex_lock_wake(kdl_futex_lock *lock);

static inline void kdl_futex_lock_acquire(kdl_futex_lock *lock) {
  if (!kdl_futex_lock_try(lock))
    kdl_futex_lock_wait(lock);
}

/* Gives it back; true where one of those is to be woken that wait. */
static inline bool kdl_futex_lock_release_fast(kdl_futex_lock *lock) {
  return atomic_fetch_sub_explicit(&lock->state, KDL_FUTEX_HELD, memory_order_release) !=
         KDL_FUTEX_HELD;
}

static inline void kdl_futex_lock_release(kdl_futex_lock *lock) {
  if (__builtin_expect(kdl_futex_lock_release_fast(lock), 0))
    kdl_futex_lock_wake(lock);
}

#endif
