/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* On CUDA, next to the driver's graphs as a program that knows them would use them. The entry
 * points are those that libkdl found; the wait is the one that it uses. */
#include "cuda_graph.h"

#include "measure/must.h"
#include "peers/cuda_api.h"
#include "support/base/error.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* What libkdl does not call. */
static struct {
  int (*begin_capture)(void *stream, int mode);
  int (*end_capture)(void *stream, void **graph);
  int (*update)(void *instance, void *graph, void *out_result);
} capture;

typedef sequence_raw raw_case;

#define MUST(call) bench_require_call(kdl_cuda.call, #call)

static kdl_cuda_kernel_node params_of(const raw_case *at, void **params) {
  return (kdl_cuda_kernel_node){
      .function = at->function, .grid = {1, 1, 1}, .block = {1, 1, 1}, .params = params};
}

/* ------------------------------------------------------------------------------------------ */
/* Cases                                                                                        */

static void raw_wait(const raw_case *at) {
  int error = KDL_CUDA_ERROR_NOT_READY;
  for (int i = 0; i < 64 && error == KDL_CUDA_ERROR_NOT_READY; ++i)
    error = kdl_cuda.stream_query(at->stream);
  if (error == KDL_CUDA_ERROR_NOT_READY)
    error = kdl_cuda.stream_sync(at->stream);
  bench_require_call(error, "cuStreamSynchronize");
}

static void raw_build_graph(raw_case *at) {
  uint64_t address = 0;
  void *params[] = {&address};
  const kdl_cuda_kernel_node node = params_of(at, params);
  MUST(graph_create(&at->graph, 0));
  for (size_t i = 0; i < at->subject->count; ++i)
    MUST(graph_kernel(&at->nodes[i], at->graph, i ? &at->nodes[i - 1] : NULL, i ? 1 : 0, &node));
  MUST(graph_instantiate(&at->instance, at->graph, 0));
}

static void raw_destroy_graph(raw_case *at) {
  MUST(graph_instance_destroy(at->instance));
  MUST(graph_destroy(at->graph));
}

static void raw_replay(void *context);

static void raw_make(void *context) {
  raw_case other = *(raw_case *)context;
  other.nodes += SEQUENCE_RAWS * other.subject->count; /* behind those of the cases */
  raw_build_graph(&other);
  raw_replay(&other);
  raw_destroy_graph(&other);
}

static void raw_set_params(raw_case *at, size_t count) {
  uint64_t address = at->subject->buffers[++at->turn % 2].address;
  void *params[] = {&address};
  const kdl_cuda_kernel_node node = params_of(at, params);
  for (size_t i = 0; i < count; ++i)
    MUST(graph_kernel_set(at->instance, at->nodes[i], &node));
}

static void raw_replay(void *context) {
  const raw_case *at = context;
  MUST(graph_launch(at->instance, at->stream));
  raw_wait(at);
}

static void raw_replay_one(void *context) {
  raw_set_params(context, 1);
  raw_replay(context);
}

static void raw_replay_every(void *context) {
  raw_case *at = context;
  raw_set_params(at, at->subject->count);
  raw_replay(at);
}

static void launch_each(raw_case *at) {
  uint64_t address = at->subject->buffers[++at->turn % 2].address;
  void *params[] = {&address};
  for (size_t i = 0; i < at->subject->count; ++i)
    MUST(launch(at->function, 1, 1, 1, 1, 1, 1, 0, at->stream, params, NULL));
}

static void raw_launches(void *context) {
  raw_case *at = context;
  launch_each(at);
  raw_wait(at);
}

static void capture_again(void *context) {
  raw_case *at = context;
  uint64_t result[8];
  void *graph;
  bench_require_call(capture.begin_capture(at->stream, KDL_CUDA_CAPTURE_MODE_RELAXED),
                     "cuStreamBeginCapture");
  launch_each(at);
  bench_require_call(capture.end_capture(at->stream, &graph), "cuStreamEndCapture");
  bench_require_call(capture.update(at->instance, graph, result), "cuGraphExecUpdate");
  MUST(graph_destroy(graph));
  raw_replay(at);
}

/* ------------------------------------------------------------------------------------------ */
/* All of them                                                                                  */

