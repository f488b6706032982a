/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "recorder.h"

#include "measure/harness.h"

#include <pthread.h>

enum { most_nested = 16, outside = KDL_TRACE_PHASE_COUNT };

/* A driver may be spoken to by a thread of its own while the caller waits for it: the layers of
 * both are one stack. */
static pthread_mutex_t recorder_lock = PTHREAD_MUTEX_INITIALIZER;
static phase_times *recorded_times;
static int stack[most_nested];
static unsigned nesting_depth;
static double last_mark;
static const kdl_trace_listener *previous_listener; /* who listened: KDL_TRACE */

/* What passed since the last mark belongs to the layer that was innermost. */
static void account(double now) {
  int phase = nesting_depth ? stack[nesting_depth - 1] : outside;
  if (phase != outside) {
    recorded_times->ns[phase] += now - last_mark;
    ++recorded_times->marks[phase];
  }
}

static void enter_phase(kdl_trace_phase phase) {
  pthread_mutex_lock(&recorder_lock);
  if (recorded_times && nesting_depth < most_nested) {
    account(bench_now_ns());
    stack[nesting_depth++] = (int)phase;
    last_mark = bench_now_ns();
  }
  pthread_mutex_unlock(&recorder_lock);
}

static void exit_phase(void) {
  double now = bench_now_ns();
  pthread_mutex_lock(&recorder_lock);
  if (recorded_times && nesting_depth) {
    account(now);
    --nesting_depth;
    last_mark = bench_now_ns();
  }
  pthread_mutex_unlock(&recorder_lock);
}

static void on_enter(kdl_trace_phase phase) {
  enter_phase(phase);
}

static void on_leave(kdl_trace_phase phase, const kdl_trace_phase_info *about) {
  (void)phase, (void)about;
  exit_phase();
}

static const kdl_trace_listener listener = {on_enter, on_leave};

void recorder_begin(phase_times *out_times) {
  *out_times = (phase_times){{0}, {0}};
  recorded_times = out_times;
  nesting_depth = 0;
  previous_listener = atomic_exchange(&kdl_trace_active_listener, &listener);
}

void recorder_end(void) {
  atomic_store(&kdl_trace_active_listener, previous_listener);
  recorded_times = NULL;
}

void recorder_enter(kdl_trace_phase phase) {
  enter_phase(phase);
}

void recorder_exit(void) {
  exit_phase();
}
