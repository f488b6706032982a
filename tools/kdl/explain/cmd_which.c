/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kdl which: the image that a device would select, on one line. */
#include "support/base/error.h"
#include "support/base/text.h"
#include "tools/common/images/kinds.h"
#include "tools/common/json.h"
#include "tools/common/output.h"
#include "tools/common/report.h"
#include "tools/common/text.h"
#include "tools/kdl/commands.h"
#include "tools/kdl/explain/explain.h"

#include <stdio.h>
#include <string.h>

static kdl_status print_image(const kdl_library *lib, size_t index) {
  static const kdl_string unknown = {"-", 1};
  kdl_image_info image = cli_image_at(lib, index);
  printf("%zu ", index);
  char room[CLI_IMAGE_KIND_ROOM], arch[KDL_TEXT_SHORT + 1];
  cli_text_print(image.arch.length ? kdl_text_short(image.arch, arch) : unknown, " ");
  puts(cli_image_kind_name(&image, room));
  return KDL_OK;
}

/* `choice` is NULL where nothing fits; the recorded failure is then the reason. */
static kdl_status print_which_json(const cli_query *query, const kdl_selection *choice) {
  cli_json json = {.file = stdout};
  kdl_image_info image = {.size = sizeof image};
  KDL_TRY(choice ? kdl_image_get(query->input->lib, choice->image, &image) : KDL_OK);
  cli_json_begin_object(&json);
  cli_json_put_text(&json, "file", query->input->name);
  cli_json_put_text(&json, "kernel", query->kernel);
  if (choice)
    cli_json_put_text(&json, "device", choice->device);
  cli_json_put_known(&json, "image", choice, choice ? choice->image : 0);
  if (choice) {
    cli_json_put_text(&json, "image_kind", kdl_image_kind_name(choice->kind));
    cli_json_put_bytes(&json, "triple", image.triple);
    cli_json_put_bytes(&json, "arch", image.arch);
    cli_json_put_text(&json, "fit", choice->fit);
  } else {
    cli_json_put_text(&json, "error", kdl_error_message());
  }
  cli_json_end_object(&json);
  return cli_output_flush();
}

static kdl_status choose_image(const cli_args *args, const cli_query *query, cli_devices *devices,
                               kdl_selection *out_choice) {
  KDL_TRY(cli_kernel_check(query->input, query->kernel));
  KDL_TRY(cli_args_has(args, "device")
              ? cli_devices_given(args, "device", '\0', devices)
              : cli_devices_picked(query->input->lib, query->kernel, &query->opts, devices));
  kdl_status status = kdl_select(query->input->lib, devices->items[0].device, query->kernel,
                                 &query->opts, out_choice);
  if (status != KDL_OK)
    kdl_error_prefix("%s", query->input->name);
  return status;
}

/* What the line does not say: by whom the image is made to run, and that it is not the only one. */
static void note_conditions(const cli_query *query, const kdl_selection *choice) {
  if (strcmp(choice->fit, "translated") == 0)
    cli_note("image %zu is SPIR-V, which llvm-spirv and kdl-ld translate when libkdl loads it",
             choice->image);
  if (query->opts.policy == KDL_POLICY_ADAPTIVE)
    cli_note("under the policy adaptive launches choose by measured times, among the images that "
             "fit; this is the first by rank (kdl explain --args shows the one of a launch)");
}

static kdl_status which(const cli_args *args, const cli_query *query) {
  cli_devices devices = {.count = 0};
  kdl_selection choice = {.size = sizeof choice};
  kdl_status status = choose_image(args, query, &devices, &choice);
  bool as_json = cli_args_has(args, "json");
  if (status == KDL_OK && !as_json)
    note_conditions(query, &choice);
  if (status == KDL_OK)
    status =
        as_json ? print_which_json(query, &choice) : print_image(query->input->lib, choice.image);
  else if (status == KDL_NO_MATCH && as_json)
    (void)print_which_json(query, NULL);
  cli_devices_free(&devices);
  return status;
}

int cli_run_which(const cli_args *args) {
  cli_input input;
  cli_query query = {.input = &input, .kernel = args->operands[1]};
  kdl_status status = cli_selection_options(args, &query.opts);
  if (status == KDL_OK)
    status = cli_input_open(args->operands[0], &input);
  if (status != KDL_OK)
    return cli_report_status(status);
  int code = cli_report_status(which(args, &query));
  cli_input_close(&input);
  return code;
}
