/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Choices of variants over many launches, with a fake clock, and a fake device for events. */
#include "adaptive_support.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* Never more than 1 % at any time, and no trial before one fits. */
static void exploration_stays_in_its_budget(void **state) {
  (void)state;
  use_empty_cache();
  test_kernel kernel = {.launches = {0}};
  memcpy(kernel.us, times_us, sizeof times_us);
  open_kernel(&kernel, test_variants);
  size_t first_trial = 0, i = 0;
  for (; i < 20000 && !is_decided(&kernel, 512); ++i) {
    launch(&kernel, 512);
    if (!first_trial && kernel.explored_us > 0)
      first_trial = i;
    assert_true(kernel.explored_us <= 0.01 * kernel.spent_us + 3 * 400 * 6);
    if (kernel.spent_us > 1e5)
      assert_true(kernel.explored_us <= 0.02 * kernel.spent_us);
  }
  assert_true(is_decided(&kernel, 512));
  assert_true(first_trial >= 100);
  assert_true(kernel.us[launch(&kernel, 512)] <= 96);
  print_message("decided after %zu launches, %.2f %% in trials, the first at launch %zu\n", i,
                100 * kernel.explored_us / kernel.spent_us, first_trial);
  assert_true(kernel.explored_us <= 0.0105 * kernel.spent_us);
  close_kernel(&kernel);
}

/* What one process learned, the next one knows, also by the table of 8 classes. */
static void the_second_process_makes_no_trials(void **state) {
  (void)state;
  use_empty_cache();
  test_kernel first = {.launches = {0}}, second = {.launches = {0}};
  memcpy(first.us, times_us, sizeof times_us);
  memcpy(second.us, times_us, sizeof times_us);
  open_kernel(&first, test_variants);
  for (uint32_t n = 32; n <= 4096; n *= 2)
    learn(&first, n, 30000);
  close_kernel(&first);
  open_kernel(&second, test_variants);
  for (uint32_t n = 32; n <= 4096; n *= 2) {
    assert_true(is_decided(&second, n));
    for (int i = 0; i < 200; ++i)
      assert_true(second.us[launch(&second, n)] <= 96);
  }
  assert_true(second.explored_us == 0);
  close_kernel(&second);
}

/* A short process adds what it measured; the budget is of all processes together. */
static void short_processes_learn_together(void **state) {
  (void)state;
  use_empty_cache();
  double explored = 0;
  for (int process = 0; process < 200; ++process) {
    test_kernel kernel = {.launches = {0}};
    memcpy(kernel.us, times_us, sizeof times_us);
    open_kernel(&kernel, 4);
    for (int i = 0; i < 40; ++i)
      launch(&kernel, 512);
    explored += kernel.explored_us;
    bool done = is_decided(&kernel, 512);
    close_kernel(&kernel);
    if (done) {
      print_message("decided in process %d of 40 launches\n", process);
      assert_true(explored > 0);
      return;
    }
  }
  fail();
}

static void adding_a_variant_adds_its_trials_alone(void **state) {
  (void)state;
  use_empty_cache();
  test_kernel kernel = {.launches = {0}};
  memcpy(kernel.us, times_us, sizeof times_us);
  open_kernel(&kernel, 7);
  learn(&kernel, 512, 30000);
  assert_true(is_decided(&kernel, 512));
  close_kernel(&kernel);
  kernel.us[7] = 50;
  memset(kernel.launches, 0, sizeof kernel.launches);
  open_kernel(&kernel, 8);
  assert_false(is_decided(&kernel, 512));
  learn(&kernel, 512, 30000);
  assert_int_equal(launch(&kernel, 512), 7);
  unsigned used = 0;
  for (int i = 0; i < 8; ++i)
    used += kernel.launches[i] > 0;
  assert_int_equal(used, 2); /* the leader and the new one */
  close_kernel(&kernel);
}

/* Two images of the same bytes are one variant. */
static void identical_images_are_one_variant(void **state) {
  (void)state;
  use_empty_cache();
  kdl_adaptive_variant variants[3];
  fill_variants(variants, 3);
  variants[2].id = variants[0].id;
  test_kernel kernel = {.us = {100, 80, 100}};
  for (int process = 0; process < 2; ++process) {
    kernel.adaptive = open_variants(variants, 3, NULL);
    assert_int_equal(is_decided(&kernel, 512), process);
    learn(&kernel, 512, 30000);
    assert_int_equal(launch(&kernel, 512), 1);
    assert_int_equal(kernel.launches[2], 0);
    close_kernel(&kernel);
  }
}

