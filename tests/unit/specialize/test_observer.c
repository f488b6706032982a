/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which values of launches are found to repeat. */
#include "ext/specialize/observer.h"
#include "support.h"

enum { repeats = 10 };

typedef struct {
  kdl_observer observer;
  uint32_t mask, times;
} subject;

static subject begin(size_t words) {
  subject made = {.mask = 0};
  kdl_observer_init(&made.observer, words, repeats);
  return made;
}

static kdl_observation add(subject *s, uint64_t a, uint64_t b) {
  return kdl_observer_add(&s->observer, (const uint64_t[]){a, b}, &s->mask, &s->times);
}

static void values_that_repeat_are_folded_once(void **state) {
  (void)state;
  subject s = begin(2);
  for (int i = 1; i < repeats; ++i)
    assert_int_equal(add(&s, 5, 6), KDL_OBSERVE_MORE);
  assert_int_equal(add(&s, 5, 6), KDL_OBSERVE_FOLD);
  assert_int_equal(s.mask, 3);
  assert_int_equal(s.times, repeats);
  for (int i = 0; i < 100; ++i)
    assert_int_equal(add(&s, 5, 6), KDL_OBSERVE_MORE);
}

static void a_value_that_varies_is_left_out(void **state) {
  (void)state;
  subject s = begin(2);
  kdl_observation last = KDL_OBSERVE_MORE;
  int launches = 0;
  while (last == KDL_OBSERVE_MORE && launches < 100)
    last = add(&s, (uint64_t)++launches, 6);
  assert_int_equal(last, KDL_OBSERVE_FOLD);
  assert_int_equal(s.mask, 2); /* the second word alone */
  assert_int_equal(launches, repeats);
  assert_int_equal(s.observer.dropped, 1);
}

static void the_last_is_left_out_first(void **state) {
  (void)state;
  subject s = begin(2);
  for (unsigned i = 0; i <= KDL_OBSERVER_ROWS; ++i)
    (void)add(&s, i % KDL_OBSERVER_ROWS, i);
  assert_int_equal(s.observer.mask, 1);
}

static void several_values_alternate(void **state) {
  (void)state;
  subject s = begin(2);
  unsigned folded = 0;
  for (unsigned i = 0; i < 4 * repeats; ++i)
    folded += add(&s, i % 4, 1) == KDL_OBSERVE_FOLD;
  assert_int_equal(folded, KDL_SPECIALIZED_LIMIT);
  assert_int_equal(add(&s, 0, 1), KDL_OBSERVE_END);
}

/* Rare values do not spoil one that was found. */
static void rare_values_stay_general(void **state) {
  (void)state;
  subject s = begin(2);
  for (int i = 0; i < repeats; ++i)
    (void)add(&s, 1, 1);
  assert_int_equal(s.observer.folded, 1);
  for (unsigned i = 0; i < 1000; ++i)
    assert_int_equal(add(&s, 100 + i, i), KDL_OBSERVE_MORE);
  for (int i = 1; i < repeats; ++i)
    assert_int_equal(add(&s, 7, 7), KDL_OBSERVE_MORE);
  assert_int_equal(add(&s, 7, 7), KDL_OBSERVE_FOLD);
  assert_int_equal(s.mask, 3);
}

/* Values that vary at the start of a program may repeat afterwards; those that never do cost a
 * bounded number of launches. */
static void observing_pauses_and_ends(void **state) {
  (void)state;
  subject s = begin(1);
  for (unsigned i = 0; i <= KDL_OBSERVER_ROWS; ++i)
    assert_int_equal(add(&s, i, 0), KDL_OBSERVE_MORE);
  assert_int_equal(s.observer.rounds, 1);
  for (unsigned i = 0; i < KDL_OBSERVER_PAUSE + repeats - 1; ++i)
    assert_int_equal(add(&s, 5, 0), KDL_OBSERVE_MORE);
  assert_int_equal(add(&s, 5, 0), KDL_OBSERVE_FOLD);
  s = begin(1);
  uint64_t launches = 0;
  while (add(&s, launches, 0) == KDL_OBSERVE_MORE)
    ++launches;
  assert_int_equal(s.observer.rounds, KDL_OBSERVER_ROUNDS);
  assert_true(launches < 12 * KDL_OBSERVER_PAUSE);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(values_that_repeat_are_folded_once),
      cmocka_unit_test(a_value_that_varies_is_left_out),
      cmocka_unit_test(the_last_is_left_out_first),
      cmocka_unit_test(several_values_alternate),
      cmocka_unit_test(rare_values_stay_general),
      cmocka_unit_test(observing_pauses_and_ends),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
