/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * From nothing to a first result. Every trial is a process of its own that is exec'ed, so that
 * nothing is warm but what the system keeps. Half of them read the clock between the layers, whose
 * sum is held against the time that their parent saw go by; the other half do not, and tell the
 * total.
 */
#include "dispatch.h"

#include "job.h"
#include "measure/harness.h"
#include "measure/progress.h"
#include "process.h"
#include "support/base/error.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What a process tells its parent. Both read the same clock. */
typedef struct {
  bool done;
  double begin, end;
  phase_times times;
  char error[512];
} child_report;

/* ------------------------------------------------------------------------------------------ */
/* In the process                                                                               */

static bool run_phases(void *state, const peer_step *steps) {
  bool ok = true;
  for (; ok && steps->run; ++steps) {
    recorder_enter(steps->phase);
    ok = steps->run(state);
    recorder_exit();
  }
  return ok;
}

static bool run_phase(void *state, kdl_trace_phase phase, bool (*run)(void *state)) {
  recorder_enter(phase);
  bool ok = run(state);
  recorder_exit();
  return ok;
}

static bool get_result(const peer *what, void *state) {
  recorder_enter(KDL_TRACE_PHASE_SYNC);
  bool ok = peer_result(what, state);
  recorder_exit();
  return ok;
}

static bool run_cold_launch(const peer *what, void *state) {
  return run_phases(state, what->start) && run_phases(state, what->load) &&
         run_phase(state, KDL_TRACE_PHASE_ARGUMENTS, what->arguments) &&
         run_phase(state, KDL_TRACE_PHASE_LAUNCH, what->launch) && get_result(what, state);
}

int cold_child(const char *folder, const char *peer_name, const char *mode) {
  static _Alignas(16) char state[PEER_STATE_LIMIT];
  static child_report report;
  static peer_job job;
  int channel = process_result_fd();
  signal(SIGINT, SIG_IGN); /* it is the parent's to end */
  bool fine = job_load(folder, JOB_LIBRARY_IN_FILE, &job);
  const peer *what = peer_find(peer_name);
  fine = fine && (!what || what->open(state, &job));
  report.begin = bench_now_ns();
  if (strcmp(mode, "marked") == 0)
    recorder_begin(&report.times);
  if (fine && !what) { /* in a shared object, which brings its runtime with it */
    recorder_enter(KDL_TRACE_PHASE_DLOPEN);
    what = suite_peer_open(peer_name);
    recorder_exit();
    fine = what && what->open(state, &job);
  }
  report.done = fine && run_cold_launch(what, state);
  recorder_end();
  report.end = bench_now_ns();
  if (!report.done)
    snprintf(report.error, sizeof report.error, "%s", peer_error());
  ssize_t written = write(channel, &report, sizeof report);
  return written == (ssize_t)sizeof report && report.done ? 0 : 1;
}

/* ------------------------------------------------------------------------------------------ */
/* In the parent                                                                                */

typedef struct {
  double start, end; /* before it was made, and when it was gone */
  child_report report;
} trial;

static size_t read_child_report(int from, child_report *report) {
  size_t size = 0;
  ssize_t more;
  while (size < sizeof *report &&
         ((more = read(from, (char *)report + size, sizeof *report - size)) > 0 ||
          (more < 0 && errno == EINTR)))
    size += more > 0 ? (size_t)more : 0;
  return size;
}

static bool run_trial(const job_folder *folder, const peer *what, bool marked, trial *out_trial) {
  const char *words[] = {"cold", folder->path, what->name, marked ? "marked" : "unmarked", NULL};
  process child;
  out_trial->start = bench_now_ns();
  if (!process_start(words, &child))
    return false;
  size_t size = read_child_report(child.from, &out_trial->report);
  bool ok = process_finish(&child);
  out_trial->end = bench_now_ns();
  if (size != sizeof out_trial->report)
    return ok ? peer_fail("its process said nothing") : false;
  return out_trial->report.done || peer_fail("%s", out_trial->report.error);
}

