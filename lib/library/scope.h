/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The libraries that are searched for a kernel, in order: those that KDL_PRELOAD names, then the
 * one that the caller passed or, without one, those opened with KDL_OPEN_GLOBAL, oldest first. */
#ifndef KDL_LIB_LIBRARY_SCOPE_H
#define KDL_LIB_LIBRARY_SCOPE_H

#include "lib/library/library.h"

void kdl_scope_add(kdl_library *lib);
void kdl_scope_remove(kdl_library *lib);

/* Calls `visit` with each library in order until it returns true. A library stays open while it is
 * visited. Fails where KDL_PRELOAD names a file that cannot be opened. */
kdl_status kdl_scope_visit(kdl_library *lib, bool (*visit)(void *user, kdl_library *lib),
                           void *user);

#endif
