/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Threads of the host's pool between loops: when they spin, when they sleep, where they run, and in
 * a forked process. Their number is fixed once per process: each case is one. */
#include "support.h"

#include <kdl/extension.h>
#include <kdl/launch.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { patience_s = 60, rounds = 20, most_rounds = 4000, iterations = 8 };

static _Thread_local bool is_caller;
static atomic_uint clock_reads; /* by other threads, which read it where they look out */
static atomic_uint joined;      /* iterations of other threads */

int clock_gettime(clockid_t clock, struct timespec *out_now) {
  if (!is_caller)
    atomic_fetch_add(&clock_reads, 1);
  return (int)syscall(SYS_clock_gettime, clock, out_now);
}

static void sleep_us(long us) {
  nanosleep(&(struct timespec){us / 1000000, us % 1000000 * 1000}, NULL);
}

static unsigned cpu_count(void) {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? (unsigned)CPU_COUNT(&set) : 1;
}

/* So long that other threads join, also where there is one CPU. */
static void wait_in_loop(void *context, uint64_t index) {
  (void)context, (void)index;
  if (!is_caller)
    atomic_fetch_add(&joined, 1);
  sleep_us(500);
}

/* Shorter than what is shared. */
static void wait_briefly(void *context, uint64_t index) {
  (void)context, (void)index;
}

static bool loop(void) {
  return kdl_host_parallel(iterations, wait_in_loop, NULL) == KDL_OK;
}

/* The result of `check` in a separate process with so many threads. */
static bool holds_with(unsigned threads, bool (*check)(void)) {
  pid_t child = fork();
  if (child == 0) {
    char text[16];
    alarm(patience_s);
    is_caller = true;
    snprintf(text, sizeof text, "%u", threads);
    setenv("KDL_HOST_THREADS", text, 1);
    _exit(check() ? 0 : 1);
  }
  int status = -1;
  assert_int_equal(waitpid(child, &status, 0), child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Some rounds, and more until it is seen: other processes may have the CPUs. */
static bool loop_until(bool (*is_seen)(void)) {
  bool is_right = true;
  for (int i = 0; is_right && (i < rounds || (i < most_rounds && !is_seen())); ++i) {
    is_right = loop();
    sleep_us(1000);
  }
  return is_right && is_seen();
}

static bool they_have_joined(void) {
  return atomic_load(&joined);
}

static bool they_have_looked_out(void) {
  return they_have_joined() && atomic_load(&clock_reads);
}

static bool they_look_out(void) {
  return loop_until(they_have_looked_out);
}

static bool they_do_not_look_out(void) {
  return loop_until(they_have_joined) && !atomic_load(&clock_reads);
}

/* It would take time of CPUs that other threads of the pool need. */
static void more_threads_than_cpus_sleep_at_once(void **state) {
  (void)state;
  assert_true(holds_with(cpu_count() + 1, they_do_not_look_out));
  if (cpu_count() > 1)
    assert_true(holds_with(2, they_look_out));
}

static bool they_sleep_in_the_end(void) {
  if (!they_look_out())
    return false;
  for (int i = 0; i < 20; ++i) { /* other processes may have the CPUs meanwhile */
    sleep_us(50000);
    unsigned before = atomic_load(&clock_reads);
    sleep_us(50000);
    if (atomic_load(&clock_reads) == before)
      return true;
  }
  return false;
}

static void idle_threads_sleep(void **state) {
  (void)state;
  if (cpu_count() < 2)
    skip();
  assert_true(holds_with(2, they_sleep_in_the_end));
}

static atomic_bool is_elsewhere; /* whether another thread may run on other CPUs than the caller */
static size_t caller_cpu;

static void look_where(void *context, uint64_t index) {
  cpu_set_t set;
  wait_in_loop(context, index);
  if (!is_caller && sched_getaffinity(0, sizeof set, &set) == 0 && !CPU_ISSET(caller_cpu, &set))
    atomic_store(&is_elsewhere, true);
}

static bool they_are_elsewhere(void) {
  cpu_set_t one;
  caller_cpu = (size_t)sched_getcpu();
  CPU_ZERO(&one);
  CPU_SET(caller_cpu, &one);
  bool is_right = kdl_host_parallel(2, wait_briefly, NULL) == KDL_OK &&
                  sched_setaffinity(0, sizeof one, &one) == 0;
  for (int i = 0; is_right && i < most_rounds && !atomic_load(&is_elsewhere); ++i)
    is_right = kdl_host_parallel(iterations, look_where, NULL) == KDL_OK;
  return is_right && atomic_load(&joined) && atomic_load(&is_elsewhere);
}

/* Else all of them would share that CPU. */
static void a_caller_that_was_bound_to_a_cpu_is_helped_by_others(void **state) {
  (void)state;
  if (cpu_count() < 2)
    skip();
  assert_true(holds_with(2, they_are_elsewhere));
}

static atomic_int other_thread; /* the thread of the pool */
static size_t free_cpu;         /* where the caller does not run */
static atomic_bool
    is_to_be_free; /* whether the thread of the pool may run there, as the caller sees */

static bool bind_to(size_t cpu) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  return sched_setaffinity(0, sizeof one, &one) == 0;
}

/* The caller keeps its CPU meanwhile. */
static void look_at_the_other(void *context, uint64_t index) {
  struct timespec now;
  cpu_set_t set;
  (void)context, (void)index;
  if (!is_caller)
    atomic_store(&other_thread, (int)syscall(SYS_gettid));
  else if (sched_getaffinity(atomic_load(&other_thread), sizeof set, &set) == 0)
    atomic_store(&is_to_be_free, CPU_ISSET(free_cpu, &set));
  clock_gettime(CLOCK_MONOTONIC, &now);
  int64_t end = now.tv_sec * INT64_C(1000000000) + now.tv_nsec + 200000;
  while (now.tv_sec * INT64_C(1000000000) + now.tv_nsec < end)
    clock_gettime(CLOCK_MONOTONIC, &now);
}

/* The caller has changed places with a thread that sleeps. */
static bool it_may_change_places(void) {
  cpu_set_t two;
  size_t cpus[2], count = 0;
  int free_rounds = 0;
  if (sched_getaffinity(0, sizeof two, &two) != 0)
    return false;
  for (size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &two) && count < 2)
      cpus[count++] = cpu;
    else
      CPU_CLR(cpu, &two);
  bool is_right = count == 2 && sched_setaffinity(0, sizeof two, &two) == 0;
  is_right &= kdl_host_parallel(2, wait_briefly, NULL) == KDL_OK;
  for (int i = 0; is_right && i < rounds; ++i) {
    free_cpu = cpus[i % 2];
    is_right = bind_to(cpus[(i + 1) % 2]);
    atomic_store(&is_to_be_free, false);
    is_right &= kdl_host_parallel(iterations, look_at_the_other, NULL) == KDL_OK;
    free_rounds += atomic_load(&is_to_be_free);
    sleep_us(20000);
  }
  return is_right && free_rounds > rounds / 2;
}