static void without_trials_what_is_known_decides(void **state) {
  (void)state;
  use_empty_cache();
  setenv("KDL_EXPLORE", "0", 1);
  test_kernel kernel = {.launches = {0}};
  memcpy(kernel.us, times_us, sizeof times_us);
  open_kernel(&kernel, 8);
  assert_int_equal(launch(&kernel, 512), 0); /* the first in rank order */
  close_kernel(&kernel);
  unsetenv("KDL_EXPLORE");
  open_kernel(&kernel, 8);
  learn(&kernel, 512, 30000);
  uint32_t best = launch(&kernel, 512);
  close_kernel(&kernel);
  setenv("KDL_EXPLORE", "0", 1);
  open_kernel(&kernel, 8);
  assert_int_equal(launch(&kernel, 512), best);
  assert_int_equal(launch(&kernel, 700), best); /* a class that is alike */
  assert_int_equal(launch(&kernel, 100000), 0); /* one that is not */
  close_kernel(&kernel);
  unsetenv("KDL_EXPLORE");
}

/* A class begins with what classes that are alike have shown: the fastest there leads, and one
 * trial of a variant that was slow there is enough. The next process decides the same. */
static void classes_learn_from_alike_ones(void **state) {
  (void)state;
  use_empty_cache();
  test_kernel kernel = {.launches = {0}};
  memcpy(kernel.us, times_us, sizeof times_us);
  open_kernel(&kernel, 8);
  learn(&kernel, 512, 30000);
  uint32_t first = entry_of(&kernel, 512)->trials;
  assert_true(kernel.us[launch(&kernel, 640)] <= 96); /* from the first launch on */
  learn(&kernel, 640, 30000);
  print_message("%u trials in the first class, %u in the second\n", first,
                entry_of(&kernel, 640)->trials);
  assert_true(entry_of(&kernel, 640)->trials < first);
  assert_true(kernel.us[launch(&kernel, 640)] <= 100);
  close_kernel(&kernel);
  open_kernel(&kernel, 8);
  assert_true(is_decided(&kernel, 512));
  assert_true(is_decided(&kernel, 640));
  close_kernel(&kernel);
}

static void the_number_of_trials_is_bounded(void **state) {
  (void)state;
  use_empty_cache();
  setenv("KDL_EXPLORE", "5", 1);
  test_kernel kernel = {.launches = {0}};
  memcpy(kernel.us, times_us, sizeof times_us);
  open_kernel(&kernel, 8);
  learn(&kernel, 512, 30000);
  assert_int_equal(entry_of(&kernel, 512)->trials, 5);
  assert_true(is_decided(&kernel, 512));
  close_kernel(&kernel);
  unsetenv("KDL_EXPLORE");
}

/* The clock halves and doubles at random times: what a trial is compared with changes with it. */
static void clocks_that_jump_change_no_choice(void **state) {
  (void)state;
  size_t wrong = 0, rounds = 60;
  setenv("KDL_EXPLORE", "128,10%", 1);
  for (size_t round = 0; round < rounds; ++round) {
    use_empty_cache();
    setenv("KDL_EXPLORE", "128,10%", 1);
    test_kernel kernel = {.launches = {0}};
    memcpy(kernel.us, times_us, sizeof times_us);
    open_kernel(&kernel, 8);
    for (size_t i = 0; i < 20000 && !is_decided(&kernel, 512); ++i) {
      if (noise() < 0.02) {
        double factor = 0.5 + 1.5 * noise();
        for (int k = 0; k < 8; ++k)
          kernel.us[k] = times_us[k] * factor;
      }
      launch(&kernel, 512);
    }
    assert_true(is_decided(&kernel, 512));
    wrong += times_us[launch(&kernel, 512)] > 100;
    close_kernel(&kernel);
  }
  print_message("%zu of %zu choices are more than 10%% off\n", wrong, rounds);
  assert_true(wrong * 20 <= rounds);
  unsetenv("KDL_EXPLORE");
}

/* A launch of a few microseconds takes 300 now and then: another process had the core. No variant
 * is dropped for that, also where it was slow in a class that is alike. */
