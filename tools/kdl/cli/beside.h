/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What lies beside the program, in an installed tree and in a build's. */
#ifndef KDL_TOOL_BESIDE_H
#define KDL_TOOL_BESIDE_H

#include <limits.h>
#include <stdbool.h>

/* False where it is unknown. */
bool cli_program_folder(char out_folder[PATH_MAX]);

/* FOLDER/NAME. False where the folder is unknown, or the path too long. */
bool cli_beside(const char *name, char out_path[PATH_MAX]);

#endif
