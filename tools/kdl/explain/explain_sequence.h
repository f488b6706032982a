/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What `kdl explain` shows of a recorded sequence: text, or a graph for Graphviz. */
#ifndef KDL_TOOL_EXPLAIN_SEQUENCE_H
#define KDL_TOOL_EXPLAIN_SEQUENCE_H

#include "images/sequences.h"

#include <stdio.h>

/* Slots, kernels and steps. */
kdl_status cli_sequence_print(const char *file, const cli_sequence *sequence);

/* A digraph: a node for each launch, copy and fill, an edge where one waits for another, a box
 * around each loop. */
kdl_status cli_sequence_dot(const cli_sequence *sequence);

/* Parts of both: "64x64x1 items", "copy 16 bytes: x = y+8", "while done". */
void cli_sequence_put_shape(FILE *out, const kdl_saved *saved, const kdl_saved_launch *launch);
void cli_sequence_put_copy(FILE *out, const kdl_saved *saved, const kdl_saved_step *step);
void cli_sequence_put_condition(FILE *out, const kdl_saved *saved, const kdl_operand *condition);

#endif
