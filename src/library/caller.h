/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The program or shared object that holds some code: where it lies, and what it carries. The loader
 * keeps the name that an object was loaded by, which means another file, or none, once the current
 * folder has changed or the file was replaced. What is mapped does not change. */
#ifndef KDL_LIBRARY_CALLER_H
#define KDL_LIBRARY_CALLER_H

#include "container/container.h"

#include <stdbool.h>
#include <stddef.h>

/* The folder of the program or shared object that holds an address; "" where that is unknown.
 * Whether it is a shared object. */
bool kdl_caller_folder(const void *address, char *out_folder, size_t size);

/* The libraries that the program or shared object at an address carries inside itself: from its
 * file, or where that is no longer there, from what is mapped of it. `name` as for
 * kdl_container_open_own. */
kdl_status kdl_caller_open(const void *address, const char *name, kdl_container **out_container);

#endif
