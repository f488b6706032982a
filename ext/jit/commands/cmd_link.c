/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kdl link: links bitcode images into native ones for the named devices. */
#include "ext/jit/commands/commands.h"
#include "ext/jit/commands/link.h"
#include "lib/inspect/devices.h"
#include "lib/inspect/images.h"
#include "lib/inspect/libraries.h"
#include "support/base/error.h"
#include "support/base/nearest.h"
#include "support/base/text.h"
#include "tools/common/images/device_options.h"
#include "tools/common/images/kinds.h"
#include "tools/common/images/rewrite.h"
#include "tools/common/images/select.h"
#include "tools/common/output.h"
#include "tools/common/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One image for one device. */
typedef struct {
  size_t image;
  const cli_device *device;
  cli_link_result result;
} linked;

typedef struct {
  cli_link_job job;
  cli_devices devices;
  linked *items;
  size_t count;
  kdl_arena arena; /* metadata of the output */
} work;

static void free_work(work *w) {
  for (size_t i = 0; i < w->count; ++i)
    cli_link_result_free(&w->items[i].result);
  free(w->items);
  kdl_arena_free(&w->arena);
  cli_devices_free(&w->devices);
}

/* ------------------------------------------------------------------------------------------ */
/* The input                                                                                    */

/* The images that --image names, or all. */
static kdl_status plan_device(work *w, const cli_device *device, const bool *wanted) {
  size_t images = kdl_image_count(w->job.input->lib);
  bool *chosen = xcalloc(images, sizeof *chosen);
  w->items = xreallocarray(w->items, w->count + images, sizeof *w->items);
  kdl_status status = cli_link_choose(w->job.input, device->device, chosen);
  size_t before = w->count;
  for (size_t i = 0; i < images && status == KDL_OK; ++i) {
    if (chosen[i] && wanted[i])
      w->items[w->count++] = (linked){.image = i, .device = device};
  }
  free(chosen);
  if (status == KDL_OK && w->count == before)
    status = kdl_fail(KDL_NO_MATCH, "%s: --image fits nothing that would be linked for %s",
                      w->job.input->name, device->name);
  return status;
}

