/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * KDL_TRACE=out.json: every phase of every dispatch of the process, written when it ends.
 *
 * Whether a process is traced is decided when the library starts and does not change. If not,
 * nothing here runs: the phases of support/base/trace_phase.h find no listener, and kdl_tracing
 * (hooks.h) is NULL. If so, devices are used through a table around the backend's
 * (ext/trace/traced_device.c), and kernels have an interceptor.
 *
 * docs/tracing.md covers forks, threads that end, and processes that are killed.
 */
#ifndef KDL_EXT_TRACE_TRACE_H
#define KDL_EXT_TRACE_TRACE_H

#include "ext/trace/buffer.h"
#include "ext/trace/clock.h"

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stdint.h>

typedef struct kdl_trace_settings {
  const char *path;
  uint64_t bytes;   /* limit for records */
  bool device_time; /* events around every launch */
} kdl_trace_settings;

#define KDL_TRACE_DEFAULT_BYTES ((uint64_t)16 << 20)

extern bool kdl_trace_started;             /* constant once the library has started */
extern bool kdl_trace_device_time_enabled; /* also constant, but false in the child of a fork */

/* Called when the library starts and KDL_TRACE is set; by tests also later, before any device is
 * used. KDL_IO where no file could be created. */
kdl_status kdl_trace_start(const kdl_trace_settings *settings);

/* Writes all records, and prints on standard error what was lost. Does nothing without records;
 * KDL_IO where writing fails. Other threads may continue. */
kdl_status kdl_trace_save(void);

/* A record with the common fields set, to be filled and committed; NULL where there is no room. */
static inline kdl_trace_record *kdl_trace_begin_record(const kdl_trace_subject *subject,
                                                       uint64_t begin, const void *queue) {
  kdl_trace_record *record = kdl_trace_reserve();
  if (record) {
    record->begin = begin;
    record->subject = subject;
    record->queue = queue;
  }
  return record;
}

/* A launch of the kernel `subject` that began at `begin` and has just ended. */
static inline void kdl_trace_launch(const kdl_trace_subject *subject, uint64_t begin,
                                    const uint32_t grid[3], const uint32_t block[3],
                                    const void *queue, kdl_status status) {
  kdl_trace_record *record = kdl_trace_begin_record(subject, begin, queue);
  if (!record)
    return;
  for (int i = 0; i < 3; ++i) {
    record->grid[i] = grid[i];
    record->block[i] = block[i];
  }
  record->what = KDL_TRACE_PHASE_LAUNCH;
  record->failed = status != KDL_OK;
  record->end = kdl_trace_ticks();
  kdl_trace_commit();
}

/* Anything else, from `begin` to `end`. */
static inline void kdl_trace_add_record(unsigned what, const kdl_trace_subject *subject,
                                        uint64_t begin, uint64_t end, const void *queue,
                                        uint64_t bytes, bool failed) {
  kdl_trace_record *record = kdl_trace_begin_record(subject, begin, queue);
  if (!record)
    return;
  record->end = end;
  record->bytes = bytes;
  record->what = (uint8_t)what;
  record->failed = failed;
  kdl_trace_commit();
}

/* A phase that has just ended. */
static inline void kdl_trace_span(kdl_trace_phase span_phase, const kdl_trace_subject *subject,
                                  uint64_t begin, const void *queue, uint64_t bytes,
                                  kdl_status status) {
  kdl_trace_add_record(span_phase, subject, begin, kdl_trace_ticks(), queue, bytes,
                       status != KDL_OK);
}

/* The time on the device, in ns of CLOCK_MONOTONIC, for a launch that began at `launched`
 * (ticks). */
static inline void kdl_trace_device_time(const kdl_trace_subject *subject, uint64_t begin_ns,
                                         uint64_t end_ns, uint64_t launched, const void *queue) {
  kdl_trace_add_record(KDL_TRACE_DEVICE_TIME, subject, begin_ns, end_ns, queue, launched, false);
}

/* ------------------------------------------------------------------------------------------ */
/* The file: trace events in JSON, docs/tracing.md                                              */

#define KDL_TRACE_SCHEMA "kdl-trace-1"

/* The file's description of the trace. */
typedef struct kdl_trace_header {
  int64_t started; /* seconds since 1970 */
  uint64_t bytes;
  bool device_time;
} kdl_trace_header;

/* Writes every record that exists now. False with errno. */
bool kdl_trace_write(const kdl_trace_header *header, int fd);

#endif
