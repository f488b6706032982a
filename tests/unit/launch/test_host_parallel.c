/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kdl_host_parallel: each iteration runs once, in any thread; and what it refuses. */
#include "launch_support.h"

#include <kdl/extension.h>
#include <kdl/launch.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

enum { most = 5000, patience_s = 60 }; /* other processes have the CPUs too */

static atomic_uint counts[most];

static void count(void *context, uint64_t index) {
  atomic_uint *total = context;
  for (volatile int i = 0; i < 200; ++i) /* so long that threads join */
    ;
  atomic_fetch_add(&counts[index], 1);
  atomic_fetch_add(total, 1);
}

static void each_iteration_runs_once(void **state) {
  (void)state;
  static const unsigned sizes[] = {0, 1, 2, 7, 256, most};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    atomic_uint total = 0;
    for (unsigned j = 0; j < most; ++j)
      atomic_store(&counts[j], 0);
    assert_int_equal(kdl_host_parallel(sizes[i], count, &total), KDL_OK);
    assert_int_equal(atomic_load(&total), sizes[i]);
    for (unsigned j = 0; j < most; ++j)
      assert_int_equal(atomic_load(&counts[j]), j < sizes[i]);
  }
}

static void count_all(void *context, uint64_t index) {
  (void)index;
  assert_int_equal(kdl_host_parallel(most, count, context), KDL_OK);
}

static void an_iteration_may_do_the_same(void **state) {
  (void)state;
  atomic_uint total = 0;
  for (unsigned j = 0; j < most; ++j)
    atomic_store(&counts[j], 0);
  assert_int_equal(kdl_host_parallel(16, count_all, &total), KDL_OK);
  assert_int_equal(atomic_load(&total), 16 * most);
  for (unsigned j = 0; j < most; ++j)
    assert_int_equal(atomic_load(&counts[j]), 16);
}

static atomic_bool elsewhere;

/* About a microsecond. */
static void note_thread(void *context, uint64_t index) {
  const pthread_t *caller = context;
  (void)index;
  for (volatile int i = 0; i < 500; ++i)
    ;
  if (!pthread_equal(*caller, pthread_self()))
    atomic_store(&elsewhere, true);
}

/* Too short to wake a sleeping thread, but one that has just worked still spins. */
static void short_loops_find_threads_awake(void **state) {
  (void)state;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0 || CPU_COUNT(&set) < 2)
    skip();
  pthread_t self = pthread_self();
  unsigned shared = 0;
  for (time_t end = time(NULL) + patience_s; shared < 10 && time(NULL) < end;) {
    atomic_uint total = 0;
    assert_int_equal(kdl_host_parallel(most, count, &total), KDL_OK);
    atomic_store(&elsewhere, false);
    assert_int_equal(kdl_host_parallel(12, note_thread, &self), KDL_OK);
    shared += atomic_load(&elsewhere);
  }
  assert_int_equal(shared, 10);
}

enum { parts = 8 };
static pthread_t ran[parts];

/* Some microseconds. */
static void note_who(void *context, uint64_t index) {
  (void)context;
  for (volatile int i = 0; i < 5000; ++i)
    ;
  ran[index] = pthread_self();
}

/* What a thread has used in one loop is what it is given in the next. */
static void a_thread_is_given_neighbours(void **state) {
  (void)state;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0 || CPU_COUNT(&set) < 2)
    skip();
  unsigned halves = 0;
  for (time_t end = time(NULL) + patience_s; halves < 20 && time(NULL) < end;) {
    assert_int_equal(kdl_host_parallel(parts, note_who, NULL), KDL_OK);
    bool is_half = true;
    for (unsigned j = 0; j < parts; ++j)
      is_half &= (pthread_equal(ran[j], pthread_self()) != 0) == (j < parts / 2);
    halves += is_half;
  }
  assert_int_equal(halves, 20);
}

static void bad_calls_are_refused(void **state) {
  (void)state;
  assert_fails(kdl_host_parallel(1, NULL, NULL), KDL_BAD_CALL,
               "kdl_host_parallel: found NULL for run, expected a function");
  assert_fails(kdl_host_parallel((uint64_t)1 << 32, count, NULL), KDL_BAD_CALL,
               "kdl_host_parallel: found 4294967296 iterations, expected at most 4294967295");
}

int main(void) {
  setenv("KDL_HOST_THREADS", "2", 1);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_iteration_runs_once),
      cmocka_unit_test(an_iteration_may_do_the_same),
      cmocka_unit_test(short_loops_find_threads_awake),
      cmocka_unit_test(a_thread_is_given_neighbours),
      cmocka_unit_test(bad_calls_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
