/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The lines of OpenCL C: what the preprocessor says of them, in the words that every driver knows.
 */
#ifndef KDL_TOOL_CC_LINE_MARKS_H
#define KDL_TOOL_CC_LINE_MARKS_H

#include "cc/source/place.h"

#include <stdio.h>

/* Writes the output of `clang -E` with #line in the place of its own marks and of blank lines.
 * Files go by their last name, so that the image does not depend on the folder it was made in. */
void cc_line_marks_write(FILE *out, kdl_string text);

/* Where the source has what stands at `at` of such output; line 0 where it has no marks. */
cc_place cc_line_marks_place(kdl_string text, size_t at);

#endif
