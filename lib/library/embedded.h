/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Libraries that are embedded in the calling program or shared object. */
#ifndef KDL_LIB_LIBRARY_EMBEDDED_H
#define KDL_LIB_LIBRARY_EMBEDDED_H

#include "lib/container/container.h"

/* Opens the libraries embedded in the program or shared object at an address: from its file or,
 * where that no longer exists, from its mapping. `name` as for kdl_container_open_self. */
kdl_status kdl_embedded_open(const void *address, const char *name, kdl_container **out_container);

#endif
