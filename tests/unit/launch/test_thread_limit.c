/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Threads that were asked for are the threads that exist and run: limits of launches, of queues and
 * of the process, launches at the same time and within each other. Threads of the pool are known by
 * their names; one that did not run used no CPU time. How many there may be is settled once a
 * process: each case has one. */
#include "launch_support.h"

#include <kdl/extension.h>

#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>

enum { patience_s = 60, groups = 1 << 20, max_workers = 16 };

static void sleep_us(long us) {
  nanosleep(&(struct timespec){us / 1000000, us % 1000000 * 1000}, NULL);
}

/* ------------------------------------------------------------------------------------------ */
/* Threads of the pool                                                                          */

typedef struct {
  unsigned count;
  int ids[max_workers];
  int64_t cpu_ns[max_workers];
} pool_threads;

static bool is_of_pool(const char *id) {
  char path[64], name[32] = "";
  snprintf(path, sizeof path, "/proc/self/task/%.16s/comm", id);
  FILE *file = fopen(path, "r");
  bool is = file && fgets(name, sizeof name, file) && strncmp(name, "kdl-worker-", 11) == 0;
  if (file)
    fclose(file);
  return is;
}

/* As CLOCK_THREAD_CPUTIME_ID of another thread of this process. */
static int64_t cpu_time_of(int thread) {
  struct timespec now = {0};
  (void)clock_gettime((clockid_t)(~(unsigned)thread << 3 | 6), &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static pool_threads threads_of_pool(void) {
  pool_threads found = {0};
  DIR *folder = opendir("/proc/self/task");
  for (const struct dirent *entry; folder && (entry = readdir(folder));) {
    if (entry->d_name[0] == '.' || !is_of_pool(entry->d_name) || found.count == max_workers)
      continue;
    found.ids[found.count] = atoi(entry->d_name);
    found.cpu_ns[found.count] = cpu_time_of(found.ids[found.count]);
    ++found.count;
  }
  if (folder)
    closedir(folder);
  return found;
}

/* Those that have used CPU time between. */
static unsigned count_that_ran(const pool_threads *before, const pool_threads *after) {
  unsigned ran = 0;
  for (unsigned i = 0; i < after->count; ++i) {
    bool is_same = false;
    for (unsigned j = 0; j < before->count; ++j)
      is_same |= before->ids[j] == after->ids[i] && before->cpu_ns[j] == after->cpu_ns[i];
    ran += !is_same;
  }
  return ran;
}

/* One that waits for a CPU, as on a busy machine, uses no CPU time either, but does not sleep. */
static bool all_sleep(const pool_threads *threads) {
  bool sleep = true;
  for (unsigned i = 0; i < threads->count; ++i) {
    char path[64], line[256] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", threads->ids[i]);
    FILE *file = fopen(path, "r");
    const char *state = file && fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;
    sleep &= state && strncmp(state, ") S", 3) == 0;
    if (file)
      fclose(file);
  }
  return sleep;
}

/* A thread names itself when it first runs, and uses CPU time until it sleeps. */
static pool_threads sleeping_threads(unsigned expected) {
  pool_threads before = {0}, now = {0};
  for (int i = 0; i < patience_s * 50; ++i) {
    sleep_us(20000);
    now = threads_of_pool();
    if (now.count >= expected && before.count == now.count && !count_that_ran(&before, &now) &&
        all_sleep(&now))
      break;
    before = now;
  }
  return now;
}

/* ------------------------------------------------------------------------------------------ */
/* Processes                                                                                    */

static host_library made;
static kdl_kernel *kernel;
static uint32_t *cells;

/* What `check` says in a process of its own with so many threads; 0: as many as by default. */
static bool holds_with(unsigned threads, bool (*check)(void)) {
  pid_t child = fork();
  if (child == 0) {
    static const host_row rows[] = {{.file = "mark3"}};
    char text[16];
    alarm(patience_s);
    unsetenv("OMP_NUM_THREADS");
    unsetenv("KDL_HOST_THREADS");
    snprintf(text, sizeof text, "%u", threads);
    if (threads)
      setenv("KDL_HOST_THREADS", text, 1);
    made = open_rows(rows, 1);
    kernel = kernel_named(made.lib, "count");
    cells = calloc(groups, sizeof *cells);
    _exit(check() ? 0 : 1);
  }
  int status = -1;
  assert_int_equal(waitpid(child, &status, 0), child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

#define CHECK(what)                                                                                \
  do {                                                                                             \
    if (!(what)) {                                                                                 \
      print_error("%s:%d: %s\n", __FILE__, __LINE__, #what);                                       \
      return false;                                                                                \
    }                                                                                              \
  } while (0)

/* So many groups that every thread pays. */
static bool launch_on(kdl_queue *queue, uint32_t threads) {
  kdl_launch_desc desc = kdl_grid(groups, 1, 1);
  desc.threads = threads;
  memset(cells, 0, groups * sizeof *cells);
  bool is_right = kdl_launch(kernel, queue, &desc, KDL_ARGS(&cells)) == KDL_OK;
  for (uint32_t i = 0; is_right && i < groups; ++i)
    is_right = cells[i] == 3;
  return is_right;
}

static bool launch_times(int times, kdl_queue *queue, uint32_t threads) {
  bool is_right = true;
  for (int i = 0; is_right && i < times; ++i)
    is_right = launch_on(queue, threads);
  return is_right;
}

static kdl_queue *queue_with(uint32_t threads) {
  kdl_queue *queue = NULL;
  kdl_queue_opts opts = {.size = sizeof opts, .threads = threads};
  return kdl_queue_create(the_host(), &opts, &queue) == KDL_OK ? queue : NULL;
}

/* ------------------------------------------------------------------------------------------ */
/* Limits                                                                                       */

static bool a_launch_has_its_limit(void) {
  CHECK(launch_times(5, NULL, 1));
  CHECK(sleeping_threads(0).count == 0);
  CHECK(launch_times(10, NULL, 2));
  CHECK(sleeping_threads(1).count == 1);
  CHECK(launch_times(10, NULL, 3));
  CHECK(sleeping_threads(2).count == 2);
  CHECK(launch_times(10, NULL, 0)); /* no limit but the process's */
  CHECK(launch_times(10, NULL, 1000));
  pool_threads before = sleeping_threads(5);
  CHECK(before.count == 5);
  CHECK(launch_times(20, NULL, 2)); /* of those that exist, one runs */
  pool_threads after = sleeping_threads(5);
  CHECK(after.count == 5 && count_that_ran(&before, &after) <= 1);
  CHECK(launch_times(20, NULL, 1));
  pool_threads last = sleeping_threads(5);
  CHECK(last.count == 5 && count_that_ran(&after, &last) == 0);
  return true;
}

static void launches_have_limits(void **state) {
  (void)state;
  assert_true(holds_with(6, a_launch_has_its_limit));
}

static bool many_threads_run_each_group_once(void) {
  for (uint32_t threads = 1; threads <= 150; threads += 13)
    CHECK(launch_times(3, NULL, threads));
  return true;
}

/* More than there are CPUs, than shares of a launch, and than bits in a word. */
static void many_threads_are_handed_a_launch(void **state) {
  (void)state;
  assert_true(holds_with(150, many_threads_run_each_group_once));
}

static bool a_queue_has_its_limit(void) {
  kdl_queue *alone = queue_with(1), *two = queue_with(2), *many = queue_with(UINT32_MAX);
  CHECK(alone && two && many && kdl_sync(two) == KDL_OK);
  CHECK(launch_times(5, alone, 0));
  CHECK(sleeping_threads(0).count == 0);
  CHECK(launch_times(10, two, 0));
  CHECK(sleeping_threads(1).count == 1);
  CHECK(launch_times(10, two, 3)); /* the launch's own limit counts */
  CHECK(sleeping_threads(2).count == 2);
  CHECK(launch_times(10, many, 0));
  CHECK(sleeping_threads(3).count == 3);
  pool_threads before = sleeping_threads(3);
  CHECK(kdl_launch_items(kernel, two, kdl_extent1(groups), KDL_ARGS(&cells)) == KDL_OK);
  CHECK(launch_times(10, many, 2));
  pool_threads after = sleeping_threads(3);
  CHECK(count_that_ran(&before, &after) <= 1);
  kdl_queue_destroy(alone);
  kdl_queue_destroy(two);
  kdl_queue_destroy(many);
  return true;
}

static void queues_have_limits(void **state) {
  (void)state;
  assert_true(holds_with(4, a_queue_has_its_limit));
}

static bool a_sequence_has_limits(void) {
  kdl_queue *two = queue_with(2);
  kdl_launch_desc desc = kdl_grid(groups, 1, 1);
  kdl_sequence *free_one, *limited;
  kdl_buffer buffer = kdl_buffer_adopt(the_host(), (uint64_t)(uintptr_t)cells, groups * 4);
  kdl_operand args[] = {kdl_operand_buffer(buffer)};
  CHECK(kdl_sequence_create(the_host(), &free_one) == KDL_OK);
  CHECK(kdl_sequence_launch(free_one, kernel, &desc, args, 1) == KDL_OK);
  CHECK(kdl_sequence_finish(free_one) == KDL_OK);
  desc.threads = 3;
  CHECK(kdl_sequence_create(the_host(), &limited) == KDL_OK);
  CHECK(kdl_sequence_launch(limited, kernel, &desc, args, 1) == KDL_OK);
  CHECK(kdl_sequence_finish(limited) == KDL_OK);
  for (int i = 0; i < 10; ++i)
    CHECK(kdl_sequence_run(free_one, two, NULL, 0) == KDL_OK);
  CHECK(sleeping_threads(1).count == 1);
  for (int i = 0; i < 10; ++i)
    CHECK(kdl_sequence_run(limited, two, NULL, 0) == KDL_OK);
  CHECK(sleeping_threads(2).count == 2);
  kdl_sequence_destroy(free_one);
  kdl_sequence_destroy(limited);
  kdl_queue_destroy(two);
  return true;
}

static void sequences_have_limits(void **state) {
  (void)state;
  assert_true(holds_with(6, a_sequence_has_limits));
}

static void count_a_while(void *context, uint64_t index) {
  (void)context, (void)index;
  for (volatile int i = 0; i < 20000; ++i)
    ;
}

/* So many iterations that every thread pays. */
static bool loop_times(int times) {
  bool is_right = true;
  for (int i = 0; is_right && i < times; ++i)
    is_right = kdl_host_parallel(200, count_a_while, NULL) == KDL_OK;
  return is_right;
}

static void *loop_without_limit(void *context) {
  return kdl_host_thread_count() == 4 && loop_times(10) ? context : NULL;
}

static bool a_thread_has_its_limit(void) {
  kdl_queue *three = queue_with(3);
  CHECK(three && kdl_host_thread_count() == 4);
  CHECK(kdl_host_limit_threads(1) == 0 && kdl_host_thread_count() == 1);
  CHECK(loop_times(10) && launch_times(5, NULL, 0));
  CHECK(sleeping_threads(0).count == 0);
  CHECK(kdl_host_limit_threads(2) == 1 && kdl_host_thread_count() == 2);
  CHECK(loop_times(10) && launch_times(5, NULL, 0));
  CHECK(sleeping_threads(1).count == 1);
  CHECK(launch_times(10, three, 0)); /* limits of a queue and of a launch count more */
  CHECK(sleeping_threads(2).count == 2);
  pthread_t other;
  void *result = NULL;
  CHECK(pthread_create(&other, NULL, loop_without_limit, &made) == 0);
  CHECK(pthread_join(other, &result) == 0 && result);
  CHECK(sleeping_threads(3).count == 3);
  CHECK(kdl_host_limit_threads(1000) == 2 && kdl_host_thread_count() == 4);
  CHECK(kdl_host_limit_threads(0) == 1000 && kdl_host_thread_count() == 4);
  kdl_queue_destroy(three);
  return true;
}

/* For loops that are compiled into a program, as kdl-mlir's are. */
static void calling_threads_have_limits(void **state) {
  (void)state;
  assert_true(holds_with(4, a_thread_has_its_limit));
}

static bool bind_to_one_cpu(void) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET((size_t)sched_getcpu(), &one);
  return sched_setaffinity(0, sizeof one, &one) == 0;
}

static bool one_cpu_is_one_thread(void) {
  CHECK(bind_to_one_cpu());
  CHECK(kdl_host_thread_count() == 1);
  CHECK(launch_times(10, NULL, 0) && launch_times(10, NULL, 8));
  CHECK(sleeping_threads(0).count == 0);
  return true;
}

/* As under taskset -c 0. */
static void a_process_of_one_cpu_has_no_other_threads(void **state) {
  (void)state;
  assert_true(holds_with(0, one_cpu_is_one_thread));
}

static bool omp_limits_launches_without_limits(void) {
  setenv("OMP_NUM_THREADS", "1", 1);
  CHECK(kdl_host_thread_count() == 1);
  CHECK(launch_times(10, NULL, 0));
  CHECK(sleeping_threads(0).count == 0);
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 1) {
    CHECK(launch_times(10, NULL, 2));
    CHECK(sleeping_threads(1).count == 1);
  }
  return true;
}

static void omp_num_threads_counts_where_nothing_else_is_said(void **state) {
  (void)state;
  assert_true(holds_with(0, omp_limits_launches_without_limits));
}

static bool a_child_starts_anew(void) {
  CHECK(launch_times(10, NULL, 0));
  CHECK(sleeping_threads(3).count == 3);
  pid_t child = fork();
  if (child == 0) {
    bool is_right = sleeping_threads(0).count == 0 && launch_times(10, NULL, 2) &&
                    sleeping_threads(1).count == 1 && launch_times(10, NULL, 0) &&
                    sleeping_threads(3).count == 3;
    _exit(is_right ? 0 : 1);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  CHECK(launch_times(10, NULL, 0));
  CHECK(sleeping_threads(3).count == 3);
  return true;
}

static void a_forked_process_keeps_to_limits(void **state) {
  (void)state;
  assert_true(holds_with(4, a_child_starts_anew));
}

static bool signals_are_blocked(int thread) {
  char path[64], line[256];
  unsigned long long blocked = 0;
  snprintf(path, sizeof path, "/proc/self/task/%d/status", thread);
  FILE *file = fopen(path, "r");
  while (file && fgets(line, sizeof line, file))
    (void)sscanf(line, "SigBlk: %llx", &blocked);
  if (file)
    fclose(file);
  return blocked >> (SIGTERM - 1) & 1 && blocked >> (SIGALRM - 1) & 1 &&
         blocked >> (SIGCHLD - 1) & 1;
}

static bool no_thread_takes_signals(void) {
  CHECK(launch_times(5, NULL, 0));
  pool_threads threads = sleeping_threads(3);
  for (unsigned i = 0; i < threads.count; ++i)
    CHECK(signals_are_blocked(threads.ids[i]));
  return threads.count == 3;
}

static void signals_are_the_programs(void **state) {
  (void)state;
  assert_true(holds_with(4, no_thread_takes_signals));
}

/* ------------------------------------------------------------------------------------------ */
/* Several at once                                                                              */

static _Thread_local bool is_caller;
static atomic_uint active, most_active, active_of_pool;
static atomic_bool is_over;

static void note_active(void) {
  unsigned now = atomic_fetch_add(&active, 1) + 1, most = atomic_load(&most_active);
  while (now > most && !atomic_compare_exchange_weak(&most_active, &most, now))
    ;
  atomic_fetch_add(&active_of_pool, !is_caller);
  sleep_us(200);
  atomic_fetch_sub(&active_of_pool, !is_caller);
  atomic_fetch_sub(&active, 1);
}

static void work_inside(void *context, uint64_t index) {
  (void)context, (void)index;
  note_active();
}

static void work_outside(void *context, uint64_t index) {
  (void)index;
  if (kdl_host_parallel(8, work_inside, NULL) != KDL_OK)
    atomic_store((atomic_bool *)context, true);
}

static bool nested_loops_share(void) {
  atomic_bool has_failed = false;
  is_caller = true;
  for (int i = 0; i < 10; ++i)
    CHECK(kdl_host_parallel(12, work_outside, &has_failed) == KDL_OK);
  CHECK(!atomic_load(&has_failed));
  CHECK(atomic_load(&most_active) <= 3);
  CHECK(sleeping_threads(2).count == 2);
  return true;
}

static void loops_within_loops_have_no_more_threads(void **state) {
  (void)state;
  assert_true(holds_with(3, nested_loops_share));
}

static void work_until_over(void *context, uint64_t index) {
  (void)context, (void)index;
  if (!atomic_load((atomic_bool *)context) && !atomic_load(&is_over))
    note_active();
}

/* Some seconds alone. */
static void *loop_until(void *end) {
  is_caller = true;
  return kdl_host_parallel(16000, work_until_over, end) == KDL_OK ? end : NULL;
}

/* What is true for a while. */
static bool becomes(unsigned of_pool) {
  int seen = 0;
  for (int i = 0; i < patience_s * 1000 && seen < 20; ++i) {
    sleep_us(1000);
    seen = atomic_load(&active_of_pool) == of_pool ? seen + 1 : 0;
  }
  return seen == 20;
}

static bool two_callers_are_two_threads(void) {
  atomic_bool ends[2] = {false, false};
  pthread_t callers[2];
  void *results[2];
  CHECK(pthread_create(&callers[0], NULL, loop_until, &ends[0]) == 0);
  CHECK(becomes(1)); /* which helps the first */
  CHECK(pthread_create(&callers[1], NULL, loop_until, &ends[1]) == 0);
  CHECK(becomes(0)); /* the second has its place */
  atomic_store(&ends[1], true);
  CHECK(pthread_join(callers[1], &results[1]) == 0 && results[1]);
  atomic_store(&is_over, true);
  CHECK(pthread_join(callers[0], &results[0]) == 0 && results[0]);
  CHECK(threads_of_pool().count == 1);
  return true;
}

/* A thread of the pool leaves for a thread of the program that begins to launch. */
static void callers_count_as_threads(void **state) {
  (void)state;
  assert_true(holds_with(2, two_callers_are_two_threads));
}

static bool threads_come_when_others_leave(void) {
  atomic_bool ends[2] = {false, false};
  pthread_t callers[2];
  void *results[2];
  CHECK(pthread_create(&callers[0], NULL, loop_until, &ends[0]) == 0);
  CHECK(becomes(1));
  CHECK(pthread_create(&callers[1], NULL, loop_until, &ends[1]) == 0);
  CHECK(becomes(0));
  atomic_store(&ends[0], true);
  CHECK(pthread_join(callers[0], &results[0]) == 0 && results[0]);
  CHECK(becomes(1)); /* and helps the one that is left */
  atomic_store(&is_over, true);
  CHECK(pthread_join(callers[1], &results[1]) == 0 && results[1]);
  return true;
}

static void a_long_launch_gets_threads_that_become_free(void **state) {
  (void)state;
  assert_true(holds_with(2, threads_come_when_others_leave));
}

static void *launch_many(void *wrong) {
  uint32_t *out = calloc(groups, sizeof *out);
  kdl_launch_desc desc = kdl_grid(groups, 1, 1);
  desc.threads = 2;
  for (uint32_t i = 0; i < 10; ++i) {
    if (kdl_launch(kernel, NULL, &desc, KDL_ARGS(&out)) != KDL_OK)
      atomic_store((atomic_bool *)wrong, true);
    for (uint32_t j = 0; j < groups; j += 997) {
      if (out[j] != 3)
        atomic_store((atomic_bool *)wrong, true);
      out[j] = 0;
    }
    memset(out, 0, groups * sizeof *out);
  }
  free(out);
  return NULL;
}

static bool many_callers_share(void) {
  enum { callers = 12 };
  pthread_t threads[callers];
  atomic_bool is_wrong = false;
  for (int i = 0; i < callers; ++i)
    CHECK(pthread_create(&threads[i], NULL, launch_many, &is_wrong) == 0);
  for (int i = 0; i < callers; ++i)
    CHECK(pthread_join(threads[i], NULL) == 0);
  CHECK(!atomic_load(&is_wrong));
  CHECK(sleeping_threads(0).count <= 3);
  return true;
}

/* As requests of a server, or workers of OpenMP, that have two each. */
static void many_callers_share_one_pool(void **state) {
  (void)state;
  assert_true(holds_with(4, many_callers_share));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(launches_have_limits),
      cmocka_unit_test(many_threads_are_handed_a_launch),
      cmocka_unit_test(queues_have_limits),
      cmocka_unit_test(sequences_have_limits),
      cmocka_unit_test(calling_threads_have_limits),
      cmocka_unit_test(a_process_of_one_cpu_has_no_other_threads),
      cmocka_unit_test(omp_num_threads_counts_where_nothing_else_is_said),
      cmocka_unit_test(a_forked_process_keeps_to_limits),
      cmocka_unit_test(signals_are_the_programs),
      cmocka_unit_test(loops_within_loops_have_no_more_threads),
      cmocka_unit_test(callers_count_as_threads),
      cmocka_unit_test(a_long_launch_gets_threads_that_become_free),
      cmocka_unit_test(many_callers_share_one_pool),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
