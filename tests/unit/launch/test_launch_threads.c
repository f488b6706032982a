/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* 64 threads find, load and launch the same and different kernels: each image is loaded once, every
 * number is right. KDL_LAUNCH_SECONDS sets the duration; each round opens a library again. */
#include "launch_support.h"

#include <dirent.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#define KEY "kdl.kernel.mark"

enum { thread_count = 64, launches = 20 };

/* `mark` falls back over a cut image, the others come from the first that has them. */
static const host_row rows[] = {{"mark1", 2000, NULL, "9", KEY, "block=256x1x1"},
                                {"mark2", 0, NULL, "5", KEY, "block=64x1x1"},
                                {"mark3", 0, NULL, NULL, NULL, NULL}};

typedef struct {
  kdl_library *lib;
  _Atomic(kdl_kernel *) mark, count; /* the first that a thread was given: all have the same */
  pthread_barrier_t start;
  atomic_int wrong;
} round_state;

typedef struct {
  round_state *round;
  unsigned index;
} worker;

static bool launch_mark(kdl_kernel *mark, unsigned seed) {
  uint32_t out[1200], n = 100 + seed * 13 % 1000;
  uint32_t *to = out;
  memset(out, 0, sizeof out);
  if (kdl_launch_items(mark, NULL, kdl_extent1(n), KDL_ARGS(&to, &n)) != KDL_OK)
    return false;
  for (uint32_t i = 0; i < 1200; ++i) {
    if (out[i] != (i < n ? 2000000 + i : 0))
      return false;
  }
  return true;
}

static bool launch_count(kdl_kernel *count, unsigned seed) {
  uint32_t cells[256] = {0}, *to = cells;
  kdl_launch_desc desc = kdl_grid(1 + seed % 256, 1, 1);
  if (kdl_launch(count, NULL, &desc, KDL_ARGS(&to)) != KDL_OK)
    return false;
  for (uint32_t i = 0; i < 256; ++i) {
    if (cells[i] != (i < desc.grid[0] ? 3u : 0u))
      return false;
  }
  return true;
}

static bool is_the_one(_Atomic(kdl_kernel *) *one, kdl_kernel *given) {
  kdl_kernel *none = NULL;
  return atomic_compare_exchange_strong(one, &none, given) || none == given;
}

static void *work(void *user) {
  worker *self = user;
  round_state *round = self->round;
  kdl_device *host;
  kdl_kernel *mark, *count;
  pthread_barrier_wait(&round->start);
  bool fine = kdl_device_find("host", &host) == KDL_OK &&
              kdl_sym(round->lib, host, "mark", NULL, &mark) == KDL_OK &&
              kdl_sym(round->lib, host, "count", NULL, &count) == KDL_OK &&
              is_the_one(&round->mark, mark) && is_the_one(&round->count, count);
  for (unsigned i = 0; fine && i < launches; ++i)
    fine = self->index % 2 ? launch_mark(mark, self->index + i) && launch_count(count, i)
                           : launch_count(count, self->index * i) && launch_mark(mark, i);
  if (!fine)
    atomic_fetch_add(&round->wrong, 1);
  return NULL;
}

static void run_round(void) {
  host_library made = open_rows(rows, 3);
  round_state round = {.lib = made.lib};
  pthread_t threads[thread_count];
  worker workers[thread_count];
  pthread_barrier_init(&round.start, NULL, thread_count);
  start_listening("load");
  for (unsigned i = 0; i < thread_count; ++i) {
    workers[i] = (worker){&round, i};
    assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
  }
  for (unsigned i = 0; i < thread_count; ++i)
    pthread_join(threads[i], NULL);
  pthread_barrier_destroy(&round.start);
  assert_int_equal(atomic_load(&round.wrong), 0);
  assert_int_equal(times_said("load: t: image 0 (object " HOST_ARCH "): not loaded"), 1);
  assert_int_equal(times_said("load: t: image 1 (object " HOST_ARCH "): loaded"), 1);
  assert_int_equal(times_said("load: t: image 2 (object " HOST_ARCH "): loaded"), 1);
  free_rows(&made);
  assert_int_equal(times_said("unloaded"), 2);
  stop_listening();
}

static void one_load_per_module(void **state) {
  (void)state;
  const char *seconds = getenv("KDL_LAUNCH_SECONDS");
  time_t end = time(NULL) + (seconds ? atoi(seconds) : 2);
  do
    run_round();
  while (time(NULL) < end);
}

/* How many threads of this process may not run on a CPU where this one is. */
static unsigned count_away(size_t cpu) {
  cpu_set_t set;
  unsigned away = 0;
  DIR *folder = opendir("/proc/self/task");
  assert_non_null(folder);
  for (const struct dirent *entry; (entry = readdir(folder));) {
    if (entry->d_name[0] != '.' && sched_getaffinity(atoi(entry->d_name), sizeof set, &set) == 0)
      away += !CPU_ISSET(cpu, &set);
  }
  closedir(folder);
  return away;
}

static void pin(size_t cpu) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
}

/* Launches until a subprocess has learnt to be elsewhere, wherever that is. */
static void helpers_keep_away(void **state) {
  (void)state;
  enum { groups = 1 << 20, most_launches = 1000 }; /* takes longer than waking a thread */
  cpu_set_t own;
  assert_int_equal(sched_getaffinity(0, sizeof own, &own), 0);
  if (CPU_COUNT(&own) < 2)
    skip();
  host_library made = open_rows(rows, 3);
  kdl_kernel *count = kernel_named(made.lib, "count");
  kdl_launch_desc desc = kdl_grid(groups, 1, 1);
  uint32_t *cells = calloc(groups, sizeof *cells);
  for (size_t cpu = 0, tried = 0; cpu < CPU_SETSIZE && tried < 2; ++cpu) {
    if (!CPU_ISSET(cpu, &own))
      continue;
    ++tried;
    pin(cpu);
    for (unsigned i = 0; i < most_launches && !count_away(cpu); ++i)
      assert_ok(kdl_launch(count, NULL, &desc, KDL_ARGS(&cells)));
    assert_true(count_away(cpu));
  }
  assert_int_equal(sched_setaffinity(0, sizeof own, &own), 0);
  free(cells);
  free_rows(&made);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(one_load_per_module),
                                     cmocka_unit_test(helpers_keep_away)};
  setenv("KDL_HOST_THREADS", "4", 1);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
