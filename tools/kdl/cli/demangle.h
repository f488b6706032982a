/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * C++ names as C++ writes them, by the demangler of libstdc++, which is opened at run time.
 *
 * Names come out of files, and a short one can stand for a text that fits no memory. So the
 * demangler runs in a process of its own, with a limit on memory and on the time for each name.
 */
#ifndef KDL_TOOL_DEMANGLE_H
#define KDL_TOOL_DEMANGLE_H

#include <kdl/kdl.h>

typedef struct cli_demangler cli_demangler;

/* KDL_UNSUPPORTED where libstdc++ is not installed. */
kdl_status cli_demangler_start(cli_demangler **out_demangler);
void cli_demangler_stop(cli_demangler *demangler); /* NULL is fine */

/* What the name stands for, until the next call; the name itself where it is no mangled one, cannot
 * be demangled within the limits, or the demangler is NULL. */
kdl_string cli_demangle(cli_demangler *demangler, kdl_string name);

#endif
