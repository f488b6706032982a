/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "recorder.h"

#include "measure/harness.h"

#include <pthread.h>

enum { most_nested = 16, outside = KDL_LAYER_COUNT };

/* A driver may be spoken to by a thread of its own while the caller waits for it: the layers of
 * both are one stack. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static layer_times *times;
static int stack[most_nested];
static unsigned depth;
static double last;
static const kdl_layer_listener *before; /* who listened: KDL_TRACE */

/* What passed since the last mark belongs to the layer that was innermost. */
static void account(double now) {
  int layer = depth ? stack[depth - 1] : outside;
  if (layer != outside) {
    times->ns[layer] += now - last;
    ++times->marks[layer];
  }
}

static void enter(kdl_layer layer) {
  pthread_mutex_lock(&lock);
  if (times && depth < most_nested) {
    account(bench_now_ns());
    stack[depth++] = (int)layer;
    last = bench_now_ns();
  }
  pthread_mutex_unlock(&lock);
}

static void leave(void) {
  double now = bench_now_ns();
  pthread_mutex_lock(&lock);
  if (times && depth) {
    account(now);
    --depth;
    last = bench_now_ns();
  }
  pthread_mutex_unlock(&lock);
}

static void on_enter(kdl_layer layer) {
  enter(layer);
}

static void on_leave(kdl_layer layer, const kdl_layer_about *about) {
  (void)layer, (void)about;
  leave();
}

static const kdl_layer_listener listener = {on_enter, on_leave};

void recorder_begin(layer_times *out_times) {
  *out_times = (layer_times){{0}, {0}};
  times = out_times;
  depth = 0;
  before = atomic_exchange(&kdl_layer_listening, &listener);
}

void recorder_end(void) {
  atomic_store(&kdl_layer_listening, before);
  times = NULL;
}

void recorder_enter(kdl_layer layer) {
  enter(layer);
}

void recorder_leave(void) {
  leave();
}
