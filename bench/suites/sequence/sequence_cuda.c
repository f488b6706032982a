/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* On CUDA, beside the driver's graphs as a program that knows them would use them. The entry points
 * are those that libkdl found; the wait is the one that it uses. */
#include "sequence.h"

#include "backends/cuda/driver.h"
#include "base/error.h"
#include "measure/must.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* What libkdl does not call. */
static struct {
  int (*begin_capture)(void *stream, int mode);
  int (*end_capture)(void *stream, void **graph);
  int (*update)(void *instance, void *graph, void *out_result);
} capture;

typedef struct {
  const sequence_subject *subject;
  void *stream, *function;
  void *graph, *instance;
  void **nodes;
  unsigned turn;
} raw_case;

#define MUST(call) bench_must_call(kdl_cuda.call, #call)

static kdl_cuda_kernel_node params_of(const raw_case *at, void **params) {
  return (kdl_cuda_kernel_node){
      .function = at->function, .grid = {1, 1, 1}, .block = {1, 1, 1}, .params = params};
}

/* ------------------------------------------------------------------------------------------ */
/* Cases                                                                                        */

static void wait(const raw_case *at) {
  int error = KDL_CUDA_ERROR_NOT_READY;
  for (int i = 0; i < 64 && error == KDL_CUDA_ERROR_NOT_READY; ++i)
    error = kdl_cuda.stream_query(at->stream);
  if (error == KDL_CUDA_ERROR_NOT_READY)
    error = kdl_cuda.stream_sync(at->stream);
  bench_must_call(error, "cuStreamSynchronize");
}

static void build(raw_case *at) {
  uint64_t address = 0;
  void *params[] = {&address};
  const kdl_cuda_kernel_node node = params_of(at, params);
  MUST(graph_create(&at->graph, 0));
  for (size_t i = 0; i < at->subject->count; ++i)
    MUST(graph_kernel(&at->nodes[i], at->graph, i ? &at->nodes[i - 1] : NULL, i ? 1 : 0, &node));
  MUST(graph_instantiate(&at->instance, at->graph, 0));
}

static void destroy(raw_case *at) {
  MUST(graph_instance_destroy(at->instance));
  MUST(graph_destroy(at->graph));
}

static void replay(void *context);

static void make(void *context) {
  raw_case other = *(raw_case *)context;
  other.nodes += 4 * other.subject->count; /* behind those of the cases */
  build(&other);
  replay(&other);
  destroy(&other);
}

static void set(raw_case *at, size_t count) {
  uint64_t address = at->subject->buffers[++at->turn % 2].address;
  void *params[] = {&address};
  const kdl_cuda_kernel_node node = params_of(at, params);
  for (size_t i = 0; i < count; ++i)
    MUST(graph_kernel_set(at->instance, at->nodes[i], &node));
}

static void replay(void *context) {
  const raw_case *at = context;
  MUST(graph_launch(at->instance, at->stream));
  wait(at);
}

static void replay_one(void *context) {
  set(context, 1);
  replay(context);
}

static void replay_every(void *context) {
  raw_case *at = context;
  set(at, at->subject->count);
  replay(at);
}

static void launch_each(raw_case *at) {
  uint64_t address = at->subject->buffers[++at->turn % 2].address;
  void *params[] = {&address};
  for (size_t i = 0; i < at->subject->count; ++i)
    MUST(launch(at->function, 1, 1, 1, 1, 1, 1, 0, at->stream, params, NULL));
}

static void launches(void *context) {
  raw_case *at = context;
  launch_each(at);
  wait(at);
}

