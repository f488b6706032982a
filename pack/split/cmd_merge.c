/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kdl merge: merges the images of several files into one OffloadBinary. */
#include "pack/commands.h"
#include "pack/split/split.h"
#include "support/base/error.h"
#include "tools/common/images/kinds.h"
#include "tools/common/images/rewrite.h"
#include "tools/common/images/variants.h"
#include "tools/common/input.h"
#include "tools/common/memory.h"
#include "tools/common/output.h"
#include "tools/common/report.h"

#include <stdlib.h>

/* State that is shared by all input files. */
typedef struct {
  int format;
  kdl_writer *writer;
  size_t added;
  cli_variants variants;
  kdl_arena arena; /* for the names in `variants` */
} image_merger;

static kdl_status add_input_images(image_merger *all, const cli_input *input) {
  for (size_t i = 0; cli_outer_next(input->lib, &i); ++i) {
    kdl_image_info image = cli_image_at(input->lib, i);
    KDL_TRY(cli_image_copy(input, i, all->format, all->writer));
    const char *where = xarena_format(&all->arena, "%s image %zu", input->name, i);
    cli_variants_add(&all->variants, where, i, image.pairs, image.pair_count);
    ++all->added;
  }
  return KDL_OK;
}

static kdl_status merge_all(const cli_args *args, image_merger *all, cli_input *inputs,
                            size_t *opened, const char *output) {
  KDL_TRY(kdl_writer_create(all->format, &all->writer));
  while (*opened < args->operand_count) {
    cli_input *input = &inputs[*opened];
    KDL_TRY(cli_input_open(args->operands[*opened], input));
    ++*opened;
    KDL_TRY(add_input_images(all, input));
  }
  if (all->added == 0)
    return kdl_fail(KDL_NO_MATCH, "%s%s: found no image to merge", args->operands[0],
                    args->operand_count > 1 ? " and the other files" : "");
  KDL_TRY(cli_variants_check(&all->variants));
  return cli_output_save_writer(output, all->writer);
}

static kdl_status merge_libraries(const cli_args *args, int format, const char *output) {
  cli_input *inputs = xcalloc(args->operand_count, sizeof *inputs);
  image_merger all = {.format = format};
  size_t opened = 0;
  kdl_status status = merge_all(args, &all, inputs, &opened, output);
  kdl_writer_destroy(all.writer);
  cli_variants_free(&all.variants);
  kdl_arena_free(&all.arena);
  for (size_t i = 0; i < opened; ++i)
    cli_input_close(&inputs[i]);
  free(inputs);
  return status;
}

int cli_run_merge(const cli_args *args) {
  const char *output = cli_args_value(args, "output");
  if (!output)
    return cli_report_status(kdl_fail(KDL_BAD_CALL, "missing output: use -o OUT"));
  if (split_is_split_output(args->operands[0]))
    return cli_report_status(split_merge(args, output));
  if (cli_args_has(args, "partial"))
    return cli_report_status(kdl_fail(KDL_BAD_CALL,
                                      "%s: --partial needs a folder or manifest of 'kdl split'",
                                      args->operands[0]));
  int format;
  kdl_status status = cli_format_parse(cli_args_value(args, "format"), KDL_FORMAT_V1, &format);
  if (status == KDL_OK)
    status = merge_libraries(args, format, output);
  return cli_report_status(status);
}
