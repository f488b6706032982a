/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The futex lock of launches: one holder at a time, and no thread waits for ever. */
#include "support.h"

#include "lib/backends/common/futex_lock.h"

#include <pthread.h>
#include <sched.h>

enum { threads = 4, rounds = 20000 };

static kdl_futex_lock lock;
static unsigned held, total; /* plain, so that ThreadSanitizer sees what the lock is worth */

/* Holds it across a yield now and then, so that others have to sleep. */
static void *add(void *unused) {
  (void)unused;
  for (unsigned i = 0; i < rounds; ++i) {
    kdl_futex_lock_acquire(&lock);
    assert_int_equal(held++, 0);
    ++total;
    if (i % 64 == 0)
      sched_yield();
    --held;
    kdl_futex_lock_release(&lock);
  }
  return NULL;
}

static void one_holds_it_at_a_time(void **state) {
  (void)state;
  pthread_t started[threads];
  for (int i = 0; i < threads; ++i)
    assert_int_equal(pthread_create(&started[i], NULL, add, NULL), 0);
  for (int i = 0; i < threads; ++i)
    assert_int_equal(pthread_join(started[i], NULL), 0);
  assert_int_equal(total, threads * rounds);
  assert_int_equal(atomic_load(&lock.state), 0);
}

static void a_held_one_is_not_taken(void **state) {
  (void)state;
  kdl_futex_lock mine = {0};
  assert_true(kdl_futex_lock_try(&mine));
  assert_false(kdl_futex_lock_try(&mine));
  assert_false(kdl_futex_lock_release_fast(&mine)); /* no thread waits */
  assert_true(kdl_futex_lock_try(&mine));
  kdl_futex_lock_release(&mine);
  assert_int_equal(atomic_load(&mine.state), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_holds_it_at_a_time),
      cmocka_unit_test(a_held_one_is_not_taken),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