static void capture_again(void *context) {
  raw_case *at = context;
  uint64_t result[8];
  void *graph;
  bench_must_call(capture.begin_capture(at->stream, KDL_CUDA_CAPTURE_MODE_RELAXED),
                  "cuStreamBeginCapture");
  launch_each(at);
  bench_must_call(capture.end_capture(at->stream, &graph), "cuStreamEndCapture");
  bench_must_call(capture.update(at->instance, graph, result), "cuGraphExecUpdate");
  MUST(graph_destroy(graph));
  replay(at);
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
  kdl_driver_later(&kdl_cuda_driver);
  bool has_all = library && kdl_cuda.graph_kernel_set;
  for (size_t i = 0; i < 3 && has_all; ++i) {
    void *found = dlsym(library, wanted[i].name);
    memcpy(wanted[i].function, &found, sizeof found);
    has_all = found != NULL;
  }
  return has_all;
}

enum {
  kdl_same,
  raw_same,
  kdl_one,
  raw_one,
  kdl_every,
  raw_every,
  raw_captured,
  kdl_launches,
  raw_launches,
  kdl_make,
  raw_make,
  case_count
};

static kdl_status measure(raw_case *raw, sequence_subject *subject, const char *prefix,
                          size_t blocks, bench_results *results) {
  static bench_run run;
  const bench_case cases[] = {
      [kdl_same] = {"replay", sequence_replay, subject},
      [raw_same] = {"driver: graph", replay, &raw[0]},
      [kdl_one] = {"replay, one slot bound anew", sequence_replay_one, subject},
      [raw_one] = {"driver: graph, one node set", replay_one, &raw[1]},
      [kdl_every] = {"replay, every slot bound anew", sequence_replay_every, subject},
      [raw_every] = {"driver: graph, every node set", replay_every, &raw[2]},
      [raw_captured] = {"driver: captured again, graph updated", capture_again, &raw[3]},
      [kdl_launches] = {"launches", sequence_launch, subject},
      [raw_launches] = {"driver: launches", launches, raw},
      [kdl_make] = {"record, finish, run once and destroy", sequence_make, subject},
      [raw_make] = {"driver: build, instantiate, run once and destroy", make, &raw[0]},
  };
  cases_run what = {.prefix = prefix,
                    .cases = cases,
                    .count = case_count,
                    .blocks = blocks,
                    .milliseconds = 4,
                    .operations = (double)subject->count};
  cases_measure(&what, results, &run);
  cases_compare(&what, &run, kdl_same, raw_same, results);
  cases_compare(&what, &run, kdl_one, raw_one, results);
  cases_compare(&what, &run, kdl_every, raw_every, results);
  cases_compare(&what, &run, kdl_every, raw_captured, results);
  cases_compare(&what, &run, kdl_same, kdl_launches, results);
  cases_compare(&what, &run, kdl_make, raw_make, results);
  return KDL_OK;
}

kdl_status sequence_measure_cuda(sequence_subject *subject, const char *prefix, size_t blocks,
                                 bench_results *results) {
  raw_case raw = {.subject = subject, .nodes = calloc(5 * subject->count, sizeof *raw.nodes)};
  void *context;
  if (!raw.nodes)
    return kdl_fail(KDL_NO_MEMORY, "out of memory");
  if (!find_capture()) {
    bench_skip_add(results, prefix,
                   "the driver has no cuGraphExecUpdate_v2, which came with CUDA 12");
    free(raw.nodes);
    return KDL_OK;
  }
  kdl_status status = kdl_device_native(subject->device, KDL_NATIVE_CONTEXT, &context);
  if (status == KDL_OK)
    status = kdl_kernel_native(subject->kernel, &raw.function);
  if (status == KDL_OK) {
    MUST(context_push(context));
    MUST(stream_create(&raw.stream, KDL_CUDA_STREAM_NON_BLOCKING, 0));
    raw_case cases[4] = {raw, raw, raw, raw}; /* one for each: what sets a graph slows it down */
    for (size_t i = 0; i < 4; ++i) {
      cases[i].nodes = raw.nodes + i * subject->count;
      build(&cases[i]);
    }
    status = measure(cases, subject, prefix, blocks, results);
    for (size_t i = 0; i < 4; ++i)
      destroy(&cases[i]);
    MUST(stream_destroy(raw.stream));
    MUST(context_pop(&context));
  }
  free(raw.nodes);
  return status;
}