static bool find_capture(void) {
  void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  const struct {
    const char *name;
    void *function;
  } wanted[] = {{"cuStreamBeginCapture_v2", &capture.begin_capture},
                {"cuStreamEndCapture", &capture.end_capture},
                {"cuGraphExecUpdate_v2", &capture.update}};
  kdl_driver_load_lazy_symbols(&kdl_cuda_driver);
  bool has_all = library && kdl_cuda.graph_kernel_set;
  for (size_t i = 0; i < 3 && has_all; ++i) {
    void *found = dlsym(library, wanted[i].name);
    memcpy(wanted[i].function, &found, sizeof found);
    has_all = found != NULL;
  }
  return has_all;
}

/* Each of the driver's has a graph of its own: what sets one slows it down. */
static void list_cases(sequence_cuda *at) {
  sequence_subject *subject = at->subject;
  sequence_raw *raw = at->raw;
  const bench_case cases[SEQUENCE_CASES] = {
      [SEQUENCE_SAME] = {"replay", sequence_replay, subject},
      [SEQUENCE_RAW_SAME] = {"driver: graph", raw_replay, &raw[0]},
      [SEQUENCE_ONE] = {"replay, one slot bound anew", sequence_replay_one, subject},
      [SEQUENCE_RAW_ONE] = {"driver: graph, one node set", raw_replay_one, &raw[1]},
      [SEQUENCE_EVERY] = {"replay, every slot bound anew", sequence_replay_every, subject},
      [SEQUENCE_RAW_EVERY] = {"driver: graph, every node set", raw_replay_every, &raw[2]},
      [SEQUENCE_RAW_CAPTURED] = {"driver: captured again, graph updated", capture_again, &raw[3]},
      [SEQUENCE_LAUNCHES] = {"launches", sequence_launch, subject},
      [SEQUENCE_RAW_LAUNCHES] = {"driver: launches", raw_launches, raw},
      [SEQUENCE_MAKE] = {"record, finish, run once and destroy", sequence_make, subject},
      [SEQUENCE_RAW_MAKE] = {"driver: build, instantiate, run once and destroy", raw_make, raw},
  };
  memcpy(at->cases, cases, sizeof cases);
}

static void build_all(sequence_cuda *at, const raw_case *like) {
  for (size_t i = 0; i < SEQUENCE_RAWS; ++i) {
    at->raw[i] = *like;
    at->raw[i].nodes = at->nodes + i * at->subject->count;
    raw_build_graph(&at->raw[i]);
  }
}

kdl_status sequence_cuda_begin(sequence_subject *subject, sequence_cuda *out_cases) {
  raw_case raw = {.subject = subject};
  void *context;
  *out_cases = (sequence_cuda){.subject = subject};
  if (!find_capture())
    return kdl_fail(KDL_UNSUPPORTED,
                    "the driver has no cuGraphExecUpdate_v2, which came with CUDA 12");
  kdl_status status = kdl_device_native(subject->device, KDL_NATIVE_CONTEXT, &context);
  if (status == KDL_OK)
    status = kdl_kernel_native(subject->kernel, &raw.function);
  if (status != KDL_OK)
    return status;
  out_cases->nodes = calloc((SEQUENCE_RAWS + 1) * subject->count, sizeof *out_cases->nodes);
  if (!out_cases->nodes)
    return kdl_fail(KDL_NO_MEMORY, "out of memory");
  MUST(context_push(context));
  MUST(stream_create(&raw.stream, KDL_CUDA_STREAM_NON_BLOCKING, 0));
  if (subject->is_second)
    build_all(out_cases, &raw);
  status = sequence_begin(subject);
  if (!subject->is_second)
    build_all(out_cases, &raw);
  list_cases(out_cases);
  if (status != KDL_OK)
    sequence_cuda_end(out_cases);
  return status;
}

void sequence_cuda_end(sequence_cuda *cases) {
  void *context;
  sequence_end(cases->subject);
  for (size_t i = 0; i < SEQUENCE_RAWS; ++i)
    raw_destroy_graph(&cases->raw[i]);
  MUST(stream_destroy(cases->raw[0].stream));
  MUST(context_pop(&context));
  free(cases->nodes);
}

