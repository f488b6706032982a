/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The report of a trace as JSON; the schema is in docs/tracing.md. */
#include "tools/kdl/trace/trace_report.h"

#include "tools/common/json.h"

static void put_real(cli_json *json, const char *key, double real) {
  cli_json_put_real(json, key, real, 3);
}

static void put_sum(cli_json *json, const cli_trace_sum *sum) {
  cli_json_put_number(json, "count", sum->count);
  put_real(json, "total", sum->total);
  put_real(json, "median", sum->median);
  put_real(json, "p95", sum->p95);
}

static void put_phases(cli_json *json, const cli_trace *trace, const cli_trace_sums *sums) {
  cli_json_put_array(json, "layers");
  for (size_t i = 0; i < sums->phase_count; ++i) {
    const cli_trace_phase *phase = &sums->phases[i];
    cli_json_begin_object(json);
    cli_json_put_text(json, "name", cli_trace_string(trace, phase->name));
    put_sum(json, &phase->sum);
    put_real(json, "own", phase->self);
    cli_json_put_number(json, "bytes", phase->bytes);
    cli_json_put_number(json, "failed", phase->failed);
    cli_json_end_object(json);
  }
  cli_json_end_array(json);
}

static void put_named_sum(cli_json *json, const char *key, const cli_trace_sum *sum) {
  cli_json_put_object(json, key);
  put_sum(json, sum);
  cli_json_end_object(json);
}

static void put_kernels(cli_json *json, const cli_trace *trace, const cli_trace_sums *sums) {
  cli_json_put_array(json, "kernels");
  for (size_t i = 0; i < sums->kernel_count; ++i) {
    const cli_trace_kernel *kernel = &sums->kernels[i];
    cli_json_begin_object(json);
    cli_json_put_text(json, "name", cli_trace_string(trace, kernel->name));
    cli_json_put_text(json, "device", cli_trace_string(trace, kernel->device));
    cli_json_put_text(json, "target", cli_trace_string(trace, kernel->target));
    cli_json_put_known(json, "image", kernel->image >= 0, (uint64_t)kernel->image);
    put_named_sum(json, "launches", &kernel->launches);
    put_named_sum(json, "on_device", &kernel->on_device);
    cli_json_end_object(json);
  }
  cli_json_end_array(json);
}

static void put_devices(cli_json *json, const cli_trace *trace, const cli_trace_sums *sums) {
  cli_json_put_array(json, "devices");
  for (size_t i = 0; i < sums->device_count; ++i) {
    const cli_trace_device *device = &sums->devices[i];
    cli_json_begin_object(json);
    cli_json_put_text(json, "name", cli_trace_string(trace, device->name));
    cli_json_put_number(json, "launches", device->launches);
    put_real(json, "launching", device->launching);
    cli_json_put_number(json, "waits", device->syncs);
    put_real(json, "waiting", device->waiting);
    put_real(json, "kernels", device->busy);
    cli_json_put_number(json, "written", device->written);
    cli_json_put_number(json, "read", device->read);
    cli_json_put_number(json, "copied", device->copied);
    cli_json_end_object(json);
  }
  cli_json_end_array(json);
}

/* A list with parents before children; a child names its parent's index. */
static void put_frames(cli_json *json, const cli_trace *trace, const cli_trace_sums *sums) {
  cli_json_put_array(json, "frames");
  for (size_t i = 0; i < sums->frame_count; ++i) {
    const cli_trace_frame *frame = &sums->frames[i];
    cli_json_begin_object(json);
    cli_json_put_text(json, "name", cli_trace_string(trace, i ? frame->name : trace->process_name));
    cli_json_put_known(json, "parent", i != 0, frame->parent);
    put_real(json, "own", frame->self);
    cli_json_put_number(json, "count", frame->count);
    cli_json_end_object(json);
  }
  cli_json_end_array(json);
}

void cli_trace_write_json(const cli_trace *trace, const cli_trace_sums *sums, FILE *file) {
  cli_json json = {.file = file};
  cli_json_begin_object(&json);
  cli_json_put_text(&json, "schema", "kdl-trace-report-1");
  cli_json_put_text(&json, "libkdl", cli_trace_string(trace, trace->libkdl));
  cli_json_put_text(&json, "command", cli_trace_string(trace, trace->command));
  cli_json_put_text(&json, "started", cli_trace_string(trace, trace->started));
  cli_json_put_number(&json, "process", trace->process);
  cli_json_put_bool(&json, "device_time", trace->device_time);
  cli_json_put_number(&json, "events", trace->event_count);
  cli_json_put_number(&json, "dropped", trace->dropped);
  cli_json_put_number(&json, "names_lost", trace->names_lost);
  cli_json_put_number(&json, "device_times_lost", trace->device_times_lost);
  put_real(&json, "span", sums->span);
  put_real(&json, "own_total", sums->self_total);
  put_phases(&json, trace, sums);
  put_kernels(&json, trace, sums);
  put_devices(&json, trace, sums);
  put_frames(&json, trace, sums);
  cli_json_end_object(&json);
}
