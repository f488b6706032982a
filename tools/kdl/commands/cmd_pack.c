/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kdl pack: packs images into an OffloadBinary. */
#include "support/base/error.h"
#include "tools/common/images/rewrite.h"
#include "tools/common/report.h"
#include "tools/kdl/commands.h"
#include "tools/kdl/commands/pack.h"

int cli_run_pack(const cli_args *args) {
  const char *output = cli_args_value(args, "output");
  if (!output)
    return cli_report_status(kdl_fail(KDL_BAD_CALL, "missing output: use -o OUT"));
  if (!cli_args_has(args, "image"))
    return cli_report_status(kdl_fail(KDL_BAD_CALL, "missing images: use --image=file=F,..."));
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
  return cli_report_status(status);
}
