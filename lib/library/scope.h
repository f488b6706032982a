/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which libraries are searched for a kernel, and in which order: those that KDL_PRELOAD names, then
 * the one that was asked or, without one, those opened with KDL_OPEN_GLOBAL, the oldest first. */
#ifndef KDL_LIBRARY_SCOPE_H
#define KDL_LIBRARY_SCOPE_H

#include "lib/library/library.h"

void kdl_scope_add(kdl_library *lib);
void kdl_scope_remove(kdl_library *lib);

/* Calls `visit` with each library in order until it returns true. A library that is visited stays
 * open during the call. Fails where KDL_PRELOAD names what cannot be opened. */
kdl_status kdl_scope_visit(kdl_library *lib, bool (*visit)(void *user, kdl_library *lib),
                           void *user);

#endif
