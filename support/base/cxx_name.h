/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What is readable of a C++ name without a demangler: the identifiers of its scope and of itself.
 * _ZN3gpu5saxpyIfEEvT_ is gpu::saxpy<...>; parameters and template arguments are left out.
 */
#ifndef KDL_BASE_CXX_NAME_H
#define KDL_BASE_CXX_NAME_H

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>

/* False where the name is not a mangled one, or nothing of it can be read. Text that does not fit
 * is cut. */
bool kdl_cxx_name(kdl_string mangled, char *out, size_t size);

/* Whether a mangled name has the identifiers of `text` in it, one after the other, each whole but
 * for the last, of which `text` may be a part: "gpu::sax" and "saxpy<float>" are found in the name
 * above, "gpu::y5" is not. */
bool kdl_cxx_name_has(kdl_string mangled, kdl_string text);

#endif
