/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What stays when everything is warm, in this process and for all peers in turn, block by block:
 * loading, one launch that is waited for, a hundred launches that are queued. Runs that read the
 * clock between the layers alternate with runs that read it only around all of them, which is what
 * the layers' sum is held against.
 */
#include "dispatch.h"

#include "measure/harness.h"
#include "measure/progress.h"
#include "support/base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { block_count = 5, queue_length = 100 };
enum { sum_row = KDL_TRACE_PHASE_COUNT, total_row, row_count };

/* A launch that is shorter than so many readings of the clock is not timed by itself: each of its
 * layers is repeated a thousand times. */
enum { short_in_readings = 20, repeats = 1000 };

/* A peer that is ready to launch. */
typedef struct {
  const peer *what;
  double timer_ns; /* to be subtracted */
  size_t repeats;  /* of a launch in one run */
  _Alignas(16) char state[PEER_STATE_LIMIT];
} peer_instance;

/* ------------------------------------------------------------------------------------------ */
/* One run. `marked` fills the layers' times; `plain` returns the time of all of it, in ns.       */

typedef struct {
  unsigned flag;
  const char *name;
  bool (*marked)(peer_instance *at, phase_times *times); /* NULL: only as a whole */
  double (*plain)(peer_instance *at, bool *ok);
  size_t share;      /* of the launches that were asked for, one in so many */
  size_t least_runs; /* in a block */
} mode;

static bool marked_load(peer_instance *at, phase_times *times) {
  bool ok = true;
  recorder_begin(times);
  for (const peer_step *step = at->what->load; ok && step->run; ++step) {
    recorder_enter(step->phase);
    ok = step->run(at->state);
    recorder_exit();
  }
  recorder_end();
  return ok && at->what->unload(at->state);
}

static double plain_load(peer_instance *at, bool *ok) {
  double start = bench_now_ns();
  *ok = peer_run_steps(at->what->load, at->state);
  double end = bench_now_ns();
  *ok = *ok && at->what->unload(at->state);
  return end - start - at->timer_ns;
}

/* Not through the recorder, whose lock costs as much as some launches. */
static double run_part(peer_instance *at, bool (*part)(void *state), bool *ok) {
  double start = bench_now_ns();
  for (size_t i = 0; i < at->repeats; ++i)
    *ok &= part(at->state);
  return (bench_now_ns() - start) / (double)at->repeats;
}

static bool marked_launch(peer_instance *at, phase_times *times) {
  const peer *what = at->what;
  bool ok = true;
  times->ns[KDL_TRACE_PHASE_ARGUMENTS] = run_part(at, what->arguments, &ok);
  times->ns[KDL_TRACE_PHASE_LAUNCH] = run_part(at, what->launch, &ok);
  times->ns[KDL_TRACE_PHASE_SYNC] = run_part(at, what->sync, &ok);
  times->marks[KDL_TRACE_PHASE_ARGUMENTS] = times->marks[KDL_TRACE_PHASE_LAUNCH] =
      times->marks[KDL_TRACE_PHASE_SYNC] = 1 / (double)at->repeats;
  return ok;
}

static double plain_launch(peer_instance *at, bool *ok) {
  const peer *what = at->what;
  *ok = true;
  double start = bench_now_ns();
  for (size_t i = 0; i < at->repeats; ++i)
    *ok &= what->arguments(at->state) && what->launch(at->state) && what->sync(at->state);
  return (bench_now_ns() - start - at->timer_ns) / (double)at->repeats;
}

static double plain_queue(peer_instance *at, bool *ok) {
  const peer *what = at->what;
  *ok = true;
  double start = bench_now_ns();
  for (int i = 0; i < queue_length; ++i)
    *ok &= what->arguments(at->state) && what->launch(at->state);
  *ok = *ok && what->sync(at->state);
  return (bench_now_ns() - start - at->timer_ns) / (double)queue_length;
}

/* How often a launch is repeated in one run. */
static void choose_repeats(peer_instance *at) {
  enum { tries = 101 };
  double times[tries];
  bool ok;
  at->repeats = 1;
  for (size_t i = 0; i < tries; ++i)
    times[i] = plain_launch(at, &ok);
  bench_sort(times, tries);
  if (times[tries / 2] < (double)short_in_readings * at->timer_ns)
    at->repeats = repeats;
}

static const mode modes[] = {
    {SUITE_LOAD, "load", marked_load, plain_load, 25, 4},
    {SUITE_HOT, "hot", marked_launch, plain_launch, 1, 4},
    {SUITE_QUEUED, "queued", NULL, plain_queue, 20, 1},
};

