/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The program under the name llvm-offload-binary: with -o it packs, with an operand it extracts,
 * with the messages and file names of LLVM 22's tool. Metadata comes only from the command line,
 * never from the images, so that the output equals LLVM's byte for byte.
 */
#include "lib/inspect/images.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "tools/common/images/kinds.h"
#include "tools/common/images/rewrite.h"
#include "tools/common/images/terms.h"
#include "tools/common/input.h"
#include "tools/common/memory.h"
#include "tools/common/output.h"
#include "tools/common/report.h"
#include "tools/common/text.h"
#include "tools/kdl/commands.h"
#include "tools/kdl/commands/pack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static kdl_status save_image_bytes(const cli_input *input, size_t index, const char *path) {
  const void *data;
  size_t size;
  KDL_TRY(kdl_image_bytes(input->lib, index, &data, &size));
  return cli_output_save(path, data, size);
}

/* STEM-TRIPLE-ARCH.N.KIND in the working directory. Triple and arch come from the file: slashes in
 * them are replaced, since with LLVM's own tool they lead to other folders. */
static char *default_name(const char *input, const kdl_image_info *image, size_t number,
                          bool needs_arch) {
  const char *base = basename(input);
  const char *dot = strrchr(base, '.');
  int stem = (int)(dot ? (size_t)(dot - base) : strlen(base));
  char *name = xasprintf("%.*s-%s%s%s.%zu.%s", stem, base, image->triple.data,
                         needs_arch || image->arch.length ? "-" : "", image->arch.data, number,
                         cli_declared_kind_name(image->declared_kind));
  for (char *at = name; *at; ++at) {
    if (*at == '/')
      *at = '_';
  }
  return name;
}

