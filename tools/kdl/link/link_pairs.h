/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The metadata of an image that was linked: its caller's, for the device it is for now, and what it
 * was made of. */
#ifndef KDL_TOOL_LINK_PAIRS_H
#define KDL_TOOL_LINK_PAIRS_H

#include "link/link.h"

typedef struct cli_link_pairs {
  kdl_pair *items;
  size_t count;
  kdl_arena arena;
} cli_link_pairs;

/* Keys are the caller's, but for triple and arch; kdl.linked.SYMBOL says where each microkernel is
 * from, kdl.constant.NAME what each constant is. The caller frees *out_pairs, also after a failure.
 */
kdl_status cli_link_pairs_make(const kdl_image_info *caller, const kdl_link_report *report,
                               cli_link_pairs *out_pairs);
void cli_link_pairs_free(cli_link_pairs *pairs);

#endif
