/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Reads C++ names without a demangler: the identifiers of the scope and of the name. For
 * _ZN3gpu5saxpyIfEEvT_ that is gpu::saxpy<...>; parameters and template arguments are left out.
 */
#ifndef KDL_SUPPORT_BASE_CXX_NAME_H
#define KDL_SUPPORT_BASE_CXX_NAME_H

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>

/* False where the name is not mangled or cannot be read. Text that does not fit is truncated. */
bool kdl_cxx_name(kdl_string mangled, char *out, size_t size);

/* Whether a mangled name contains the identifiers of `text` in that order. The last one may be a
 * prefix: "gpu::sax" and "saxpy<float>" match the name above, "gpu::y5" does not. */
bool kdl_cxx_name_has(kdl_string mangled, kdl_string text);

#endif
