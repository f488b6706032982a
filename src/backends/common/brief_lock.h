/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A lock that is taken and given back in a few instructions where nobody waits for it: what a
 * launch can afford, where pthread's costs more than the rest of it. */
#ifndef KDL_BACKENDS_COMMON_BRIEF_LOCK_H
#define KDL_BACKENDS_COMMON_BRIEF_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>

/* Zero is free. */
typedef struct kdl_brief_lock {
  atomic_uint state; /* 1: held; 2: held, and somebody may wait */
} kdl_brief_lock;

static inline bool kdl_brief_lock_try(kdl_brief_lock *lock) {
  unsigned free_state = 0;
  return atomic_compare_exchange_strong_explicit(&lock->state, &free_state, 1, memory_order_acquire,
                                                 memory_order_relaxed);
}

/* Takes it, asleep until it is free. */
void kdl_brief_lock_wait(kdl_brief_lock *lock);

/* Lets one of those go on that wait. */
void kdl_brief_lock_wake(kdl_brief_lock *lock);

static inline void kdl_brief_lock_take(kdl_brief_lock *lock) {
  if (!kdl_brief_lock_try(lock))
    kdl_brief_lock_wait(lock);
}

static inline void kdl_brief_lock_release(kdl_brief_lock *lock) {
  if (__builtin_expect(atomic_fetch_sub_explicit(&lock->state, 1, memory_order_release) != 1, 0))
    kdl_brief_lock_wake(lock);
}

#endif
