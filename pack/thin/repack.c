/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Packs the selected images into a new OffloadBinary. */
#include "lib/inspect/libraries.h"
#include "lib/inspect/selection.h"
#include "pack/thin/command.h"
#include "support/base/error.h"
#include "tools/common/images/keep_for_devices.h"
#include "tools/common/images/kinds.h"
#include "tools/common/images/rewrite.h"
#include "tools/common/images/select.h"
#include "tools/common/input.h"
#include "tools/common/json.h"
#include "tools/common/memory.h"
#include "tools/common/output.h"
#include "tools/common/progress.h"
#include "tools/common/text.h"

#include <stdio.h>
#include <stdlib.h>

/* The images to keep, and notes on them. */
typedef struct {
  const cli_input *input;
  bool *chosen;
  char **why; /* per image, NULL for none; NULL: no notes are wanted */
  bool verbose;
} repack_state;

/* An outermost image is kept if it, or an image nested in it, is selected. */
static void keep_outermost(const kdl_library *lib, bool *chosen) {
  for (size_t i = kdl_image_count(lib); i-- > 0;) {
    kdl_image_info image = {.size = sizeof image};
    kdl_image_get(lib, i, &image);
    if (!chosen[i] || image.parent == KDL_NO_PARENT)
      continue;
    chosen[image.parent] = true; /* the parent comes before i */
    chosen[i] = false;
  }
}

static kdl_status write_chosen(const cli_input *input, const bool *chosen, int format,
                               const char *output) {
  kdl_writer *writer;
  KDL_TRY(kdl_writer_create(format, &writer));
  kdl_status status = KDL_OK;
  for (size_t i = 0; i < kdl_image_count(input->lib) && status == KDL_OK; ++i) {
    if (chosen[i])
      status = cli_image_copy_digested(input, i, format, writer);
  }
  if (status == KDL_OK)
    status = cli_output_save_writer(output, writer);
  kdl_writer_destroy(writer);
  return status;
}

static void save_reason(void *user, size_t index, const char *why) {
  repack_state *work = user;
  kdl_image_info image = {.size = sizeof image};
  if (work->why)
    work->why[index] = xstrdup(why);
  if (work->verbose && kdl_image_get(work->input->lib, index, &image) == KDL_OK)
    thin_note_image(&image, work->chosen[index], why);
}

/* Unknown images may be for any device. */
static kdl_status keep_unknown(const cli_input *input, bool *kept) {
  kdl_catalog *catalog;
  KDL_TRY(kdl_library_catalog(input->lib, &catalog));
  for (size_t i = 0; i < kdl_image_count(input->lib); ++i)
    kept[i] |= kdl_catalog_traits(catalog, i).faults & KDL_REASONS_UNKNOWN;
  return KDL_OK;
}

/* What --keep names and what --for needs, or both. */
static kdl_status select_for_repack(const cli_args *args, repack_state *work) {
  const cli_input *input = work->input;
  if (cli_args_has(args, "keep") || !cli_args_has(args, "for")) { /* with --only alone, all */
    KDL_TRY(cli_select_images(args, "keep", input->lib, input->name, &work->chosen));
  } else {
    work->chosen = xcalloc(kdl_image_count(input->lib), sizeof *work->chosen);
  }
  if (!cli_args_has(args, "for"))
    return KDL_OK;
  KDL_TRY(keep_unknown(input, work->chosen));
  return cli_keep_for_devices(args, input, work->verbose || work->why ? save_reason : NULL, work,
                              work->chosen);
}

/* Drops images that hold kernels, but none of the list. */
static kdl_status drop_unlisted(repack_state *work, cli_kernel_list *only) {
  const kdl_stored_image *images = cli_stored_images(work->input->lib);
  kdl_catalog *catalog;
  KDL_TRY(kdl_library_catalog(work->input->lib, &catalog));
  for (size_t i = 0; i < kdl_image_count(work->input->lib); ++i) {
    kdl_kernel_names names = {.count = 0};
    size_t found = 0;
    /* The images of a container decide about it. */
    if (cli_image_kind_is_container(images[i].kind) && !images[i].problem)
      work->chosen[i] = false;
    if (work->chosen[i])
      names = kdl_catalog_kernels(catalog, i);
    for (size_t k = 0; k < names.count; ++k)
      found += cli_kernel_list_find(only, names.items[k]);
    if (names.count && !found) {
      work->chosen[i] = false;
      if (work->why)
        free(work->why[i]);
      save_reason(work, i, "--only names none of its kernels");
    }
  }
  thin_rules rules = {.only = only};
  return thin_check_only(&rules, work->input->name);
}

