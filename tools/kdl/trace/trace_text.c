/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Prints a trace report on the terminal and as folded stacks. */
#include "tools/kdl/trace/trace_report.h"

#include "support/base/error.h"
#include "support/base/text.h"
#include "tools/common/text.h"

#include <inttypes.h>
#include <string.h>

static void add_time(cli_table *table, double ns, size_t count) {
  static const struct {
    double size;
    const char *name;
  } units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}};
  char words[32] = "";
  size_t unit = 0;
  while (unit < 3 && ns < units[unit].size)
    ++unit;
  if (count)
    snprintf(words, sizeof words, "%.2f %s", ns / units[unit].size, units[unit].name);
  cli_table_add(table, kdl_text_of(words));
}

static void add_sum(cli_table *table, const cli_trace_sum *sum) {
  cli_table_add_number(table, sum->count);
  add_time(table, sum->total, sum->count);
  add_time(table, sum->median, sum->count);
  add_time(table, sum->p95, sum->count);
}

static void add_share(cli_table *table, double part, double whole) {
  char words[16];
  snprintf(words, sizeof words, "%.1f%%", whole > 0 ? 100 * part / whole : 0);
  cli_table_add(table, kdl_text_of(words));
}

/* ------------------------------------------------------------------------------------------ */
/* Tables                                                                                       */

static kdl_status print_phases(const cli_trace *trace, const cli_trace_sums *sums) {
  static const cli_column columns[] = {
      {.title = "LAYER", .shrinks = 1},  {.title = "COUNT", .right = true},
      {.title = "TOTAL", .right = true}, {.title = "MEDIAN", .right = true},
      {.title = "P95", .right = true},   {.title = "SHARE", .right = true},
      {.title = "BYTES", .right = true}, {.title = "FAILED", .right = true}};
  cli_table *table = cli_table_create(columns, sizeof columns / sizeof *columns);
  for (size_t i = 0; i < sums->phase_count; ++i) {
    const cli_trace_phase *phase = &sums->phases[i];
    cli_table_add(table, kdl_text_of(cli_trace_string(trace, phase->name)));
    add_sum(table, &phase->sum);
    add_share(table, phase->self, sums->self_total);
    cli_table_add_number(table, phase->bytes);
    cli_table_add_number(table, phase->failed);
  }
  return cli_table_finish(table);
}

static kdl_status print_kernels(const cli_trace *trace, const cli_trace_sums *sums,
                                cli_demangler *demangler) {
  static const cli_column columns[] = {{.title = "KERNEL", .shrinks = 2},
                                       {.title = "IMAGE", .right = true},
                                       {.title = "TARGET"},
                                       {.title = "DEVICE", .shrinks = 1},
                                       {.title = "LAUNCHES", .right = true},
                                       {.title = "TOTAL", .right = true},
                                       {.title = "MEDIAN", .right = true},
                                       {.title = "P95", .right = true},
                                       {.title = "SHARE", .right = true},
                                       {.title = "TIMED", .right = true},
                                       {.title = "ON DEVICE", .right = true},
                                       {.title = "MEDIAN", .right = true},
                                       {.title = "P95", .right = true}};
  double launching = 0;
  for (size_t i = 0; i < sums->kernel_count; ++i)
    launching += sums->kernels[i].launches.total;
  cli_table *table = cli_table_create(columns, sizeof columns / sizeof *columns);
  for (size_t i = 0; i < sums->kernel_count; ++i) {
    const cli_trace_kernel *kernel = &sums->kernels[i];
    kdl_string name = kdl_text_of(cli_trace_string(trace, kernel->name));
    cli_table_add(table, cli_demangle(demangler, name));
    if (kernel->image < 0)
      cli_table_add(table, kdl_text_of(""));
    else
      cli_table_add_number(table, (uint64_t)kernel->image);
    cli_table_add(table, kdl_text_of(cli_trace_string(trace, kernel->target)));
    cli_table_add(table, kdl_text_of(cli_trace_string(trace, kernel->device)));
    add_sum(table, &kernel->launches);
    add_share(table, kernel->launches.total, launching);
    add_sum(table, &kernel->on_device);
  }
  return cli_table_finish(table);
}

