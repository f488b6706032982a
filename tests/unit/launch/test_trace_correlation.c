/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Two clocks, one of which is known only by the times before and after an event. */
#include "support.h"

#include "ext/trace/correlation.h"

/* A device whose clock started `difference` ns before the host's, and runs so much faster. */
typedef struct {
  double difference, rate;
  uint32_t seed;
} machine;

static double device_at(const machine *m, double host) {
  return (host - m->difference) * m->rate;
}

static double random_to(machine *m, double most) {
  m->seed = m->seed * 1664525u + 1013904223u;
  return most * (m->seed >> 8) / (1 << 24);
}

/* The host asks at `host`, the device passes after `latency`, and it is seen after `delay`. */
static void exchange(kdl_trace_correlation *clocks, const machine *m, double host, double latency,
                     double delay) {
  double device = device_at(m, host + latency);
  kdl_trace_correlation_not_before(clocks, device, host);
  kdl_trace_correlation_not_after(clocks, device, host + latency + delay);
}

static double error_at(const kdl_trace_correlation *clocks, const machine *m, double host) {
  double found = kdl_trace_correlation_host(clocks, device_at(m, host));
  return found > host ? found - host : host - found;
}

static void one_exchange(void **state) {
  (void)state;
  machine m = {.difference = 5e9, .rate = 1};
  kdl_trace_correlation clocks = kdl_trace_correlation_none();
  exchange(&clocks, &m, 7e9, 4000, 6000);
  assert_true(error_at(&clocks, &m, 7e9 + 4000) <= 1000);
}

/* A sample that was delayed by 20 ms adds little, and does not degrade the others. */
static void interruptions(void **state) {
  (void)state;
  machine m = {.difference = 5e9, .rate = 1, .seed = 1};
  for (int slow = 0; slow < 20; ++slow) {
    kdl_trace_correlation clocks = kdl_trace_correlation_none();
    for (int i = 0; i < 20; ++i) {
      double latency = i == slow ? 20e6 : 2000 + random_to(&m, 3000);
      double delay = i == slow + 1 ? 20e6 : 2000 + random_to(&m, 3000);
      exchange(&clocks, &m, 7e9 + i * 50e6, latency, delay);
    }
    /* Bounds that are 1 s old are worth 100 us less. */
    for (int i = 0; i < 20; ++i)
      assert_true(error_at(&clocks, &m, 7e9 + i * 50e6) < 55e3);
    assert_true(error_at(&clocks, &m, 7e9 + 19 * 50e6) < 15e3);
  }
}

/* Clocks that drift apart by 50 us a second stay known, also where the start is moved along. */
static void drift(void **state) {
  (void)state;
  machine m = {.difference = -3e9, .rate = 1 + 50e-6, .seed = 7};
  kdl_trace_correlation clocks = kdl_trace_correlation_none();
  double moved = 0;
  for (int i = 0; i < 60000; ++i) {
    double host = 1e9 + i * 1e6, latency = 1000 + random_to(&m, 4000);
    double device = device_at(&m, host + latency) - moved;
    kdl_trace_correlation_not_before(&clocks, device, host);
    kdl_trace_correlation_not_after(&clocks, device, host + latency + 1000 + random_to(&m, 4000));
    double found = kdl_trace_correlation_host(&clocks, device);
    assert_true(found >= host && found <= host + 11000);
    if (i % 1000 == 999) {
      kdl_trace_correlation_move(&clocks, device);
      moved += device;
    }
  }
}

/* A clock that runs twice too fast contradicts itself: then nothing comes before it was asked for.
 */
static void a_clock_that_is_wrong(void **state) {
  (void)state;
  machine m = {.difference = 0, .rate = 2};
  kdl_trace_correlation clocks = kdl_trace_correlation_none();
  for (int i = 0; i < 100; ++i) {
    double host = 1e9 + i * 1e6;
    exchange(&clocks, &m, host, 1000, 1000);
    assert_true(kdl_trace_correlation_host(&clocks, device_at(&m, host + 1000)) >= host);
  }
}

static void one_side_is_known(void **state) {
  (void)state;
  kdl_trace_correlation clocks = kdl_trace_correlation_none();
  kdl_trace_correlation_not_before(&clocks, 100, 1100);
  assert_true(kdl_trace_correlation_host(&clocks, 100) == 1100);
  clocks = kdl_trace_correlation_none();
  kdl_trace_correlation_not_after(&clocks, 100, 1100);
  assert_true(kdl_trace_correlation_host(&clocks, 100) == 1100);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_exchange),
      cmocka_unit_test(interruptions),
      cmocka_unit_test(drift),
      cmocka_unit_test(a_clock_that_is_wrong),
      cmocka_unit_test(one_side_is_known),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