/* Where several images go to one file, LLVM warns and the last one wins. */
static kdl_status extract_one(const cli_input *input, const kdl_image_info *image,
                              const char *operand, const char *file, size_t number) {
  if (file)
    return save_image_bytes(input, image->index, file);
  char *name = default_name(operand, image, number, true);
  kdl_status status = save_image_bytes(input, image->index, name);
  free(name);
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* Selecting images                                                                             */

typedef struct {
  cli_input input;
  bool is_archive;
} opened;

/* From LLVM 23 on, `member` is the name of an archive's member; before that, and outside of
 * archives, it is an ordinary key. */
static bool fits_term(const opened *from, const kdl_image_info *image, const cli_term *term) {
  if (strcmp(term->key.data, "file") == 0)
    return true; /* names the output */
  if (strcmp(term->key.data, "kind") == 0)
    return image->offload_kind == cli_offload_kind_as_llvm(term->value.data);
  if (from->is_archive && strcmp(term->key.data, "member") == 0 &&
      kdl_text_has_suffix(image->container, term->value) &&
      kdl_text_has_suffix(
          (kdl_string){image->container.data, image->container.length - term->value.length},
          KDL_TEXT(" in ")))
    return true;
  const kdl_string *value = kdl_image_value(from->input.lib, image->index, term->key.data);
  return value ? kdl_text_equal(*value, term->value) : term->value.length == 0;
}

static bool image_matches(const opened *from, const kdl_image_info *image, const cli_terms *terms) {
  bool all = true;
  for (size_t i = 0; i < terms->count && all; ++i)
    all = fits_term(from, image, &terms->items[i]);
  return all;
}

static kdl_status extract_image(const opened *from, const char *operand, const char *text) {
  cli_terms terms;
  kdl_status status = cli_terms_parse("image", NULL, text, &terms);
  const cli_term *file = status == KDL_OK ? cli_terms_find(&terms, "file") : NULL;
  size_t number = 0;
  for (size_t i = 0; i < kdl_image_count(from->input.lib) && status == KDL_OK; ++i) {
    kdl_image_info image = cli_image_at(from->input.lib, i);
    if (image.parent != KDL_NO_PARENT || !cli_image_format(&image) ||
        !image_matches(from, &image, &terms))
      continue;
    status = extract_one(&from->input, &image, operand, file ? file->value.data : NULL, number++);
  }
  if (file && number > 1)
    cli_warning("Multiple inputs match to a single file, '%s'", file->value.data);
  cli_terms_free(&terms);
  return status;
}

/* Without --image, every image that is not nested in another: as LLVM 23 does; LLVM 22 does
 * nothing. */
static kdl_status extract_all(const opened *from, const char *operand) {
  size_t number = 0;
  kdl_status status = KDL_OK;
  for (size_t i = 0; i < kdl_image_count(from->input.lib) && status == KDL_OK; ++i) {
    kdl_image_info image = cli_image_at(from->input.lib, i);
    if (!cli_image_format(&image) || image.kind == KDL_IMAGE_OFFLOAD)
      continue;
    char *name = default_name(operand, &image, number++, false);
    status = save_image_bytes(&from->input, i, name);
    if (status == KDL_OK)
      cli_text_printf(stdout, "Extracted: %s\n", name);
    free(name);
  }
  return status;
}

static kdl_status extract_operand(const cli_args *args) {
  const char *operand = args->operands[0];
  opened from = {.is_archive = false};
  cli_bytes *bytes = &from.input.bytes;
  KDL_TRY(cli_bytes_read(operand, bytes));
  kdl_status status = KDL_OK;
  from.input.name = operand;
  kdl_image_kind kind;
  kdl_file_kind file = kdl_file_sniff(bytes->data, bytes->size, &kind);
  from.is_archive = file == KDL_FILE_ARCHIVE || file == KDL_FILE_THIN_ARCHIVE;
  /* For LLVM, a file that is no container has no images, which is not an error. */
  if (from.is_archive || kind != KDL_IMAGE_UNKNOWN) {
    kdl_open_opts opts = {.size = sizeof opts, .name = operand};
    status = kdl_open_memory(bytes->data, bytes->size, &opts, &from.input.lib);
    size_t cursor = 0;
    const char *text;
    while (status == KDL_OK && (text = cli_args_next(args, "image", &cursor)))
      status = extract_image(&from, operand, text);
    if (status == KDL_OK && !cli_args_has(args, "image"))
      status = extract_all(&from, operand);
  }
  cli_input_close(&from.input);
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* The command                                                                                  */

/* The last -o wins. */
static const char *last_output(const cli_args *args) {
  const char *output = NULL;
  size_t cursor = 0;
  for (const char *value; (value = cli_args_next(args, "output", &cursor));)
    output = value;
  return output;
}

static int run_llvm_offload_binary(const cli_args *args) {
  const char *output = last_output(args);
  if (cli_args_has(args, "version")) {
    printf("llvm-offload-binary, as provided by kdl %s\n", kdl_version());
    return CLI_EXIT_SUCCESS;
  }
  if (cli_args_has(args, "archive"))
    return cli_report_status(kdl_fail(KDL_BAD_CALL,
                                      "--archive is not provided; extract the images and "
                                      "put them into an archive with llvm-ar"));
  if (output && args->operand_count)
    return cli_report_status(kdl_fail(KDL_BAD_CALL,
                                      "Packaging to an output file and extracting from an "
                                      "input file are mutually exclusive."));
  if (args->operand_count)
    return cli_report_status(extract_operand(args));
  if (!output) {
    cli_command_help(&cli_command_llvm_offload_binary);
    return CLI_EXIT_SUCCESS;
  }
  cli_pack_rules rules = {.format = KDL_FORMAT_V1, .as_llvm = true};
  return cli_report_status(cli_pack(args, &rules, output));
}

static const cli_option options[] = {
    {"output", 'o', CLI_MANY, "FILE", "write an OffloadBinary to FILE"},
    {"image", 0, CLI_MANY, "K=V,...",
     "with -o, an image to pack: file=F,triple=T,arch=A,kind=K,key=value,...; else, images to "
     "extract: those with these values, in the archive's 'member', to 'file' where it is given"},
    {"archive", 0, CLI_FLAG, NULL, "not provided"},
    {"version", 0, CLI_FLAG, NULL, "print the version"},
    {.name = NULL},
};

const cli_command cli_command_llvm_offload_binary = {
    .name = "llvm-offload-binary",
    .usage =
        "llvm-offload-binary -o FILE --image=K=V,... | llvm-offload-binary FILE --image=K=V,...",
    .summary = "pack images into an OffloadBinary, or extract them, as LLVM's tool of this name",
    .details =
        "Without --image every image is extracted. A word @FILE stands for the words in FILE.",
    .options = options,
    .min_operands = 0,
    .max_operands = 1,
    .run = run_llvm_offload_binary,
};
