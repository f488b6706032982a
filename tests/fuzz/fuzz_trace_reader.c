/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Traces, read and summed up: the parts add up, and every failure has a message. */
#include "support/base/error.h"
#include "tools/kdl/trace/trace_report.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_at(const cli_trace *trace, const cli_trace_sums *sums) {
  size_t counted = 0, framed = 0;
  for (size_t i = 0; i < sums->phase_count; ++i)
    counted += sums->phases[i].sum.count;
  for (size_t i = 0; i < trace->event_count; ++i)
    counted += trace->events[i].is_device_time;
  for (size_t i = 1; i < sums->frame_count; ++i) {
    framed += sums->frames[i].count;
    if (sums->frames[i].parent >= i)
      abort();
  }
  if (counted != trace->event_count || framed != trace->event_count)
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  cli_trace trace;
  if (cli_trace_read("t", data, size, &trace) == KDL_OK) {
    cli_trace_sums sums;
    cli_trace_sum_up(&trace, &sums);
    look_at(&trace, &sums);
    cli_trace_sums_free(&sums);
  } else if (kdl_error_message()[0] == '\0') {
    abort();
  }
  cli_trace_free(&trace);
  return 0;
}
