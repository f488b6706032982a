/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Marks of first trials: whose they are, and how long they last. */
#include "adaptive_support.h"

#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>

/* Marks are free again after trials; one of a process that is gone is found once, and one that it
 * had not finished is passed over. */
static void marks_outlive_their_process(void **state) {
  (void)state;
  use_empty_cache();
  learn_and_close(512);
  char name[KDL_TABLE_NAME];
  kdl_table_name((kdl_string){"kernel=mark device=host", 23}, name);
  kdl_marks marks = {.slots = NULL};
  kdl_marks_open(&marks, name, false);
  assert_non_null(marks.slots);
  for (size_t i = 0; i < KDL_MARKS; ++i)
    assert_int_equal(marks.slots[i].process, 0);
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    kdl_marks_set(&marks, &(kdl_problem_class){{1, 2}}, 3);
    kdl_marks_set(&marks, &(kdl_problem_class){{4, 5}}, 6);
    marks.slots[0].variant = 7; /* not what was checked */
    _exit(0);
  }
  assert_int_equal(waitpid(child, NULL, 0), child);
  kdl_mark *own = kdl_marks_set(&marks, &(kdl_problem_class){{8, 9}}, 10);
  size_t at = 0;
  const kdl_mark *left = kdl_marks_next(&marks, &at);
  assert_non_null(left);
  assert_int_equal(left->variant, 6);
  assert_null(kdl_marks_next(&marks, &at));
  assert_int_equal(marks.slots[0].process, 0);
  kdl_mark_clear(own);
  kdl_marks_close(&marks);
}

static size_t count_left(const char *name) {
  kdl_marks marks = {.slots = NULL};
  size_t at = 0, count = 0;
  kdl_marks_open(&marks, name, false);
  while (kdl_marks_next(&marks, &at))
    ++count;
  kdl_marks_close(&marks);
  return count;
}

static kdl_marks new_marks(char name[KDL_TABLE_NAME]) {
  kdl_marks marks = {.slots = NULL};
  use_empty_cache();
  kdl_table_name((kdl_string){"kernel=mark device=host", 23}, name);
  kdl_marks_open(&marks, name, true);
  assert_non_null(marks.slots);
  return marks;
}

/* A process that has a PID of one that ended is another one. */
static void a_pid_that_is_used_again_is_another_process(void **state) {
  (void)state;
  char name[KDL_TABLE_NAME];
  kdl_marks marks = new_marks(name);
  kdl_mark *mark = kdl_marks_set(&marks, &(kdl_problem_class){{1, 2}}, 3);
  assert_int_equal(count_left(name), 0);
  atomic_fetch_sub(&mark->start, 1);
  assert_int_equal(count_left(name), 1);
  kdl_marks_close(&marks);
}

/* Another container is about to set it: its process is not seen here. */
static void an_incomplete_mark_of_another_place_stays(void **state) {
  (void)state;
  char name[KDL_TABLE_NAME];
  kdl_marks marks = new_marks(name);
  kdl_mark *mark = kdl_marks_set(&marks, &(kdl_problem_class){{1, 2}}, 3);
  mark->process = INT32_MAX;
  mark->check = 0;
  atomic_fetch_add(&mark->place, 2);
  assert_int_equal(count_left(name), 0);
  assert_int_equal(mark->process, INT32_MAX);
  atomic_fetch_sub(&mark->place, 2);
  assert_int_equal(count_left(name), 0);
  assert_int_equal(mark->process, 0);
  kdl_marks_close(&marks);
}

/* A supervisor may reap its children late. */
static void a_process_that_has_ended_is_none_before_it_is_reaped(void **state) {
  (void)state;
  char name[KDL_TABLE_NAME];
  kdl_marks marks = new_marks(name);
  kdl_marks_close(&marks);
  pid_t child = fork();
  if (child == 0) {
    kdl_marks own = {.slots = NULL};
    kdl_marks_open(&own, name, true);
    _exit(kdl_marks_set(&own, &(kdl_problem_class){{1, 2}}, 3) ? 0 : 1);
  }
  siginfo_t info;
  assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
  assert_int_equal(info.si_status, 0);
  assert_int_equal(count_left(name), 1);
  assert_int_equal(waitpid(child, NULL, 0), child);
}

/* Begins a PID namespace, in which this process has a small PID and others have none. */
static bool enter_namespace(void) {
  if (unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0)
    return false;
  pid_t inner = fork();
  int status = 1;
  if (inner == 0)
    return true;
  waitpid(inner, &status, 0);
  _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

/* A container shares the folder, as machines with the same home do: it does not see the process
 * that runs. */
static void marks_of_another_namespace_last_for_minutes(void **state) {
  (void)state;
  char name[KDL_TABLE_NAME];
  kdl_marks marks = new_marks(name);
  kdl_mark *mark = kdl_marks_set(&marks, &(kdl_problem_class){{1, 2}}, 3);
  for (int is_old = 0; is_old < 2; ++is_old) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
      _exit(enter_namespace() ? (int)count_left(name) : 77);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
      kdl_marks_close(&marks);
      skip();
    }
    assert_int_equal(status, is_old << 8);
    assert_int_equal(count_left(name), 0); /* here it is known to run */
    atomic_fetch_sub(&mark->seconds, KDL_MARK_SECONDS);
  }
  kdl_marks_close(&marks);
}

