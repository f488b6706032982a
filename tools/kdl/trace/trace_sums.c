/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "tools/kdl/trace/trace_report.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------ */
/* Statistics                                                                                   */

static int compare_reals(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

/* Sorts the lengths. */
static cli_trace_sum sum_of(double *lengths, size_t count) {
  cli_trace_sum sum = {.count = count};
  if (!count)
    return sum;
  qsort(lengths, count, sizeof *lengths, compare_reals);
  for (size_t i = 0; i < count; ++i)
    sum.total += lengths[i];
  sum.median = count % 2 ? lengths[count / 2] : (lengths[count / 2 - 1] + lengths[count / 2]) / 2;
  sum.p95 = lengths[(count * 95 + 99) / 100 - 1];
  return sum;
}

/* Compares the fields that define a group. Sorted events of a group are adjacent. */
typedef int compare_function(const void *left, const void *right);

static int compare_numbers(uint64_t a, uint64_t b) {
  return (a > b) - (a < b);
}

static int compare_row(const void *left, const void *right) {
  const cli_trace_event *a = left, *b = right;
  int order = compare_numbers(a->row, b->row);
  if (order == 0)
    order = compare_reals(&a->begin, &b->begin);
  return order ? order : compare_reals(&b->length, &a->length);
}

static int compare_phase(const void *left, const void *right) {
  const cli_trace_event *a = *(cli_trace_event *const *)left, *b = *(cli_trace_event *const *)right;
  int order = compare_numbers(a->is_device_time, b->is_device_time);
  return order ? order : compare_numbers(a->name, b->name);
}

static int compare_kernel(const void *left, const void *right) {
  const cli_trace_event *a = *(cli_trace_event *const *)left, *b = *(cli_trace_event *const *)right;
  int order = compare_numbers(a->kernel, b->kernel);
  if (order == 0)
    order = compare_numbers(a->device, b->device);
  return order ? order : compare_numbers((uint32_t)a->image, (uint32_t)b->image);
}

static int compare_device(const void *left, const void *right) {
  const cli_trace_event *a = *(cli_trace_event *const *)left, *b = *(cli_trace_event *const *)right;
  return compare_numbers(a->device, b->device);
}

/* Sorted events, and room for their lengths. */
typedef struct {
  const cli_trace *trace;
  cli_trace_event **events;
  double *lengths, *self; /* `self` is indexed by the event's position in the trace */
  size_t count;
} sorter;

static bool is_phase(const sorter *w, const cli_trace_event *event, const char *phase) {
  return !event->is_device_time && strcmp(cli_trace_string(w->trace, event->name), phase) == 0;
}

static void sort_events(sorter *w, compare_function *compare) {
  qsort(w->events, w->count, sizeof *w->events, compare);
}

static size_t group_end(const sorter *w, size_t first, compare_function *compare) {
  size_t end = first;
  while (end < w->count && compare(&w->events[first], &w->events[end]) == 0)
    ++end;
  return end;
}

/* ------------------------------------------------------------------------------------------ */
/* Phases, kernels, devices                                                                     */

static int compare_self_time(const void *left, const void *right) {
  return compare_reals(&((const cli_trace_phase *)right)->self,
                       &((const cli_trace_phase *)left)->self);
}

static void sum_phases(sorter *w, cli_trace_sums *sums) {
  sort_events(w, compare_phase);
  for (size_t i = 0, end; i < w->count; i = end) {
    end = group_end(w, i, compare_phase);
    if (w->events[i]->is_device_time)
      continue;
    cli_trace_phase *phase = &sums->phases[sums->phase_count++];
    phase->name = w->events[i]->name;
    for (size_t k = i; k < end; ++k) {
      const cli_trace_event *event = w->events[k];
      w->lengths[k - i] = event->length;
      phase->self += w->self[event - w->trace->events];
      phase->bytes += event->bytes;
      phase->failed += event->failed;
    }
    phase->sum = sum_of(w->lengths, end - i);
    sums->self_total += phase->self;
  }
  qsort(sums->phases, sums->phase_count, sizeof *sums->phases, compare_self_time);
}

static int compare_launch_time(const void *left, const void *right) {
  const cli_trace_kernel *a = left, *b = right;
  double first = a->launches.total + a->on_device.total,
         other = b->launches.total + b->on_device.total;
  return compare_reals(&other, &first);
}

static cli_trace_sum sum_some(sorter *w, size_t first, size_t end, bool of_device) {
  size_t count = 0;
  for (size_t k = first; k < end; ++k) {
    const cli_trace_event *event = w->events[k];
    if (of_device ? event->is_device_time : is_phase(w, event, "launch"))
      w->lengths[count++] = event->length;
  }
  return sum_of(w->lengths, count);
}

static void sum_kernels(sorter *w, cli_trace_sums *sums) {
  sort_events(w, compare_kernel);
  for (size_t i = 0, end; i < w->count; i = end) {
    end = group_end(w, i, compare_kernel);
    cli_trace_kernel made = {.name = w->events[i]->kernel,
                             .device = w->events[i]->device,
                             .target = w->events[i]->target,
                             .image = w->events[i]->image};
    if (!made.name)
      continue;
    made.launches = sum_some(w, i, end, false);
    made.on_device = sum_some(w, i, end, true);
    if (made.launches.count || made.on_device.count)
      sums->kernels[sums->kernel_count++] = made;
  }
  qsort(sums->kernels, sums->kernel_count, sizeof *sums->kernels, compare_launch_time);
}

static void add_to_device(const sorter *w, const cli_trace_event *event, cli_trace_device *device) {
  if (event->is_device_time) {
    device->busy += event->length;
  } else if (is_phase(w, event, "launch")) {
    ++device->launches;
    device->launching += event->length;
  } else if (is_phase(w, event, "synchronise")) {
    ++device->syncs;
    device->waiting += event->length;
  } else if (is_phase(w, event, "write") || is_phase(w, event, "fill")) {
    device->written += event->bytes;
  } else if (is_phase(w, event, "read")) {
    device->read += event->bytes;
  } else if (is_phase(w, event, "copy")) {
    device->copied += event->bytes;
  }
}

static void sum_devices(sorter *w, cli_trace_sums *sums) {
  sort_events(w, compare_device);
  for (size_t i = 0, end; i < w->count; i = end) {
    end = group_end(w, i, compare_device);
    if (!w->events[i]->device)
      continue;
    cli_trace_device *device = &sums->devices[sums->device_count++];
    device->name = w->events[i]->device;
    for (size_t k = i; k < end; ++k)
      add_to_device(w, w->events[k], device);
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Frames                                                                                       */

enum { max_depth = 64 };

/* Finds the frame with a name and a parent, by a hash table. */
typedef struct {
  cli_trace_sums *sums;
  uint32_t *slots; /* 0: free; else the index of a frame */
  size_t mask;
} frame_table;

static uint32_t frame_below(frame_table *table, uint32_t parent, cli_trace_text name) {
  cli_trace_frame *frames = table->sums->frames;
  size_t at =
      ((size_t)parent * 0x9e3779b97f4a7c15u + name * 0xc2b2ae3d27d4eb4fu) >> 7 & table->mask;
  while (table->slots[at] &&
         (frames[table->slots[at]].parent != parent || frames[table->slots[at]].name != name))
    at = (at + 1) & table->mask;
  if (!table->slots[at]) {
    uint32_t made = (uint32_t)table->sums->frame_count++;
    frames[made] = (cli_trace_frame){.name = name, .parent = parent};
    table->slots[at] = made;
  }
  return table->slots[at];
}

/* The frame of an event: its phase below the surrounding ones, and the kernel below that. */
static uint32_t frame_of(frame_table *table, uint32_t parent, const cli_trace_event *event) {
  uint32_t frame = frame_below(table, parent, event->name);
  bool has_kernel = !event->is_device_time && event->kernel && event->kernel != event->name;
  return has_kernel ? frame_below(table, frame, event->kernel) : frame;
}

/* The events of one row, which nest; the self time of a phase goes to its frame. Since clocks are
 * inexact, an event may slightly exceed the one around it. */
static void add_row_frames(sorter *w, frame_table *table, size_t first, size_t end) {
  struct {
    const cli_trace_event *event;
    uint32_t frame;
  } stack[max_depth];
  size_t depth = 0;
  const cli_trace_event *events = w->trace->events;
  uint32_t root = frame_below(table, 0, w->trace->rows[events[first].row].name);
  for (size_t i = first; i < end; ++i) {
    const cli_trace_event *event = &events[i];
    while (depth && stack[depth - 1].event->begin + stack[depth - 1].event->length <= event->begin)
      --depth;
    w->self[i] = event->length;
    uint32_t frame = frame_of(table, depth ? stack[depth - 1].frame : root, event);
    if (depth) {
      size_t outer = (size_t)(stack[depth - 1].event - events);
      double inside = event->length < w->self[outer] ? event->length : w->self[outer];
      w->self[outer] -= inside;
      table->sums->frames[stack[depth - 1].frame].self -= inside;
    }
    table->sums->frames[frame].self += event->length;
    ++table->sums->frames[frame].count;
    if (depth < max_depth) {
      stack[depth].event = event;
      stack[depth++].frame = frame;
    }
  }
}

static void add_frames(sorter *w, cli_trace_sums *sums) {
  size_t most = w->count * 2 + w->trace->row_count + 1, slots = 64;
  while (slots < most * 2)
    slots *= 2;
  sums->frames = xcalloc(most, sizeof *sums->frames);
  frame_table table = {sums, xcalloc(slots, sizeof *table.slots), slots - 1};
  const cli_trace_event *events = w->trace->events;
  sums->frame_count = 1;
  for (size_t i = 0, end; i < w->count; i = end) {
    for (end = i; end < w->count && events[end].row == events[i].row;)
      ++end;
    add_row_frames(w, &table, i, end);
  }
  free(table.slots);
}

/* ------------------------------------------------------------------------------------------ */

static void measure_span(const cli_trace *trace, cli_trace_sums *sums) {
  double first = 0, last = 0;
  for (size_t i = 0; i < trace->event_count; ++i) {
    const cli_trace_event *event = &trace->events[i];
    if (i == 0 || event->begin < first)
      first = event->begin;
    if (event->begin + event->length > last)
      last = event->begin + event->length;
  }
  sums->span = last - first;
}

void cli_trace_sum_up(cli_trace *trace, cli_trace_sums *out_sums) {
  size_t count = trace->event_count;
  sorter w = {.trace = trace,
              .events = xcalloc(count, sizeof *w.events),
              .lengths = xcalloc(count, sizeof *w.lengths),
              .self = xcalloc(count, sizeof *w.self),
              .count = count};
  *out_sums = (cli_trace_sums){.phases = xcalloc(count, sizeof *out_sums->phases),
                               .kernels = xcalloc(count, sizeof *out_sums->kernels),
                               .devices = xcalloc(count, sizeof *out_sums->devices)};
  if (count)
    qsort(trace->events, count, sizeof *trace->events, compare_row);
  for (size_t i = 0; i < count; ++i)
    w.events[i] = &trace->events[i];
  add_frames(&w, out_sums);
  sum_phases(&w, out_sums);
  sum_kernels(&w, out_sums);
  sum_devices(&w, out_sums);
  measure_span(trace, out_sums);
  free(w.events);
  free(w.lengths);
  free(w.self);
}

void cli_trace_sums_free(cli_trace_sums *sums) {
  free(sums->phases);
  free(sums->kernels);
  free(sums->devices);
  free(sums->frames);
}
