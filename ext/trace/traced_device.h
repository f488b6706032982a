/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Devices of a traced process. Copies, memory and waits go through a table around the backend's
 * own, which records them; launches are recorded by an interceptor (hooks.h). */
#ifndef KDL_EXT_TRACE_TRACED_DEVICE_H
#define KDL_EXT_TRACE_TRACED_DEVICE_H

#include "ext/trace/buffer.h"

#include <kdl/backend.h>

typedef struct kdl_trace_timer kdl_trace_timer;

typedef struct kdl_trace_device {
  struct kdl_trace_device *next;
  const kdl_backend_table *table; /* the backend's own */
  void *handle;
  const kdl_trace_subject *subject;
  bool is_synchronous;    /* launches have ended when they return: the host */
  kdl_trace_timer *timer; /* NULL where device time is off, or equals the launch's */
} kdl_trace_device;

/* For a device that was opened with the backend's own table. Returns the table around it, one per
 * backend; `table` when out of memory. */
const kdl_backend_table *kdl_trace_device_open(const kdl_backend_table *table, void *handle,
                                               const char *name, bool is_synchronous);

/* NULL where memory ran out when it was opened. */
const kdl_trace_device *kdl_trace_device_of(const void *handle);

/* ------------------------------------------------------------------------------------------ */
/* Device time (ext/trace/timer.c) */

/* Events around launches on a device. NULL when out of memory. */
kdl_trace_timer *kdl_trace_timer_create(const kdl_backend_table *table, void *handle);

/* Called before and after a launch of `subject` on a queue of the backend; the launch began at
 * `launched` (ticks). `span` is what begin returned, NULL where it had no events. */
typedef struct kdl_trace_event_pair kdl_trace_event_pair;
kdl_trace_event_pair *kdl_trace_timer_begin(kdl_trace_timer *timer, void *queue);
void kdl_trace_timer_end(kdl_trace_timer *timer, kdl_trace_event_pair *span,
                         const kdl_trace_subject *subject, void *queue, uint64_t launched,
                         kdl_status status);

/* A wait for a queue, in ns of CLOCK_MONOTONIC. */
typedef struct kdl_trace_wait {
  const void *queue;
  uint64_t begin_ns, end_ns;
} kdl_trace_wait;

/* Records the device time of launches that have ended. `wait` is the wait that has just ended, or
 * NULL where it was not for a queue. */
void kdl_trace_timer_collect(kdl_trace_timer *timer, const kdl_trace_wait *wait);

/* Destroys all events. Launches without a wait get no time. */
void kdl_trace_timer_close(kdl_trace_timer *timer);

/* Launches without a device time, including those without a wait. */
uint64_t kdl_trace_device_times_lost(void);

#endif