/* ------------------------------------------------------------------------------------------ */
/* Samples                                                                                      */

typedef struct {
  double *ns[row_count];      /* every run */
  double totals[block_count]; /* the median of each block */
  bool met[row_count];
} samples;

static double median_of(const double *values, size_t count, double *room) {
  memcpy(room, values, count * sizeof *room);
  bench_sort(room, count);
  return bench_quantile(room, count, 0.5);
}

/* ------------------------------------------------------------------------------------------ */
/* Blocks                                                                                       */

typedef struct {
  const mode *mode;
  peer_instance *instances;
  size_t guest_count;
  size_t runs; /* in a block */
  samples of[SUITE_PEER_LIMIT];
  double *room; /* of one block */
} session;

static bool run_marked(session *at, size_t which, size_t first) {
  samples *into = &at->of[which];
  for (size_t i = first; i < first + at->runs; ++i) {
    phase_times times = {{0}, {0}};
    if (!at->mode->marked(&at->instances[which], &times))
      return false;
    for (size_t k = 0; k < KDL_TRACE_PHASE_COUNT; ++k) {
      into->ns[k][i] = times.ns[k] - times.marks[k] * at->instances[which].timer_ns;
      into->met[k] |= times.marks[k] > 0;
      into->ns[sum_row][i] += into->ns[k][i];
    }
  }
  return true;
}

static bool run_unmarked(session *at, size_t which, size_t first) {
  samples *into = &at->of[which];
  bool ok = true;
  for (size_t i = first; ok && i < first + at->runs; ++i)
    into->ns[total_row][i] = at->mode->plain(&at->instances[which], &ok);
  into->met[total_row] = true;
  return ok;
}

static bool run_block(session *at, size_t which, size_t block) {
  size_t first = block * at->runs;
  bool marked_first = block % 2 == 0;
  bool has_marks = at->mode->marked != NULL;
  bool ok = (!has_marks || !marked_first || run_marked(at, which, first)) &&
            run_unmarked(at, which, first) &&
            (!has_marks || marked_first || run_marked(at, which, first));
  if (ok)
    at->of[which].totals[block] =
        median_of(at->of[which].ns[total_row] + first, at->runs, at->room);
  return ok;
}

/* Clocks of processors and GPUs rise when there is work, and take their time. */
static bool warm_up(peer_instance *at, const mode *what) {
  static const double least_ns = 50e6;
  bool ok = true;
  double start = bench_now_ns();
  while (ok && bench_now_ns() - start < least_ns)
    what->plain(at, &ok);
  return ok;
}

/* Returns how many blocks were finished. */
static size_t run_blocks(session *at, kdl_status *status) {
  size_t block = 0;
  for (size_t i = 0; i < at->guest_count; ++i) {
    if (warm_up(&at->instances[i], at->mode))
      continue;
    *status = kdl_fail(KDL_DEVICE, "%s: %s", at->instances[i].what->name, peer_error());
    return 0;
  }
  for (; block < block_count && !bench_was_interrupted(); ++block) {
    for (size_t k = 0; k < at->guest_count; ++k) {
      size_t which = (k + block) % at->guest_count; /* none always follows the same other one */
      if (!run_block(at, which, block)) {
        *status = kdl_fail(KDL_DEVICE, "%s: %s", at->instances[which].what->name, peer_error());
        return 0;
      }
    }
  }
  return block;
}

/* ------------------------------------------------------------------------------------------ */
/* Figures                                                                                      */

/* A processor runs ahead. What a reading of the clock separates overlaps by up to its cost; what is
 * repeated by itself overlaps with its neighbours otherwise than in its place, by some ns. */
static double slack_of(const peer_instance *at, size_t layers) {
  static const double overlap_ns = 3;
  return (double)(layers + 1) * (at->repeats > 1 ? overlap_ns : at->timer_ns);
}

static void add_mode_figures(const dispatch_request *request, const session *at, size_t which,
                             size_t runs, bench_results *results) {
  const samples *from = &at->of[which];
  const peer_instance *who = &at->instances[which];
  char name[BENCH_NAME];
  size_t layers = 0;
  double step = results->machine.step_ns / (double)(at->mode->marked ? who->repeats : queue_length);
  for (size_t i = 0; i < row_count; ++i) {
    if (!from->met[i])
      continue;
    snprintf(name, sizeof name, "%s/%s/%s/%s", request->suite, at->mode->name, who->what->name,
             i == total_row ? "total" : kdl_trace_phase_name((kdl_trace_phase)i));
    bench_figure_add(results, name, from->ns[i], runs, step);
    layers += i != total_row;
  }
  snprintf(name, sizeof name, "%s/%s/%s", request->suite, at->mode->name, who->what->name);
  if (at->mode->marked)
    bench_check_add(results, name, from->ns[sum_row], from->ns[total_row], runs,
                    slack_of(who, layers));
}

