/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The cost of a gpu.launch_func, compiled three ways: with #kdl.runtime_select; with
 * #gpu.select_object and libkdl_mlir_runtime; and, if there is an NVIDIA driver, with
 * #gpu.select_object and the calls of MLIR's own CUDA runtime. Each with a stream of the program
 * ("async"), without one, so that the launch waits ("sync"), and as a loop of 64 such launches with
 * one wait at its end ("loop").
 *
 *     bench_mlir_launch [BLOCKS]
 *     bench_mlir_launch --count N NAME        N launches of one kind, for callgrind
 *
 *     KDL_BACKEND_PATH=.../null_backend.so bench_mlir_launch        on a driver that does nothing
 */
#include "measure/harness.h"
#include "mgpu.h"
#include "upstream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The functions that launch.mlir is compiled to. */
void kdl_async(kdl_queue *stream, int32_t n);
void kdl_sync_launch(int32_t n);
void kdl_loop(int32_t n, int64_t times);
void select_async(kdl_queue *stream, int32_t n);
void select_sync(int32_t n);
void upstream_async(void *stream, int32_t n);
void upstream_sync(int32_t n);

static kdl_queue *stream;
static void *upstream_stream;

/* Not inlined, so that callgrind lists them separately. */
#define CASE __attribute__((noinline)) static void

/* A queue that nobody waits for fills up; an occasional wait adds little to each launch. */
enum { launches_before_a_wait = 256 };

static bool is_due(void) {
  static unsigned count;
  return ++count % launches_before_a_wait == 0;
}

CASE run_kdl_async(void *context) {
  (void)context;
  kdl_async(stream, 5);
  if (is_due())
    mgpuStreamSynchronize(stream);
}

CASE run_kdl_sync(void *context) {
  (void)context;
  kdl_sync_launch(5);
}

/* Launches per call of the loop; it is called once in as many calls. */
enum { launches_in_a_loop = 64 };

CASE run_kdl_loop(void *context) {
  static unsigned count;
  (void)context;
  if (++count % launches_in_a_loop == 0)
    kdl_loop(5, launches_in_a_loop);
}

CASE run_select_async(void *context) {
  (void)context;
  select_async(stream, 5);
  if (is_due())
    mgpuStreamSynchronize(stream);
}

CASE run_select_sync(void *context) {
  (void)context;
  select_sync(5);
}

CASE run_upstream_async(void *context) {
  (void)context;
  upstream_async(upstream_stream, 5);
  if (is_due())
    upstreamStreamSynchronize(upstream_stream);
}

CASE run_upstream_sync(void *context) {
  (void)context;
  upstream_sync(5);
}

static const bench_case cases[] = {
    {"runtime_select async", run_kdl_async, NULL}, {"select_object async", run_select_async, NULL},
    {"runtime_select sync", run_kdl_sync, NULL},   {"select_object sync", run_select_sync, NULL},
    {"runtime_select loop", run_kdl_loop, NULL},   {"upstream async", run_upstream_async, NULL},
    {"upstream sync", run_upstream_sync, NULL},
};
enum { case_count = sizeof cases / sizeof *cases, without_driver = 5 };

static void print_ratio(const bench_run *run, size_t index, size_t peer) {
  bench_interval ratio = bench_ratio(run, index, peer);
  printf("%-22s / %-22s %6.3f  [%.3f, %.3f]\n", cases[index].name, cases[peer].name, ratio.median,
         ratio.low, ratio.high);
}

static int measure_launches(size_t blocks, bool has_driver) {
  bench_run *run = calloc(1, sizeof *run);
  size_t count = has_driver ? case_count : without_driver;
  if (!run)
    return 1;
  bench_measure(cases, count, blocks, 5, run);
  printf("ns per launch, %zu blocks       median      p5     p95\n", blocks);
  for (size_t i = 0; i < count; ++i) {
    bench_summary summary = bench_summarise(run, i);
    printf("  %-24s %10.1f %7.1f %7.1f\n", cases[i].name, summary.median, summary.p5, summary.p95);
  }
  printf("ratio of medians, block by block, with its 95%% interval\n");
  print_ratio(run, 0, 1);
  print_ratio(run, 2, 3);
  print_ratio(run, 4, 2);
  if (has_driver) {
    print_ratio(run, 0, 5);
    print_ratio(run, 2, 6);
    print_ratio(run, 3, 6);
  }
  free(run);
  return 0;
}

static int count(unsigned long times, const char *name, bool has_driver) {
  for (size_t i = 0; i < (has_driver ? case_count : without_driver); ++i) {
    if (strcmp(cases[i].name, name) != 0)
      continue;
    for (unsigned long k = 0; k < times; ++k)
      cases[i].run(NULL);
    return 0;
  }
  fprintf(stderr, "bench_mlir_launch: found \"%s\", expected the name of a case\n", name);
  return 2;
}

int main(int argc, char **argv) {
  stream = mgpuStreamCreate();
  bool has_driver = !getenv("KDL_BACKEND_PATH") && upstream_open();
  if (has_driver) {
    upstream_load();
    upstream_stream = upstreamStreamCreate();
  }
  for (size_t i = 0; i < (has_driver ? case_count : without_driver); ++i)
    cases[i].run(NULL); /* binds */
  int result;
  if (argc == 4 && strcmp(argv[1], "--count") == 0)
    result = count(strtoul(argv[2], NULL, 10), argv[3], has_driver);
  else
    result = measure_launches(argc > 1 ? strtoul(argv[1], NULL, 10) : 60, has_driver);
  mgpuStreamDestroy(stream);
  if (has_driver)
    upstreamStreamDestroy(upstream_stream);
  return result;
}
