/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Races without kernels: a clock that the test sets, variants with given times and noise, and a
 * device whose events the test ends. */
#ifndef KDL_TESTS_UNIT_ADAPTIVE_SUPPORT_H
#define KDL_TESTS_UNIT_ADAPTIVE_SUPPORT_H

#include "ext/adaptive/choices.h"
#include "support.h"
#include "support/system/environment.h"

#include <unistd.h>

static uint64_t fake_ns = 1000000000;
static uint64_t fake_clock(void) {
  return fake_ns;
}

/* 0 to 1, the same in every run. */
static uint64_t noise_state = 1;
static inline double noise(void) {
  noise_state = noise_state * 6364136223846793005u + 1442695040888963407u;
  return (double)(noise_state >> 11) / 9007199254740992.0;
}

/* Mostly a few percent, now and then several times as long: another process had the core. */
static inline double noisy(double time) {
  double outlier = noise() < 0.03 ? 1 + 5 * noise() : 1;
  return time * (1 + 0.06 * noise()) * outlier;
}

/* A folder for the cache of this test program: not there yet, below one that clean_up removes. */
static char test_folder[] = "/tmp/kdl-adaptive-XXXXXX";
static char test_cache[256];
static inline void use_empty_cache(void) {
  char command[600];
  if (!test_cache[0])
    assert_non_null(mkdtemp(test_folder));
  snprintf(test_cache, sizeof test_cache, "%s/cache", test_folder);
  snprintf(command, sizeof command, "rm -rf %s", test_cache);
  assert_int_equal(system(command), 0);
  setenv("KDL_CACHE_DIR", test_cache, 1);
  unsetenv("KDL_CACHE");
  unsetenv("KDL_EXPLORE");
}

enum { test_variants = 8 };

typedef struct test_kernel {
  kdl_adaptive *adaptive;
  double us[test_variants]; /* of a launch of each variant */
  uint64_t launches[test_variants];
  double spent_us, explored_us;
} test_kernel;

static const kdl_shape_argument test_shape[] = {{0, 4, false, {"n", 1}}};

static inline void fill_variants(kdl_adaptive_variant *variants, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i)
    variants[i] = (kdl_adaptive_variant){.id = 0x100 + i, .image = i, .tag = ""};
}

static inline kdl_adaptive *open_variants(kdl_adaptive_variant *variants, uint32_t count,
                                          const kdl_backend_table *table) {
  kdl_adaptive_subject subject = {.kernel = "mark",
                                  .library = "t",
                                  .device = "host",
                                  .identity = {"kernel=mark device=host", 23},
                                  .table = table,
                                  .is_host = !table,
                                  .units = 4,
                                  .arguments = test_shape,
                                  .argument_count = 1,
                                  .variants = variants,
                                  .variant_count = count};
  kdl_adaptive_clock = fake_clock;
  kdl_adaptive *made = kdl_adaptive_choice->open(&subject);
  assert_non_null(made);
  return made;
}

static inline void open_kernel(test_kernel *kernel, uint32_t count) {
  kdl_adaptive_variant variants[test_variants];
  fill_variants(variants, count);
  kernel->adaptive = open_variants(variants, count, NULL);
}

static inline void close_kernel(test_kernel *kernel) {
  kdl_adaptive_choice->close(kernel->adaptive, true);
  kernel->adaptive = NULL;
}

/* One launch over n items on the host; returns the variant. */
static inline uint32_t launch(test_kernel *kernel, uint32_t n) {
  kdl_adaptive_trial trial;
  kdl_extent items = kdl_extent1(n);
  const void *pointers[] = {&n};
  const kdl_args args = {1, pointers, NULL};
  uint32_t variant = kdl_adaptive_choice->choose(kernel->adaptive, &items, 0, &args, &trial);
  double us = noisy(kernel->us[variant]);
  if (trial.entry)
    kdl_adaptive_choice->begin(kernel->adaptive, &trial, NULL);
  fake_ns += (uint64_t)(1000 * us);
  if (trial.entry)
    kdl_adaptive_choice->end(kernel->adaptive, &trial, NULL, KDL_OK);
  ++kernel->launches[variant];
  kernel->spent_us += us;
  kernel->explored_us += trial.entry && trial.is_trial ? us : 0;
  return variant;
}

static inline kdl_class_entry *entry_of(test_kernel *kernel, uint32_t n) {
  kdl_problem_class key = {{0, 0}};
  kdl_class_add(&key, 0, n);
  kdl_class_add(&key, 1, 1);
  kdl_class_add(&key, 2, 1);
  kdl_class_add(&key, 3, n);
  return kdl_choices_entry(kernel->adaptive, &key);
}

static inline bool is_decided(test_kernel *kernel, uint32_t n) {
  return entry_of(kernel, n)->choice & KDL_CHOICE_DECIDED;
}

static const double times_us[test_variants] = {130, 100, 220, 90, 140, 400, 96, 180};

static inline void learn(test_kernel *kernel, uint32_t n, size_t most) {
  for (size_t i = 0; i < most && !is_decided(kernel, n); ++i)
    launch(kernel, n);
}

static inline void learn_and_close(uint32_t n) {
  test_kernel kernel = {.launches = {0}};
  memcpy(kernel.us, times_us, sizeof times_us);
  open_kernel(&kernel, 8);
  learn(&kernel, n, 30000);
  assert_true(is_decided(&kernel, n));
  close_kernel(&kernel);
}

static inline bool knows(uint32_t n) {
  test_kernel kernel = {.launches = {0}};
  open_kernel(&kernel, 8);
  bool known = is_decided(&kernel, n) && entry_of(&kernel, n)->trials;
  close_kernel(&kernel);
  return known;
}

static inline void table_path(char path[600]) {
  char name[KDL_TABLE_NAME];
  kdl_table_name((kdl_string){"kernel=mark device=host", 23}, name);
  snprintf(path, 600, "%s/choices/%s", test_cache, name);
}

static inline int clean_up(void **state) {
  (void)state;
  char command[600];
  snprintf(command, sizeof command, "rm -rf %s", test_folder);
  return test_cache[0] ? system(command) : 0;
}

#endif
