/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Functions of a source in C that have the names of OpenCL C's own. */
#ifndef KDL_TOOL_CC_OPENCL_NAMES_H
#define KDL_TOOL_CC_OPENCL_NAMES_H

#include "base/text.h"

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stdio.h>

/* Whether the name is to stay as it is. */
typedef bool cc_keeps_name(void *user, kdl_string name);

/* Writes the output of `clang -E` with `prefix` before the names of functions that the
 * source declares and OpenCL C has too, wherever the source has them. Headers of the system, which
 * <kdl/math.h> is, mean OpenCL's. */
kdl_status cc_opencl_rename(kdl_string text, const char *prefix, cc_keeps_name *keeps, void *user,
                            FILE *out);

/* A keyword of OpenCL C that the source declares as a name of its own, in the output of `clang -E`:
 * it lies in the text. False where there is none. */
bool cc_opencl_find_keyword(kdl_string text, kdl_string *out_keyword);

#endif
