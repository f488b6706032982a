/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kdl-ld, the program that links bitcode: where it is. */
#ifndef KDL_SYSTEM_LINKER_PATH_H
#define KDL_SYSTEM_LINKER_PATH_H

#include <limits.h>
#include <stdbool.h>

/* What KDL_LD names; else beside libkdl or the program it is linked into, in the folder `bin` that
 * goes with that one, or where it was to be installed. False where there is none, and in programs
 * that run with more rights than their user, which start no others. */
bool kdl_linker_path(char out_path[PATH_MAX]);

#endif