static kdl_status print_device_sums(const cli_trace *trace, const cli_trace_sums *sums) {
  static const cli_column columns[] = {
      {.title = "DEVICE", .shrinks = 1},     {.title = "LAUNCHES", .right = true},
      {.title = "LAUNCHING", .right = true}, {.title = "WAITS", .right = true},
      {.title = "WAITING", .right = true},   {.title = "KERNELS", .right = true},
      {.title = "WRITTEN", .right = true},   {.title = "READ", .right = true},
      {.title = "COPIED", .right = true}};
  cli_table *table = cli_table_create(columns, sizeof columns / sizeof *columns);
  for (size_t i = 0; i < sums->device_count; ++i) {
    const cli_trace_device *device = &sums->devices[i];
    cli_table_add(table, kdl_text_of(cli_trace_string(trace, device->name)));
    cli_table_add_number(table, device->launches);
    add_time(table, device->launching, device->launches);
    cli_table_add_number(table, device->syncs);
    add_time(table, device->waiting, device->syncs);
    add_time(table, device->busy, device->busy > 0);
    cli_table_add_number(table, device->written);
    cli_table_add_number(table, device->read);
    cli_table_add_number(table, device->copied);
  }
  return cli_table_finish(table);
}

static void print_about(const cli_trace *trace, const cli_trace_sums *sums) {
  const struct {
    const char *title;
    cli_trace_text words;
  } lines[] = {{"command", trace->command}, {"started", trace->started}, {"libkdl", trace->libkdl}};
  for (size_t i = 0; i < sizeof lines / sizeof *lines; ++i) {
    printf("%-9s ", lines[i].title);
    cli_text_print(kdl_text_of(cli_trace_string(trace, lines[i].words)), "\n");
  }
  printf("%-9s %zu, in %.3f ms on %zu rows\n", "events", trace->event_count, sums->span / 1e6,
         trace->row_count);
  printf("%-9s %" PRIu64 "%s\n", "dropped", trace->dropped,
         trace->dropped ? ": the buffers were full; KDL_TRACE_SIZE makes them larger" : "");
  if (trace->names_lost)
    printf("%-9s %" PRIu64 " events are without their names: there were too many\n", "names",
           trace->names_lost);
  if (trace->device_times_lost)
    printf("%-9s %" PRIu64
           " launches are without: they were not waited for, or too many were under "
           "way\n",
           "GPU time", trace->device_times_lost);
}

kdl_status cli_trace_print(const cli_trace *trace, const cli_trace_sums *sums,
                           cli_demangler *demangler) {
  print_about(trace, sums);
  putchar('\n');
  KDL_TRY(print_phases(trace, sums));
  if (sums->kernel_count) {
    putchar('\n');
    KDL_TRY(print_kernels(trace, sums, demangler));
  }
  if (sums->device_count) {
    putchar('\n');
    KDL_TRY(print_device_sums(trace, sums));
  }
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Folded stacks                                                                                */

/* ';' would start another frame, and a line feed another entry. */
static void put_frame(const char *name, FILE *file) {
  kdl_string text = kdl_text_of(*name ? name : "?");
  for (size_t at = 0, length; at < text.length; at += length) {
    uint32_t code = 0;
    length = kdl_utf8_decode(text.data + at, text.length - at, &code);
    if (code == ';' || kdl_utf8_is_control(code))
      putc(code == ';' ? ':' : ' ', file);
    else
      fwrite(text.data + at, 1, length, file);
    length = length ? length : 1;
  }
}

static void put_stack(const cli_trace *trace, const cli_trace_sums *sums, uint32_t frame,
                      FILE *file) {
  if (frame == 0) {
    put_frame(cli_trace_string(trace, trace->process_name), file);
    return;
  }
  put_stack(trace, sums, sums->frames[frame].parent, file);
  putc(';', file);
  put_frame(cli_trace_string(trace, sums->frames[frame].name), file);
}

/* "program;thread;launch;saxpy 12345": frames, then their self time in ns. */
void cli_trace_write_folded(const cli_trace *trace, const cli_trace_sums *sums, FILE *file) {
  for (size_t i = 1; i < sums->frame_count; ++i) {
    if (sums->frames[i].self < 0.5)
      continue;
    put_stack(trace, sums, (uint32_t)i, file);
    fprintf(file, " %.0f\n", sums->frames[i].self);
  }
}
