/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kdl thin for zip archives: writes the archive, and reports on each member. */
#include "pack/thin/command.h"
#include "pack/thin/zip/zip.h"
#include "support/base/error.h"
#include "tools/common/json.h"
#include "tools/common/output.h"
#include "tools/common/progress.h"
#include "tools/common/report.h"
#include "tools/common/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* The report on the members, printed once the archive is written. */
typedef struct {
  char *name;
  char *retained_reason; /* why it stays unchanged, or NULL */
  size_t kept, gone;
  uint64_t old_size, new_size;
} member_report;

typedef struct {
  member_report *items;
  size_t count, capacity;
} member_reports;

static void add_member_report(void *user, const char *member, const thin_selection *selection,
                              const thin_report *report, const char *retained_reason) {
  member_reports *list = user;
  list->items = xgrow(list->items, list->count, &list->capacity, 64, sizeof *list->items);
  member_report *item = &list->items[list->count++];
  *item = (member_report){.name = xstrdup(member),
                          .retained_reason = retained_reason ? xstrdup(retained_reason) : NULL};
  for (size_t i = 0; selection && i < selection->count; ++i)
    ++*(report->is_removed[i] ? &item->gone : &item->kept);
  item->old_size = report ? report->old_size : 0;
  item->new_size = report ? report->new_size : 0;
}

static void put_member_json(cli_json *json, const member_report *item) {
  cli_json_begin_object(json);
  cli_json_put_text(json, "member", item->name);
  if (item->retained_reason) {
    cli_json_put_text(json, "left", item->retained_reason);
  } else {
    cli_json_put_number(json, "old_size", item->old_size);
    cli_json_put_number(json, "new_size", item->new_size);
    cli_json_put_number(json, "images_kept", item->kept);
    cli_json_put_number(json, "images_gone", item->gone);
  }
  cli_json_end_object(json);
}

static kdl_status print_zip_json(const thin_input *input, const member_reports *list,
                                 const thin_report *report, const char *output) {
  cli_json json = {.file = stdout};
  thin_begin_file_json(&json, input, report, output);
  cli_json_put_array(&json, "members");
  for (size_t i = 0; i < list->count; ++i)
    put_member_json(&json, &list->items[i]);
  cli_json_end_array(&json);
  cli_json_end_object(&json);
  return cli_output_flush();
}

static kdl_status print_zip_text(const thin_input *input, const member_reports *list,
                                 const thin_report *report) {
  cli_progress_end();
  for (size_t i = 0; i < list->count; ++i) {
    const member_report *item = &list->items[i];
    if (item->retained_reason)
      cli_text_printf(stdout, "%s: stays as it is: %s\n", item->name, item->retained_reason);
    else
      cli_text_printf(stdout, "%s: %" PRIu64 " -> %" PRIu64 " bytes, %zu images go, %zu stay\n",
                      item->name, item->old_size, item->new_size, item->gone, item->kept);
  }
  cli_text_printf(stdout, "%s: %" PRIu64 " -> %" PRIu64 " bytes\n", input->name, report->old_size,
                  report->new_size);
  return cli_output_flush();
}

static kdl_status thin_opened_zip(const cli_args *args, const thin_source *source,
                                  const thin_input *input, const thin_rules *rules,
                                  const char *output) {
  thin_report report;
  thin_output out = {.count = 0};
  member_reports list = {.count = 0};
  kdl_status status = thin_zip(rules, input, add_member_report, &list, &report, &out);
  if (status == KDL_OK && list.count == 0)
    status = kdl_fail(KDL_NO_MATCH, "%s: found no member with device code", input->name);
  if (status == KDL_OK)
    status = thin_check_only(rules, input->name);
  if (status == KDL_OK)
    status = thin_save(args, source, input, &out, &report, output);
  if (status == KDL_OK && cli_args_has(args, "json"))
    status = print_zip_json(input, &list, &report, output);
  else if (status == KDL_OK && (!output || cli_args_has(args, "verbose")))
    status = print_zip_text(input, &list, &report);
  if (status == KDL_OK && !cli_args_has(args, "json"))
    thin_note_retained(input, &report, false);
  for (size_t i = 0; i < list.count; ++i) {
    free(list.items[i].name);
    free(list.items[i].retained_reason);
  }
  free(list.items);
  thin_output_free(&out);
  return status;
}

kdl_status thin_zip_in_place(const cli_args *args, const thin_source *source, cli_kernel_list *only,
                             const char *output) {
  cli_devices devices = {.count = 0};
  thin_input input = {.data = source->bytes.data,
                      .size = source->bytes.size,
                      .name = source->name,
                      .fd = source->fd};
  if (cli_args_has(args, "sparse"))
    return kdl_fail(
        KDL_BAD_CALL,
        "%s: --sparse cannot be used with an archive: use a shared object or executable",
        source->name);
  kdl_status status = cli_devices_given(args, "for", ',', &devices);
  thin_rules rules = {.devices = &devices,
                      .args = args,
                      .only = only,
                      .keep_ptx = cli_args_has(args, "keep-ptx"),
                      .compress = cli_args_has(args, "compress")};
  if (status == KDL_OK)
    status = thin_opened_zip(args, source, &input, &rules, output);
  cli_devices_free(&devices);
  return status;
}
