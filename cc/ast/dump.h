/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The lines of Clang's -ast-dump. Included in this folder alone. */
#ifndef KDL_TOOL_CC_DUMP_H
#define KDL_TOOL_CC_DUMP_H

#include "cc/source/kernels.h"

typedef struct cc_dump_locations {
  cc_location name;         /* where the node's name stands, or else where it begins */
  cc_location first, final; /* where its first token begins, and its last */
} cc_dump_locations;

/* The level of a node, from its indentation; *line is then the line from the node's kind on. */
unsigned cc_dump_level(kdl_string *line);

/* The places of a node, from its kind on; line 0 where it has none. The dump leaves out what is as
 * before: `last` is the place that was printed last, and has to see every node. */
cc_dump_locations cc_dump_read_locations(kdl_string node, cc_location *last);

#endif
