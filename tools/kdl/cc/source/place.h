/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Places in a source, from the text of Clang's -ast-dump, which leaves out what is as before. */
#ifndef KDL_TOOL_CC_PLACE_H
#define KDL_TOOL_CC_PLACE_H

#include "base/text.h"

#include <stdint.h>

typedef struct cc_place {
  kdl_string file; /* empty where the place is not known; lies in the dump */
  uint32_t line, column;
} cc_place;

/* Follows a node of the dump, from its name on. `last` is the place that was printed last, and has
 * to see every node. Returns where the node's name stands, or else where it begins. */
cc_place cc_place_follow(kdl_string node, cc_place *last);

/* Likewise, and says where its first token begins, and its last; line 0 where it has no place. */
cc_place cc_place_range(kdl_string node, cc_place *last, cc_place *out_first, cc_place *out_final);

#endif