/* One process of each peer, before anything is timed: whether it works here at all. */
kdl_status cold_probe(const dispatch_request *request, const job_folder *folder, peer_list *peers,
                      bench_results *results) {
  for (size_t i = 0; i < request->peer_count; ++i) {
    const peer *what = request->peers[i];
    trial ignored;
    bench_progress("trying the peers", i, request->peer_count);
    if (run_trial(folder, what, true, &ignored)) {
      peers->all[peers->count++] = what;
    } else if (i == 0 || request->required) {
      return kdl_fail(KDL_DEVICE, "%s: %s", what->name, peer_error());
    } else {
      bench_skip_add(results, what->name, peer_error());
    }
  }
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Figures                                                                                      */

enum { start_row = KDL_TRACE_PHASE_COUNT, end_row, sum_row, wall_row, total_row, row_count };

static const char *row_name(size_t row) {
  return row == start_row   ? SUITE_PROCESS_START
         : row == end_row   ? SUITE_PROCESS_END
         : row == total_row ? "total"
                            : kdl_trace_phase_name((kdl_trace_phase)row);
}

/* Times of all trials of one peer; row by row, so that a row is an array. */
typedef struct {
  double *ns[row_count];
  bool met[row_count]; /* whether the layer was entered */
  size_t done;
} samples;

static void collect_trial(const trial *marked, const trial *plain, double timer_ns, samples *into) {
  size_t at = into->done++;
  const phase_times *times = &marked->report.times;
  for (size_t i = 0; i < KDL_TRACE_PHASE_COUNT; ++i) {
    into->ns[i][at] = times->ns[i] - times->marks[i] * timer_ns;
    into->met[i] |= times->marks[i] > 0;
    into->ns[sum_row][at] += into->ns[i][at];
  }
  into->ns[start_row][at] = marked->report.begin - marked->start;
  into->ns[end_row][at] = marked->end - marked->report.end;
  into->ns[sum_row][at] += into->ns[start_row][at] + into->ns[end_row][at];
  into->ns[wall_row][at] = marked->end - marked->start;
  into->ns[total_row][at] = plain->end - plain->start;
  into->met[start_row] = into->met[end_row] = into->met[total_row] = true;
}

static void add_cold_figures(const dispatch_request *request, const peer *what, const samples *from,
                             bench_results *results) {
  char name[BENCH_NAME];
  for (size_t i = 0; i < row_count; ++i) {
    if (!from->met[i])
      continue;
    snprintf(name, sizeof name, "%s/cold/%s/%s", request->suite, what->name, row_name(i));
    bench_figure_add(results, name, from->ns[i], from->done, results->machine.step_ns);
  }
  snprintf(name, sizeof name, "%s/cold/%s", request->suite, what->name);
  bench_check_add(results, name, from->ns[sum_row], from->ns[wall_row], from->done, 0);
}

/* A process that reads the clock between its layers and one that does not, in changing order. */
static bool run_pair(const job_folder *folder, const peer *what, size_t round, double timer_ns,
                     samples *into) {
  trial marked = {.start = 0}, plain = {.start = 0};
  bool marked_first = round % 2 == 0;
  bool ok = run_trial(folder, what, marked_first, marked_first ? &marked : &plain) &&
            run_trial(folder, what, !marked_first, marked_first ? &plain : &marked);
  if (ok)
    collect_trial(&marked, &plain, timer_ns, into);
  return ok;
}

kdl_status cold_measure(const dispatch_request *request, const job_folder *folder,
                        const peer_list *peers, size_t first, size_t last, bench_results *results) {
  samples of[SUITE_PEER_LIMIT] = {{{0}, {0}, 0}};
  const double *totals[SUITE_PEER_LIMIT];
  kdl_status status = KDL_OK;
  double timer_ns = bench_machine_timer();
  for (size_t i = 0; i < peers->count; ++i) {
    if (!dispatch_rows_make(of[i].ns, row_count, last - first))
      status = kdl_fail(KDL_NO_MEMORY, "out of memory for %zu trials", last - first);
  }
  for (size_t round = first; round < last && status == KDL_OK && !bench_was_interrupted();
       ++round) {
    for (size_t k = 0; k < peers->count && status == KDL_OK; ++k) {
      size_t i = (round + k) % peers->count; /* none always follows the same other one */
      if (!run_pair(folder, peers->all[i], round, timer_ns, &of[i]) && !bench_was_interrupted())
        status = kdl_fail(KDL_DEVICE, "%s: %s", peers->all[i]->name, peer_error());
    }
  }
  size_t blocks = last - first;
  for (size_t i = 0; i < peers->count && status == KDL_OK; ++i) {
    totals[i] = of[i].ns[total_row];
    blocks = of[i].done < blocks ? of[i].done : blocks;
  }
  if (status == KDL_OK)
    dispatch_compare(request, "cold", peers, totals, blocks, results);
  for (size_t i = 0; i < peers->count; ++i) {
    if (status == KDL_OK && of[i].done)
      add_cold_figures(request, peers->all[i], &of[i], results);
    dispatch_rows_free(of[i].ns, row_count);
  }
  return status;
}
