/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Device time: an event before a launch, one after it, and the time between them by the device's
 * clock, read after a wait. Nothing here waits, except for the first event of a device, the anchor,
 * from which the device's time is counted. Its time on the host's clock is estimated from all
 * events (ext/trace/correlation.h).
 *
 * The number of events is limited: while all are pending, launches are not timed, only counted.
 */
#include "ext/trace/correlation.h"
#include "ext/trace/trace.h"
#include "ext/trace/traced_device.h"

#include <pthread.h>
#include <stdlib.h>

/* CUDA returns times as a float of milliseconds, so the anchor moves along to keep them precise. */
enum { max_pairs = 4096, tries_when_empty = 8 };
static const double anchor_reach_ns = 1e9;

struct kdl_trace_event_pair {
  kdl_trace_event_pair *next;
  void *start, *end; /* events of the backend */
  const kdl_trace_subject *subject;
  const void *queue;
  uint64_t submitted_ns, ended_ns; /* before the first event was recorded, after the second */
  uint64_t launched;               /* ticks: when the launch began */
  double start_ns, length_ns;      /* by the device's clock, from the anchor */
};

struct kdl_trace_timer {
  const kdl_backend_table *table;
  void *handle;
  pthread_mutex_t lock; /* held while a list changes */
  kdl_trace_event_pair *idle;
  kdl_trace_event_pair *pending, **pending_end; /* the oldest first */
  size_t pair_count;
  pthread_mutex_t clock_lock; /* held while the driver is asked for times */
  void *anchor;
  kdl_trace_correlation clocks; /* from the anchor */
};

static _Atomic(uint64_t) lost;    /* launches that were not timed */
static _Atomic(uint64_t) pending; /* launches that may still be timed */

uint64_t kdl_trace_device_times_lost(void) {
  return atomic_load(&lost) + atomic_load(&pending);
}

kdl_trace_timer *kdl_trace_timer_create(const kdl_backend_table *table, void *handle) {
  kdl_trace_timer *timer = calloc(1, sizeof *timer);
  if (!timer)
    return NULL;
  timer->table = table;
  timer->handle = handle;
  timer->pending_end = &timer->pending;
  timer->clocks = kdl_trace_correlation_none();
  pthread_mutex_init(&timer->lock, NULL);
  pthread_mutex_init(&timer->clock_lock, NULL);
  return timer;
}

/* ------------------------------------------------------------------------------------------ */
/* Pairs                                                                                        */

static kdl_trace_event_pair *create_pair(const kdl_trace_timer *timer) {
  const kdl_backend_table *table = timer->table;
  kdl_trace_event_pair *pair = calloc(1, sizeof *pair);
  if (!pair || table->event_create(timer->handle, &pair->start) != KDL_OK) {
    free(pair);
    return NULL;
  }
  if (table->event_create(timer->handle, &pair->end) != KDL_OK) {
    table->event_destroy(timer->handle, pair->start);
    free(pair);
    return NULL;
  }
  return pair;
}

static void push_idle(kdl_trace_timer *timer, kdl_trace_event_pair *pair) {
  pthread_mutex_lock(&timer->lock);
  pair->next = timer->idle;
  timer->idle = pair;
  pthread_mutex_unlock(&timer->lock);
}

static kdl_trace_event_pair *pop_idle(kdl_trace_timer *timer, bool *out_may_make) {
  pthread_mutex_lock(&timer->lock);
  kdl_trace_event_pair *pair = timer->idle;
  if (pair)
    timer->idle = pair->next;
  *out_may_make = !pair && timer->pair_count < max_pairs;
  timer->pair_count += *out_may_make;
  pthread_mutex_unlock(&timer->lock);
  return pair;
}

static void push_pending(kdl_trace_timer *timer, kdl_trace_event_pair *pair) {
  pair->next = NULL;
  pthread_mutex_lock(&timer->lock);
  *timer->pending_end = pair;
  timer->pending_end = &pair->next;
  pthread_mutex_unlock(&timer->lock);
  atomic_fetch_add(&pending, 1);
}