/* ------------------------------------------------------------------------------------------ */
/* JSON                                                                                         */

static void write_repack_image_json(cli_json *json, const repack_state *work, size_t index) {
  kdl_image_info image = {.size = sizeof image}, outer = image;
  kdl_image_get(work->input->lib, index, &image);
  for (outer = image; outer.parent != KDL_NO_PARENT;)
    kdl_image_get(work->input->lib, outer.parent, &outer);
  cli_json_begin_object(json);
  cli_json_put_number(json, "index", index);
  cli_json_put_text(json, "image_kind", kdl_image_kind_name(image.kind));
  cli_json_put_bytes(json, "arch", image.arch);
  cli_json_put_number(json, "size", image.byte_count);
  cli_json_put_bool(json, "kept", work->chosen[outer.index]);
  if (work->why[index])
    cli_json_put_text(json, "why", work->why[index]);
  cli_json_end_object(json);
}

static kdl_status print_repack_json(const repack_state *work, const char *output) {
  cli_json json = {.file = stdout};
  cli_json_begin_object(&json);
  cli_json_put_text(&json, "file", work->input->name);
  cli_json_put_text(&json, "output", output);
  cli_json_put_array(&json, "images");
  for (size_t i = 0; i < kdl_image_count(work->input->lib); ++i)
    write_repack_image_json(&json, work, i);
  cli_json_end_array(&json);
  cli_json_end_object(&json);
  return cli_output_flush();
}

/* The output of a dry run. */
static kdl_status print_counts(const repack_state *work) {
  size_t kept = 0, all = 0;
  cli_progress_end();
  for (size_t i = 0; i < kdl_image_count(work->input->lib); ++i) {
    kdl_image_info image = {.size = sizeof image};
    kdl_image_get(work->input->lib, i, &image);
    all += image.parent == KDL_NO_PARENT;
    kept += image.parent == KDL_NO_PARENT && work->chosen[i];
  }
  cli_text_printf(stdout, "%s: %zu images go, %zu stay\n", work->input->name, all - kept, kept);
  return cli_output_flush();
}

/* ------------------------------------------------------------------------------------------ */

static kdl_status repack_opened(const cli_args *args, const cli_input *input, cli_kernel_list *only,
                                const char *output) {
  int format;
  bool as_json = cli_args_has(args, "json");
  size_t count = kdl_image_count(input->lib);
  repack_state work = {.input = input, .verbose = cli_args_has(args, "verbose")};
  kdl_status status =
      cli_format_parse(cli_args_value(args, "format"), cli_library_format(input->lib), &format);
  work.why = as_json ? xcalloc(count, sizeof *work.why) : NULL;
  if (status == KDL_OK)
    status = select_for_repack(args, &work);
  if (status == KDL_OK && only)
    status = drop_unlisted(&work, only);
  if (status == KDL_OK) {
    keep_outermost(input->lib, work.chosen);
    status = output ? write_chosen(input, work.chosen, format, output) : KDL_OK;
  }
  if (status == KDL_OK && as_json)
    status = print_repack_json(&work, output);
  else if (status == KDL_OK && !output)
    status = print_counts(&work);
  for (size_t i = 0; work.why && i < count; ++i)
    free(work.why[i]);
  free(work.why);
  free(work.chosen);
  return status;
}

kdl_status thin_repack(const cli_args *args, thin_source *source, cli_kernel_list *only,
                       const char *output) {
  cli_input input;
  KDL_TRY(source->fd >= 0 ? cli_input_open(source->path, &input)
                          : cli_input_take(source->path, &source->bytes, &input));
  kdl_status status = repack_opened(args, &input, only, output);
  cli_input_close(&input);
  return status;
}
