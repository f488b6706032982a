/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* After the mutexes in Ulrich Drepper, "Futexes Are Tricky", with a bit for each of the two things
 * that the state says. */
#include "lib/backends/common/brief_lock.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { held_and_waited_for = KDL_BRIEF_HELD | KDL_BRIEF_WAITED_FOR };

/* A thread that waited takes the lock as one that is waited for, since others may wait still. */
void kdl_brief_lock_wait(kdl_brief_lock *lock) {
  while (atomic_fetch_or(&lock->state, held_and_waited_for) & KDL_BRIEF_HELD)
    syscall(SYS_futex, &lock->state, FUTEX_WAIT_PRIVATE, held_and_waited_for, NULL, NULL, 0);
}

/* Another thread may have taken the lock since: the one that is woken says again that it waits. */
void kdl_brief_lock_wake(kdl_brief_lock *lock) {
  atomic_fetch_and(&lock->state, ~(unsigned)KDL_BRIEF_WAITED_FOR);
  syscall(SYS_futex, &lock->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}
