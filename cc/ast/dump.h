/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The lines of Clang's -ast-dump. Private to this folder. */
#ifndef KDL_CC_AST_DUMP_H
#define KDL_CC_AST_DUMP_H

#include "cc/source/kernels.h"

typedef struct cc_dump_locations {
  cc_location name;         /* of the node's name; of its begin if it has no name */
  cc_location first, final; /* where its first and its last token begin */
} cc_dump_locations;

/* The level of a node, from its indentation. Advances *line to the node's kind. */
unsigned cc_dump_level(kdl_string *line);

/* Parses the locations of a node, from its kind on; line 0 if it has none. The dump omits a file or
 * line that equals that of the location before, which is `last`: so call this for every node. */
cc_dump_locations cc_dump_read_locations(kdl_string node, cc_location *last);

#endif
