/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Writes the same kind of file with fewer images: to a temporary file, which is read again before
 * the rename. */
#include "lib/inspect/libraries.h"
#include "pack/thin/command.h"
#include "pack/thin/file_kinds.h"
#include "support/base/error.h"
#include "tools/common/images/kinds.h"
#include "tools/common/output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ------------------------------------------------------------------------------------------ */
/* Reading again                                                                                */

static bool is_equal_image(bool is_packed, const kdl_stored_image *left,
                           const kdl_stored_image *right) {
  return left->kind == right->kind && (is_packed || left->stored_size == right->stored_size) &&
         left->size == right->size && left->arch.length == right->arch.length &&
         memcmp(left->arch.data, right->arch.data, left->arch.length) == 0;
}

static int compare_image_offsets(const void *left, const void *right) {
  const kdl_stored_image *a = *(const kdl_stored_image *const *)left,
                         *b = *(const kdl_stored_image *const *)right;
  uint64_t x = thin_image_offset(a), y = thin_image_offset(b);
  return x != y ? (x > y) - (x < y) : (a > b) - (a < b);
}

/* The images that were not removed, in file order. */
static const kdl_stored_image **list_images(kdl_library *lib, const bool *is_removed,
                                            size_t *out_count) {
  const kdl_stored_image *images = cli_stored_images(lib);
  size_t count = kdl_image_count(lib);
  const kdl_stored_image **list = xcalloc(count, sizeof *list);
  *out_count = 0;
  for (size_t i = 0; i < count; ++i) {
    if (!is_removed || !is_removed[i])
      list[(*out_count)++] = &images[i];
  }
  qsort(list, *out_count, sizeof *list, compare_image_offsets);
  return list;
}

kdl_status thin_compare_images(const thin_input *input, const thin_report *report, bool is_packed,
                               kdl_library *lib, const char *name) {
  size_t old_count, new_count, same = 0;
  const kdl_stored_image **old = list_images(input->lib, report->is_removed, &old_count);
  const kdl_stored_image **now = list_images(lib, NULL, &new_count);
  kdl_status status = KDL_OK;
  while (same < old_count && same < new_count && is_equal_image(is_packed, old[same], now[same]))
    ++same;
  if (same != old_count || same != new_count)
    status = kdl_fail(KDL_UNSUPPORTED,
                      "%s: found other images in what was written (%zu of %zu are as they were), "
                      "nothing was kept of it; this is a bug",
                      name, same, old_count);
  free(old);
  free(now);
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* Writing                                                                                      */

typedef struct {
  const cli_args *args;
  const thin_source *source;
  const thin_input *input;
  const thin_output *out;
  const thin_report *report;
  const char *path;
} save_request;

static kdl_status verify_written_file(const save_request *s, int fd) {
  char path[64];
  kdl_library *lib;
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  kdl_open_opts opts = {.size = sizeof opts, .name = s->path, .flags = KDL_OPEN_FILE};
  kdl_status status = kdl_open(path, &opts, &lib);
  if (status != KDL_OK) {
    kdl_error_prefix("%s: what was written cannot be read", s->path);
    return status;
  }
  status =
      thin_compare_images(s->input, s->report, cli_args_has(s->args, "compress"), lib, s->path);
  kdl_close(lib);
  return status;
}

static kdl_status write_and_verify(void *user, int fd) {
  const save_request *s = user;
  struct stat info;
  thin_mapped from = {s->input->data, s->input->size, s->input->fd};
  KDL_TRY(thin_output_write(s->out, &from, fd, cli_args_has(s->args, "sparse"), s->path));
  bool is_file = fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
  if (is_file && s->input->lib)
    KDL_TRY(verify_written_file(s, fd));
  KDL_TRY(thin_source_check(s->source, cli_args_has(s->args, "in-place")));
  if (is_file)
    thin_source_copy_attributes(s->source, fd, s->path);
  return KDL_OK;
}

kdl_status thin_save(const cli_args *args, const thin_source *source, const thin_input *input,
                     const thin_output *out, const thin_report *report, const char *output) {
  bool is_in_place = cli_args_has(args, "in-place");
  if (!output || (is_in_place && !report->is_changed))
    return KDL_OK;
  if (is_in_place)
    thin_source_note_links(source);
  return cli_output_save_by(output, write_and_verify,
                            &(save_request){args, source, input, out, report, output});
}

static kdl_status thin_opened_in_place(const cli_args *args, const thin_source *source,
                                       const thin_input *input, const thin_selection *selection,
                                       const char *output) {
  thin_report report = {.is_removed = NULL};
  thin_output out = {.count = 0};
  kdl_status status = thin_file(
      input, selection, &(thin_layout_opts){.sparse = cli_args_has(args, "sparse")}, &report, &out);
  if (status == KDL_OK)
    status = thin_save(args, source, input, &out, &report, output);
  if (status == KDL_OK)
    status = thin_print(args, input, selection, &report, output);
  thin_output_free(&out);
  free(report.is_removed);
  return status;
}

static thin_selection keep_all(const thin_input *input) {
  size_t count = kdl_image_count(input->lib);
  thin_selection selection = {.lib = input->lib,
                              .count = count,
                              .kept = xmalloc(count),
                              .why = xcalloc(count, sizeof *selection.why)};
  memset(selection.kept, true, count);
  return selection;
}

kdl_status thin_in_place(const cli_args *args, const thin_source *source, cli_kernel_list *only,
                         const char *output) {
  const cli_bytes *bytes = &source->bytes;
  cli_devices devices = {.count = 0};
  thin_selection selection = {.count = 0};
  kdl_open_opts opts = {.size = sizeof opts, .name = source->name};
  thin_input input = {
      .data = bytes->data, .size = bytes->size, .name = source->name, .fd = source->fd};
  KDL_TRY(kdl_open_memory(bytes->data, bytes->size, &opts, &input.lib));
  kdl_status status = cli_devices_given(args, "for", ',', &devices);
  thin_rules rules = {.devices = &devices,
                      .args = args,
                      .only = only,
                      .keep_ptx = cli_args_has(args, "keep-ptx"),
                      .compress = cli_args_has(args, "compress"),
                      .explain = cli_args_has(args, "verbose") || cli_args_has(args, "json")};
  if (status == KDL_OK && thin_has_device_code(&input))
    status = thin_select_images(&rules, input.lib, source->name, &selection);
  else if (status == KDL_OK)
    selection = keep_all(&input);
  if (status == KDL_OK && thin_has_device_code(&input))
    status = thin_check_only(&rules, source->name);
  if (status == KDL_OK)
    status = thin_opened_in_place(args, source, &input, &selection, output);
  thin_selection_free(&selection);
  cli_devices_free(&devices);
  kdl_close(input.lib);
  return status;
}
