/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Device time: an event before a launch, one behind it, and the time between them by the device's
 * clock, asked for when somebody has waited. Nothing here waits, but for the first event of a
 * device, the anchor, which tells what the host's clock said at a moment of the device's.
 *
 * Events are few: where all are under way, a launch goes without, and is counted.
 */
#include "trace/device.h"
#include "trace/trace.h"

#include <pthread.h>
#include <stdlib.h>

/* A device's clock and the host's drift apart, and CUDA tells times in a float of milliseconds: so
 * the anchor moves along. */
enum { most_pairs = 4096, tries_when_empty = 8 };
static const double anchor_reach_ns = 1e9;

struct kdl_trace_pair {
  kdl_trace_pair *next;
  void *start, *end; /* events of the backend */
  const kdl_trace_subject *subject;
  const void *queue;
  uint64_t given_ns; /* when the launch began: no kernel starts before */
};

struct kdl_trace_timer {
  const kdl_backend_table *table;
  void *handle;
  pthread_mutex_t lock; /* held while a list changes */
  kdl_trace_pair *idle;
  kdl_trace_pair *pending, **pending_end; /* the oldest first */
  size_t made;
  pthread_mutex_t clock_lock; /* held while the driver is asked for times */
  void *anchor;
  double anchor_ns;
};

static _Atomic(uint64_t) lost;    /* were not timed */
static _Atomic(uint64_t) pending; /* may still be */

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
  pthread_mutex_init(&timer->lock, NULL);
  pthread_mutex_init(&timer->clock_lock, NULL);
  return timer;
}

/* ------------------------------------------------------------------------------------------ */
/* Pairs                                                                                        */

static kdl_trace_pair *make_pair(const kdl_trace_timer *timer) {
  const kdl_backend_table *table = timer->table;
  kdl_trace_pair *pair = calloc(1, sizeof *pair);
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

static void give_idle(kdl_trace_timer *timer, kdl_trace_pair *pair) {
  pthread_mutex_lock(&timer->lock);
  pair->next = timer->idle;
  timer->idle = pair;
  pthread_mutex_unlock(&timer->lock);
}

static kdl_trace_pair *take_idle(kdl_trace_timer *timer, bool *out_may_make) {
  pthread_mutex_lock(&timer->lock);
  kdl_trace_pair *pair = timer->idle;
  if (pair)
    timer->idle = pair->next;
  *out_may_make = !pair && timer->made < most_pairs;
  timer->made += *out_may_make;
  pthread_mutex_unlock(&timer->lock);
  return pair;
}

static void give_pending(kdl_trace_timer *timer, kdl_trace_pair *pair) {
  pair->next = NULL;
  pthread_mutex_lock(&timer->lock);
  *timer->pending_end = pair;
  timer->pending_end = &pair->next;
  pthread_mutex_unlock(&timer->lock);
  atomic_fetch_add(&pending, 1);
}

static kdl_trace_pair *take_pending(kdl_trace_timer *timer) {
  pthread_mutex_lock(&timer->lock);
  kdl_trace_pair *pair = timer->pending;
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

/* Somewhere between the two readings of the host's clock the device passed the anchor. */
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
  timer->anchor_ns = ((double)before + (double)kdl_trace_ns()) / 2;
  timer->anchor = event;
  return true;
}

static bool has_anchor(kdl_trace_timer *timer, void *queue) {
  pthread_mutex_lock(&timer->clock_lock);
  bool has = timer->anchor || set_anchor(timer, queue);
  pthread_mutex_unlock(&timer->clock_lock);
  return has;
}

/* False where the device has not come so far. The clock's lock is held. */
static bool read_times(kdl_trace_timer *timer, kdl_trace_pair *pair) {
  const kdl_backend_table *table = timer->table;
  double length, since;
  if (table->event_elapsed(timer->handle, pair->start, pair->end, &length) != KDL_OK ||
      table->event_elapsed(timer->handle, timer->anchor, pair->start, &since) != KDL_OK)
    return false;
  double start = timer->anchor_ns + since;
  if (start < (double)pair->given_ns) {
    timer->anchor_ns += (double)pair->given_ns - start;
    start = (double)pair->given_ns;
  }
  if (since > anchor_reach_ns) {
    void *passed = timer->anchor;
    timer->anchor = pair->start;
    timer->anchor_ns = start;
    pair->start = passed;
  }
  kdl_trace_device_time(pair->subject, (uint64_t)start,
                        (uint64_t)(start + (length > 0 ? length : 0)), pair->queue);
  return true;
}

/* Asks for at most so many of the oldest. */
static void collect(kdl_trace_timer *timer, size_t most) {
  kdl_trace_pair *early = NULL, **early_end = &early, *pair;
  pthread_mutex_lock(&timer->clock_lock);
  while (most-- && (pair = take_pending(timer))) {
    if (read_times(timer, pair)) {
      give_idle(timer, pair);
    } else {
      *early_end = pair;
      early_end = &pair->next;
    }
  }
  *early_end = NULL;
  while ((pair = early)) {
    early = pair->next;
    give_pending(timer, pair);
  }
  pthread_mutex_unlock(&timer->clock_lock);
}

void kdl_trace_timer_collect(kdl_trace_timer *timer) {
  collect(timer, most_pairs);
}

static kdl_trace_pair *take_pair(kdl_trace_timer *timer) {
  bool may_make;
  kdl_trace_pair *pair = take_idle(timer, &may_make);
  if (!pair && !may_make) {
    collect(timer, tries_when_empty);
    pair = take_idle(timer, &may_make);
  }
  return pair || !may_make ? pair : make_pair(timer);
}

/* ------------------------------------------------------------------------------------------ */
/* Launches                                                                                     */

/* Events in a capture belong to its graph, and tell no time. */
static bool is_capturing(const kdl_trace_timer *timer, void *queue) {
  int capturing = 0;
  return timer->table->queue_capturing &&
         (timer->table->queue_capturing(timer->handle, queue, &capturing) != KDL_OK || capturing);
}

kdl_trace_pair *kdl_trace_timer_begin(kdl_trace_timer *timer, void *queue) {
  bool ready = !is_capturing(timer, queue) && has_anchor(timer, queue);
  kdl_trace_pair *pair = ready ? take_pair(timer) : NULL;
  if (pair) {
    pair->given_ns = kdl_trace_ns();
    if (timer->table->event_record(timer->handle, pair->start, queue) != KDL_OK) {
      give_idle(timer, pair);
      pair = NULL;
    }
  }
  return pair;
}

void kdl_trace_timer_end(kdl_trace_timer *timer, kdl_trace_pair *span,
                         const kdl_trace_subject *subject, void *queue, kdl_status status) {
  bool timed = span && status == KDL_OK &&
               timer->table->event_record(timer->handle, span->end, queue) == KDL_OK;
  if (timed) {
    span->subject = subject;
    span->queue = queue;
    give_pending(timer, span);
    return;
  }
  if (span)
    give_idle(timer, span);
  if (status == KDL_OK)
    atomic_fetch_add(&lost, 1);
}
