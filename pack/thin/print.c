/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "pack/thin/command.h"
#include "tools/common/images/kinds.h"
#include "tools/common/json.h"
#include "tools/common/output.h"
#include "tools/common/progress.h"
#include "tools/common/report.h"
#include "tools/common/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void thin_note_image(const kdl_image_info *image, bool is_kept, const char *why) {
  char room[CLI_IMAGE_KIND_ROOM];
  cli_note("image %zu (%s%s%.64s): %s: %s", image->index, cli_image_kind_name(image, room),
           image->arch.length ? " " : "", image->arch.data, is_kept ? "kept" : "dropped", why);
}

static void note_images(const thin_selection *selection, const thin_report *report) {
  for (size_t i = 0; i < selection->count; ++i) {
    kdl_image_info image = {.size = sizeof image};
    kdl_image_get(selection->lib, i, &image);
    bool is_kept = !report->is_removed[i];
    if (!cli_image_kind_is_container(image.kind))
      thin_note_image(&image, is_kept,
                      is_kept && !selection->kept[i] ? "it cannot be taken out"
                      : selection->why[i]            ? selection->why[i]
                                                     : "");
  }
}

static void write_thin_image_json(cli_json *json, const thin_selection *selection,
                                  const thin_report *report, size_t index) {
  kdl_image_info image = {.size = sizeof image};
  kdl_image_get(selection->lib, index, &image);
  cli_json_begin_object(json);
  cli_json_put_number(json, "index", index);
  cli_json_put_number(json, "module", image.module);
  cli_json_put_text(json, "image_kind", kdl_image_kind_name(image.kind));
  cli_json_put_bytes(json, "arch", image.arch);
  cli_json_put_number(json, "size", image.byte_count);
  cli_json_put_number(json, "stored_size", image.stored_count);
  cli_json_put_bool(json, "kept", !report->is_removed[index]);
  if (selection->why[index])
    cli_json_put_text(json, "why", selection->why[index]);
  cli_json_end_object(json);
}

void thin_begin_file_json(cli_json *json, const thin_input *input, const thin_report *report,
                          const char *output) {
  cli_json_begin_object(json);
  cli_json_put_text(json, "file", input->name);
  cli_json_put_text(json, "output", output);
  cli_json_put_number(json, "old_size", report->old_size);
  cli_json_put_number(json, "new_size", report->new_size);
  cli_json_put_bool(json, "changed", report->is_changed);
}

static kdl_status print_thin_json(const thin_input *input, const thin_selection *selection,
                                  const thin_report *report, const char *output) {
  cli_json json = {.file = stdout};
  thin_begin_file_json(&json, input, report, output);
  cli_json_put_number(&json, "containers", report->containers);
  cli_json_put_number(&json, "containers_moved", report->moved);
  cli_json_put_number(&json, "containers_held", report->unmoved);
  cli_json_put_number(&json, "mappings_added", report->mappings);
  cli_json_put_number(&json, "zeroed", report->zeroed_bytes);
  thin_retained retained = thin_report_total_retained(report);
  cli_json_put_number(&json, "untouched_images", retained.images);
  cli_json_put_number(&json, "untouched_bytes", retained.bytes);
  cli_json_put_array(&json, "images");
  for (size_t i = 0; i < selection->count; ++i)
    write_thin_image_json(&json, selection, report, i);
  cli_json_end_array(&json);
  cli_json_end_object(&json);
  return cli_output_flush();
}

