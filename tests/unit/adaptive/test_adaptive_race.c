/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Classes of problems, and races by given ratios: no clock, no device. */
#include "adaptive_support.h"

static void buckets_are_as_documented(void **state) {
  (void)state;
  for (uint64_t v = 0; v <= 16; ++v)
    assert_int_equal(kdl_class_bucket(v), v);
  uint64_t last = 16;
  for (uint64_t v = 17; v < 100000; ++v) {
    uint64_t bucket = kdl_class_bucket(v), least, most;
    kdl_class_range(bucket, &least, &most);
    assert_true(least <= v && v <= most);
    assert_int_equal(bucket & 1, v % 16 == 0);
    assert_true(most - least <= least / 4);
    assert_true((bucket & ~1u) >= (last & ~1u) || last == 16);
    last = bucket;
  }
  assert_int_equal(kdl_class_bucket(UINT64_MAX), (1u << KDL_CLASS_BITS) - 2);
  assert_int_equal(kdl_class_bucket(UINT64_MAX - 15), (1u << KDL_CLASS_BITS) - 1);
}

static void classes_have_text_and_distance(void **state) {
  (void)state;
  char text[128];
  kdl_problem_class a = {{0, 0}}, b = {{0, 0}}, grid = {{(uint64_t)1 << 63, 0}};
  kdl_shape_argument names[] = {{0, 4, false, {"m", 1}}, {1, 4, false, {"k", 1}}};
  kdl_class_add(&a, 0, 500), kdl_class_add(&a, 1, 7), kdl_class_add(&a, 2, 1);
  kdl_class_add(&a, 3, 512), kdl_class_add(&a, 4, 3);
  kdl_class_print(&a, names, 2, &(kdl_out){text, sizeof text, 0});
  assert_string_equal(text, "items 448..511x7 m=512..624(16) k=3");
  assert_int_equal(kdl_class_distance(&a, &a), 0);
  b = a;
  assert_int_equal(kdl_class_distance(&a, &grid), UINT32_MAX);
  b.words[1] |= (uint64_t)1 << KDL_CLASS_CONDITIONS_AT;
  assert_int_equal(kdl_class_distance(&a, &b), UINT32_MAX);
}

static void arguments_of_every_size_are_read(void **state) {
  (void)state;
  int8_t i8 = -3;
  uint16_t u16 = 700;
  int64_t i64 = 123456789012;
  assert_int_equal(kdl_class_read(&(kdl_shape_argument){0, 1, true, {"", 0}}, &i8), 0);
  assert_int_equal(kdl_class_read(&(kdl_shape_argument){0, 1, false, {"", 0}}, &i8), 253);
  assert_int_equal(kdl_class_read(&(kdl_shape_argument){0, 2, false, {"", 0}}, &u16), 700);
  assert_int_equal(kdl_class_read(&(kdl_shape_argument){0, 8, true, {"", 0}}, &i64), i64);
}

/* Runs a race by noisy ratios; returns the number of trials. */
static size_t run(kdl_race *race, const double *times) {
  size_t trials = 0;
  uint32_t next;
  while ((next = kdl_race_next(race)) != KDL_RACE_NONE) {
    kdl_race_add(race, next, noisy(times[next]) / noisy(times[race->leader]));
    assert_true(++trials < 200);
  }
  return trials;
}

static void races_find_the_fastest(void **state) {
  (void)state;
  size_t trials = 0, wrong = 0, rounds = 2000;
  for (size_t round = 0; round < rounds; ++round) {
    kdl_race_variant variants[8] = {{.count = 0}};
    double times[8], best = 1e9;
    kdl_race race;
    for (int i = 0; i < 8; ++i) {
      times[i] = 1 + 2 * noise();
      best = times[i] < best ? times[i] : best;
    }
    kdl_race_init(&race, variants, 8);
    trials += run(&race, times);
    wrong += times[race.leader] > 1.05 * best;
  }
  print_message("%zu of %zu races end more than 5%% above the best; %.1f trials each\n", wrong,
                rounds, (double)trials / (double)rounds);
  assert_true(wrong * 100 <= rounds); /* 1 % */
  assert_true(trials <= rounds * 30);
}

/* One sample never decides, however large. */
static void one_trial_decides_nothing(void **state) {
  (void)state;
  kdl_race_variant variants[3] = {{.count = 0}};
  kdl_race race;
  kdl_race_init(&race, variants, 3);
  assert_false(kdl_race_add(&race, 1, 100));
  assert_false(kdl_race_add(&race, 2, 0.01));
  assert_int_equal(variants[1].state, KDL_RACE_OPEN);
  assert_int_equal(race.leader, 0);
  kdl_race_add(&race, 1, 90);
  assert_int_equal(variants[1].state, KDL_RACE_SLOWER);
  kdl_race_add(&race, 2, 0.5);
  assert_int_equal(race.leader, 0);
  for (int i = 0; i < 3 && race.leader == 0; ++i)
    kdl_race_add(&race, 2, 0.5);
  assert_int_equal(race.leader, 2);
  assert_int_equal(kdl_race_next(&race), KDL_RACE_NONE);
}

/* Equal variants end the race, and the first stays. */
static void equal_variants_end_the_race(void **state) {
  (void)state;
  kdl_race_variant variants[4] = {{.count = 0}};
  kdl_race race;
  const double times[4] = {1, 1, 1, 1};
  kdl_race_init(&race, variants, 4);
  assert_true(run(&race, times) <= 3 * KDL_RACE_TRIALS + 7);
}

/* A table from elsewhere may have any numbers: no two variants may each be the faster one. */
static void stored_zeros_end(void **state) {
  (void)state;
  kdl_race_variant variants[3] = {{.count = 0}};
  kdl_race race;
  kdl_race_init(&race, variants, 3);
  for (int i = 0; i < 3; ++i) {
    kdl_race_restore(&race, 1, 0);
    kdl_race_restore(&race, 2, 0.5);
  }
  alarm(20);
  kdl_race_settle(&race, 2);
  assert_int_equal(race.leader, 1);
  kdl_race_settle(&race, 1);
  assert_int_equal(race.leader, 1);
  assert_true(kdl_race_score(&variants[1], NULL) > 0);
  alarm(0);
}

static void excluded_variants_do_not_lead(void **state) {
  (void)state;
  kdl_race_variant variants[3] = {{.count = 0}};
  kdl_race race;
  kdl_race_init(&race, variants, 3);
  kdl_race_exclude(&race, 0);
  assert_int_equal(race.leader, 1);
  kdl_race_exclude(&race, 2);
  assert_int_equal(kdl_race_next(&race), KDL_RACE_NONE);
  kdl_race_exclude(&race, 1);
  assert_int_equal(kdl_race_next(&race), KDL_RACE_NONE);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(buckets_are_as_documented),
      cmocka_unit_test(classes_have_text_and_distance),
      cmocka_unit_test(arguments_of_every_size_are_read),
      cmocka_unit_test(races_find_the_fastest),
      cmocka_unit_test(one_trial_decides_nothing),
      cmocka_unit_test(equal_variants_end_the_race),
      cmocka_unit_test(stored_zeros_end),
      cmocka_unit_test(excluded_variants_do_not_lead),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
