/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* --image=file=F,triple=T,arch=A,kind=K,key=value...: from the command line to a writer. */
#ifndef KDL_TOOL_PACK_H
#define KDL_TOOL_PACK_H

#include "tools/common/options.h"

#include <kdl/kdl.h>

#include <stdbool.h>

typedef struct cli_pack_rules {
  int format;
  bool fill_target; /* ask the image for triple and arch where they are not given */
  bool index;       /* add a kdl.kernel.NAME key per kernel */
  bool digest;      /* add the key kdl.digest */
  bool check;       /* hold keys to the vocabulary, and variants of a kernel to one another */
  bool verbose;
  bool as_llvm; /* take every --image as LLVM's tool does, also none */
} cli_pack_rules;

/* Packs every --image of the command line and saves the result. */
kdl_status cli_pack(const cli_args *args, const cli_pack_rules *rules, const char *output);

#endif
