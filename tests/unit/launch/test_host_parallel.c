/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kdl_host_parallel: each iteration once, whoever runs it, and what it refuses. */
#include "launch_support.h"

#include <kdl/launch.h>

#include <stdatomic.h>

enum { most = 5000 };

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

static void bad_calls_are_refused(void **state) {
  (void)state;
  assert_fails(kdl_host_parallel(1, NULL, NULL), KDL_BAD_CALL,
               "kdl_host_parallel: found NULL for run, expected a function");
  assert_fails(kdl_host_parallel((uint64_t)1 << 32, count, NULL), KDL_BAD_CALL,
               "kdl_host_parallel: found 4294967296 iterations, expected at most 4294967295");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_iteration_runs_once),
      cmocka_unit_test(an_iteration_may_do_the_same),
      cmocka_unit_test(bad_calls_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
