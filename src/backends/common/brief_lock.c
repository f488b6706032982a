/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The second of the mutexes in Ulrich Drepper, "Futexes Are Tricky". */
#include "backends/common/brief_lock.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

static unsigned exchange(kdl_brief_lock *lock, unsigned expected, unsigned wanted) {
  atomic_compare_exchange_strong(&lock->state, &expected, wanted);
  return expected;
}

void kdl_brief_lock_wait(kdl_brief_lock *lock) {
  unsigned found = exchange(lock, 0, 1);
  while (found != 0) {
    if (found == 2 || exchange(lock, 1, 2) != 0)
      syscall(SYS_futex, &lock->state, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
    found = exchange(lock, 0, 2);
  }
}

void kdl_brief_lock_wake(kdl_brief_lock *lock) {
  atomic_store(&lock->state, 0);
  syscall(SYS_futex, &lock->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}
