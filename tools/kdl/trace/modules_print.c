/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "support/base/text.h"
#include "support/system/subprocess.h"
#include "tools/common/json.h"
#include "tools/common/output.h"
#include "tools/common/text.h"
#include "tools/kdl/trace/modules.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { most_kernels = 20 };

/* ------------------------------------------------------------------------------------------ */
/* A line per event                                                                             */

static void print_start(const cli_recorded *recorded) {
  fprintf(stderr, "kdl trace: [%d] ", recorded->process);
}

void cli_trace_note_print(const cli_recorded *recorded, const char *note) {
  print_start(recorded);
  cli_text_printf(stderr, "%s\n", note);
}

void cli_module_print(const cli_recorded *recorded, const cli_module *module) {
  print_start(recorded);
  fprintf(stderr, "module %" PRIu32 ": ", module->number);
  const char *of = module->choices == 1 ? "image" : "images";
  switch (module->origin) {
  case CLI_MODULE_UNKNOWN:
    cli_text_printf(stderr, "%s%s%s", module->arch, module->arch[0] ? " " : "",
                    module->path[0]
                        ? "that no image of the file is: compiled or linked by the driver"
                        : "from memory");
    break;
  case CLI_MODULE_IMAGE:
    cli_text_printf(stderr, "image %zu (%s %s), %s, of %zu %s", module->image, module->kind,
                    module->image_arch, module->fit[0] ? module->fit : "not by libkdl's rules",
                    module->choices, of);
    break;
  case CLI_MODULE_COMPILED:
    cli_text_printf(stderr, "%s, compiled by the driver (JIT) from image %zu (%s %s) of %zu %s",
                    module->arch, module->image, module->kind, module->image_arch, module->choices,
                    of);
    break;
  case CLI_MODULE_RULES:
    cli_text_printf(stderr, "image %zu (%s %s) by libkdl's rules, %s, of %zu %s", module->image,
                    module->kind, module->image_arch, module->fit, module->choices, of);
    break;
  }
  if (module->bytes)
    fprintf(stderr, "; %" PRIu64 " bytes", module->bytes);
  if (module->ns)
    fprintf(stderr, ", %.2f ms", (double)module->ns / 1e6);
  cli_text_printf(stderr, ", in %s",
                  module->function[0] ? module->function : "a call that is not observed");
  cli_text_printf(stderr, "%s%s\n", module->path[0] ? ": " : "", module->path);
}

/* `kdl explain`, with its standard output on standard error. */
static void explain_failure(const char *path, const char *kernel, const char *spec) {
  char *device = xasprintf("--device=%s", spec);
  const char *words[] = {"kdl", "explain", device, "--", path, kernel[0] ? kernel : NULL, NULL};
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    if (dup2(STDERR_FILENO, STDOUT_FILENO) >= 0)
      execv("/proc/self/exe", (char *const *)(uintptr_t)words);
    _exit(1);
  }
  int state;
  if (child > 0)
    kdl_process_wait(child, &state);
  free(device);
}

/* CUresults and hipErrors, which have the same numbers. */
static const char *error_words(int error) {
  switch (error) {
  case 98:
    return ", invalid device function";
  case 200:
    return ", device kernel image is invalid";
  case 209:
    return ", no kernel image is available for execution on the device";
  case 218:
    return ", a PTX JIT compilation failed";
  case 222:
    return ", the provided PTX was compiled with an unsupported toolchain";
  default:
    return "";
  }
}

void cli_failure_print(const cli_recorded *recorded, const cli_failure *failure) {
  const cli_load *load = cli_find_load(recorded, failure->load);
  const char *path = failure->path[0] ? failure->path : load ? load->path : "";
  const char *spec = cli_traced_device_spec(recorded, failure->device);
  print_start(recorded);
  cli_text_printf(stderr, "%s failed with error %d%s%s%s", failure->function, failure->result,
                  error_words(failure->result), failure->kernel[0] ? ": " : "", failure->kernel);
  cli_text_printf(stderr, " on %s", spec[0] ? spec : "an unknown device");
  if (!path[0]) {
    fprintf(stderr, "; its image came from memory, and was not kept\n");
    return;
  }
  cli_text_printf(stderr, ", from %s\n", failure->path[0] ? "memory" : path);
  if (spec[0])
    explain_failure(path, failure->kernel, spec);
}

/* ------------------------------------------------------------------------------------------ */
/* The end                                                                                      */

static int compare_counts(const void *left, const void *right) {
  const cli_launched *a = *(const cli_launched *const *)left;
  const cli_launched *b = *(const cli_launched *const *)right;
  return a->count != b->count ? (a->count < b->count) - (a->count > b->count)
                              : strcmp(a->name, b->name);
}