/* It cannot move away before it runs, and does not run while the caller does. */
static void a_caller_frees_the_thread_whose_cpu_it_takes(void **state) {
  (void)state;
  if (cpu_count() < 2)
    skip();
  bool is_freed = false; /* other processes may have the CPUs; if it were not, half of the rounds
                            would be free in each try */
  for (int i = 0; i < 10 && !is_freed; ++i)
    is_freed = holds_with(2, it_may_change_places);
  assert_true(is_freed);
}

static atomic_bool first_ended, began_with_it; /* the caller's first iteration, another thread's */

static void look_when(void *context, uint64_t index) {
  (void)context;
  if (!is_caller && !atomic_load(&first_ended))
    atomic_store(&began_with_it, true);
  sleep_us(500);
  if (index == 0)
    atomic_store(&first_ended, true);
}

/* Two loops in turn, whose numbers of iterations differ by a power of two. */
static bool both_are_helped_at_once(void) {
  static const uint64_t counts[] = {8, 24};
  bool seen[2] = {false, false};
  for (int i = 0; i < most_rounds && !(seen[0] && seen[1]); ++i) {
    atomic_store(&first_ended, false);
    atomic_store(&began_with_it, false);
    if (kdl_host_parallel(counts[i % 2], look_when, NULL) != KDL_OK)
      return false;
    seen[i % 2] |= atomic_load(&began_with_it);
  }
  return seen[0] && seen[1];
}

/* What is known of one is not forgotten for the other. */
static void loops_in_turn_are_helped_at_once(void **state) {
  (void)state;
  assert_true(holds_with(2, both_are_helped_at_once));
}

static bool child_has_threads(void) {
  int status = -1;
  if (!loop_until(they_have_joined))
    return false;
  pid_t child = fork();
  if (child == 0) {
    alarm(patience_s);
    atomic_store(&joined, 0);
    _exit(loop_until(they_have_joined) ? 0 : 1);
  }
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Also in a program that uses loops alone, and no device. */
static void a_forked_process_has_threads_of_its_own(void **state) {
  (void)state;
  assert_true(holds_with(2, child_has_threads));
}

int main(void) {
  is_caller = true;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(more_threads_than_cpus_sleep_at_once),
      cmocka_unit_test(idle_threads_sleep),
      cmocka_unit_test(a_caller_that_was_bound_to_a_cpu_is_helped_by_others),
      cmocka_unit_test(a_caller_frees_the_thread_whose_cpu_it_takes),
      cmocka_unit_test(loops_in_turn_are_helped_at_once),
      cmocka_unit_test(a_forked_process_has_threads_of_its_own),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
