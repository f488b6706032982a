/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A source in C, rewritten as OpenCL C 1.2: for drivers, which compile the image of opencl-c.
 *
 * All of it works on the text behind the preprocessor (`clang -E`), by offsets. This header is all
 * that others see of that, so that a pass over Clang's own tree can take its place.
 */
#ifndef KDL_TOOL_CC_OPENCL_C_H
#define KDL_TOOL_CC_OPENCL_C_H

#include "cc/ast/clang_ast.h"

#include <stdio.h>

/* ------------------------------------------------------------------------------------------ */
/* What OpenCL C 1.2 lacks (rewrite.c)                                                          */

/* Where the text has what OpenCL C 1.2 cannot express. */
typedef struct cc_rewrite_error {
  const char *why; /* NULL where there is none */
  size_t at;       /* in the text */
} cc_rewrite_error;

/* Whether a text has the type __bf16 anywhere. */
bool cc_rewrite_has_bf16(kdl_string text);

/*
 * Writes the text in OpenCL C 1.2, or returns why it cannot be:
 *
 *     __bf16                                    numbers as ushort, computed with as floats
 *     const variables outside of functions      __constant
 *     static const variables of functions       variables of their block
 *
 * `nodes` are those of the text, which Clang reads as a later OpenCL C that has all of these.
 */
cc_rewrite_error cc_rewrite_as_opencl12(kdl_arena *arena, kdl_string text, const cc_nodes *nodes,
                                        FILE *out);

/* ------------------------------------------------------------------------------------------ */
/* Names (names.c, functions.c)                                                                 */

/* Whether OpenCL C has a built-in function of that name: of any version, or of an extension of
 * Khronos'. */
bool cc_opencl_has_function(kdl_string name);

/* Writes the text with `prefix` before the names of functions that the source declares and OpenCL C
 * has too, wherever the source has them; but for those of kernels. Headers of the system, which
 * <kdl/math.h> is, mean OpenCL's. */
void cc_opencl_rename(kdl_string text, const char *prefix, const cc_kernels *kernels, FILE *out);

/* A keyword of OpenCL C that the source declares as a name of its own: it lies in the text. False
 * where there is none. */
bool cc_opencl_find_keyword(kdl_string text, kdl_string *out_keyword);

/* ------------------------------------------------------------------------------------------ */
/* Line marks (line_marks.c)                                                                    */

/* Writes the text with #line, which every driver knows, in the place of Clang's marks and of blank
 * lines. Files go by their last name, so that the image does not depend on the folder it was made
 * in. */
void cc_line_marks_write(FILE *out, kdl_string text);

/* Where the source has what stands at `at` of the text; line 0 where it has no marks. */
cc_location cc_line_marks_location(kdl_string text, size_t at);

#endif