/* The kernels that were launched. */
static const cli_launched **sort_kernels(const cli_recorded *recorded,
                                         int (*compare)(const void *left, const void *right),
                                         size_t *out_count) {
  const cli_launched **list = xcalloc(recorded->kernel_count + 1, sizeof *list);
  *out_count = 0;
  for (size_t i = 0; i < recorded->kernel_count; ++i) {
    if (recorded->kernels[i].count)
      list[(*out_count)++] = &recorded->kernels[i];
  }
  qsort(list, *out_count, sizeof *list, compare);
  return list;
}

static void print_sums(const cli_recorded *recorded, cli_demangler *demangler) {
  size_t compiled = 0, kernels;
  uint64_t bytes = 0, ns = 0, launches = recorded->other_launches;
  for (size_t i = 0; i < recorded->module_count; ++i) {
    compiled += recorded->modules[i].origin == CLI_MODULE_COMPILED;
    bytes += recorded->modules[i].bytes;
    ns += recorded->modules[i].ns;
  }
  const cli_launched **list = sort_kernels(recorded, compare_counts, &kernels);
  for (size_t i = 0; i < kernels; ++i)
    launches += list[i]->count;
  print_start(recorded);
  fprintf(stderr,
          "%zu module%s, %zu compiled by the driver, %" PRIu64 " bytes, %.2f ms; %" PRIu64
          " launch%s of %zu kernel%s",
          recorded->module_count, recorded->module_count == 1 ? "" : "s", compiled, bytes,
          (double)ns / 1e6, launches, launches == 1 ? "" : "es", kernels, kernels == 1 ? "" : "s");
  if (recorded->graph_launches)
    fprintf(stderr, "; %" PRIu64 " launches of graphs, whose kernels count once, when captured",
            recorded->graph_launches);
  if (recorded->other_launches)
    fprintf(stderr, "; %" PRIu64 " of them of kernels that are not listed",
            recorded->other_launches);
  fputc('\n', stderr);
  for (size_t i = 0; i < kernels && i < most_kernels; ++i) {
    kdl_string name = cli_demangle(demangler, kdl_text_of(list[i]->name));
    cli_text_printf(stderr, "%10" PRIu64 "  %.*s\n", list[i]->count, (int)name.length, name.data);
  }
  if (kernels > most_kernels)
    fprintf(stderr, "%10s  %zu more: --launched=FILE or --json=FILE\n", "", kernels - most_kernels);
  free(list);
}

