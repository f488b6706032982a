/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The calls of the cases of `kdl bench sequence`: libkdl's and the driver's own are compared, so
 * they must do the same work in every run. */
#include "cuda_support.h"
#include "suites/sequence/cuda_graph.h"

#include <kdl/kdl.h>

static kdl_library *lib;
static sequence_subject subject;

static int open_it(void **state) {
  (void)state;
  assert_ok(kdl_open(KDL_TEST_DATA "/../../bench/images/nothing.offload", NULL, &lib));
  assert_ok(kdl_device_find("cuda", &subject.device));
  assert_ok(kdl_queue_create(subject.device, NULL, &subject.queue));
  assert_ok(kdl_sym(lib, subject.device, "nothing", NULL, &subject.kernel));
  for (int i = 0; i < 2; ++i)
    assert_ok(kdl_alloc(subject.device, 256, &subject.buffers[i]));
  return 0;
}

static int close_it(void **state) {
  (void)state;
  for (int i = 0; i < 2; ++i)
    assert_ok(kdl_free(&subject.buffers[i]));
  kdl_queue_destroy(subject.queue);
  kdl_close(lib);
  return 0;
}

/* ------------------------------------------------------------------------------------------ */
/* Counting                                                                                     */

/* The calls that make up a graph's time. Only libkdl queries the current context. */
static const char *const counted[] = {"cuGraphExecKernelNodeSetParams",
                                      "cuGraphLaunch",
                                      "cuGraphCreate",
                                      "cuGraphAddKernelNode",
                                      "cuGraphInstantiateWithFlags",
                                      "cuGraphExecDestroy",
                                      "cuGraphDestroy",
                                      "cuLaunchKernel",
                                      "cuStreamBeginCapture_v2",
                                      "cuStreamEndCapture",
                                      "cuGraphExecUpdate_v2",
                                      "cuStreamQuery"};
enum { counted_count = sizeof counted / sizeof *counted };

typedef struct {
  unsigned of[counted_count];
} calls;

static calls run_case(const bench_case *item) {
  calls found;
  clear_log();
  item->run(item->context);
  for (size_t i = 0; i < counted_count; ++i)
    found.of[i] = calls_of(counted[i]);
  return found;
}

static void expect_case(const bench_case *item, const calls *expected) {
  for (int run = 0; run < 2; ++run) {
    calls found = run_case(item);
    for (size_t i = 0; i < counted_count; ++i) {
      if (found.of[i] != expected->of[i])
        fail_msg("%s, run %d: found %u calls of %s, expected %u", item->name, run, found.of[i],
                 counted[i], expected->of[i]);
    }
  }
}

enum {
  set,
  graph_launch,
  create,
  add,
  instantiate,
  end_instance,
  end,
  launch_one,
  begin_capture,
  end_capture,
  update,
  query
};

static void each_case_calls_the_same(void **state) {
  (void)state;
  static const size_t counts[] = {1, 10, 100};
  start_log();
  for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) {
    sequence_cuda at;
    const unsigned n = (unsigned)counts[i];
    subject.count = n;
    subject.is_second = i % 2;
    assert_ok(sequence_cuda_begin(&subject, &at));
    const calls same = {{[graph_launch] = 1, [query] = 1}};
    const calls one = {{[set] = 1, [graph_launch] = 1, [query] = 1}};
    const calls every = {{[set] = n, [graph_launch] = 1, [query] = 1}};
    const calls captured = {{[begin_capture] = 1,
                             [launch_one] = n,
                             [end_capture] = 1,
                             [update] = 1,
                             [end] = 1,
                             [graph_launch] = 1,
                             [query] = 1}};
    const calls launches = {{[launch_one] = n, [query] = 1}};
    const calls make = {{[create] = 1,
                         [add] = n,
                         [instantiate] = 1,
                         [graph_launch] = 1,
                         [query] = 1,
                         [end_instance] = 1,
                         [end] = 1}};
    const calls *const expected[SEQUENCE_CASES] = {[SEQUENCE_SAME] = &same,
                                                   [SEQUENCE_RAW_SAME] = &same,
                                                   [SEQUENCE_ONE] = &one,
                                                   [SEQUENCE_RAW_ONE] = &one,
                                                   [SEQUENCE_EVERY] = &every,
                                                   [SEQUENCE_RAW_EVERY] = &every,
                                                   [SEQUENCE_LAUNCHES] = &launches,
                                                   [SEQUENCE_RAW_LAUNCHES] = &launches,
                                                   [SEQUENCE_MAKE] = &make,
                                                   [SEQUENCE_RAW_MAKE] = &make,
                                                   [SEQUENCE_RAW_CAPTURED] = &captured};
    for (size_t k = 0; k < SEQUENCE_CASES; ++k)
      expect_case(&at.cases[k], expected[k]);
    sequence_cuda_end(&at);
  }
}

/* ------------------------------------------------------------------------------------------ */
/* As they are measured                                                                         */

/* How many nodes were set in each launch of a graph of so many nodes, as the log has them. */
static unsigned launches_with(unsigned sets) {
  FILE *log = fopen(log_path, "r");
  char line[128];
  unsigned found = 0, count = 0;
  assert_non_null(log);
  while (fgets(line, sizeof line, log)) {
    if (strcmp(line, "cuGraphLaunch\n") == 0) {
      found += count == sets;
      count = 0;
    }
    count += strcmp(line, "cuGraphExecKernelNodeSetParams\n") == 0;
  }
  fclose(log);
  return found;
}

/* No run of a case in a block may find what it binds bound already, however few there are. */
static void blocks_set_what_they_say(void **state) {
  (void)state;
  static bench_run run;
  enum { n = 100, blocks = 4 };
  sequence_cuda at;
  start_log();
  subject.count = n;
  assert_ok(sequence_cuda_begin(&subject, &at));
  clear_log();
  const bench_case both[] = {at.cases[SEQUENCE_ONE], at.cases[SEQUENCE_EVERY]};
  bench_measure(both, 2, blocks, 0.001, &run);
  assert_true(calls_of("cuGraphLaunch") >= 2 * blocks);
  assert_int_equal(launches_with(0), 0);
  assert_int_equal(launches_with(1) + launches_with(n), calls_of("cuGraphLaunch"));
  sequence_cuda_end(&at);
}

/* ------------------------------------------------------------------------------------------ */
/* The harness                                                                                  */

static void run_slowly_once(void *context) {
  unsigned *runs = context;
  if ((*runs)++ == 0)
    usleep(20000);
}

/* A first run that takes long does not have the others be few. */
static void first_runs_are_not_counted_on(void **state) {
  (void)state;
  static bench_run run;
  unsigned runs = 0;
  const bench_case item = {"slow at first", run_slowly_once, &runs};
  bench_measure(&item, 1, 2, 1, &run);
  assert_true(runs > 1000);
}

int main(int argc, char **argv) {
  (void)argc;
  int result;
  if (!run_for_each_driver(argv, &result))
    return result;
  if (is_old()) /* has no graphs */
    return 0;
  driver = kdl_built_in_cuda.table;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_case_calls_the_same),
      cmocka_unit_test(blocks_set_what_they_say),
      cmocka_unit_test(first_runs_are_not_counted_on),
  };
  return cmocka_run_group_tests(tests, open_it, close_it);
}