static kdl_trace_event_pair *pop_pending(kdl_trace_timer *timer) {
  pthread_mutex_lock(&timer->lock);
  kdl_trace_event_pair *pair = timer->pending;
  if (pair) {
    timer->pending = pair->next;
    if (!timer->pending)
      timer->pending_end = &timer->pending;
  }
  pthread_mutex_unlock(&timer->lock);
  if (pair)
    atomic_fetch_sub(&pending, 1);
  return pair;
}

/* ------------------------------------------------------------------------------------------ */
/* Times                                                                                        */

static bool set_anchor(kdl_trace_timer *timer, void *queue) {
  const kdl_backend_table *table = timer->table;
  void *event = NULL;
  if (table->event_create(timer->handle, &event) != KDL_OK)
    return false;
  uint64_t before = kdl_trace_ns();
  if (table->event_record(timer->handle, event, queue) != KDL_OK ||
      table->event_sync(timer->handle, event) != KDL_OK) {
    table->event_destroy(timer->handle, event);
    return false;
  }
  kdl_trace_correlation_not_before(&timer->clocks, 0, (double)before);
  kdl_trace_correlation_not_after(&timer->clocks, 0, (double)kdl_trace_ns());
  timer->anchor = event;
  return true;
}

static bool ensure_anchor(kdl_trace_timer *timer, void *queue) {
  pthread_mutex_lock(&timer->clock_lock);
  bool has = timer->anchor || set_anchor(timer, queue);
  pthread_mutex_unlock(&timer->clock_lock);
  return has;
}

/* False where the device has not reached the events. Called with the clock's lock held. */
static bool read_times(kdl_trace_timer *timer, kdl_trace_event_pair *pair,
                       const kdl_trace_wait *wait) {
  const kdl_backend_table *table = timer->table;
  if (table->event_elapsed(timer->handle, pair->start, pair->end, &pair->length_ns) != KDL_OK ||
      table->event_elapsed(timer->handle, timer->anchor, pair->start, &pair->start_ns) != KDL_OK)
    return false;
  /* Events recorded before a wait for their queue began have passed when it ends. */
  bool was_waited_for = wait && wait->queue == pair->queue && pair->ended_ns <= wait->begin_ns;
  double seen = (double)(was_waited_for ? wait->end_ns : kdl_trace_ns());
  kdl_trace_correlation_not_before(&timer->clocks, pair->start_ns, (double)pair->submitted_ns);
  kdl_trace_correlation_not_after(&timer->clocks, pair->start_ns, seen);
  if (pair->length_ns > 0)
    kdl_trace_correlation_not_after(&timer->clocks, pair->start_ns + pair->length_ns, seen);
  return true;
}

/* The device passes the first event before the kernel begins, and on an idle queue even before the
 * launch: the writer moves such a begin to the launch. */
static void record_times(kdl_trace_timer *timer, kdl_trace_event_pair *pair) {
  double length = pair->length_ns > 0 ? pair->length_ns : 0;
  double start = kdl_trace_correlation_host(&timer->clocks, pair->start_ns);
  start = start > 0 ? start : 0;
  kdl_trace_device_time(pair->subject, (uint64_t)start, (uint64_t)(start + length), pair->launched,
                        pair->queue);
}

/* Converts the times of the pairs that were read, after all of their bounds are known. */
static void record_pairs(kdl_trace_timer *timer, kdl_trace_event_pair *done) {
  kdl_trace_event_pair *pair, *last = done;
  for (pair = done; pair; pair = pair->next) {
    record_times(timer, pair);
    last = pair->start_ns > last->start_ns ? pair : last;
  }
  if (last && last->start_ns > anchor_reach_ns) {
    void *passed = timer->anchor;
    timer->anchor = last->start;
    last->start = passed;
    kdl_trace_correlation_move(&timer->clocks, last->start_ns);
  }
  while ((pair = done)) {
    done = pair->next;
    push_idle(timer, pair);
  }
}

