/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the program or shared object that holds some code carries inside itself. */
#ifndef KDL_LIBRARY_CALLER_H
#define KDL_LIBRARY_CALLER_H

#include "lib/container/container.h"

/* The libraries that the program or shared object at an address carries inside itself: from its
 * file, or where that is no longer there, from what is mapped of it. `name` as for
 * kdl_container_open_self. */
kdl_status kdl_embedded_open(const void *address, const char *name, kdl_container **out_container);

#endif