/* Bytes with one digit after the point, in a suitable unit. */
static const char *format_size(uint64_t bytes, char room[32]) {
  static const char *const units[] = {"bytes", "KB", "MB", "GB", "TB"};
  double value = (double)bytes;
  size_t unit = 0;
  for (; value >= 1000 && unit + 1 < sizeof units / sizeof *units; ++unit)
    value /= 1000;
  snprintf(room, 32, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
  return room;
}

static const char *const retain_reason_text[THIN_RETAIN_REASON_COUNT] = {
    [THIN_RETAINED_POINTERS] = "something points into their containers",
    [THIN_RETAINED_SYCL] = "SYCL's table describes them, and not all pointers to them are known",
    [THIN_RETAINED_OFFLOAD] = "not all pointers into their OffloadBinaries are known",
    [THIN_RETAINED_OBJECT] = "not all pointers into their sections are known",
    [THIN_RETAINED_LAST] = "a runtime must find one in each container",
    [THIN_RETAINED_COMPRESSED] = "they are compressed with others",
    [THIN_RETAINED_BARE] = "they are in no container, and others know where they lie",
};

/* Why removed bytes still take room in the file; NULL where that is only the rounding of holes to
 * pages. */
static const char *why_zeros(const thin_report *report, bool is_sparse) {
  enum { worth_saying = 64 * 1024 };
  if (report->zeroed_bytes < worth_saying || is_sparse)
    return NULL;
  return report->unmoved ? "not all pointers to their containers are known, which cannot move"
                         : "the holes are too small or too many for segments of their own";
}

/* Writes to a fixed buffer: the file was already written, and nothing may fail any more. */
static size_t format_retained(char *to, size_t room, const thin_report *report, size_t why) {
  const thin_retained *retained = &report->retained[why];
  bool is_one = retained->images == 1;
  char bytes[32];
  return (size_t)snprintf(to, room, "%zu image%s that nothing asked for stay%s (%s): %s",
                          retained->images, is_one ? "" : "s", is_one ? "s" : "",
                          format_size(retained->bytes, bytes), retain_reason_text[why]);
}

void thin_note_retained(const thin_input *input, const thin_report *report, bool is_sparse) {
  char line[1024] = "", bytes[32];
  size_t used = 0;
  const char *zeros = why_zeros(report, is_sparse);
  for (size_t i = 0; i < THIN_RETAIN_REASON_COUNT; ++i) {
    if (!report->retained[i].images)
      continue;
    used += (size_t)snprintf(line + used, sizeof line - used, "%s", used ? "; " : "");
    used += format_retained(line + used, sizeof line - used, report, i);
  }
  if (zeros)
    used += (size_t)snprintf(line + used, sizeof line - used, "%s%s that went stay as zeros: %s",
                             used ? "; " : "", format_size(report->zeroed_bytes, bytes), zeros);
  if (used)
    cli_note("%s: %s", input->name, line);
}

static kdl_status print_thin_text(const thin_input *input, const thin_selection *selection,
                                  const thin_report *report, bool is_sparse) {
  char before[32], after[32], more[32];
  size_t removed = 0;
  cli_progress_end();
  for (size_t i = 0; i < selection->count; ++i)
    removed += report->is_removed[i];
  if (!report->is_changed) {
    cli_text_printf(stdout, "%s: %s, nothing to take out\n", input->name,
                    format_size(report->old_size, before));
  } else {
    cli_text_printf(stdout, "%s: %s -> %s, %zu images go, %zu stay\n", input->name,
                    format_size(report->old_size, before), format_size(report->new_size, after),
                    removed, selection->count - removed);
    printf("  %zu containers: %zu moved, %zu must stay where they are; %zu mappings more\n",
           report->containers, report->moved, report->unmoved, report->mappings);
  }
  const char *zeros = why_zeros(report, is_sparse);
  if (report->zeroed_bytes)
    printf("  %s that went are zeros in the file%s%s\n", format_size(report->zeroed_bytes, more),
           zeros ? ": " : "", zeros ? zeros : "");
  for (size_t i = 0; i < THIN_RETAIN_REASON_COUNT; ++i) {
    char line[256];
    if (report->retained[i].images && format_retained(line, sizeof line, report, i))
      printf("  %s\n", line);
  }
  return cli_output_flush();
}

kdl_status thin_print(const cli_args *args, const thin_input *input,
                      const thin_selection *selection, const thin_report *report,
                      const char *output) {
  if (cli_args_has(args, "verbose"))
    note_images(selection, report);
  if (cli_args_has(args, "json"))
    return print_thin_json(input, selection, report, output);
  bool is_quiet = output && !cli_args_has(args, "verbose");
  bool is_sparse = cli_args_has(args, "sparse");
  if (is_quiet)
    thin_note_retained(input, report, is_sparse);
  return is_quiet ? KDL_OK : print_thin_text(input, selection, report, is_sparse);
}