static void interruptions_drop_no_variant(void **state) {
  (void)state;
  static const double first[4] = {8, 7, 4, 9}, second[4] = {8, 4, 7, 9};
  size_t wrong = 0, rounds = 60;
  for (size_t round = 0; round < rounds; ++round) {
    use_empty_cache();
    test_kernel kernel = {.launches = {0}};
    open_kernel(&kernel, 4);
    for (uint32_t n = 512; n <= 640; n += 128) {
      const double *times = n == 512 ? first : second;
      for (size_t i = 0; i < 200000 && !is_decided(&kernel, n); ++i) {
        for (int k = 0; k < 4; ++k)
          kernel.us[k] = times[k] + (noise() < 0.04 ? 300 : 0);
        launch(&kernel, n);
      }
      wrong += times[launch(&kernel, n)] > 4;
    }
    close_kernel(&kernel);
  }
  print_message("%zu of %zu choices are wrong\n", wrong, 2 * rounds);
  assert_true(wrong * 50 <= 2 * rounds);
}

static void a_failing_variant_is_excluded(void **state) {
  (void)state;
  use_empty_cache();
  test_kernel kernel = {.us = {100, 50}};
  open_kernel(&kernel, 2);
  kdl_adaptive_trial trial;
  uint32_t n = 512;
  const void *pointers[] = {&n};
  const kdl_args args = {1, pointers, NULL};
  kdl_extent items = kdl_extent1(n);
  bool failed = false;
  for (int i = 0; i < 12000 && !failed; ++i) {
    uint32_t variant = kdl_adaptive_choice->choose(kernel.adaptive, &items, 0, &args, &trial);
    assert_non_null(trial.entry);
    kdl_adaptive_choice->begin(kernel.adaptive, &trial, NULL);
    fake_ns += 100000;
    kdl_adaptive_choice->end(kernel.adaptive, &trial, NULL, variant ? KDL_DEVICE : KDL_OK);
    failed = variant == 1;
    if (failed)
      kdl_adaptive_choice->exclude(kernel.adaptive, &trial, 1, "its launch failed: too bad");
  }
  assert_true(failed);
  close_kernel(&kernel);
  open_kernel(&kernel, 2); /* and in the next process */
  assert_true(is_decided(&kernel, 512));
  assert_string_equal(entry_of(&kernel, 512)->reasons[1], "its launch failed: too bad");
  assert_int_equal(launch(&kernel, 512), 0);
  close_kernel(&kernel);
}

/* A process that ends in a trial, as by a crash, leaves a mark. */
static void a_variant_that_ends_the_process_is_excluded(void **state) {
  (void)state;
  use_empty_cache();
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    test_kernel kernel = {.us = {100, 50}};
    open_kernel(&kernel, 2);
    for (int i = 0; i < 30000; ++i) {
      kdl_adaptive_trial trial;
      uint32_t n = 512;
      const void *pointers[] = {&n};
      const kdl_args args = {1, pointers, NULL};
      kdl_extent items = kdl_extent1(n);
      uint32_t variant = kdl_adaptive_choice->choose(kernel.adaptive, &items, 0, &args, &trial);
      if (trial.entry)
        kdl_adaptive_choice->begin(kernel.adaptive, &trial, NULL);
      if (variant == 1)
        kill(getpid(), SIGKILL);
      fake_ns += 100000;
      if (trial.entry)
        kdl_adaptive_choice->end(kernel.adaptive, &trial, NULL, KDL_OK);
    }
    _exit(1);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFSIGNALED(status));
  test_kernel kernel = {.us = {100, 50}};
  open_kernel(&kernel, 2);
  char expected[64];
  snprintf(expected, sizeof expected, "process %d ended during its first trial", (int)child);
  assert_string_equal(entry_of(&kernel, 512)->reasons[1], expected);
  learn(&kernel, 512, 30000);
  assert_int_equal(kernel.launches[1], 0);
  close_kernel(&kernel);
}

static atomic_bool is_held;

static void *use_entry_for_a_while(void *entry) {
  while (!kdl_entry_try(entry))
    ;
  atomic_store(&is_held, true);
  usleep(100000);
  kdl_entry_leave(entry);
  return NULL;
}

/* A thread uses a class while another one forks: the child excludes a variant there. */
static void a_forked_child_does_not_wait_for_threads_of_its_parent(void **state) {
  (void)state;
  use_empty_cache();
  test_kernel kernel = {.us = {100, 50}};
  open_kernel(&kernel, 2);
  launch(&kernel, 512);
  pthread_t user;
  assert_int_equal(pthread_create(&user, NULL, use_entry_for_a_while, entry_of(&kernel, 512)), 0);
  while (!atomic_load(&is_held))
    usleep(100);
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    alarm(20);
    kdl_adaptive_choice->exclude(kernel.adaptive, NULL, 1, "it does not load");
    _exit(entry_of(&kernel, 512)->race.variants[1].state == KDL_RACE_EXCLUDED ? 0 : 1);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  pthread_join(user, NULL);
  close_kernel(&kernel);
}

