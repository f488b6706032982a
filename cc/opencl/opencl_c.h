/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A C source, rewritten as OpenCL C 1.2: drivers compile the image of opencl-c.
 *
 * All of this works on preprocessed text (`clang -E`), by offsets. Only this folder depends on
 * that, so that a pass over Clang's AST can replace it.
 */
#ifndef KDL_CC_OPENCL_OPENCL_C_H
#define KDL_CC_OPENCL_OPENCL_C_H

#include "cc/ast/clang_ast.h"

#include <stdio.h>

/* ------------------------------------------------------------------------------------------ */
/* What OpenCL C 1.2 lacks (rewrite_opencl12.c)                                                 */

/* A construct of the text that OpenCL C 1.2 cannot express. */
typedef struct cc_rewrite_error {
  const char *why; /* NULL for none */
  size_t at;       /* offset in the text */
} cc_rewrite_error;

/* Whether a text has the type __bf16 anywhere. */
bool cc_rewrite_has_bf16(kdl_string text);

/*
 * Writes the text in OpenCL C 1.2, or returns why that is not possible:
 *
 *     __bf16                                    numbers as ushort, computed with as floats
 *     const variables outside of functions      __constant
 *     static const variables of functions       variables of their block
 *
 * `nodes` are those of the text, parsed by Clang as a later OpenCL C that has all of these.
 */
cc_rewrite_error cc_rewrite_as_opencl12(kdl_arena *arena, kdl_string text, const cc_nodes *nodes,
                                        FILE *out);

/* ------------------------------------------------------------------------------------------ */
/* Names (rename_functions.c, builtin_functions.c)                                              */

/* Whether OpenCL C has a built-in function of that name, in any version or Khronos extension. */
bool cc_opencl_has_function(kdl_string name);

/* Writes the text with `prefix` before the names of functions, except kernels, that the source
 * declares and OpenCL C has too. In system headers, such as <kdl/math.h>, the names mean
 * OpenCL's. */
void cc_opencl_rename(kdl_string text, const char *prefix, const cc_kernels *kernels, FILE *out);

/* Finds a keyword of OpenCL C that the source declares as a name; it points into the text. False if
 * there is none. */
bool cc_opencl_find_keyword(kdl_string text, kdl_string *out_keyword);

/* ------------------------------------------------------------------------------------------ */
/* Line marks (line_marks.c)                                                                    */

/* Writes the text with #line, which every driver knows, in place of Clang's marks and of blank
 * lines. Paths are reduced to file names, so that the image does not depend on the build folder. */
void cc_line_marks_write(FILE *out, kdl_string text);

/* The source location of offset `at`; line 0 if the text has no marks. */
cc_location cc_line_marks_location(kdl_string text, size_t at);

#endif
