/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A dispatch by one peer, to be drawn: cold, from bytes to a kernel again, and launches of what is
 * loaded. Under LD_PRELOAD=libkdl_flame.so each step is marked, and within libkdl each phase;
 * without it the times as a whole are printed, as JSON.
 *
 *     bench_flame PEER DEVICE LIBRARY IMAGE LOADS LAUNCHES
 *
 * LIBRARY is what libkdl opens and IMAGE the one image of it that the others load; both have a
 * kernel `nothing` with one pointer. PEER with a '/' is the path of a peer in a shared object.
 */
#include "measure/harness.h"
#include "measure/must.h"
#include "peers/peer.h"
#include "support/base/trace_phase.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void (*mark_begin)(const char *name);
static void (*mark_end)(void);

static void begin(const char *name) {
  if (mark_begin)
    mark_begin(name);
}

static void end(void) {
  if (mark_end)
    mark_end();
}

static void find_marks(void) {
  void *first = dlsym(RTLD_DEFAULT, "kdl_flame_begin");
  void *last = dlsym(RTLD_DEFAULT, "kdl_flame_end");
  memcpy(&mark_begin, &first, sizeof first);
  memcpy(&mark_end, &last, sizeof last);
}

static void on_begin(kdl_trace_phase phase) {
  begin(kdl_trace_phase_name(phase));
}

static void on_end(kdl_trace_phase phase, const kdl_trace_phase_info *info) {
  (void)phase, (void)info;
  end();
}

/* ------------------------------------------------------------------------------------------ */
/* Steps                                                                                        */

static _Alignas(16) char state[PEER_STATE_LIMIT];

/* Marked "step PHASE", so that a step is no phase of libkdl's own. */
static bool run_step(kdl_trace_phase phase, bool (*run)(void *state)) {
  static char names[KDL_TRACE_PHASE_COUNT][32];
  if (mark_begin && !names[phase][0])
    snprintf(names[phase], sizeof names[phase], "step %s", kdl_trace_phase_name(phase));
  begin(names[phase]);
  bool ok = run(state);
  end();
  return ok;
}

static bool run_steps(const peer_step *steps) {
  bool ok = true;
  for (; ok && steps->run; ++steps)
    ok = run_step(steps->phase, steps->run);
  return ok;
}

static const peer *what;

static bool get_result(void *at) {
  return peer_result(what, at);
}

static bool run_cold(void) {
  return run_steps(what->start) && run_steps(what->load) &&
         run_step(KDL_TRACE_PHASE_ARGUMENTS, what->arguments) &&
         run_step(KDL_TRACE_PHASE_LAUNCH, what->launch) &&
         run_step(KDL_TRACE_PHASE_SYNC, get_result);
}

static bool run_load(void) {
  return run_steps(what->load);
}

static bool run_launch(void) {
  return run_step(KDL_TRACE_PHASE_ARGUMENTS, what->arguments) &&
         run_step(KDL_TRACE_PHASE_LAUNCH, what->launch) &&
         run_step(KDL_TRACE_PHASE_SYNC, what->sync);
}

/* One run as a whole, marked by its name. */
static bool run_whole(const char *name, bool (*run)(void), double *out_ns) {
  double start = bench_now_ns();
  begin(name);
  bool ok = run();
  end();
  *out_ns = bench_now_ns() - start;
  return ok;
}

/* ------------------------------------------------------------------------------------------ */

static void print_times(const char *name, const double *ns, size_t count, const char *behind) {
  printf("\"%s\": [", name);
  for (size_t i = 0; i < count; ++i)
    printf("%s%.0f", i ? ", " : "", ns[i]);
  printf("]%s", behind);
}

static void *library_data;

/* A process opens its library from the file; once it is warm, all peers load from memory. */
static bool run_all(peer_job *job, size_t loads, size_t launches, double *load_ns,
                    double *launch_ns, double *cold_ns) {
  const char *library = job->library;
  bool ok = run_whole("cold", run_cold, cold_ns);
  library_data = bench_read_file(library, &job->data_size);
  job->data = library_data;
  job->library = NULL;
  for (size_t i = 0; ok && what->unload && i < loads; ++i)
    ok = what->unload(state) && run_whole("warm", run_load, &load_ns[i]);
  for (size_t i = 0; ok && i < launches; ++i)
    ok = run_whole("hot", run_launch, &launch_ns[i]);
  return ok;
}

int main(int argc, char **argv) {
  if (argc != 7) {
    fputs("usage: bench_flame PEER DEVICE LIBRARY IMAGE LOADS LAUNCHES\n", stderr);
    return 2;
  }
  static const kdl_trace_listener listener = {on_begin, on_end};
  static const uint64_t arguments = 0;
  static const uint32_t sizes[] = {8}, offsets[] = {0};
  static const bool buffers[] = {true};
  peer_job job = {.device = argv[2],
                  .library = argv[3],
                  .kernel = "nothing",
                  .image_path = argv[4],
                  .grid = {1, 1, 1},
                  .block = {1, 1, 1},
                  .arg_count = 1,
                  .arg_sizes = sizes,
                  .arg_offsets = offsets,
                  .arg_is_buffer = buffers,
                  .args = &arguments,
                  .args_size = 8,
                  .buffer_size = 64};
  size_t loads = strtoul(argv[5], NULL, 10), launches = strtoul(argv[6], NULL, 10);
  double *ns = calloc(loads + launches + 1, sizeof *ns);
  void *image = bench_read_file(argv[4], &job.image_size);
  job.image = image;
  what = strchr(argv[1], '/') ? peer_open(argv[1]) : peer_find(argv[1]);
  find_marks();
  if (mark_begin)
    atomic_store(&kdl_trace_active_listener, &listener);
  bool ok = what && ns && what->open(state, &job) &&
            run_all(&job, loads, launches, ns + 1, ns + 1 + loads, ns);
  if (!ok)
    fprintf(stderr, "bench_flame: %s: %s\n", argv[1], peer_error());
  if (ok && !mark_begin) {
    printf("{");
    print_times("cold", ns, 1, ", ");
    print_times("warm", ns + 1, what->unload ? loads : 0, ", ");
    print_times("hot", ns + 1 + loads, launches, "}\n");
  }
  free(ns);
  free(library_data);
  free(image);
  return ok ? 0 : 1;
}
