/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Based on the mutexes in Ulrich Drepper, "Futexes Are Tricky", with one bit for "locked" and one
 * for "has waiters". */
#include "lib/backends/common/futex_lock.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { held_and_contended = KDL_FUTEX_HELD | KDL_FUTEX_CONTENDED };

/* A thread that waited takes the lock with the waiters bit set, because others may still wait. */
void kdl_futex_lock_wait(kdl_futex_lock *lock) {
  while (atomic_fetch_or(&lock->state, held_and_contended) & KDL_FUTEX_HELD)
    syscall(SYS_futex, &lock->state, FUTEX_WAIT_PRIVATE, held_and_contended, NULL, NULL, 0);
}

/* Another thread may have taken the lock meanwhile: the woken thread then waits again. */
void kdl_futex_lock_wake(kdl_futex_lock *lock) {
  atomic_fetch_and(&lock->state, ~(unsigned)KDL_FUTEX_CONTENDED);
  syscall(SYS_futex, &lock->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}