/* An older version's, and one that was not written in full on a full disk. */
static void a_file_of_another_size_is_replaced(void **state) {
  (void)state;
  static const off_t sizes[] = {0, 100, 4096, 1 << 20};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    char name[KDL_TABLE_NAME], command[600];
    kdl_marks marks = new_marks(name);
    kdl_marks_close(&marks);
    snprintf(command, sizeof command, "truncate -s %lld %s/choices/*.marks", (long long)sizes[i],
             test_cache);
    assert_int_equal(system(command), 0);
    assert_int_equal(count_left(name), 0);
    pid_t child = fork();
    if (child == 0) {
      kdl_marks own = {.slots = NULL};
      kdl_marks_open(&own, name, true);
      _exit(kdl_marks_set(&own, &(kdl_problem_class){{1, 2}}, 3) ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(count_left(name), 1);
    snprintf(command, sizeof command, "test $(ls %s/choices | wc -l) = 1", test_cache);
    assert_int_equal(system(command), 0);
  }
}

enum { thread_count = 8, class_count = 16 };

typedef struct {
  kdl_adaptive *adaptive;
  uint32_t number;
} trying_thread;

static pthread_barrier_t all_begin;
static atomic_uint launched_variants;

/* Each thread begins with another class. */
static void *try_variants(void *of) {
  const trying_thread *self = of;
  pthread_barrier_wait(&all_begin);
  for (uint32_t i = 0; i < 200 * class_count; ++i) {
    kdl_adaptive_trial trial;
    const uint32_t n = 16u << (self->number + i / 200) % class_count;
    const kdl_extent items = kdl_extent1(n);
    const void *pointers[] = {&n};
    const kdl_args args = {1, pointers, NULL};
    uint32_t variant = kdl_adaptive_choice->choose(self->adaptive, &items, 0, &args, &trial);
    if (trial.entry)
      kdl_adaptive_choice->begin(self->adaptive, &trial, NULL);
    atomic_fetch_or(&launched_variants, 1u << variant);
    if (trial.entry)
      kdl_adaptive_choice->end(self->adaptive, &trial, NULL, KDL_OK);
  }
  return NULL;
}

static kdl_marks common_marks;

static void *mark_often(void *name) {
  pthread_barrier_wait(&all_begin);
  kdl_marks_open(&common_marks, name, true);
  for (uint64_t i = 0; i < 1000; ++i) {
    size_t at = 0;
    kdl_mark *mark = kdl_marks_set(&common_marks, &(kdl_problem_class){{i, 2}}, 3);
    assert_non_null(mark);
    assert_int_equal(mark->class_words[0], i);
    if (i % 100 == 0)
      assert_null(kdl_marks_next(&common_marks, &at));
    kdl_mark_clear(mark);
  }
  return NULL;
}

static void threads_share_a_file_of_marks(void **state) {
  (void)state;
  char name[KDL_TABLE_NAME];
  kdl_marks made = new_marks(name);
  kdl_marks_close(&made);
  pthread_t threads[thread_count];
  pthread_barrier_init(&all_begin, NULL, thread_count);
  for (uint32_t i = 0; i < thread_count; ++i)
    assert_int_equal(pthread_create(&threads[i], NULL, mark_often, name), 0);
  for (uint32_t i = 0; i < thread_count; ++i)
    pthread_join(threads[i], NULL);
  pthread_barrier_destroy(&all_begin);
  kdl_marks_close(&common_marks);
}

static uint64_t common_clock(void) {
  static _Atomic(uint64_t) ns = 1000000000;
  return atomic_fetch_add(&ns, 100000);
}

static unsigned wake(unsigned count) {
  return count ? 1 : 0;
}

/* First trials of many classes at once, which all open the file of marks. */
static void threads_make_first_trials_at_once(void **state) {
  (void)state;
  use_empty_cache();
  setenv("KDL_EXPLORE", "200,50%", 1);
  kdl_adaptive_variant variants[test_variants];
  fill_variants(variants, test_variants);
  kdl_adaptive *adaptive = open_variants(variants, test_variants, NULL);
  adaptive->subject.wake_threads = wake;
  kdl_adaptive_clock = common_clock;
  pthread_t threads[thread_count];
  trying_thread about[thread_count];
  pthread_barrier_init(&all_begin, NULL, thread_count);
  for (uint32_t i = 0; i < thread_count; ++i) {
    about[i] = (trying_thread){adaptive, i};
    assert_int_equal(pthread_create(&threads[i], NULL, try_variants, &about[i]), 0);
  }
  for (uint32_t i = 0; i < thread_count; ++i)
    pthread_join(threads[i], NULL);
  pthread_barrier_destroy(&all_begin);
  assert_int_equal(launched_variants, (1u << test_variants) - 1);
  for (size_t i = 0; i < KDL_MARKS; ++i)
    assert_int_equal(adaptive->marks.slots[i].process, 0);
  kdl_adaptive_choice->close(adaptive, true);
  unsetenv("KDL_EXPLORE");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(marks_outlive_their_process),
      cmocka_unit_test(a_pid_that_is_used_again_is_another_process),
      cmocka_unit_test(an_incomplete_mark_of_another_place_stays),
      cmocka_unit_test(a_process_that_has_ended_is_none_before_it_is_reaped),
      cmocka_unit_test(marks_of_another_namespace_last_for_minutes),
      cmocka_unit_test(a_file_of_another_size_is_replaced),
      cmocka_unit_test(threads_share_a_file_of_marks),
      cmocka_unit_test(threads_make_first_trials_at_once),
  };
  return cmocka_run_group_tests(tests, NULL, clean_up);
}