/* A launch of a first trial, and the one that follows it, end while another thread keeps the class:
 * no mark stays behind, and the class goes on. */
static void launches_end_while_the_class_is_in_use(void **state) {
  (void)state;
  use_empty_cache();
  test_kernel kernel = {.us = {100, 50}};
  open_kernel(&kernel, 2);
  kdl_class_entry *entry = entry_of(&kernel, 512);
  const uint32_t n = 512;
  const void *pointers[] = {&n};
  const kdl_args args = {1, pointers, NULL};
  const kdl_extent items = kdl_extent1(n);
  kdl_adaptive_trial trial = {.entry = NULL};
  for (int i = 0; i < 10000 && !(trial.entry && trial.is_trial && trial.sample->mark); ++i) {
    kdl_adaptive_choice->choose(kernel.adaptive, &items, 0, &args, &trial);
    if (!trial.entry)
      continue;
    kdl_adaptive_choice->begin(kernel.adaptive, &trial, NULL);
    fake_ns += 100000;
    if (!trial.sample->mark)
      kdl_adaptive_choice->end(kernel.adaptive, &trial, NULL, KDL_OK);
  }
  const kdl_mark *mark = trial.sample->mark;
  assert_non_null(mark);
  for (int is_failed = 0; is_failed < 2; ++is_failed) {
    assert_true(kdl_entry_try(entry));
    kdl_adaptive_choice->end(kernel.adaptive, &trial, NULL, is_failed ? KDL_DEVICE : KDL_OK);
    kdl_entry_leave(entry);
    assert_int_equal(mark->process, 0);
    do {
      kdl_adaptive_choice->choose(kernel.adaptive, &items, 0, &args, &trial);
    } while (!trial.entry);
    kdl_adaptive_choice->begin(kernel.adaptive, &trial, NULL);
  }
  kdl_adaptive_choice->end(kernel.adaptive, &trial, NULL, KDL_OK);
  assert_int_equal(entry->pending, 0);
  assert_int_equal(entry->burst_pending, 0);
  learn(&kernel, n, 10000);
  assert_true(is_decided(&kernel, n));
  close_kernel(&kernel);
}

/* ------------------------------------------------------------------------------------------ */
/* Events                                                                                       */

typedef struct {
  uint64_t at; /* when the device passes it; UINT64_MAX: never */
} fake_event;

static uint64_t device_free_at;
static uint64_t never_from = UINT64_MAX;
static size_t waits;

static kdl_status create_event(void *device, void **out_event) {
  (void)device;
  *out_event = calloc(1, sizeof(fake_event));
  return KDL_OK;
}
static void destroy_event(void *device, void *event) {
  (void)device;
  free(event);
}
static kdl_status record_event(void *device, void *event, void *queue) {
  (void)device, (void)queue;
  uint64_t at = device_free_at > fake_ns ? device_free_at : fake_ns;
  ((fake_event *)event)->at = at >= never_from ? UINT64_MAX : at;
  return KDL_OK;
}
static kdl_status query_event(void *device, void *event, int *out_done) {
  (void)device;
  *out_done = ((fake_event *)event)->at <= fake_ns;
  return KDL_OK;
}
static double wrong_ns; /* 0: none */

static kdl_status elapsed(void *device, void *start, void *end, double *out_ns) {
  (void)device;
  *out_ns =
      wrong_ns != 0 ? wrong_ns : (double)(((fake_event *)end)->at - ((fake_event *)start)->at);
  return KDL_OK;
}
static kdl_status wait_for(void *device, void *queue) {
  (void)device, (void)queue;
  ++waits;
  return KDL_OK;
}

static const kdl_backend_table fake_table = {.size = sizeof fake_table,
                                             .name = "cuda",
                                             .event_create = create_event,
                                             .event_destroy = destroy_event,
                                             .event_record = record_event,
                                             .event_query = query_event,
                                             .event_elapsed = elapsed,
                                             .event_sync = wait_for,
                                             .queue_sync = wait_for};

