/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The clock of traces. Reading the processor's counter takes a third of the time of clock_gettime,
 * and a traced launch does it twice; where the counter cannot be trusted, clock_gettime is used.
 * Ticks are converted to nanoseconds of CLOCK_MONOTONIC when the trace is written, from readings of
 * both at its start and end.
 */
#ifndef KDL_EXT_TRACE_CLOCK_H
#define KDL_EXT_TRACE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* Whether the counter is used: set by kdl_trace_clock_start. */
extern bool kdl_trace_uses_counter;

static inline uint64_t kdl_trace_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline uint64_t kdl_trace_counter(void) {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  uint64_t count;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(count));
  return count;
#else
  return kdl_trace_ns();
#endif
}

static inline uint64_t kdl_trace_ticks(void) {
  return kdl_trace_uses_counter ? kdl_trace_counter() : kdl_trace_ns();
}

/* Both clocks at the same time. */
typedef struct kdl_trace_timestamp {
  uint64_t ticks, ns;
} kdl_trace_timestamp;

void kdl_trace_clock_start(void);

kdl_trace_timestamp kdl_trace_now(void);

/* A linear map from ticks to ns, through the start and `now`. */
typedef struct kdl_trace_scale {
  kdl_trace_timestamp start;
  double ns_per_tick;
} kdl_trace_scale;

kdl_trace_scale kdl_trace_scale_at(kdl_trace_timestamp now);
double kdl_trace_scale_ns(const kdl_trace_scale *scale, uint64_t ticks);

#endif
