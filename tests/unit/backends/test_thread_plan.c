/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What is decided about threads, for machines that are not there: how many pay for a launch, and
 * how its groups are divided among them. */
#include "support.h"

#include "lib/backends/host/threads.h"

typedef struct {
  const char *name;
  unsigned threads;
  kdl_host_costs costs;
  double slow_part, slow_speed; /* of its threads, to the others' */
} machine;

static const machine machines[] = {
    {"a laptop of two cores", 2, {100, {400, 5000}, {60, 2000}, 100}, 0, 1},
    {"one with cores of two kinds", 12, {150, {700, 15000}, {80, 3000}, 200}, 0.67, 0.4},
    {"a server of one socket", 64, {200, {900, 30000}, {100, 4000}, 300}, 0, 1},
    {"two sockets of many cores", 384, {400, {2500, 50000}, {200, 6000}, 500}, 0, 1},
    {"a virtual machine whose threads wake late",
     16,
     {600, {3000, 200000}, {300, 20000}, 1000},
     0.25,
     0.5},
};
enum { machine_count = sizeof machines / sizeof *machines };

static double time_on(const machine *of, unsigned awake, double work_ns, unsigned threads) {
  return work_ns / threads + kdl_host_sharing_ns(&of->costs, awake, threads);
}

static void threads_never_cost_more_than_they_bring(void **state) {
  (void)state;
  for (unsigned i = 0; i < machine_count; ++i) {
    const machine *at = &machines[i];
    for (unsigned awake = 0; awake < 2; ++awake) {
      unsigned others = awake ? at->threads - 1 : 0, before = 1;
      for (double work = 100; work < 1e9; work *= 1.5) {
        unsigned threads = kdl_host_threads_that_pay(&at->costs, others, work, at->threads);
        assert_in_range(threads, 1, at->threads);
        assert_true(time_on(at, others, work, threads) <= work);
        assert_true(threads == 1 || work > kdl_host_least_shared_ns(at->costs.enter_ns,
                                                                    at->costs.begin_ns[!others]));
        assert_true(threads >= before); /* more work is not for fewer */
        before = threads;
      }
      assert_int_equal(before, at->threads);
    }
  }
}

static void a_launch_shorter_than_it_takes_to_begin_is_the_callers(void **state) {
  (void)state;
  for (unsigned i = 0; i < machine_count; ++i) {
    const machine *at = &machines[i];
    unsigned others = at->threads - 1;
    assert_int_equal(
        kdl_host_threads_that_pay(&at->costs, 0, at->costs.begin_ns[true] * 0.9, at->threads), 1);
    assert_int_equal(
        kdl_host_threads_that_pay(&at->costs, others, at->costs.begin_ns[false] * 0.9, at->threads),
        1);
    /* What pays with threads that are awake need not with those that sleep. */
    double work = at->costs.begin_ns[false] * 4;
    assert_true(kdl_host_threads_that_pay(&at->costs, others, work, at->threads) > 1);
    assert_int_equal(kdl_host_threads_that_pay(&at->costs, 0, work, at->threads), 1);
  }
}

static void no_more_threads_than_allowed(void **state) {
  (void)state;
  for (unsigned most = 1; most <= 20; ++most)
    assert_int_equal(kdl_host_threads_that_pay(&machines[0].costs, 0, 1e12, most), most);
}

static void shares_cover_every_group_once(void **state) {
  (void)state;
  static const uint64_t totals[] = {1, 2, 7, 63, 64, 65, 1000003, UINT64_MAX / 2};
  for (size_t i = 0; i < sizeof totals / sizeof *totals; ++i) {
    for (unsigned count = 1; count <= 64; ++count) {
      uint64_t least = UINT64_MAX, most = 0;
      assert_int_equal(kdl_host_share_begin(totals[i], count, 0), 0);
      assert_int_equal(kdl_host_share_begin(totals[i], count, count), totals[i]);
      for (unsigned at = 0; at < count; ++at) {
        uint64_t size = kdl_host_share_begin(totals[i], count, at + 1) -
                        kdl_host_share_begin(totals[i], count, at);
        least = size < least ? size : least;
        most = size > most ? size : most;
      }
      assert_true(most - least <= 1);
    }
  }
}