/* The host enqueues one launch each 2 us, far ahead of the device; nothing waits for it. */
static uint32_t enqueue(test_kernel *kernel, uint32_t n) {
  kdl_adaptive_trial trial;
  kdl_extent items = kdl_extent1(n);
  const void *pointers[] = {&n};
  const kdl_args args = {1, pointers, NULL};
  uint32_t variant = kdl_adaptive_choice->choose(kernel->adaptive, &items, 0, &args, &trial);
  if (trial.entry)
    kdl_adaptive_choice->begin(kernel->adaptive, &trial, NULL);
  uint64_t begin = device_free_at > fake_ns ? device_free_at : fake_ns;
  device_free_at = begin + (uint64_t)(1000 * noisy(kernel->us[variant]));
  fake_ns += 2000;
  if (trial.entry)
    kdl_adaptive_choice->end(kernel->adaptive, &trial, NULL, KDL_OK);
  if (device_free_at > fake_ns + 2000000) /* the program waits now and then */
    fake_ns = device_free_at;
  return variant;
}

static void devices_are_measured_by_events(void **state) {
  (void)state;
  use_empty_cache();
  setenv("KDL_EXPLORE", "128,5%", 1);
  kdl_adaptive_variant variants[test_variants];
  test_kernel kernel = {.launches = {0}};
  memcpy(kernel.us, times_us, sizeof times_us);
  fill_variants(variants, test_variants);
  kernel.adaptive = open_variants(variants, test_variants, &fake_table);
  size_t i = 0;
  for (; i < 100000 && !is_decided(&kernel, 512); ++i)
    enqueue(&kernel, 512);
  print_message("decided after %zu launches\n", i);
  assert_true(is_decided(&kernel, 512));
  assert_true(kernel.us[enqueue(&kernel, 512)] <= 96);
  assert_int_equal(waits, 0);
  close_kernel(&kernel);
  unsetenv("KDL_EXPLORE");
}

/* A device has got all launches of a trial before the time of the first one is known. */
static void slow_variants_get_two_launches_on_a_device(void **state) {
  (void)state;
  use_empty_cache();
  kdl_adaptive_variant variants[3];
  test_kernel kernel = {.us = {30, 900, 20}};
  fill_variants(variants, 3);
  noise_state = 1; /* an outlier among the leader's times would give the slow one another trial */
  device_free_at = fake_ns;
  kernel.adaptive = open_variants(variants, 3, &fake_table);
  for (size_t i = 0; i < 200000 && !is_decided(&kernel, 512); ++i)
    ++kernel.launches[enqueue(&kernel, 512)];
  assert_true(is_decided(&kernel, 512));
  assert_int_equal(kernel.launches[1], 2);
  assert_int_equal(enqueue(&kernel, 512), 2);
  close_kernel(&kernel);
}

/* A driver's times may be anything. */
static void times_that_are_none_are_not_added_up(void **state) {
  (void)state;
  static const double times[] = {-1, -1e300, NAN, INFINITY, 1e300};
  use_empty_cache();
  kdl_adaptive_variant variants[2];
  test_kernel kernel = {.us = {30, 20}};
  fill_variants(variants, 2);
  device_free_at = fake_ns;
  kernel.adaptive = open_variants(variants, 2, &fake_table);
  const kdl_class_entry *entry = entry_of(&kernel, 512);
  for (size_t i = 0; i < sizeof times / sizeof *times; ++i) {
    const uint64_t before = entry->time_ns;
    wrong_ns = times[i];
    for (int k = 0; k < 20; ++k)
      enqueue(&kernel, 512);
    assert_true(entry->time_ns >= before);
    if (!(times[i] > 0))
      assert_int_equal(entry->time_ns, before);
  }
  wrong_ns = 0;
  close_kernel(&kernel);
}

