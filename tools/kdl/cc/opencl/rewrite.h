/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * C that OpenCL C 1.2 lacks, in its words:
 *
 *     __bf16                                    numbers as ushort, computed with as floats
 *     const variables outside of functions      __constant
 *     static const variables of functions       variables of their block
 *
 * The text is the source behind the preprocessor, which Clang takes as a later OpenCL C that has
 * them all but a driver does not; its syntax tree says what is of which type.
 */
#ifndef KDL_TOOL_CC_REWRITE_H
#define KDL_TOOL_CC_REWRITE_H

#include "cc/opencl/nodes.h"

#include <stdio.h>

/* Where the text has what cannot be said in OpenCL C 1.2. */
typedef struct cc_rewrite_refusal {
  const char *why; /* NULL where there is none */
  size_t at;       /* in the text */
} cc_rewrite_refusal;

/* Whether a text has the type __bf16 anywhere. */
bool cc_rewrite_has_bf16(kdl_string text);

/* Writes the text in OpenCL C 1.2. KDL_BAD_FILE where it cannot be; *out_refusal says why. */
kdl_status cc_rewrite_write(kdl_arena *arena, kdl_string text, const cc_nodes *nodes, FILE *out,
                            cc_rewrite_refusal *out_refusal);

#endif
