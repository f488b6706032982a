/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kdl thin: only the images one wants. */
#include "base/error.h"
#include "command.h"
#include "input.h"
#include "keep_for.h"
#include "output.h"
#include "report.h"
#include "rewrite.h"
#include "select.h"

#include <stdlib.h>

/* An outermost image stays where it fits, or where one inside it does. */
static void keep_outermost(const kdl_library *lib, bool *chosen) {
  for (size_t i = kdl_image_count(lib); i-- > 0;) {
    kdl_image_info image = {.size = sizeof image};
    kdl_image_get(lib, i, &image);
    if (!chosen[i] || image.parent == KDL_NO_PARENT)
      continue;
    chosen[image.parent] = true; /* comes before i, so it is still to be seen */
    chosen[i] = false;
  }
}

static kdl_status write_chosen(const cli_input *input, const bool *chosen, int format,
                               const char *output) {
  kdl_writer *writer;
  kdl_status status = kdl_writer_create(format, &writer);
  if (status != KDL_OK)
    return status;
  for (size_t i = 0; i < kdl_image_count(input->lib) && status == KDL_OK; ++i) {
    if (chosen[i])
      status = cli_image_copy(input, i, format, writer);
  }
  if (status == KDL_OK)
    status = cli_output_save_writer(output, writer);
  kdl_writer_destroy(writer);
  return status;
}

/* What --keep names and what --for needs, both where both are given. */
static kdl_status choose(const cli_args *args, const cli_input *input, bool **out_chosen) {
  kdl_status status = KDL_OK;
  if (cli_args_has(args, "keep")) {
    status = cli_select_images(args, "keep", input->lib, input->name, out_chosen);
  } else {
    *out_chosen = calloc(kdl_image_count(input->lib) + 1, sizeof **out_chosen);
    if (!*out_chosen)
      status = kdl_fail(KDL_NO_MEMORY, "%s: out of memory", input->name);
  }
  if (status == KDL_OK && cli_args_has(args, "for"))
    status = cli_keep_for(args, input, cli_args_has(args, "verbose"), *out_chosen);
  return status;
}

static kdl_status thin(const cli_args *args, const cli_input *input, const char *output) {
  int format;
  kdl_status status =
      cli_format_parse(cli_args_value(args, "format"), cli_library_format(input->lib), &format);
  bool *chosen = NULL;
  if (status == KDL_OK)
    status = choose(args, input, &chosen);
  if (status == KDL_OK) {
    keep_outermost(input->lib, chosen);
    status = write_chosen(input, chosen, format, output);
  }
  free(chosen);
  return status;
}

static int run(const cli_args *args) {
  const char *output = cli_args_value(args, "output");
  if (!output)
    return cli_finish(kdl_fail(KDL_BAD_CALL, "found no -o OUT, expected where to write"));
  if (!cli_args_has(args, "keep") && !cli_args_has(args, "for"))
    return cli_finish(kdl_fail(KDL_BAD_CALL, "found no --keep=SELECT and no --for=DEVICE, expected "
                                             "which images to keep"));
  cli_input input;
  kdl_status status = cli_input_open(args->operands[0], &input);
  if (status != KDL_OK)
    return cli_finish(status);
  int code = cli_finish(thin(args, &input, output));
  cli_input_close(&input);
  return code;
}

static const cli_option options[] = {
    {"keep", 0, CLI_MANY, "SELECT", "which images stay; may be repeated"},
    {"for", 0, CLI_MANY, "DEVICE,...",
     "keep what these devices would choose or fall back on; may be repeated"},
    {"output", 'o', CLI_ONCE, "OUT", "where to write"},
    {"format", 0, CLI_ONCE, "v1|v2",
     "the OffloadBinary version; default: that of the input, v1 for other containers"},
    {"verbose", 'v', CLI_FLAG, NULL, "with --for, say why each image is kept or dropped"},
    {.name = NULL},
};

const cli_command cli_command_thin = {
    .name = "thin",
    .usage = "kdl thin FILE --keep=SELECT... --for=DEVICE,... -o OUT [--format=v1|v2]",
    .summary = "keep some of a file's images",
    .details = "--for keeps, for each device and each kernel, the image that 'kdl explain' would "
               "mark as chosen and behind it the best one of each other form: machine code behind "
               "code for one architecture, PTX behind machine code, and for a CPU with AMX code "
               "that does without. With --keep as well, images stay that either asks for. An image "
               "that holds others is kept whole where one of them fits.",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
