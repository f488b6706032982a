/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kdl thin: removes images that are not wanted. */
#include "pack/commands.h"
#include "pack/thin/command.h"
#include "pack/thin/file_kinds.h"
#include "support/base/error.h"
#include "tools/common/output.h"
#include "tools/common/progress.h"
#include "tools/common/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Options that apply only where the file keeps its kind. */
static const char *const in_place_options[] = {"keep-ptx", "strip-to", "sparse", "compress"};

/* The output path; NULL for a dry run. */
static kdl_status parse_output_option(const cli_args *args, const char **out_output) {
  bool in_place = cli_args_has(args, "in-place"), is_dry = cli_args_has(args, "dry-run");
  const char *output = cli_args_value(args, "output");
  if (in_place + (output != NULL) > 1)
    return kdl_fail(KDL_BAD_CALL, "-o OUT and --in-place exclude each other: use one of them");
  if (!in_place && !output && !is_dry)
    return kdl_fail(KDL_BAD_CALL, "missing output: use -o OUT, --in-place or --dry-run");
  if (!cli_args_has(args, "keep") && !cli_args_has(args, "for") &&
      !cli_args_has(args, "strip-to") && !cli_args_has(args, "only"))
    return kdl_fail(KDL_BAD_CALL, "missing images: use --keep=SELECT, --strip-to=SELECT, "
                                  "--for=DEVICE or --only=LIST");
  if (in_place && strcmp(args->operands[0], "-") == 0)
    return kdl_fail(KDL_BAD_CALL, "--in-place cannot be used with standard input: use a file");
  if (cli_args_has(args, "json") && output && !is_dry && strcmp(output, "-") == 0)
    return kdl_fail(KDL_BAD_CALL, "--json and -o - exclude each other: use one of them: both "
                                  "write to standard output");
  *out_output = is_dry ? NULL : in_place ? args->operands[0] : output;
  return KDL_OK;
}

static kdl_status reject_in_place_options(const cli_args *args) {
  for (size_t i = 0; i < sizeof in_place_options / sizeof *in_place_options; ++i) {
    if (cli_args_has(args, in_place_options[i]))
      return kdl_fail(KDL_BAD_CALL,
                      "%s: --%s cannot be used with a file that is written as an OffloadBinary: "
                      "use another kind of file, without --format",
                      args->operands[0], in_place_options[i]);
  }
  return KDL_OK;
}

/* By the kind of the file: thins it in place, or packs the images into an OffloadBinary. */
static kdl_status thin_opened(const cli_args *args, thin_source *source, cli_kernel_list *only,
                              const char *output) {
  thin_kind kind = thin_sniff(source->bytes.data, source->bytes.size);
  bool has_format = cli_args_has(args, "format");
  const char *package = pack_system_package(source->bytes.data, source->bytes.size);
  if (package)
    return kdl_fail(KDL_UNSUPPORTED, "%s: %s", source->name, package);
  if (!has_format && kind == THIN_KIND_ZIP)
    return thin_zip_in_place(args, source, only, output);
  if (!has_format && kind != THIN_KIND_OTHER && kind != THIN_KIND_OFFLOAD)
    return thin_in_place(args, source, only, output);
  if (cli_args_has(args, "in-place") && kind != THIN_KIND_OFFLOAD)
    return kdl_fail(KDL_UNSUPPORTED,
                    "%s: found a kind of file that is not rewritten in place, expected an ELF "
                    "file, an archive, a zip archive, a fatbin, a Clang offload bundle or an "
                    "OffloadBinary",
                    source->name);
  KDL_TRY(reject_in_place_options(args));
  return thin_repack(args, source, only, output);
}

/* If another file takes the name of one that is thinned in place, as when a second process thins it
 * too, starts again with the new file. */
static kdl_status thin_retry_if_replaced(const cli_args *args, cli_kernel_list *only,
                                         const char *output) {
  enum { most_tries = 100 };
  bool is_gone = true;
  kdl_status status = KDL_OK;
  for (int tries = 0; is_gone && tries < most_tries; ++tries) {
    thin_source source;
    KDL_TRY(thin_source_open(args->operands[0], &source));
    status = thin_opened(args, &source, only, output);
    is_gone =
        status == KDL_IO && cli_args_has(args, "in-place") && thin_source_is_replaced(&source);
    thin_source_close(&source);
  }
  return status;
}

/* In a folder, the output keeps the file's name. *out_path is NULL for other outputs. */
static kdl_status output_path_in_folder(const cli_args *args, const char *output, char **out_path) {
  size_t length = output ? strlen(output) : 0;
  const char *input = args->operands[0], *slash = strrchr(input, '/');
  const char *name = slash ? slash + 1 : input;
  *out_path = NULL;
  if (!length || output[length - 1] != '/' || cli_args_has(args, "in-place"))
    return KDL_OK;
  if (strcmp(input, "-") == 0)
    return kdl_fail(KDL_BAD_CALL,
                    "-o: bad value '%s' for standard input: use a file's name, not a folder's",
                    output);
  struct stat info;
  if (stat(output, &info) != 0 && errno == ENOENT)
    return kdl_fail(KDL_IO, "%s: no such folder: create it first", output);
  *out_path = xasprintf("%s%s", output, name);
  return KDL_OK;
}

static kdl_status thin_command_input(const cli_args *args) {
  const char *output;
  char *in_folder;
  KDL_TRY(parse_output_option(args, &output));
  if (cli_args_has(args, "in-place") && cli_args_has(args, "format"))
    return kdl_fail(KDL_BAD_CALL,
                    "--in-place and --format exclude each other: use one of them: a file "
                    "stays what it is in place");
  KDL_TRY(output_path_in_folder(args, output, &in_folder));
  cli_kernel_list list = {.count = 0};
  const char *only = cli_args_value(args, "only");
  const char *path = in_folder ? in_folder : output;
  bool is_new = path && !cli_args_has(args, "in-place");
  kdl_status status = is_new ? cli_output_check(path) : KDL_OK;
  if (status == KDL_OK && only)
    status = cli_kernel_list_read(only, &list);
  if (status == KDL_OK)
    status = thin_retry_if_replaced(args, only ? &list : NULL, path);
  if (status == KDL_OK && only)
    cli_kernel_list_warn(&list, "no image that stays", cli_args_has(args, "verbose"));
  cli_kernel_list_free(&list);
  free(in_folder);
  return status;
}

int cli_run_thin(const cli_args *args) {
  if (!cli_args_has(args, "json"))
    cli_progress_begin("thinning", STDERR_FILENO);
  kdl_status status = thin_command_input(args);
  cli_progress_end();
  return cli_report_status(status);
}
