/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* C++ names as C++ writes them, by the demangler of libstdc++, which is opened at run time. */
#ifndef KDL_TOOL_DEMANGLE_H
#define KDL_TOOL_DEMANGLE_H

#include <kdl/kdl.h>

typedef struct cli_demangler cli_demangler;

/* KDL_UNSUPPORTED where libstdc++ is not installed. */
kdl_status cli_demangler_start(cli_demangler **out_demangler);
void cli_demangler_stop(cli_demangler *demangler); /* accepts NULL */

/* What the name stands for, until the next call; the name itself where it is not a mangled one, is
 * too long or stands for a text that may be, or the demangler is NULL. */
kdl_string cli_demangle(cli_demangler *demangler, kdl_string name);

#endif
