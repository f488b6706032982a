/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What the program is when it is called llvm-offload-binary: with -o it packs, with an operand it
 * extracts, in the words and with the file names of LLVM 22's tool. Nothing is read from the images
 * that the command line does not say, so that the bytes are LLVM's.
 */
#include "base/error.h"
#include "command.h"
#include "input.h"
#include "kinds.h"
#include "output.h"
#include "pack.h"
#include "report.h"
#include "rewrite.h"
#include "select.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static kdl_status save(const cli_input *input, size_t index, const char *path) {
  const void *data;
  size_t size;
  kdl_status status = kdl_image_bytes(input->lib, index, &data, &size);
  return status == KDL_OK ? cli_output_save(path, data, size) : status;
}

/* STEM-TRIPLE-ARCH.N.KIND in the working directory. Triple and arch come from the file: a slash in
 * them must not lead out of here, as it would with LLVM's own tool. */
static char *default_name(const char *input, const kdl_image_info *image, size_t number) {
  const char *slash = strrchr(input, '/');
  const char *base = slash ? slash + 1 : input;
  const char *dot = strrchr(base, '.');
  int stem = (int)(dot && dot != base ? (size_t)(dot - base) : strlen(base));
  char *name;
  if (asprintf(&name, "%.*s-%s-%s.%zu.%s", stem, base, image->triple.data, image->arch.data, number,
               cli_declared_kind_name(image->declared_kind)) < 0)
    return NULL;
  for (char *at = name; *at; ++at) {
    if (*at == '/')
      *at = '_';
  }
  return name;
}

/* Where several images go to one file, LLVM warns and the last one stays. */
static kdl_status extract_one(const cli_input *input, const kdl_image_info *image,
                              const char *operand, const char *file, size_t number) {
  if (file)
    return save(input, image->index, file);
  char *name = default_name(operand, image, number);
  if (!name)
    return kdl_fail(KDL_NO_MEMORY, "out of memory for a file name");
  kdl_status status = save(input, image->index, name);
  free(name);
  return status;
}

/* `file` says where to write; it is no condition. */
static const char *take_file(cli_select *select) {
  const char *file = NULL;
  size_t kept = 0;
  for (size_t i = 0; i < select->terms.count; ++i) {
    cli_term term = select->terms.items[i];
    if (strcmp(term.key.data, "file") == 0)
      file = term.value.data;
    else
      select->terms.items[kept++] = term;
  }
  select->terms.count = kept;
  return file;
}

static kdl_status extract_image(const cli_input *input, const char *operand, const char *text) {
  cli_select select;
  kdl_status status = cli_select_parse("image", text, &select);
  const char *file = status == KDL_OK ? take_file(&select) : NULL;
  size_t number = 0;
  for (size_t i = 0; i < kdl_image_count(input->lib) && status == KDL_OK; ++i) {
    kdl_image_info image = {.size = sizeof image};
    status = kdl_image_get(input->lib, i, &image);
    if (status != KDL_OK || image.parent != KDL_NO_PARENT || !cli_image_format(&image) ||
        !cli_select_fits(&select, &image))
      continue;
    status = extract_one(input, &image, operand, file, number++);
  }
  if (file && number > 1)
    cli_warning("Multiple inputs match to a single file, '%s'", file);
  cli_select_free(&select);
  return status;
}

static kdl_status extract(const cli_args *args) {
  cli_input input;
  kdl_status status = cli_input_open(args->operands[0], &input);
  if (status != KDL_OK)
    return status;
  size_t cursor = 0;
  const char *text;
  while (status == KDL_OK && (text = cli_args_next(args, "image", &cursor)))
    status = extract_image(&input, args->operands[0], text);
  cli_input_close(&input);
  return status;
}

static int run(const cli_args *args) {
  const char *output = cli_args_value(args, "output");
  if (cli_args_has(args, "version")) {
    printf("llvm-offload-binary, as provided by kdl %s\n", kdl_version());
    return CLI_EXIT_FINE;
  }
  if (cli_args_has(args, "archive"))
    return cli_finish(kdl_fail(KDL_BAD_CALL, "--archive is not provided; extract the images and "
                                             "put them into an archive with llvm-ar"));
  if (output && args->operand_count)
    return cli_finish(kdl_fail(KDL_BAD_CALL, "Packaging to an output file and extracting from an "
                                             "input file are mutually exclusive."));
  if (args->operand_count)
    return cli_finish(extract(args));
  if (!output) {
    cli_command_help(&cli_command_llvm_offload_binary);
    return CLI_EXIT_FINE;
  }
  if (!cli_args_has(args, "image"))
    return cli_finish(kdl_fail(KDL_BAD_CALL, "found no --image, expected one or more"));
  cli_pack_rules rules = {.format = KDL_FORMAT_V1};
  return cli_finish(cli_pack(args, &rules, output));
}

static const cli_option options[] = {
    {"output", 'o', CLI_ONCE, "FILE", "write an OffloadBinary to FILE"},
    {"image", 0, CLI_MANY, "K=V,...",
     "with -o, an image to pack: file=F,triple=T,arch=A,kind=K,key=value,...; else, images to "
     "extract: those with these values, to 'file' where it is given"},
    {"archive", 0, CLI_FLAG, NULL, "not provided"},
    {"version", 0, CLI_FLAG, NULL, "print the version"},
    {.name = NULL},
};

const cli_command cli_command_llvm_offload_binary = {
    .name = "llvm-offload-binary",
    .usage =
        "llvm-offload-binary -o FILE --image=K=V,... | llvm-offload-binary FILE --image=K=V,...",
    .summary = "pack images into an OffloadBinary, or extract them, as LLVM's tool of this name",
    .options = options,
    .min_operands = 0,
    .max_operands = 1,
    .run = run,
};
