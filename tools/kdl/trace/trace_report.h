/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kdl trace: runs a traced program, and reports a trace. */
#ifndef KDL_TOOLS_KDL_TRACE_TRACE_REPORT_H
#define KDL_TOOLS_KDL_TRACE_TRACE_REPORT_H

#include "tools/common/demangle.h"
#include "tools/common/memory.h"
#include "tools/common/options.h"
#include "tools/kdl/trace/number_index.h"

#include <stdio.h>

/* ------------------------------------------------------------------------------------------ */
/* Reading (trace_read.c)                                                                       */

/* Texts are interned: equal texts have equal numbers, and 0 is no text. */
typedef uint32_t cli_trace_text;

/* A thread, or a queue of a device. */
typedef struct cli_trace_row {
  int64_t id;
  cli_trace_text name;
  bool is_device;
} cli_trace_row;

typedef struct cli_trace_event {
  double begin, length; /* ns */
  uint64_t bytes;
  cli_trace_text name; /* the phase; for device time, the kernel */
  cli_trace_text kernel, device, target;
  uint32_t row;
  int32_t image; /* -1: none */
  bool is_device_time;
  bool failed;
} cli_trace_event;

typedef struct cli_trace {
  cli_trace_text libkdl, command, started, process_name;
  uint64_t process;
  bool device_time; /* device times were recorded */
  uint64_t dropped, names_lost, device_times_lost, limit_bytes;
  cli_trace_event *events;
  size_t event_count, event_room;
  cli_trace_row *rows;
  size_t row_count, row_room;
  cli_index rows_by_id;
  const char **texts; /* in the arena */
  size_t text_count, text_room;
  uint32_t *text_slots; /* a hash table of text numbers; 0: free */
  size_t slot_count;
  kdl_arena arena;
} cli_trace;

/* Parses a file of KDL_TRACE; `name` is for messages. The caller frees *out_trace, also after a
 * failure. */
kdl_status cli_trace_read(const char *name, const void *data, size_t size, cli_trace *out_trace);
void cli_trace_free(cli_trace *trace);

static inline const char *cli_trace_string(const cli_trace *trace, cli_trace_text text) {
  return trace->texts[text];
}

/* ------------------------------------------------------------------------------------------ */
/* Summing up (trace_sums.c)                                                                    */

/* Statistics of some spans. */
typedef struct cli_trace_sum {
  size_t count;
  double total, median, p95; /* ns */
} cli_trace_sum;

typedef struct cli_trace_phase {
  cli_trace_text name;
  cli_trace_sum sum;
  double self; /* without the nested phases */
  uint64_t bytes;
  size_t failed;
} cli_trace_phase;

typedef struct cli_trace_kernel {
  cli_trace_text name, device, target;
  int32_t image;
  cli_trace_sum launches, on_device;
} cli_trace_kernel;

typedef struct cli_trace_device {
  cli_trace_text name;
  size_t launches, syncs;
  double launching, waiting, busy; /* ns */
  uint64_t written, read, copied;  /* bytes */
} cli_trace_device;

/* A frame of the flame graph; the first has no name and is the parent of the rows. */
typedef struct cli_trace_frame {
  cli_trace_text name;
  uint32_t parent;
  double self; /* ns outside its children */
  size_t count;
} cli_trace_frame;

typedef struct cli_trace_sums {
  cli_trace_phase *phases;
  size_t phase_count;
  cli_trace_kernel *kernels;
  size_t kernel_count;
  cli_trace_device *devices;
  size_t device_count;
  cli_trace_frame *frames; /* parents before their children */
  size_t frame_count;
  double self_total; /* of all phases */
  double span;       /* from the first event's begin to the last one's end */
} cli_trace_sums;

/* Sorts the events by row and time. The caller frees *out_sums. */
void cli_trace_sum_up(cli_trace *trace, cli_trace_sums *out_sums);
void cli_trace_sums_free(cli_trace_sums *sums);

/* ------------------------------------------------------------------------------------------ */
/* Reporting                                                                                    */

/* For names in lists; NULL with --no-demangle, and without libstdc++. */
cli_demangler *cli_trace_demangler(const cli_args *args);

kdl_status cli_trace_print(const cli_trace *trace, const cli_trace_sums *sums,
                           cli_demangler *demangler);
void cli_trace_write_folded(const cli_trace *trace, const cli_trace_sums *sums, FILE *file);
void cli_trace_write_html(const cli_trace *trace, const cli_trace_sums *sums, FILE *file);
void cli_trace_write_json(const cli_trace *trace, const cli_trace_sums *sums, FILE *file);

/* ------------------------------------------------------------------------------------------ */
/* Running (trace_run.c)                                                                        */

/* Runs the command line with KDL_TRACE set, and returns the exit code of `kdl trace`. */
int cli_trace_run(const cli_args *args, const char *const *words);

#endif
