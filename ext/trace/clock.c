/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "ext/trace/clock.h"

#include <stdio.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

bool kdl_trace_uses_counter;
static kdl_trace_timestamp start;

#if defined(__x86_64__)
/* The counter must run at a constant rate in every power state ("invariant TSC" in AMD's and
 * Intel's manuals) and agree on all processors. Linux checks the latter, and uses another clock
 * where it fails. */
static bool is_trusted(void) {
  unsigned a, b, c, d;
  char source[32] = "";
  FILE *file = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");
  if (file) {
    if (!fgets(source, sizeof source, file))
      source[0] = '\0';
    fclose(file);
  }
  bool linux_doubts = strncmp(source, "hpet", 4) == 0 || strncmp(source, "acpi_pm", 7) == 0 ||
                      strncmp(source, "jiffies", 7) == 0;
  return !linux_doubts && __get_cpuid(0x80000007, &a, &b, &c, &d) && (d >> 8 & 1);
}
#else
static bool is_trusted(void) {
#if defined(__aarch64__)
  return true; /* guaranteed by the architecture */
#else
  return false;
#endif
}
#endif

/* The narrowest of a few readings, so that an interrupt between the two clocks does not matter. */
kdl_trace_timestamp kdl_trace_now(void) {
  kdl_trace_timestamp best = {0, 0};
  uint64_t width = UINT64_MAX;
  for (int i = 0; i < 5; ++i) {
    uint64_t before = kdl_trace_ticks();
    uint64_t ns = kdl_trace_ns();
    uint64_t after = kdl_trace_ticks();
    if (after - before < width) {
      width = after - before;
      best = (kdl_trace_timestamp){before + width / 2, ns};
    }
  }
  return best;
}

void kdl_trace_clock_start(void) {
  kdl_trace_uses_counter = is_trusted();
  start = kdl_trace_now();
}

kdl_trace_scale kdl_trace_scale_at(kdl_trace_timestamp now) {
  double ticks = (double)(now.ticks - start.ticks), ns = (double)(now.ns - start.ns);
  return (kdl_trace_scale){start, kdl_trace_uses_counter && ticks > 0 ? ns / ticks : 1};
}

double kdl_trace_scale_ns(const kdl_trace_scale *scale, uint64_t ticks) {
  double passed = ticks >= scale->start.ticks ? (double)(ticks - scale->start.ticks)
                                              : -(double)(scale->start.ticks - ticks);
  return (double)scale->start.ns + passed * scale->ns_per_tick;
}