/* The device never passes the second event of the trial. */
static void a_hanging_trial_is_excluded(void **state) {
  (void)state;
  use_empty_cache();
  kdl_adaptive_variant variants[2];
  test_kernel kernel = {.us = {1000, 500}};
  fill_variants(variants, 2);
  kernel.adaptive = open_variants(variants, 2, &fake_table);
  uint32_t variant = 0;
  device_free_at = fake_ns;
  for (size_t i = 0; i < 100000 && !variant; ++i) {
    variant = enqueue(&kernel, 512);
  }
  assert_int_equal(variant, 1);
  kdl_class_entry *entry = entry_of(&kernel, 512);
  while (entry->burst_left)
    enqueue(&kernel, 512);
  for (unsigned k = 0; k < KDL_PENDING_LIMIT; ++k) {
    if (entry->samples[k].state == KDL_SAMPLE_PENDING && entry->samples[k].is_trial)
      ((fake_event *)entry->samples[k].end)->at = UINT64_MAX;
  }
  fake_ns += 1000000000;
  assert_int_equal(enqueue(&kernel, 512), 0);
  assert_null(entry->reasons[1]);
  fake_ns += 2000000000;
  assert_int_equal(enqueue(&kernel, 512), 0);
  assert_non_null(entry->reasons[1]);
  assert_int_equal(strncmp(entry->reasons[1], "its trial did not end within 3.", 31), 0);
  for (unsigned k = 0; k < KDL_PENDING_LIMIT; ++k) /* the events of a driver would stay */
    entry->samples[k].state = KDL_SAMPLE_FREE;
  close_kernel(&kernel);
}

/* Extents may be as large as their type: what tiles leave idle is then next to nothing. */
static void the_largest_extents_have_priors(void **state) {
  (void)state;
  static const uint64_t extents[] = {1, 1000, (uint64_t)1 << 53, UINT64_MAX};
  use_empty_cache();
  kdl_adaptive_variant variants[2];
  fill_variants(variants, 2);
  memcpy(variants[1].tile, (uint32_t[]){16, 16, 16}, sizeof variants[1].tile);
  kdl_adaptive *adaptive = open_variants(variants, 2, NULL);
  for (size_t i = 0; i < sizeof extents / sizeof *extents; ++i) {
    kdl_problem_class key = {{0, 0}};
    for (unsigned k = 0; k < KDL_CLASS_EXTENTS; ++k)
      kdl_class_add(&key, k, extents[i]);
    float prior = kdl_choices_entry(adaptive, &key)->race.variants[1].prior;
    if (extents[i] == 1) /* 16 x 16 x 16 items are covered for one, and three of four units idle */
      assert_true(prior == 999);
    else
      assert_true(prior >= 1 && prior < 1.2f);
  }
  kdl_adaptive_choice->close(adaptive, true);
}

/* A library may carry as many classes as are kept: of others nothing is learnt, and who launches
 * until they are decided ends. */
static void classes_beyond_the_limit_are_decided(void **state) {
  (void)state;
  test_kernel kernel = {.us = {100, 90}};
  const uint32_t n = 100000;
  const void *pointers[] = {&n};
  const kdl_args args = {1, pointers, NULL};
  const kdl_extent items = kdl_extent1(n);
  use_empty_cache();
  open_kernel(&kernel, 2);
  assert_false(kdl_adaptive_choice->is_decided(kernel.adaptive, &items, 0, &args));
  for (uint64_t i = 0; i < KDL_CLASS_LIMIT; ++i)
    assert_non_null(kdl_choices_entry(kernel.adaptive, &(kdl_problem_class){{i, 0}}));
  assert_int_equal(launch(&kernel, n), 0);
  assert_true(kdl_adaptive_choice->is_decided(kernel.adaptive, &items, 0, &args));
  close_kernel(&kernel);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(exploration_stays_in_its_budget),
      cmocka_unit_test(the_second_process_makes_no_trials),
      cmocka_unit_test(short_processes_learn_together),
      cmocka_unit_test(adding_a_variant_adds_its_trials_alone),
      cmocka_unit_test(identical_images_are_one_variant),
      cmocka_unit_test(without_trials_what_is_known_decides),
      cmocka_unit_test(classes_learn_from_alike_ones),
      cmocka_unit_test(the_number_of_trials_is_bounded),
      cmocka_unit_test(clocks_that_jump_change_no_choice),
      cmocka_unit_test(interruptions_drop_no_variant),
      cmocka_unit_test(a_failing_variant_is_excluded),
      cmocka_unit_test(a_variant_that_ends_the_process_is_excluded),
      cmocka_unit_test(a_forked_child_does_not_wait_for_threads_of_its_parent),
      cmocka_unit_test(devices_are_measured_by_events),
      cmocka_unit_test(slow_variants_get_two_launches_on_a_device),
      cmocka_unit_test(launches_end_while_the_class_is_in_use),
      cmocka_unit_test(times_that_are_none_are_not_added_up),
      cmocka_unit_test(a_hanging_trial_is_excluded),
      cmocka_unit_test(the_largest_extents_have_priors),
      cmocka_unit_test(classes_beyond_the_limit_are_decided),
  };
  return cmocka_run_group_tests(tests, NULL, clean_up);
}