/* Reads at most so many of the oldest pairs. */
static void collect_pending(kdl_trace_timer *timer, size_t most, const kdl_trace_wait *wait) {
  kdl_trace_event_pair *early = NULL, **early_end = &early, *done = NULL, **done_end = &done, *pair;
  pthread_mutex_lock(&timer->clock_lock);
  while (most-- && (pair = pop_pending(timer))) {
    kdl_trace_event_pair ***end = read_times(timer, pair, wait) ? &done_end : &early_end;
    **end = pair;
    *end = &pair->next;
  }
  *done_end = NULL;
  *early_end = NULL;
  record_pairs(timer, done);
  while ((pair = early)) {
    early = pair->next;
    push_pending(timer, pair);
  }
  pthread_mutex_unlock(&timer->clock_lock);
}

void kdl_trace_timer_collect(kdl_trace_timer *timer, const kdl_trace_wait *wait) {
  collect_pending(timer, max_pairs, wait);
}

static kdl_trace_event_pair *acquire_pair(kdl_trace_timer *timer) {
  bool may_make;
  kdl_trace_event_pair *pair = pop_idle(timer, &may_make);
  if (!pair && !may_make) {
    collect_pending(timer, tries_when_empty, NULL);
    pair = pop_idle(timer, &may_make);
  }
  return pair || !may_make ? pair : create_pair(timer);
}

/* ------------------------------------------------------------------------------------------ */
/* Launches                                                                                     */

/* Events in a capture belong to its graph and have no times. */
static bool is_capturing(const kdl_trace_timer *timer, void *queue) {
  int capturing = 0;
  return timer->table->queue_capturing &&
         (timer->table->queue_capturing(timer->handle, queue, &capturing) != KDL_OK || capturing);
}

kdl_trace_event_pair *kdl_trace_timer_begin(kdl_trace_timer *timer, void *queue) {
  bool ready = !is_capturing(timer, queue) && ensure_anchor(timer, queue);
  kdl_trace_event_pair *pair = ready ? acquire_pair(timer) : NULL;
  if (pair) {
    pair->submitted_ns = kdl_trace_ns();
    if (timer->table->event_record(timer->handle, pair->start, queue) != KDL_OK) {
      push_idle(timer, pair);
      pair = NULL;
    }
  }
  return pair;
}

void kdl_trace_timer_end(kdl_trace_timer *timer, kdl_trace_event_pair *span,
                         const kdl_trace_subject *subject, void *queue, uint64_t launched,
                         kdl_status status) {
  bool timed = span && status == KDL_OK &&
               timer->table->event_record(timer->handle, span->end, queue) == KDL_OK;
  if (timed) {
    span->subject = subject;
    span->queue = queue;
    span->launched = launched;
    span->ended_ns = kdl_trace_ns();
    push_pending(timer, span);
    return;
  }
  if (span)
    push_idle(timer, span);
  if (status == KDL_OK)
    atomic_fetch_add(&lost, 1);
}

void kdl_trace_timer_close(kdl_trace_timer *timer) {
  const kdl_backend_table *table = timer->table;
  kdl_trace_event_pair *pair;
  bool may_make;
  while ((pair = pop_pending(timer))) {
    atomic_fetch_add(&lost, 1);
    push_idle(timer, pair);
  }
  while ((pair = pop_idle(timer, &may_make))) {
    table->event_destroy(timer->handle, pair->start);
    table->event_destroy(timer->handle, pair->end);
    free(pair);
  }
  pthread_mutex_lock(&timer->clock_lock);
  if (timer->anchor)
    table->event_destroy(timer->handle, timer->anchor);
  timer->anchor = NULL;
  pthread_mutex_unlock(&timer->clock_lock);
}