static kdl_status plan(work *w) {
  bool *wanted;
  KDL_TRY(cli_select_images(w->job.args, "image", w->job.input->lib, w->job.input->name, &wanted));
  kdl_status status = KDL_OK;
  for (size_t i = 0; i < w->devices.count && status == KDL_OK; ++i)
    status = plan_device(w, &w->devices.items[i], wanted);
  free(wanted);
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* Linking                                                                                      */

static void note_linked(const work *w, const linked *item) {
  const kdl_link_report *report = &item->result.report;
  kdl_image_info caller = cli_image_at(w->job.input->lib, item->image);
  cli_note("image %zu for %s: %s %s, %zu bytes", item->image, item->device->name, report->kind,
           report->arch, item->result.size);
  for (size_t i = 0; i < report->ukernel_count; ++i) {
    const kdl_link_ukernel *ukernel = &report->ukernels[i];
    for (size_t c = 0; c < ukernel->count; ++c) {
      const kdl_link_candidate *candidate = &ukernel->candidates[c];
      if (!cli_link_candidate_is_near(candidate, caller.triple))
        continue;
      char label[512];
      cli_link_candidate_label(candidate, label, sizeof label);
      cli_note("  %s: %s: %s", ukernel->symbol, label,
               candidate->chosen     ? "linked"
               : candidate->words[0] ? candidate->words
                                     : "would do");
    }
  }
  for (size_t i = 0; i < report->constant_count; ++i)
    cli_note("  %s=%s%s", report->constants[i].name, report->constants[i].value,
             report->constants[i].given ? "" : " (default)");
}

static kdl_status link_all(work *w) {
  for (size_t i = 0; i < w->count; ++i) {
    linked *item = &w->items[i];
    char line[KDL_SPEC_LINE];
    kdl_device_spec_print(kdl_device_route_spec(item->device->device, 0),
                          &(kdl_out){line, sizeof line, 0});
    kdl_status status = cli_link_run(&w->job, item->image, line, &item->result);
    if (status != KDL_OK)
      kdl_error_prefix("for %s", item->device->name);
    KDL_TRY(status);
    if (cli_args_has(w->job.args, "verbose"))
      note_linked(w, item);
  }
  return KDL_OK;
}

/* A constant that no image reads is a typing error. */
static kdl_status check_constant_name(const work *w, const char *text) {
  kdl_string name = {text, strcspn(text, "=")};
  kdl_nearest nearest = kdl_nearest_to(name);
  for (size_t i = 0; i < w->count; ++i) {
    const kdl_link_report *report = &w->items[i].result.report;
    for (size_t c = 0; c < report->constant_count; ++c) {
      const char *its = report->constants[c].name;
      if (kdl_text_is(name, its))
        return KDL_OK;
      kdl_nearest_add(&nearest, its);
    }
  }
  return kdl_fail(
      KDL_BAD_CALL,
      "--const: bad value '%s': nothing that was linked has a constant of that name%s%s%s", text,
      nearest.best ? "; did you mean '" : "", nearest.best ? nearest.best : "",
      nearest.best ? "'?" : "");
}

/* ------------------------------------------------------------------------------------------ */
/* Writing                                                                                      */

static kdl_status add_linked(work *w, const linked *item, kdl_writer *writer) {
  size_t count;
  kdl_image_info caller = cli_image_at(w->job.input->lib, item->image);
  kdl_pair *pairs = cli_link_pairs_make(&caller, &item->result.report, &w->arena, &count);
  kdl_image_kind kind = kdl_image_sniff(item->result.data, item->result.size);
  kdl_writer_image image = {
      .size = sizeof image,
      .declared_kind = kdl_llvm_image_kind(kind),
      .offload_kind = caller.offload_kind,
      .pairs = pairs,
      .pair_count = count,
      .data = item->result.data,
      .data_size = item->result.size,
  };
  kdl_status status = kdl_writer_add_with_digest(writer, &image);
  if (status != KDL_OK)
    kdl_error_prefix("%s", w->job.input->name);
  return status;
}

/* Native images are copied; bitcode is copied where the options ask for it. */
static kdl_status copy_others(const work *w, int format, kdl_writer *writer) {
  bool keep_bitcode = cli_args_has(w->job.args, "keep-bitcode");
  for (size_t i = 0; cli_outer_next(w->job.input->lib, &i); ++i) {
    if (keep_bitcode || cli_image_at(w->job.input->lib, i).kind != KDL_IMAGE_BITCODE)
      KDL_TRY(cli_image_copy(w->job.input, i, format, writer));
  }
  return KDL_OK;
}

static kdl_status write_library(work *w, const char *output) {
  int format;
  kdl_writer *writer;
  kdl_status status = KDL_OK;
  KDL_TRY(cli_format_parse(cli_args_value(w->job.args, "format"),
                           cli_library_format(w->job.input->lib), &format));
  KDL_TRY(kdl_writer_create(format, &writer));
  for (size_t i = 0; i < w->count && status == KDL_OK; ++i)
    status = add_linked(w, &w->items[i], writer);
  if (status == KDL_OK)
    status = copy_others(w, format, writer);
  if (status == KDL_OK)
    status = cli_output_save_writer(output, writer);
  kdl_writer_destroy(writer);
  return status;
}

/* ------------------------------------------------------------------------------------------ */

static kdl_status link_and_write(work *w, const char *output) {
  bool is_library = strcmp(w->job.emit, "image") == 0;
  if (!is_library) /* a linked library may replace the one with bitcode */
    cli_output_protect(w->job.args->operands, 1);
  KDL_TRY(cli_output_check(output));
  KDL_TRY(cli_devices_given(w->job.args, "for", ',', &w->devices));
  KDL_TRY(plan(w));
  if (!is_library && w->count != 1)
    return kdl_fail(KDL_BAD_CALL, "--emit=%s: %zu images to link: choose one by --image and --for",
                    w->job.emit, w->count);
  KDL_TRY(link_all(w));
  size_t cursor = 0;
  for (const char *text; (text = cli_args_next(w->job.args, "const", &cursor));)
    KDL_TRY(check_constant_name(w, text));
  return is_library ? write_library(w, output)
                    : cli_output_save(output, w->items[0].result.data, w->items[0].result.size);
}

int cli_run_link(const cli_args *args) {
  const char *output = cli_args_value(args, "output");
  const char *emit = cli_args_has(args, "emit") ? cli_args_value(args, "emit") : "image";
  if (!output)
    return cli_report_status(kdl_fail(KDL_BAD_CALL, "missing output: use -o OUT"));
  if (!cli_args_has(args, "for"))
    return cli_report_status(kdl_fail(KDL_BAD_CALL, "missing devices: use --for=DEVICE,..."));
  static const char *const stages[] = {"ir", "bitcode", "asm"};
  if (cli_args_has(args, "emit") && !KDL_TEXT_AMONG(kdl_text_of(emit), stages))
    return cli_report_status(
        kdl_fail(KDL_BAD_CALL, "--emit: bad value '%s': use ir, bitcode or asm", emit));
  cli_input input;
  kdl_status status = cli_input_open(args->operands[0], &input);
  if (status != KDL_OK)
    return cli_report_status(status);
  work w = {.job = {.input = &input, .args = args, .emit = emit}};
  int code = cli_report_status(link_and_write(&w, output));
  free_work(&w);
  cli_input_close(&input);
  return code;
}
