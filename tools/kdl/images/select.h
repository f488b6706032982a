/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * SELECT, the one way to name images on the command line:
 *
 *     SELECT = INDEX | TERM { "," TERM }
 *     TERM   = KEY "=" VALUE
 *
 * INDEX is what `kdl ls` prints. `kind` is the offload kind and `image_kind` the image kind; any
 * other key is a metadata key, triple and arch among them, whose value must be equal. An empty
 * VALUE also fits images without the key. All terms must fit.
 */
#ifndef KDL_TOOL_SELECT_H
#define KDL_TOOL_SELECT_H

#include "cli/options.h"
#include "images/terms.h"

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cli_select {
  bool by_index;
  size_t index;
  cli_terms terms;
  uint16_t offload_kind; /* parsed from the term `kind`, where there is one */
  kdl_image_kind image_kind;
} cli_select;

/* `option` is for messages. The caller frees *out_select, also after a failure. */
kdl_status cli_select_parse(const char *option, const char *text, cli_select *out_select);
void cli_select_free(cli_select *select);

bool cli_select_fits(const cli_select *select, const kdl_image_info *image);

/* The images that fit at least one SELECT given to a repeatable option; every image where the
 * option is not given. *out_chosen has one flag per image and is freed by the caller. `file` is for
 * messages. KDL_NO_MATCH where one of the SELECTs fits nothing. */
kdl_status cli_select_images(const cli_args *args, const char *option, const kdl_library *lib,
                             const char *file, bool **out_chosen);

#endif
