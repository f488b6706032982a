/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* `kdl ls --json`. The schema is stable: docs/cli.md. */
#ifndef KDL_TOOLS_COMMON_IMAGES_LS_JSON_H
#define KDL_TOOLS_COMMON_IMAGES_LS_JSON_H

#include "tools/common/demangle.h"
#include "tools/common/json.h"

#include "tools/common/images/resources.h"

#include <kdl/kdl.h>

#include <stdbool.h>

/* What an image's object has in addition. */
typedef struct cli_ls_details {
  bool kernels;
  cli_demangler *demangler;       /* or NULL */
  const cli_resources *resources; /* or NULL */
} cli_ls_details;

/* {"file": ..., "images": [...]} */
kdl_status cli_ls_json_file(cli_json *json, const char *path, kdl_library *lib,
                            const cli_ls_details *details);

/* {"file": ..., "error": ...}, for a file that cannot be opened */
void cli_ls_json_error(cli_json *json, const char *path, const char *message);

#endif
