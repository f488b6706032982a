/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* --image=file=F,triple=T,arch=A,kind=K,key=value...: from the command line to a writer. */
#ifndef KDL_TOOLS_KDL_COMMANDS_PACK_H
#define KDL_TOOLS_KDL_COMMANDS_PACK_H

#include "tools/common/options.h"

#include <kdl/kdl.h>

#include <stdbool.h>

typedef struct cli_pack_rules {
  int format;
  bool fill_target; /* read missing triple and arch from the image */
  bool index;       /* add a kdl.kernel.NAME key per kernel */
  bool digest;      /* add the key kdl.digest */
  bool check;       /* check keys against the vocabulary, and that variants of a kernel agree */
  bool verbose;
  bool as_llvm; /* accept every --image as LLVM's tool does, even an empty one */
} cli_pack_rules;

/* Packs every --image of the command line and saves the result. */
kdl_status cli_pack(const cli_args *args, const cli_pack_rules *rules, const char *output);

#endif
