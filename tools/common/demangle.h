/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Demangles C++ names with libstdc++, which is opened at run time. */
#ifndef KDL_TOOLS_COMMON_DEMANGLE_H
#define KDL_TOOLS_COMMON_DEMANGLE_H

#include <kdl/kdl.h>

typedef struct cli_demangler cli_demangler;

/* KDL_UNSUPPORTED where libstdc++ is not installed. */
kdl_status cli_demangler_start(cli_demangler **out_demangler);
void cli_demangler_stop(cli_demangler *demangler); /* accepts NULL */

/* The demangled name, valid until the next call. The name itself where it is not mangled, where it
 * or its expansion may be too long, or where the demangler is NULL. */
kdl_string cli_demangle(cli_demangler *demangler, kdl_string name);

#endif