static void chunks_shrink_and_end(void **state) {
  (void)state;
  for (uint64_t total = 1; total < 100000; total = total * 3 + 1) {
    uint64_t left = total, before = total, taken = 0;
    while (left) {
      uint64_t chunk = kdl_host_chunk(left);
      assert_in_range(chunk, 1, before);
      before = chunk;
      left -= chunk;
      ++taken;
    }
    assert_int_equal(before, 1);
    assert_true(taken <= 100);
  }
}

/* ------------------------------------------------------------------------------------------ */
/* A launch, group by group                                                                     */

enum { max_threads = 384, groups_per_thread = 64 };

typedef struct {
  uint64_t next[max_threads], end[max_threads]; /* shares */
  double free_at[max_threads];                  /* threads */
} simulation;

static bool take_next(simulation *of, unsigned threads, unsigned thread, uint64_t *out_count) {
  for (unsigned i = 0; i < threads; ++i) {
    unsigned from = (thread + i) % threads;
    uint64_t left = of->end[from] - of->next[from];
    if (left) {
      *out_count = kdl_host_chunk(left);
      of->next[from] += *out_count;
      return true;
    }
  }
  return false;
}

/* When the last of `threads` is done; each group takes a fast one a unit of time. */
static double finished_at(const machine *at, uint64_t groups) {
  static simulation now;
  unsigned threads = at->threads, slow = (unsigned)(at->slow_part * threads);
  double end = 0;
  for (unsigned i = 0; i < threads; ++i) {
    now.next[i] = kdl_host_share_begin(groups, threads, i);
    now.end[i] = kdl_host_share_begin(groups, threads, i + 1);
    now.free_at[i] = 0;
  }
  for (;;) {
    unsigned first = 0;
    uint64_t count;
    for (unsigned i = 1; i < threads; ++i)
      first = now.free_at[i] < now.free_at[first] ? i : first;
    if (!take_next(&now, threads, first, &count))
      return end;
    now.free_at[first] += (double)count / (first < slow ? at->slow_speed : 1);
    end = now.free_at[first] > end ? now.free_at[first] : end;
  }
}

/* Cores of different speed are done at about the same time. */
static void slow_cores_do_less(void **state) {
  (void)state;
  for (unsigned i = 0; i < machine_count; ++i) {
    const machine *at = &machines[i];
    unsigned slow = (unsigned)(at->slow_part * at->threads);
    double speed = at->threads - slow + slow * at->slow_speed;
    uint64_t groups = (uint64_t)at->threads * groups_per_thread;
    assert_true(finished_at(at, groups) <= 1.1 * (double)groups / speed + 2 / at->slow_speed);
  }
}

/* Threads that now and then lose their CPU are not worth it for short launches, until some launches
 * have gone without them. */
static void waits_at_the_end_count_on_average(void **state) {
  (void)state;
  const double work = 5000;
  kdl_host_costs costs = machines[0].costs;
  assert_int_equal(kdl_host_threads_that_pay(&costs, 1, work, 2), 2);
  for (int i = 0; i < 200; ++i)
    kdl_host_costs_record_join(i % 20 == 0 ? 3000000 : 100);
  costs.join_ns = kdl_host_costs_get().join_ns;
  assert_true(costs.join_ns > work && costs.join_ns < 1000000);
  assert_int_equal(kdl_host_threads_that_pay(&costs, 1, work, 2), 1);
  assert_int_equal(kdl_host_threads_that_pay(&costs, 1, 1e6, 2), 2);
  for (int i = 0; i < 2000; ++i)
    kdl_host_costs_lower_join();
  costs.join_ns = kdl_host_costs_get().join_ns;
  assert_int_equal(kdl_host_threads_that_pay(&costs, 1, work, 2), 2);
  for (int i = 0; i < 2000; ++i)
    kdl_host_costs_lower_join();
  assert_true(kdl_host_costs_get().join_ns == 0);
  kdl_host_costs_record_join(-5);
  assert_true(kdl_host_costs_get().join_ns == 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(threads_never_cost_more_than_they_bring),
      cmocka_unit_test(a_launch_shorter_than_it_takes_to_begin_is_the_callers),
      cmocka_unit_test(no_more_threads_than_allowed),
      cmocka_unit_test(shares_cover_every_group_once),
      cmocka_unit_test(chunks_shrink_and_end),
      cmocka_unit_test(slow_cores_do_less),
      cmocka_unit_test(waits_at_the_end_count_on_average),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