/* ------------------------------------------------------------------------------------------ */
/* First runs                                                                                   */

/* A finished sequence makes its graph when it is first run: next to the calls that this takes. What
 * comes before and behind is not timed. */
static double time_first_run(sequence_subject *subject) {
  kdl_sequence *sequence = sequence_record(subject);
  double start = bench_now_ns();
  bench_require(kdl_sequence_run(sequence, subject->queue, subject->bindings[0], subject->count),
                "kdl_sequence_run");
  double ns = bench_now_ns() - start;
  bench_require(kdl_sync(subject->queue), "kdl_sync");
  kdl_sequence_destroy(sequence);
  return ns;
}

static double time_first_graph(const raw_case *like) {
  raw_case other = *like;
  other.nodes += SEQUENCE_RAWS * other.subject->count;
  double start = bench_now_ns();
  raw_build_graph(&other);
  MUST(graph_launch(other.instance, other.stream));
  double ns = bench_now_ns() - start;
  raw_wait(&other);
  raw_destroy_graph(&other);
  return ns;
}

static void measure_first_runs(sequence_cuda *at, const char *prefix, size_t blocks,
                               bench_results *results) {
  enum { repeats = 9 };
  static bench_run run;
  const bench_case cases[] = {{"first run", NULL, NULL},
                              {"driver: build, instantiate and launch", NULL, NULL}};
  const cases_run what = {
      .prefix = prefix, .cases = cases, .count = 2, .operations = (double)at->subject->count};
  run.cases = 2;
  run.blocks = blocks < KDL_BENCH_LIMIT_BLOCKS ? blocks : KDL_BENCH_LIMIT_BLOCKS;
  for (size_t block = 0; block < run.blocks; ++block) {
    double ns[2][repeats];
    for (size_t i = 0; i < repeats; ++i) {
      ns[0][i] = time_first_run(at->subject);
      ns[1][i] = time_first_graph(&at->raw[0]);
    }
    for (size_t i = 0; i < 2; ++i) {
      bench_sort(ns[i], repeats);
      run.ns[i][block] = bench_quantile(ns[i], repeats, 0.5);
    }
  }
  cases_add_figures(&what, &run, results);
  cases_compare(&what, &run, 0, 1, results);
}

kdl_status sequence_measure_cuda(sequence_subject *subject, const char *prefix, size_t blocks,
                                 bench_results *results) {
  static bench_run run;
  sequence_cuda at;
  kdl_status status = sequence_cuda_begin(subject, &at);
  if (status == KDL_UNSUPPORTED) {
    bench_skip_add(results, prefix, kdl_error_message());
    return KDL_OK;
  }
  if (status != KDL_OK)
    return status;
  cases_run what = {.prefix = prefix,
                    .cases = at.cases,
                    .count = SEQUENCE_MAKE,
                    .blocks = blocks,
                    .milliseconds = 4,
                    .operations = (double)subject->count};
  cases_measure(&what, results, &run);
  cases_compare(&what, &run, SEQUENCE_SAME, SEQUENCE_RAW_SAME, results);
  cases_compare(&what, &run, SEQUENCE_ONE, SEQUENCE_RAW_ONE, results);
  cases_compare(&what, &run, SEQUENCE_EVERY, SEQUENCE_RAW_EVERY, results);
  cases_compare(&what, &run, SEQUENCE_EVERY, SEQUENCE_RAW_CAPTURED, results);
  cases_compare(&what, &run, SEQUENCE_SAME, SEQUENCE_LAUNCHES, results);
  cases_compare(&what, &run, SEQUENCE_LAUNCHES, SEQUENCE_RAW_LAUNCHES, results);
  /* By themselves: on an H200 what makes graphs behind a case that only launches takes a quarter
   * longer than behind one that makes them. */
  what.cases = &at.cases[SEQUENCE_MAKE];
  what.count = 2;
  cases_measure(&what, results, &run);
  cases_compare(&what, &run, 0, SEQUENCE_RAW_MAKE - SEQUENCE_MAKE, results);
  measure_first_runs(&at, prefix, blocks, results);
  sequence_cuda_end(&at);
  return KDL_OK;
}