void cli_recordings_print(const cli_recordings *recordings, cli_demangler *demangler) {
  for (size_t i = 0; i < recordings->count; ++i) {
    const cli_recorded *one = recordings->items[i];
    if (one->module_count || one->kernel_count || one->failure_count)
      print_sums(one, demangler);
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Files                                                                                        */

/* By the load that a kernel is of, then in the order of the recording. */
static int compare_loads(const void *left, const void *right) {
  const cli_launched *a = *(const cli_launched *const *)left;
  const cli_launched *b = *(const cli_launched *const *)right;
  return a->load != b->load ? (a->load > b->load) - (a->load < b->load) : (a > b) - (a < b);
}

/* The first one of that load in a sorted list, or the end. */
static size_t first_of_load(const cli_launched *const *list, size_t count, uint32_t load) {
  size_t first = 0;
  while (first < count) {
    const size_t middle = first + (count - first) / 2;
    if (list[middle]->load < load)
      first = middle + 1;
    else
      count = middle;
  }
  return first;
}

static void write_module(cli_json *json, const cli_recorded *recorded, const cli_module *module,
                         const cli_launched *const *by_load, size_t count) {
  static const char *const origins[] = {"unknown", "image", "jit", "rules"};
  bool has_image = module->origin != CLI_MODULE_UNKNOWN;
  cli_json_begin_object(json);
  cli_json_put_number(json, "module", module->number);
  cli_json_put_text(json, "origin", origins[module->origin]);
  cli_json_put_text(json, "file", module->path[0] ? module->path : NULL);
  cli_json_put_known(json, "image", has_image, module->image);
  cli_json_put_text(json, "image_kind", has_image ? module->kind : NULL);
  cli_json_put_text(json, "image_arch", has_image ? module->image_arch : NULL);
  cli_json_put_text(json, "fit", has_image ? module->fit : NULL);
  cli_json_put_number(json, "choices", module->choices);
  cli_json_put_text(json, "arch", module->arch[0] ? module->arch : NULL);
  cli_json_put_number(json, "bytes", module->bytes);
  cli_json_put_real(json, "ms", module->ns ? (double)module->ns / 1e6 : NAN, 3);
  cli_json_put_text(json, "call", module->function[0] ? module->function : NULL);
  cli_json_put_text(json, "device", cli_traced_device_spec(recorded, module->device));
  cli_json_put_bool(json, "unloaded", module->is_unloaded);
  cli_json_put_array(json, "launched");
  for (size_t i = module->load ? first_of_load(by_load, count, module->load) : count;
       i < count && by_load[i]->load == module->load; ++i)
    cli_json_text(json, by_load[i]->name);
  cli_json_end_array(json);
  cli_json_end_object(json);
}

static void write_failure(cli_json *json, const cli_recorded *recorded,
                          const cli_failure *failure) {
  const cli_load *load = cli_find_load(recorded, failure->load);
  cli_json_begin_object(json);
  cli_json_put_number(json, "error", (uint64_t)failure->result);
  cli_json_put_text(json, "call", failure->function);
  cli_json_put_text(json, "kernel", failure->kernel[0] ? failure->kernel : NULL);
  cli_json_put_text(json, "file", load && load->path[0] ? load->path : NULL);
  cli_json_put_text(json, "device", cli_traced_device_spec(recorded, failure->device));
  cli_json_end_object(json);
}

static void write_process(cli_json *json, const cli_recorded *recorded) {
  size_t count;
  cli_json_begin_object(json);
  cli_json_put_number(json, "process", (uint64_t)recorded->process);
  cli_json_put_text(json, "program", recorded->program);
  cli_json_put_text(json, "cupti", recorded->cupti);
  cli_json_put_array(json, "notes");
  for (size_t i = 0; i < recorded->note_count; ++i)
    cli_json_text(json, recorded->notes[i]);
  cli_json_end_array(json);
  cli_json_put_array(json, "modules");
  const cli_launched **by_load = sort_kernels(recorded, compare_loads, &count);
  for (size_t i = 0; i < recorded->module_count; ++i)
    write_module(json, recorded, &recorded->modules[i], by_load, count);
  free(by_load);
  cli_json_end_array(json);
  cli_json_put_array(json, "failures");
  for (size_t i = 0; i < recorded->failure_count; ++i)
    write_failure(json, recorded, &recorded->failures[i]);
  cli_json_end_array(json);
  const cli_launched **list = sort_kernels(recorded, compare_counts, &count);
  cli_json_put_array(json, "launched");
  for (size_t i = 0; i < count; ++i) {
    cli_json_begin_object(json);
    cli_json_put_text(json, "kernel", list[i]->name);
    cli_json_put_number(json, "launches", list[i]->count);
    cli_json_end_object(json);
  }
  cli_json_end_array(json);
  cli_json_put_number(json, "graph_launches", recorded->graph_launches);
  cli_json_put_number(json, "unnamed_launches", recorded->other_launches);
  cli_json_put_number(json, "lost_lines", recorded->lost_lines);
  cli_json_end_object(json);
  free(list);
}

kdl_status cli_recordings_save_json(const cli_recordings *recordings, const char *path) {
  char *text;
  size_t size;
  cli_json json = {.file = xtext_stream(&text, &size)};
  cli_json_begin_object(&json);
  cli_json_put_text(&json, "schema", "kdl-modules-1");
  cli_json_put_array(&json, "processes");
  for (size_t i = 0; i < recordings->count; ++i)
    write_process(&json, recordings->items[i]);
  cli_json_end_array(&json);
  cli_json_end_object(&json);
  fputc('\n', json.file);
  xtext_close(json.file);
  kdl_status status = cli_output_save(path, text, size);
  free(text);
  return status;
}

static int compare_texts(const void *left, const void *right) {
  return strcmp(*(const char *const *)left, *(const char *const *)right);
}

kdl_status cli_recordings_save_launched(const cli_recordings *recordings, const char *path) {
  size_t count = 0, room = 0, size;
  const char **names = NULL;
  for (size_t i = 0; i < recordings->count; ++i) {
    const cli_recorded *one = recordings->items[i];
    for (size_t k = 0; k < one->kernel_count; ++k) {
      if (!one->kernels[k].count)
        continue;
      names = xgrow(names, count, &room, 64, sizeof *names);
      names[count++] = one->kernels[k].name;
    }
  }
  if (count)
    qsort(names, count, sizeof *names, compare_texts);
  char *text;
  FILE *out = xtext_stream(&text, &size);
  for (size_t i = 0; i < count; ++i) {
    if (!i || strcmp(names[i], names[i - 1]) != 0)
      fprintf(out, "%s\n", names[i]);
  }
  xtext_close(out);
  kdl_status status = cli_output_save(path, text, size);
  free(text);
  free(names);
  return status;
}