static kdl_status measure_mode(const dispatch_request *request, const mode *what,
                               peer_instance *instances, const peer_list *peers, size_t launches,
                               bench_results *results) {
  session at = {.mode = what, .instances = instances, .guest_count = peers->count};
  at.runs = launches / what->share / block_count;
  at.runs = at.runs < what->least_runs ? what->least_runs : at.runs;
  at.room = calloc(at.runs, sizeof *at.room);
  kdl_status status = KDL_OK;
  bool ok = at.room != NULL;
  for (size_t i = 0; i < peers->count; ++i)
    ok &= dispatch_rows_make(at.of[i].ns, row_count, block_count * at.runs);
  if (!ok)
    status = kdl_fail(KDL_NO_MEMORY, "out of memory for %zu runs", block_count * at.runs);
  size_t blocks = ok ? run_blocks(&at, &status) : 0;
  const double *totals[SUITE_PEER_LIMIT];
  for (size_t i = 0; i < peers->count; ++i)
    totals[i] = at.of[i].totals;
  if (blocks)
    dispatch_compare(request, what->name, peers, totals, blocks, results);
  for (size_t i = 0; i < peers->count; ++i) {
    if (blocks)
      add_mode_figures(request, &at, i, blocks * at.runs, results);
    dispatch_rows_free(at.of[i].ns, row_count);
  }
  free(at.room);
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* All of it                                                                                    */

static bool load_and_launch(peer_instance *at) {
  bool ok = peer_run_steps(at->what->load, at->state) && at->what->arguments(at->state) &&
            at->what->launch(at->state) && peer_result(at->what, at->state);
  if (ok)
    choose_repeats(at);
  return ok;
}

/* Loading is measured while nothing is loaded: an image that is loaded twice may be loaded once. */
static kdl_status measure_loads(const dispatch_request *request, peer_instance *instances,
                                const peer_list *peers, size_t launches, bench_results *results) {
  peer_instance *able = calloc(SUITE_PEER_LIMIT, sizeof *able);
  if (!able)
    return kdl_fail(KDL_NO_MEMORY, "out of memory for %zu peers", peers->count);
  peer_list who = {.count = 0};
  for (size_t i = 0; i < peers->count; ++i) {
    if (!peers->all[i]->unload)
      continue;
    able[who.count] = instances[i];
    able[who.count].repeats = 1;
    who.all[who.count++] = peers->all[i];
  }
  kdl_status status = measure_mode(request, &modes[0], able, &who, launches, results);
  free(able);
  return status;
}

kdl_status warm_measure(const dispatch_request *request, const peer_list *peers, size_t launches,
                        bench_results *results) {
  peer_instance *instances = calloc(SUITE_PEER_LIMIT, sizeof *instances);
  if (!instances)
    return kdl_fail(KDL_NO_MEMORY, "out of memory for %zu peers", peers->count);
  kdl_status status = KDL_OK;
  size_t started = 0;
  bench_machine_clock(&results->machine);
  for (; started < peers->count && status == KDL_OK; ++started) {
    peer_instance *at = &instances[started];
    at->what = peers->all[started];
    at->timer_ns = results->machine.timer_ns;
    if (!at->what->open(at->state, &request->job) || !peer_run_steps(at->what->start, at->state))
      status = kdl_fail(KDL_DEVICE, "%s: %s", at->what->name, peer_error());
  }
  /* Only now: the threads that drivers started would share that CPU. */
  if (!bench_machine_pin(request->pin, &results->machine))
    bench_skip_add(results, "pinning", "the system does not allow it");
  if (status == KDL_OK && request->modes & SUITE_LOAD)
    status = measure_loads(request, instances, peers, launches, results);
  for (size_t i = 0; i < peers->count && status == KDL_OK; ++i) {
    if (!load_and_launch(&instances[i]))
      status = kdl_fail(KDL_DEVICE, "%s: %s", instances[i].what->name, peer_error());
  }
  for (size_t i = 1; i < sizeof modes / sizeof *modes && status == KDL_OK; ++i) {
    if (request->modes & modes[i].flag && !bench_was_interrupted())
      status = measure_mode(request, &modes[i], instances, peers, launches, results);
  }
  for (size_t i = 0; i < started; ++i) {
    if (instances[i].what->close)
      instances[i].what->close(instances[i].state);
  }
  free(instances);
  return status;
}
