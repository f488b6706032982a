/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Where kdl_open searches; <kdl/kdl.h> has the rules. */
#ifndef KDL_LIB_LIBRARY_SEARCH_H
#define KDL_LIB_LIBRARY_SEARCH_H

#include "lib/container/container.h"

#include <kdl/kdl.h>

/* The file or folder that `name` refers to for the code at address `caller`. The caller frees
 * *out_path. KDL_IO, with every path that was tried, where there is none. */
kdl_status kdl_search(const char *name, const void *caller, char **out_path);

/* Opens a file, or all files of a folder as one library; `name` is for messages, NULL: the path. */
kdl_status kdl_search_open(const char *path, const char *name, kdl_container **out_container);

/* Refuses a relative path in a program that runs with more rights than its user. */
kdl_status kdl_search_check(const char *path);

#endif
