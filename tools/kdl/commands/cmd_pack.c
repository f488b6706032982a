/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kdl pack: images into one OffloadBinary. */
#include "base/error.h"
#include "cli/report.h"
#include "commands.h"
#include "commands/pack.h"
#include "images/rewrite.h"

static int run(const cli_args *args) {
  const char *output = cli_args_value(args, "output");
  if (!output)
    return cli_finish(kdl_fail(KDL_BAD_CALL, "found no -o OUT, expected where to write"));
  if (!cli_args_has(args, "image"))
    return cli_finish(kdl_fail(KDL_BAD_CALL, "found no --image, expected one or more"));
  cli_pack_rules rules = {
      .fill_target = true,
      .check = true,
      .index = cli_args_has(args, "index"),
      .digest = cli_args_has(args, "digest"),
      .verbose = cli_args_has(args, "verbose"),
  };
  kdl_status status =
      cli_format_parse(cli_args_value(args, "format"), KDL_FORMAT_V1, &rules.format);
  if (status == KDL_OK)
    status = cli_pack(args, &rules, output);
  return cli_finish(status);
}

static const cli_option options[] = {
    {"output", 'o', CLI_ONCE, "OUT", "where to write"},
    {"image", 0, CLI_MANY, "K=V,...",
     "an image: file=F,triple=T,arch=A,kind=K,key=value,...; once per image"},
    {"format", 0, CLI_ONCE, "VERSION",
     "the OffloadBinary version: v1 (default; every LLVM reads it), v2 (LLVM 23 and later), v3, "
     "or compressed v3-zstd, v3-zlib (LLVM's main branch)"},
    {"index", 0, CLI_FLAG, NULL,
     "add a key kdl.kernel.NAME for each kernel, so that readers need not look into the image"},
    {"digest", 0, CLI_FLAG, NULL, "add the key kdl.digest, by which a damaged image is told"},
    {"verbose", 'v', CLI_FLAG, NULL, "say what was read from the images"},
    {.name = NULL},
};

const cli_command cli_command_pack = {
    .name = "pack",
    .usage = "kdl pack -o OUT [--format=VERSION] [--index] [--digest] --image=file=F,key=value...",
    .summary = "put images into an OffloadBinary",
    .details =
        "--image takes what llvm-offload-binary takes. 'kind' is the offload kind: none, "
        "openmp, cuda, hip or sycl. The image kind follows from the file's extension (o, "
        "bc, cubin, fatbin, s, spv, and cl for OpenCL C, which gets the key kdl.kind=cl), or "
        "bitcode "
        "from its first bytes; 'image_kind' overrides it. Every other key is stored, in the order "
        "given. A comma ends a value; "
        "a repeated key collects its values with commas, and a repeated 'file' packs each "
        "file with the same keys. Where triple or arch is not given, the image is asked; "
        "where triple is not given, it is asked for the offload kind too. Images that hold one "
        "kernel must agree on its sig and rev.",
    .options = options,
    .min_operands = 0,
    .max_operands = 0,
    .run = run,
};
